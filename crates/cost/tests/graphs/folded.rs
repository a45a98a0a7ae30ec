//! Profiles as text: one stack per line, the outermost function first, and its count.

use slowpath_cost::edges::Edges;
use slowpath_cost::{Entry, Event, Frame, Function, Image, Profile, Root, Roots};

/// A profile of such lines. A stack that begins with `…` was cut off there. `name@program` is a program's function, all
/// others are the kernel's.
pub fn profile(text: &str) -> Profile {
    let mut profile =
        Profile { events: vec![Event { name: "cycles".to_owned(), unit: "cycles" }], ..Profile::default() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (stack, samples) = line.rsplit_once(' ').expect("a stack and a count");
        let (is_truncated, stack) = stack.strip_prefix("…;").map_or((false, stack), |rest| (true, rest));
        let frames: Vec<Frame> = stack
            .split(';')
            .rev()
            .map(|text| match text.split_once('@') {
                Some((name, program)) => profile.functions.of(name, &Image::User(program.to_owned())),
                None => profile.functions.of(text, &Image::Kernel(None)),
            })
            .map(|function| Frame { function, inlined: false })
            .collect();
        let stack = profile.stacks.push(frames, is_truncated);
        let samples = samples.parse().expect("a count");
        profile.entries.push(Entry { stack, event: 0, task: 0, samples, weight: samples });
    }
    profile
}

/// The function with this name.
pub fn function(profile: &Profile, name: &str) -> Function {
    profile.functions.named(name).next().unwrap_or_else(|| panic!("{name} is not in the profile"))
}

/// A root for each of these functions, and their indices.
pub fn roots<const N: usize>(profile: &Profile, names: [&str; N]) -> (Roots, [Root; N]) {
    let mut roots = Roots::new();
    let places = names.map(|name| roots.add(name, [function(profile, name)]).expect("few roots"));
    (roots, places)
}

/// Edges by name, as in `opreport --callgraph`: own costs, then caller, callee and weight.
pub fn call_graph(own: &[(&str, u64)], arcs: &[(&str, &str, u64)]) -> (Profile, Edges) {
    let mut profile = Profile::default();
    let mut number = |name| profile.functions.of(name, &Image::Kernel(None));
    let own: Vec<(Function, u64)> = own.iter().map(|(name, weight)| (number(name), *weight)).collect();
    let arcs: Vec<_> =
        arcs.iter().map(|(caller, callee, weight)| (number(caller), number(callee), *weight)).collect();
    let mut weights = vec![0; profile.functions.len()];
    for (function, weight) in own {
        weights[function.0 as usize] = weight;
    }
    (profile, Edges::new(weights, arcs))
}
