//! `slowpath profile descendants`: lavoie's Greatest n Descendants.

use super::{About, Named, about, head, named, percent, spelt_in};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::descendants::Ancestor;
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// What the top functions' descendants cost (schema slowpath/profile-descendants/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-descendants/1")]
pub struct DescendantsDocument<'a> {
    /// `slowpath/profile-descendants/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The functions.
    functions: Vec<Family<'a>>,
}

/// A function and its greatest descendants.
#[derive(Serialize, JsonSchema)]
struct Family<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// Its descendants, the greatest first.
    descendants: Vec<Child<'a>>,
}

/// A descendant.
#[derive(Serialize, JsonSchema)]
struct Child<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own part of all, 0 to 1.
    share: f64,
    /// The minimum number of calls from the function to it.
    depth: u32,
}

/// The document of these functions and their descendants.
pub fn document<'a>(loaded: &'a Loaded, families: &[Ancestor]) -> DescendantsDocument<'a> {
    let part = |weight: u64| weight as f64 / loaded.weight() as f64;
    let family = |ancestor: &Ancestor| Family {
        function: named(loaded, ancestor.function),
        share: part(ancestor.own),
        descendants: ancestor
            .descendants
            .iter()
            .map(|found| Child {
                function: named(loaded, found.function),
                share: part(found.own),
                depth: found.depth,
            })
            .collect(),
    };
    DescendantsDocument {
        schema: "slowpath/profile-descendants/1",
        profile: about(loaded),
        functions: families.iter().map(family).collect(),
    }
}

/// Prints each function and its descendants.
///
/// # Errors
/// The errors of `out`.
pub fn print(loaded: &Loaded, families: &[Ancestor], out: &mut impl Write) -> io::Result<()> {
    head(loaded, out)?;
    let part = |weight: u64| percent(weight as f64 / loaded.weight() as f64);
    for ancestor in families {
        writeln!(out, "{:>6}  {}", part(ancestor.own), spelt_in(loaded, ancestor.function))?;
        for found in &ancestor.descendants {
            let deeper = if found.depth == 1 { String::new() } else { format!(", {} deep", found.depth) };
            writeln!(out, "    {:>6}  {}{deeper}", part(found.own), spelt_in(loaded, found.function))?;
        }
        if ancestor.descendants.is_empty() {
            writeln!(out, "    it called no function that cost anything")?;
        }
    }
    Ok(())
}
