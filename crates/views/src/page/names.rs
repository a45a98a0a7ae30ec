//! The names of limits and causes, which other parts of the page refer to by their places.

use super::{CauseName, LimitName};
use slowpath_analyses::{Cause, Limit};
use slowpath_remedies::handbook_text;

/// The limits, in the order of tables.
pub(crate) fn limits() -> Vec<LimitName> {
    Limit::ALL.iter().map(|limit| LimitName { slug: limit.slug(), title: limit.title() }).collect()
}

/// The causes, with the handbook's pages of those that are shown.
pub(crate) fn causes(is_shown: impl Fn(Cause) -> bool) -> Vec<CauseName> {
    let of = |cause: &Cause| {
        let limit = Limit::ALL.iter().position(|limit| *limit == cause.limit()).unwrap_or(0);
        let page = is_shown(*cause).then(|| handbook_text(*cause));
        CauseName { name: cause.to_string(), limit, title: cause.title(), page }
    };
    Cause::ALL.iter().map(of).collect()
}

/// A cause's place among [`causes`].
pub(crate) fn place(cause: Cause) -> i64 {
    Cause::ALL.iter().zip(0..).find(|(other, _)| **other == cause).map_or(-1, |(_, place)| place)
}
