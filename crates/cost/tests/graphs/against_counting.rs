//! Counting by stacks agrees with counting every sample separately, and nothing is lost or counted twice.

use crate::folded::profile;
use proptest::prelude::*;
use slowpath_cost::exact::{Exact, Overlap};
use slowpath_cost::{Count, Function, Profile, Root, Roots};
use std::collections::{BTreeMap, BTreeSet};

/// Few functions, so that recursion of every kind is frequent; including those with their own rules in `calls`.
const NAMES: [&str; 11] = [
    "f0",
    "f1",
    "f2",
    "f3",
    "f4",
    "f5",
    "asm_common_interrupt",
    "common_interrupt",
    "handle_softirqs",
    "__tcp_transmit_skb",
    "tcp_rcv_established",
];
const INTERRUPT: [&str; 2] = ["asm_common_interrupt", "common_interrupt"];
const SOFTIRQ: [&str; 1] = ["handle_softirqs"];
const FUNCTIONS: u32 = NAMES.len() as u32;

/// Profiles of these functions.
pub fn profiles() -> impl Strategy<Value = Profile> {
    let stack = (prop::collection::vec(0..FUNCTIONS, 1..7), 1_u64..5, prop::bool::weighted(0.2));
    prop::collection::vec(stack, 0..25).prop_map(|stacks| {
        let line = |(names, samples, cut): (Vec<u32>, u64, bool)| {
            let names: Vec<&str> = names.iter().map(|name| NAMES[*name as usize]).collect();
            format!("{}{} {samples}\n", if cut { "…;" } else { "" }, names.join(";"))
        };
        profile(&stacks.into_iter().map(line).collect::<String>())
    })
}

/// Up to three roots of any functions.
pub fn some_roots() -> impl Strategy<Value = Roots> {
    prop::collection::vec(prop::collection::vec(0..FUNCTIONS, 1..3), 0..4).prop_map(|groups| {
        let mut roots = Roots::new();
        for (number, group) in groups.iter().enumerate() {
            roots.add(&format!("root {number}"), group.iter().map(|function| Function(*function)));
        }
        roots
    })
}

/// Some roots, and whether the first belongs to the second below it.
fn roots_within() -> impl Strategy<Value = (Roots, bool)> {
    (some_roots(), any::<bool>()).prop_map(|(mut roots, is_within)| {
        let is_within = is_within && roots.len() > 1;
        if is_within {
            roots.within(Root(0), Root(1));
        }
        (roots, is_within)
    })
}

/// The calls of a stack, by name, as in the wording of the rules.
fn called(stack: &[&'static str]) -> Vec<&'static str> {
    let mut called = Vec::new();
    for (at, name) in stack.iter().enumerate() {
        called.push(*name);
        let above = stack.get(at + 1);
        if *name == "__tcp_transmit_skb" && above == Some(&"tcp_rcv_established") {
            called.push("__tcp_send_ack");
        }
        for kind in [&INTERRUPT[..], &SOFTIRQ] {
            if kind.contains(name) && !above.is_some_and(|above| kind.contains(above)) {
                return called;
            }
        }
    }
    called
}

/// Every sample separately: whether its stack was cut off, and its functions, innermost first.
fn samples(profile: &Profile) -> Vec<(bool, Vec<Function>)> {
    let mut samples = Vec::new();
    for entry in &profile.entries {
        let functions: Vec<Function> =
            profile.stacks.frames(entry.stack).iter().map(|frame| frame.function).collect();
        for _ in 0..entry.samples {
            samples.push((profile.stacks.is_truncated(entry.stack), functions.clone()));
        }
    }
    samples
}

/// The owner of a function, sample by sample, as in the definition. Samples contain only calls.
fn by_hand(
    profile: &Profile,
    roots: &Roots,
    is_within: bool,
    count: Count,
    function: Function,
) -> Option<Exact> {
    let mut sum = Exact {
        weight: 0,
        innermost: vec![0; roots.len()],
        overlapping: vec![Overlap::default(); roots.len()],
        elsewhere: 0,
        cannot_tell: 0,
    };
    for (is_cut, stack) in samples(profile) {
        let Some(place) = stack.iter().position(|other| *other == function) else { continue };
        if count == Count::Own && place > 0 {
            continue;
        }
        let mut above: Vec<_> = stack[place..].iter().filter_map(|other| roots.of(*other)).collect();
        for at in 0..above.len() {
            if is_within && above[at] == Root(0) && above[at..].contains(&Root(1)) {
                above[at] = Root(1);
            }
        }
        sum.weight += 1;
        match above.first() {
            Some(root) => sum.innermost[usize::from(root.0)] += 1,
            None if is_cut => sum.cannot_tell += 1,
            None => sum.elsewhere += 1,
        }
        for root in roots.iter() {
            let overlap = &mut sum.overlapping[usize::from(root.0)];
            overlap.weight += u64::from(above.contains(&root));
            overlap.cannot_tell += u64::from(is_cut && !above.contains(&root));
        }
    }
    (sum.weight > 0).then_some(sum)
}

proptest! {
    #[test]
    fn counting_stacks_agrees_with_counting_samples(profile in profiles(), (roots, is_within) in roots_within()) {
        let calls = profile.calls();
        for count in [Count::Own, Count::WithCallees] {
            let counted = calls.attribute(0, &roots, count);
            for function in calls.profile().functions.iter() {
                let by_hand = by_hand(calls.profile(), &roots, is_within, count, function);
                prop_assert_eq!(&counted[function.0 as usize], &by_hand, "{:?} {:?}", function, count);
            }
        }
    }

    #[test]
    fn stacks_contain_only_calls(profile in profiles()) {
        let calls = profile.calls();
        let names = |of: &Profile, stack| -> Vec<String> {
            of.stacks.frames(stack).iter().map(|frame| of.functions.name(frame.function).to_owned()).collect()
        };
        for stack in profile.stacks.all() {
            let seen = names(&profile, stack);
            let seen: Vec<&'static str> =
                seen.iter().map(|name| *NAMES.iter().find(|known| *known == name).expect("one of these")).collect();
            let begins = seen.iter().any(|name| INTERRUPT.contains(name) || SOFTIRQ.contains(name));
            prop_assert_eq!(names(calls.profile(), stack), called(&seen));
            prop_assert_eq!(calls.profile().stacks.is_truncated(stack), profile.stacks.is_truncated(stack) && !begins);
        }
        let again = calls.profile().calls();
        for stack in profile.stacks.all() {
            prop_assert_eq!(again.profile().stacks.frames(stack), calls.profile().stacks.frames(stack));
        }
        // Functions' own costs are unchanged.
        let own = calls.profile().own(0);
        prop_assert_eq!(&own[..profile.functions.len()], &profile.own(0)[..]);
    }

    #[test]
    fn attributed_parts_sum_to_the_whole(profile in profiles(), roots in some_roots()) {
        let all: u64 = profile.entries.iter().map(|entry| entry.weight).sum();
        let own = profile.calls().attribute(0, &roots, Count::Own);
        prop_assert_eq!(own.iter().flatten().map(|exact| exact.weight).sum::<u64>(), all);
        for exact in own.iter().flatten().chain(profile.calls().attribute(0, &roots, Count::WithCallees).iter().flatten()) {
            let attributed: u64 = exact.innermost.iter().sum();
            prop_assert_eq!(attributed + exact.elsewhere + exact.cannot_tell, exact.weight);
            for (innermost, overlap) in exact.innermost.iter().zip(&exact.overlapping) {
                prop_assert!(*innermost <= overlap.weight && overlap.weight + overlap.cannot_tell <= exact.weight);
            }
        }
    }

    #[test]
    fn edges_agree_with_pairs_in_samples(profile in profiles()) {
        let edges = profile.edges(0);
        let mut pairs: BTreeMap<(Function, Function), u64> = BTreeMap::new();
        let mut own: BTreeMap<Function, u64> = BTreeMap::new();
        for (_, stack) in samples(&profile) {
            *own.entry(stack[0]).or_default() += 1;
            let on_stack: BTreeSet<_> = stack.windows(2).map(|pair| (pair[1], pair[0])).collect();
            for pair in on_stack {
                *pairs.entry(pair).or_default() += 1;
            }
        }
        prop_assert_eq!(edges.total(), own.values().sum::<u64>());
        let (mut downward, mut upward) = (BTreeMap::new(), BTreeMap::new());
        for function in profile.functions.iter() {
            prop_assert_eq!(edges.own(function), own.get(&function).copied().unwrap_or(0));
            downward.extend(edges.callees(function).iter().map(|(callee, weight)| ((function, *callee), *weight)));
            upward.extend(edges.callers(function).iter().map(|(caller, weight)| ((*caller, function), *weight)));
        }
        prop_assert_eq!(&downward, &pairs);
        prop_assert_eq!(&upward, &pairs);
    }

    /// Compared with sweeping over every step of the walk until nothing moves.
    #[test]
    fn estimate_agrees_with_sweeping_the_walk(profile in profiles(), roots in some_roots()) {
        let edges = profile.edges(0);
        let estimates = edges.attribute(&roots);
        let functions = profile.functions.len();
        // The share of each root, elsewhere and cut, from above or below: the same equations, by sweeps.
        let mut swept = vec![vec![0.0; roots.len() + 2]; functions];
        for _ in 0..3_000 {
            for function in profile.functions.iter() {
                let mut sum = vec![0.0; roots.len() + 2];
                if let Some(root) = roots.of(function) {
                    sum[usize::from(root.0)] = 1.0;
                } else {
                    let ways = edges.ways(function);
                    let total = ways.total() as f64;
                    for (caller, weight) in ways.callers() {
                        for (sum, above) in sum.iter_mut().zip(&swept[caller.0 as usize]) {
                            *sum += weight as f64 / total * above;
                        }
                    }
                    sum[roots.len()] += ways.outermost as f64 / total;
                    sum[roots.len() + 1] += ways.cut as f64 / total;
                }
                swept[function.0 as usize] = sum;
            }
        }
        for (estimate, swept) in estimates.iter().zip(&swept) {
            let actual = estimate.innermost.iter().chain([&estimate.elsewhere, &estimate.cannot_tell]);
            for (actual, swept) in actual.zip(swept) {
                prop_assert!((actual - swept).abs() < 1e-9, "{estimate:?} {swept:?}");
            }
            let sum = estimate.innermost.iter().sum::<f64>() + estimate.elsewhere + estimate.cannot_tell;
            prop_assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    /// The cost below a root does not depend on the other roots.
    #[test]
    fn overlapping_share_does_not_depend_on_other_roots(profile in profiles(), roots in some_roots()) {
        let edges = profile.edges(0);
        let together = edges.attribute(&roots);
        for root in roots.iter() {
            let mut one = Roots::new();
            let of_root = profile.functions.iter().filter(|function| roots.of(*function) == Some(root));
            let alone = one.add("alone", of_root).expect("one root");
            for (together, by_itself) in together.iter().zip(edges.attribute(&one)) {
                let actual = together.overlapping_share(root).expect("a root");
                let alone = by_itself.share(alone).expect("a root");
                prop_assert!((actual - alone).abs() < 1e-12, "{together:?} {by_itself:?}");
                prop_assert!(together.share(root).expect("a root") <= actual + 1e-12);
            }
        }
    }

    /// On a call graph that is a tree nothing is lost: with callees the estimate is exact.
    #[test]
    fn estimate_is_exact_on_a_tree(
        parents in prop::collection::vec((any::<prop::sample::Index>(), 1_u64..9), 1..12),
        of in 0_u32..12,
    ) {
        let mut paths = vec!["f0".to_owned()];
        let mut text = "f0 1\n".to_owned();
        for (number, (parent, samples)) in parents.iter().enumerate() {
            let path = format!("{};f{}", paths[parent.index(paths.len())], number + 1);
            text.push_str(&format!("{path} {samples}\n"));
            paths.push(path);
        }
        let profile = profile(&text);
        let mut roots = Roots::new();
        roots.add("one", [Function(of % profile.functions.len() as u32)]);
        let estimates = profile.edges(0).attribute(&roots);
        for (exact, estimate) in profile.calls().attribute(0, &roots, Count::WithCallees).iter().flatten().zip(&estimates) {
            prop_assert!((exact.innermost[0] as f64 / exact.weight as f64 - estimate.innermost[0]).abs() < 1e-12);
        }
    }

    /// Without a threshold the call tree contains everything above, and agrees with the whole graph.
    #[test]
    fn call_tree_without_a_threshold_is_complete(profile in profiles(), of in 0..FUNCTIONS, to in 0..FUNCTIONS) {
        let edges = profile.edges(0);
        let tree = edges.call_tree(&[Function(of)], &[], 0.0);
        let mut roots = Roots::new();
        let root = roots.add("ancestor", [Function(to)]).expect("one root");
        let estimates = edges.attribute(&roots);
        for node in tree.cumulative(Function(to)) {
            let whole = estimates[node.function.0 as usize].share(root).expect("a root");
            prop_assert!((node.share - whole).abs() < 1e-12, "{node:?} {whole}");
        }
    }
}
