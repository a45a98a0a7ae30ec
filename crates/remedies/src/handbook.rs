//! The handbook's pages of the causes, as text.

use slowpath_analyses::{Cause, catalogue};

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $limit:ident / $slug:literal: $title:literal,
        $page:literal, [$($by:ident),*];)*) => {
        /// The text of the page of `cause` ([`Cause::page`]), as Markdown.
        pub const fn handbook_text(cause: Cause) -> &'static str {
            match cause { $(Cause::$name => include_str!(concat!("../../../docs/src/", $page)),)* }
        }
    };
}

catalogue!(texts);
