//! `slowpath profile flame`: a profile's stacks as a flame graph.

use super::{percent, spelt_in};
use crate::flame::{self, Box, Flame, Kind};
use crate::quantity::counted;
use slowpath_cost::tree::Node;
use slowpath_cost::{Function, Image};
use slowpath_profile::{LoadError, Loaded};

/// The stacks below the given functions, or all stacks, as an SVG with this title.
///
/// # Errors
///
/// If the profile has no stacks, or none of these functions.
pub fn picture(
    loaded: &mut Loaded,
    title: &str,
    of: &[String],
    is_icicle: bool,
) -> Result<String, LoadError> {
    let (named, of): (Vec<&str>, Vec<_>) = loaded.named(of)?.into_iter().unzip();
    let (profile, event) = loaded.whole_stacks()?;
    let tree = profile.tree(event, &of.concat());
    let about = if named.is_empty() { String::new() } else { format!(", of {}", named.join(", ")) };
    let part = percent(tree[0].weight as f64 / loaded.weight() as f64);
    Ok(flame::svg(&Flame {
        title: format!("{title}{about}"),
        remarks: vec![format!("{}, of which {part} are here", counted(loaded.samples(), "sample"))],
        boxes: boxes(loaded, &tree),
        is_icicle,
    }))
}

/// The tree's nodes side by side, ordered by name, so that pictures of the same load can be compared.
fn boxes<'a>(loaded: &'a Loaded, tree: &[Node]) -> Vec<Box<'a>> {
    let (functions, all) = (loaded.functions(), (tree[0].weight as f64).max(1.0));
    let name = |function: Option<Function>| function.map_or("all", |function| functions.name(function));
    let mut boxes = Vec::new();
    // Node, depth and left edge.
    let mut next = vec![(0, 0, 0.0)];
    while let Some((at, depth, from)) = next.pop() {
        let Node { function, weight, callees } = &tree[at];
        let share = *weight as f64 / all;
        let kind = match function.map(|function| functions.image(function)) {
            None => Kind::All,
            Some(Image::Kernel(_)) => Kind::Kernel,
            Some(Image::User(_)) => Kind::Program,
            Some(Image::Unknown) => Kind::Unknown,
        };
        let spelt = function.map_or_else(|| "all".to_owned(), |function| spelt_in(loaded, function));
        let of_all = percent(*weight as f64 / loaded.weight() as f64);
        let about = format!("{spelt}: {of_all} of all");
        boxes.push(Box { depth, from, share, name: name(*function), about, kind });
        let mut callees = callees.clone();
        callees.sort_by_key(|callee| (name(tree[*callee].function), *callee));
        let mut from = from;
        for callee in callees {
            next.push((callee, depth + 1, from));
            from += tree[callee].weight as f64 / all;
        }
    }
    boxes
}
