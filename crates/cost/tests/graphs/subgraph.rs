//! The subgraph below a root: computed by hand, and compared with the attribution of the same profile.

use crate::against_counting::{profiles, some_roots};
use crate::folded::{function, profile, roots};
use proptest::prelude::*;
use slowpath_cost::subgraph::{Edge, Place, Way};
use slowpath_cost::{Count, Function, Profile, Subgraph};

const STACKS: &str = "
    irq;receive;established;ack;clone 30
    irq;receive;established;ack;small;clone 10
    irq;receive;established 20
    irq;receive;established;send;clone 15
    send;clone 15
    send 5
    clone 5
";

fn edge(graph: &Subgraph, profile: &Profile, from: &str, to: &str) -> Option<Edge> {
    let place = |name: &str| {
        let wanted = Some(function(profile, name)).filter(|_| name != "receive");
        graph.nodes.iter().position(|node| node.function == wanted)
    };
    let (from, to) = (place(from)?, place(to)?);
    graph.edges.iter().copied().find(|edge| (edge.from, edge.to) == (from, to))
}

#[test]
fn subgraph_has_the_roots_part_of_each_function_and_its_calls() {
    let profile = profile(STACKS);
    let (roots, [receive, _]) = roots(&profile, ["receive", "send"]);
    let graph = profile.calls().below(0, &roots, receive, 11, 40);
    let costs = |name: &str| {
        let node =
            graph.nodes.iter().find(|node| node.function == Some(function(&profile, name))).expect(name);
        (node.own, node.own_here, node.all, node.here)
    };
    // The cost of sending belongs to that root, whichever function called it. Its caller has it below itself.
    let root = &graph.nodes[0];
    assert_eq!((root.own, root.own_here, root.all, root.here), (0, 0, 75, 60));
    assert_eq!(costs("established"), (20, 20, 75, 75));
    assert_eq!(costs("ack"), (0, 0, 40, 40));
    assert_eq!(costs("clone"), (75, 40, 75, 40));
    assert_eq!((graph.nodes.len(), graph.left_out), (4, 1));
    // Omitted functions are bridged, and `direct` shows how much.
    let edge = |from, to| edge(&graph, &profile, from, to).map(|edge| (edge.weight, edge.direct));
    assert_eq!(edge("ack", "clone"), Some((40, 30)));
    assert_eq!(edge("receive", "established"), Some((75, 75)));
    assert_eq!((edge("receive", "clone"), graph.edges.len()), (None, 3));
}

#[test]
fn subgraph_is_limited_to_the_greatest_functions() {
    let profile = profile(STACKS);
    let (roots, [receive]) = roots(&profile, ["receive"]);
    let graph = profile.calls().below(0, &roots, receive, 0, 2);
    let names: Vec<_> =
        graph.nodes[1..].iter().map(|node| profile.functions.name(node.function.unwrap())).collect();
    assert_eq!((names, graph.left_out), (vec!["established", "clone"], 3));
}

/// Backlog segments are processed for TCP receive, which is not on that stack; and ownership may depend on more than
/// names: `f1` belongs to the root on one stack and not on the other.
#[test]
fn functions_not_called_by_the_root_are_joined_to_it() {
    let place = |number: u32, is_here| Place { function: Some(Function(number)), is_here };
    let ways = [
        Way { places: vec![place(1, true), place(2, true), place(3, false)], weight: 10 },
        Way { places: vec![place(1, false), place(3, false)], weight: 5 },
        Way {
            places: vec![place(1, true), place(2, true), Place { function: None, is_here: true }],
            weight: 1,
        },
    ];
    let graph = Subgraph::of(&ways, 0, 40);
    let costs: Vec<_> = graph.nodes.iter().map(|node| (node.function, node.all, node.here)).collect();
    assert_eq!(costs, [(None, 11, 11), (Some(Function(1)), 16, 11), (Some(Function(2)), 11, 11)]);
    assert_eq!(graph.nodes[1].own, 16);
    let edges: Vec<_> =
        graph.edges.iter().map(|edge| (edge.from, edge.to, edge.weight, edge.direct)).collect();
    assert_eq!(edges, [(0, 2, 11, 1), (2, 1, 11, 11)]);
}

proptest! {
    /// The whole subgraph is the attribution; every node has a caller that is shown, and no edge weighs more than its
    /// callee.
    #[test]
    fn subgraph_agrees_with_the_attribution(profile in profiles(), roots in some_roots(), least in 0_u64..12) {
        let own = profile.calls().attribute(0, &roots, Count::Own);
        let with = profile.calls().attribute(0, &roots, Count::WithCallees);
        for root in roots.iter() {
            let at = usize::from(root.0);
            let graph = profile.calls().below(0, &roots, root, 0, usize::MAX);
            let belongs: u64 = own.iter().flatten().map(|exact| exact.innermost[at]).sum();
            prop_assert_eq!(graph.nodes[0].here, belongs);
            prop_assert_eq!(graph.nodes.iter().map(|node| node.own_here).sum::<u64>(), belongs);
            prop_assert_eq!(graph.left_out, 0);
            for node in &graph.nodes[1..] {
                let exact = own[node.function.unwrap().0 as usize].as_ref();
                prop_assert_eq!(node.own_here, exact.map_or(0, |exact| exact.innermost[at]));
                prop_assert_eq!(node.own, exact.map_or(0, |exact| exact.weight));
                let exact = with[node.function.unwrap().0 as usize].as_ref().unwrap();
                prop_assert_eq!((node.all, node.here), (exact.weight, exact.innermost[at]));
            }
            let graph = profile.calls().below(0, &roots, root, least, 5);
            prop_assert!(graph.nodes.len() <= 6);
            for (place, node) in graph.nodes.iter().enumerate() {
                let into: Vec<_> = graph.edges.iter().filter(|edge| edge.to == place).collect();
                // A function that called the root again may have been called for another root in between.
                let most = if place == 0 { node.all } else { node.here };
                prop_assert!(into.iter().all(|edge| edge.direct <= edge.weight && edge.weight <= most));
                prop_assert!(place == 0 || into.iter().map(|edge| edge.weight).sum::<u64>() >= node.here);
                prop_assert!(place == 0 || node.here >= least);
            }
        }
    }
}
