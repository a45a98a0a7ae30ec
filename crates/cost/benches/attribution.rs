//! The run time of the analyses on a profile of a busy machine: 1,000,000 samples of 50,000 stacks of 30 functions, of
//! 3,000 and 20,000 functions.
//!
//! In the first two columns functions call as in a kernel: each has its own callees, few of them often, and helpers
//! that all call. One stack in ten contains an interrupt at any place, with its own stack on top, so that many
//! functions are above each other. In the last column any function calls any other, as in no real program.
//!
//! `cargo bench -p slowpath-cost --bench attribution`

use slowpath_cost::{Count, Entry, Event, Frame, Function, Image, Profile, Roots};
use std::hint::black_box;
use std::time::{Duration, Instant};

const STACKS: u32 = 50_000;
const DEPTH: usize = 30;
const SAMPLES: u64 = 20;
const HELPERS: u32 = 300;
const GRAPHS: [Graph; 3] = [
    Graph { functions: 3_000, is_random: false },
    Graph { functions: 20_000, is_random: false },
    Graph { functions: 3_000, is_random: true },
];
const ROOTS: u32 = 12;
const CALLEES: u32 = 6;
const TIMES: u32 = 5;

/// George Marsaglia's xorshift: the same profile each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(most)) as u32
    }
}

#[derive(Clone, Copy)]
struct Graph {
    functions: u32,
    is_random: bool,
}

/// A function that `caller` calls, the first ones more often.
fn callee(random: &mut Random, caller: u32, graph: Graph) -> u32 {
    let place = random.below(CALLEES).min(random.below(CALLEES));
    let own = caller * CALLEES + place + 1;
    if !graph.is_random && own < graph.functions - HELPERS && random.below(5) > 0 {
        return own;
    }
    let spread = (u64::from(own) * 0x9e37_79b9_7f4a_7c15) >> 32;
    // A helper calls only later helpers, until none is left.
    let among = match (graph.is_random, caller.checked_sub(graph.functions - HELPERS)) {
        (true, _) => graph.functions,
        (false, helper) => HELPERS - helper.map_or(0, |helper| (helper + 1).min(HELPERS - 1)),
    };
    graph.functions - 1 - (spread % u64::from(among)) as u32
}

fn stack(random: &mut Random, graph: Graph) -> Vec<u32> {
    let mut names = vec![random.below(8)];
    let interrupted = (random.below(10) == 0).then(|| random.below(DEPTH as u32) as usize);
    while names.len() < DEPTH {
        // The first function is the interrupt's entry.
        let next =
            if interrupted == Some(names.len()) { 0 } else { callee(random, names[names.len() - 1], graph) };
        names.push(next);
    }
    names
}

fn profile(graph: Graph) -> Profile {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut profile =
        Profile { events: vec![Event { name: "cycles".to_owned(), unit: "cycles" }], ..Profile::default() };
    for number in 0..graph.functions {
        profile.functions.of(&format!("function_{number}"), &Image::Kernel(None));
    }
    for _ in 0..STACKS {
        let names = stack(&mut random, graph);
        let frames = names.iter().rev().map(|name| Frame { function: Function(*name), inlined: false });
        let stack = profile.stacks.push(frames, random.below(20) == 0);
        profile.entries.push(Entry { stack, event: 0, task: 0, samples: SAMPLES, weight: SAMPLES });
    }
    profile
}

/// The fastest of some runs: other load on the machine only makes one slower.
fn fastest<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let began = Instant::now();
        black_box(run());
        began.elapsed()
    };
    (0..TIMES).map(time).min().unwrap_or_default()
}

fn main() {
    let names = GRAPHS
        .map(|graph| format!("{:>10}{}", graph.functions, if graph.is_random { " random" } else { "" }));
    println!("{:44} {}", "ms, functions:", names.join(""));
    let rows: Vec<Vec<(&str, Duration)>> = GRAPHS.iter().map(|graph| measure(*graph)).collect();
    for (row, (name, _)) in rows[0].iter().enumerate() {
        let times = rows.iter().map(|times| format!("{:>10.2}", times[row].1.as_secs_f64() * 1e3));
        println!("{name:44} {}", times.collect::<String>());
    }
}

fn measure(graph: Graph) -> Vec<(&'static str, Duration)> {
    let profile = profile(graph);
    let mut roots = Roots::new();
    for number in 0..ROOTS {
        // Some of the first callees of the outermost functions: they are on many stacks.
        let mut random = Random(u64::from(number) + 1);
        roots.add(&format!("root {number}"), [Function(callee(&mut random, number % 8, graph))]);
    }
    let (edges, calls) = (profile.edges(0), profile.calls());
    let top = edges.top(20);
    let tree = edges.call_tree(&top, &[], 0.05);
    vec![
        ("who called for what", fastest(|| profile.calls())),
        ("call graph from stacks", fastest(|| profile.edges(0))),
        ("attribution, own cost, by stacks", fastest(|| calls.attribute(0, &roots, Count::Own))),
        ("attribution, with callees, by stacks", fastest(|| calls.attribute(0, &roots, Count::WithCallees))),
        ("attribution by call graph, 12 roots", fastest(|| edges.attribute(&roots))),
        ("greatest 20 descendants of the top 20", fastest(|| edges.greatest_descendants(20, 20))),
        ("call tree of the top 20, above 5 %", fastest(|| edges.call_tree(&top, &[], 0.05))),
        ("cumulative attribution in it", fastest(|| tree.cumulative(Function(0)))),
        ("categories", fastest(|| profile.categories(0))),
    ]
}
