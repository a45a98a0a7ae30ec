//! `slowpath profile attribute`: the high-level functions that functions worked for.

use super::{About, Named, about, head, in_table, named, percent};
use crate::table::align;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{Attributed, Attribution, Root};
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// The high-level functions that functions worked for (schema slowpath/profile-attribution/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-attribution/1")]
pub struct AttributionDocument<'a> {
    /// `slowpath/profile-attribution/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The roots that costs are attributed to.
    to: Vec<&'a str>,
    /// The share of the total that belongs to each root, 0 to 1, in their order; null if costs overlap
    /// (`--with-callees`).
    shares: Option<Vec<f64>>,
    /// The functions, the greatest first.
    functions: Vec<Line<'a>>,
}

/// A function, and the attribution of its cost.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// What it cost.
    weight: u64,
    /// Its part of all, 0 to 1.
    share: f64,
    /// By whole stacks; null without them.
    exact: Option<Parts>,
    /// By the call graph alone, as in the paper.
    estimate: Parts,
    /// The share of its cost that the estimate attributes to the wrong root, 0 to 1; null without stacks.
    misplaced: Option<f64>,
}

/// Parts of a function's cost, 0 to 1, that sum to 1.
#[derive(Serialize, JsonSchema)]
struct Parts {
    /// The share of each root where it is the innermost root on the stack, in their order.
    innermost: Vec<f64>,
    /// The share of each root wherever it is on the stack, whatever other roots are between, in their order.
    overlapping: Vec<f64>,
    /// The share without a root.
    elsewhere: f64,
    /// The share of stacks that were truncated too early.
    cannot_tell: f64,
}

/// The options of the output.
#[derive(Clone, Copy)]
pub struct Shown {
    /// The number of functions.
    pub top: usize,
    /// Whether costs include callees.
    pub with_callees: bool,
}

/// The document of an attribution.
pub fn document<'a>(
    loaded: &'a Loaded,
    attribution: &'a Attribution,
    shown: &Shown,
) -> AttributionDocument<'a> {
    let all = loaded.weight() as f64;
    let roots = &attribution.roots;
    let shares = || roots.iter().map(|root| attribution.cost(root) / all).collect();
    AttributionDocument {
        schema: "slowpath/profile-attribution/1",
        profile: about(loaded),
        to: roots.iter().map(|root| roots.name(root)).collect(),
        shares: (!shown.with_callees).then(shares),
        functions: attribution.functions.iter().take(shown.top).map(|of| line(loaded, of)).collect(),
    }
}

fn line<'a>(loaded: &'a Loaded, of: &Attributed) -> Line<'a> {
    let part = |weight: u64| weight as f64 / (of.weight as f64).max(1.0);
    let exact = of.exact.as_ref().map(|exact| Parts {
        innermost: exact.innermost.iter().map(|weight| part(*weight)).collect(),
        overlapping: exact.overlapping.iter().map(|overlap| part(overlap.weight)).collect(),
        elsewhere: part(exact.elsewhere),
        cannot_tell: part(exact.cannot_tell),
    });
    let estimate = Parts {
        innermost: of.estimate.innermost.clone(),
        overlapping: of.estimate.overlapping.clone(),
        elsewhere: of.estimate.elsewhere,
        cannot_tell: of.estimate.cannot_tell,
    };
    Line {
        function: named(loaded, of.function),
        weight: of.weight,
        share: of.weight as f64 / loaded.weight() as f64,
        exact,
        estimate,
        misplaced: of.misplaced(),
    }
}

/// Prints the shares of the roots, then the functions.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    loaded: &Loaded,
    attribution: &Attribution,
    shown: &Shown,
    out: &mut impl Write,
) -> io::Result<()> {
    head(loaded, out)?;
    let (roots, all) = (&attribution.roots, loaded.weight() as f64);
    let has_stacks = loaded.stacks().is_some();
    if !shown.with_callees {
        let mut rows = vec![vec!["worked for".to_owned(), "share".to_owned()]];
        let mut rest = 1.0;
        for root in roots.iter() {
            let part = attribution.cost(root) / all;
            rest -= part;
            rows.push(vec![roots.name(root).to_owned(), percent(part)]);
        }
        rows.push(vec!["somebody else, or nobody".to_owned(), percent(rest.max(0.0))]);
        align(&rows, out)?;
        writeln!(out)?;
    }
    let cuts =
        attribution.functions.iter().any(|of| of.exact.as_ref().is_some_and(|exact| exact.cannot_tell > 0));
    let mut head = vec!["function".to_owned(), "share".to_owned()];
    head.extend(roots.iter().map(|root| roots.name(root).to_owned()));
    head.extend(cuts.then(|| "cannot tell".to_owned()));
    head.extend(has_stacks.then(|| "estimate off by".to_owned()));
    let mut rows = vec![head];
    for of in attribution.functions.iter().take(shown.top) {
        let mut row = vec![in_table(loaded, of.function), percent(of.weight as f64 / all)];
        row.extend(roots.iter().map(|root: Root| of.share(root).map_or_else(|| "-".to_owned(), percent)));
        let cut =
            of.exact.as_ref().map_or(0.0, |exact| exact.cannot_tell as f64 / (exact.weight as f64).max(1.0));
        row.extend(cuts.then(|| percent(cut)));
        row.extend(of.misplaced().map(percent));
        rows.push(row);
    }
    align(&rows, out)?;
    if !has_stacks {
        writeln!(out, "\nBy who calls whom alone, as in lavoie: without stacks it cannot be counted.")?;
    }
    Ok(())
}
