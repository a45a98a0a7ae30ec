//! `slowpath profile top`: the functions with the highest cost of their own, and cost by category.

use super::{About, Named, about, head, in_table, named, percent};
use crate::table::align;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{Categories, Category};
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// What costs most (schema slowpath/profile-top/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-top/1")]
pub struct TopDocument<'a> {
    /// `slowpath/profile-top/1`.
    schema: &'static str,
    /// The profile.
    profile: About<'a>,
    /// The functions that cost most themselves, the greatest first.
    functions: Vec<Line<'a>>,
    /// The categories, the greatest first.
    categories: Vec<CategoryLine>,
    /// The part of all that is the kernel's and in no category, 0 to 1.
    in_no_category: f64,
}

/// A function and its cost.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    #[serde(flatten)]
    function: Named<'a>,
    /// Its own cost.
    weight: u64,
    /// Its part of all, 0 to 1.
    share: f64,
    /// Its category; null if it is in none.
    category: Option<String>,
}

/// A category and its cost.
#[derive(Serialize, JsonSchema)]
struct CategoryLine {
    /// Its name.
    category: String,
    /// Its cost.
    weight: u64,
    /// Its part of all, 0 to 1.
    share: f64,
}

/// The document of a profile: its `most` greatest functions.
pub fn document(loaded: &Loaded, most: usize) -> TopDocument<'_> {
    let (functions, edges) = (loaded.functions(), &loaded.edges);
    let own: Vec<u64> = functions.iter().map(|function| edges.own(function)).collect();
    let categories = Categories::of(functions, &own);
    let part = |weight: u64| weight as f64 / loaded.weight() as f64;
    let line = |function| Line {
        function: named(loaded, function),
        weight: edges.own(function),
        share: part(edges.own(function)),
        category: Category::of(functions, function).map(|category| category.to_string()),
    };
    let costs = categories.costs.iter().filter(|cost| cost.weight > 0);
    let mut categories_by_cost: Vec<CategoryLine> = costs
        .map(|cost| CategoryLine {
            category: cost.category.to_string(),
            weight: cost.weight,
            share: part(cost.weight),
        })
        .collect();
    categories_by_cost.sort_by_key(|line| std::cmp::Reverse(line.weight));
    TopDocument {
        schema: "slowpath/profile-top/1",
        profile: about(loaded),
        functions: edges.top(most).into_iter().map(line).collect(),
        categories: categories_by_cost,
        in_no_category: part(categories.unknown_weight),
    }
}

/// Prints categories, then functions.
///
/// # Errors
/// The errors of `out`.
pub fn print(loaded: &Loaded, document: &TopDocument<'_>, out: &mut impl Write) -> io::Result<()> {
    head(loaded, out)?;
    let mut rows = vec![["category", "share"].map(str::to_owned).to_vec()];
    rows.extend(document.categories.iter().map(|line| vec![line.category.clone(), percent(line.share)]));
    if document.in_no_category > 0.0 {
        rows.push(vec!["in no category".to_owned(), percent(document.in_no_category)]);
    }
    align(&rows, out)?;
    writeln!(out)?;
    let mut rows = vec![["function", "share", "category"].map(str::to_owned).to_vec()];
    rows.extend(loaded.edges.top(document.functions.len()).into_iter().zip(&document.functions).map(
        |(function, line)| {
            let category = line.category.clone().unwrap_or_else(|| "-".to_owned());
            vec![in_table(loaded, function), percent(line.share), category]
        },
    ));
    align(&rows, out)
}
