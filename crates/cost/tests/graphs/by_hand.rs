//! Small call graphs computed by hand, next to the paper's statements about them.

use crate::folded::{call_graph, function, profile, roots};
use slowpath_cost::{Attribution, Count, Profile, Root, Roots};

/// A function's cost: exact and estimated share of a root.
fn shares(profile: &Profile, attribution: &Attribution, name: &str, root: Root) -> (f64, f64) {
    let function = function(profile, name);
    let found = attribution.functions.iter().find(|attributed| attributed.function == function);
    let found = found.unwrap_or_else(|| panic!("{name} cost nothing"));
    (
        found.exact.as_ref().and_then(|exact| exact.share(root)).expect("stacks"),
        found.estimate.innermost[usize::from(root.0)],
    )
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
}

/// "A function foo taking 10% of the CPU cycles may have a called function that is m call levels deep requiring 3% of the
/// cycles. This called function may not show up in the list of top cycle consumers and given the depth of m, may not be known to
/// contribute to the cost of foo" (section 3.1.1).
#[test]
fn descendant_m_levels_below_foo_is_found() {
    let profile = profile(
        "main;foo 10
         main;foo;a;b;c;deep 3
         main;other 40
         main;noise 47",
    );
    let edges = profile.edges(0);
    assert_eq!(edges.total(), 100);
    let foo = function(&profile, "foo");
    assert!(!edges.top(3).contains(&function(&profile, "deep")));
    let found = edges.greatest_descendants_of(&[foo], 2);
    assert_eq!(found[0].own, 10);
    // a, b and c have no own cost.
    let deepest: Vec<_> = found[0]
        .descendants
        .iter()
        .map(|found| (profile.functions.name(found.function), found.own, found.depth))
        .collect();
    assert_eq!(deepest, [("deep", 3, 4)]);
    let (roots, [root]) = roots(&profile, ["foo"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    assert_eq!(shares(&profile, &attribution, "deep", root), (1.0, 1.0));
    near(attribution.cost(root), 13.0);
}

#[test]
fn greatest_n_descendants_of_the_top_m() {
    let profile = profile(
        "top;x 4
         top;y 6
         top;x;z 5
         top 20
         second;z 5
         second 15
         third 1",
    );
    let found = profile.edges(0).greatest_descendants(2, 2);
    let names: Vec<_> = found
        .iter()
        .map(|ancestor| {
            let descendants: Vec<_> = ancestor
                .descendants
                .iter()
                .map(|d| (profile.functions.name(d.function), d.own, d.depth))
                .collect();
            (profile.functions.name(ancestor.function), ancestor.own, descendants)
        })
        .collect();
    // z is listed with all that it cost under both: "it is not possible to tell how much of the descendant's costs belongs to
    // a top function" (section 3.1.3).
    assert_eq!(names, [("top", 20, vec![("z", 10, 2), ("y", 6, 1)]), ("second", 15, vec![("z", 10, 1)])]);
}

/// "If two higher order functions use the services of a lower level function, only a certain percentage of the cycles consumed by the
/// lower level function can be attributed to each" (section 3.1.2).
#[test]
fn shared_callee_is_divided_by_its_callers_shares() {
    let profile = profile(
        "receive;alloc 41
         send;alloc 50
         other;alloc 9",
    );
    let (roots, [receive, send]) = roots(&profile, ["receive", "send"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    assert_eq!(shares(&profile, &attribution, "alloc", receive), (0.41, 0.41));
    assert_eq!(shares(&profile, &attribution, "alloc", send), (0.5, 0.5));
    let alloc = &attribution.functions[0];
    assert_eq!((alloc.exact.as_ref().unwrap().elsewhere, alloc.weight), (9, 100));
    near(alloc.misplaced().unwrap(), 0.0);
}

/// Two paths from the root meet again: the products along them are added up.
#[test]
fn diamond_sums_over_its_paths() {
    // 60 % of `low` came through `left`, of which 2/3 came from `root`; 40 % through `right`, all from `root`.
    let (names, edges) = call_graph(
        &[("low", 10)],
        &[
            ("root", "left", 40),
            ("stranger", "left", 20),
            ("root", "right", 40),
            ("left", "low", 60),
            ("right", "low", 40),
        ],
    );
    let (roots, [root, stranger]) = roots(&names, ["root", "stranger"]);
    let estimate = &edges.attribute(&roots)[function(&names, "low").0 as usize];
    near(estimate.share(root).unwrap(), 0.6 * 2.0 / 3.0 + 0.4);
    near(estimate.share(stranger).unwrap(), 0.6 / 3.0);
    let tree = edges.call_tree(&[function(&names, "low")], &[], 0.0);
    let low = tree.cumulative(function(&names, "root"))[0];
    near(low.share, 0.8);
    near(low.cost, 8.0);
}

/// A graph without stacks only has shares of callers; with stacks, outermost places and cut stacks count too.
#[test]
fn ends_of_stacks_count_if_known() {
    let profile = profile(
        "root;f 2
         f 1
         …;f 5",
    );
    let (roots, [root]) = roots(&profile, ["root"]);
    let f = function(&profile, "f");
    let of_stacks = &profile.edges(0).attribute(&roots)[f.0 as usize];
    assert_eq!(
        (of_stacks.share(root).unwrap(), of_stacks.elsewhere, of_stacks.cannot_tell),
        (0.25, 0.125, 0.625)
    );
    let (_, edges) = call_graph(&[("root", 0), ("f", 8)], &[("root", "f", 2)]);
    assert_eq!(edges.attribute(&roots)[1].share(root), Some(1.0));
}

/// The estimate is wrong if a function is called for two roots and calls different functions for each.
#[test]
fn estimate_differs_when_a_caller_works_for_two_roots() {
    // `work` is called for both. It frees only for `receive`.
    let profile = profile(
        "receive;work 30
         receive;work;free 20
         send;work 50",
    );
    let (roots, [receive, send]) = roots(&profile, ["receive", "send"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    // All of `free` is receive's. Half of `work` was called for receive (50 of 100), so the graph attributes half of
    // `free`.
    assert_eq!(shares(&profile, &attribution, "free", receive), (1.0, 0.5));
    assert_eq!(shares(&profile, &attribution, "free", send), (0.0, 0.5));
    // `work` itself: 30 of 80 for receive. The graph divides it like `work` with its callees: 50 of 100.
    assert_eq!(shares(&profile, &attribution, "work", receive), (0.375, 0.5));
    let free = attribution.functions.iter().find(|found| found.weight == 20).unwrap();
    assert_eq!(free.difference(receive), Some(-0.5));
    assert_eq!(free.difference(send), Some(0.5));
    assert_eq!(free.misplaced(), Some(0.5));
    // By whole stacks, the cost with callees of `work` is divided as by the graph.
    let with_callees = Attribution::of(&profile.calls(), 0, attribution.roots.clone(), Count::WithCallees);
    assert_eq!(shares(&profile, &with_callees, "work", receive), (0.5, 0.5));
}

/// A function's call of itself does not count as a caller.
#[test]
fn recursion_counts_once_per_sample() {
    let profile = profile(
        "a;f;f;f 6
         b;f 2",
    );
    let edges = profile.edges(0);
    let [a, b, f] = ["a", "b", "f"].map(|name| function(&profile, name));
    // f is directly above f twice on each of the six stacks; OProfile would report twelve.
    assert_eq!(edges.callers(f), [(f, 6), (a, 6), (b, 2)]);
    assert_eq!(edges.own(f), 8);
    let (roots, [root_a, root_b]) = roots(&profile, ["a", "b"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots.clone(), Count::WithCallees);
    assert_eq!(shares(&profile, &attribution, "f", root_a), (0.75, 0.75));
    assert_eq!(shares(&profile, &attribution, "f", root_b), (0.25, 0.25));
    assert_eq!(attribution.functions[0].weight, 8);
    let tree = edges.call_tree(&[f], &[], 0.0);
    let calls: Vec<_> = tree.calls.iter().map(|call| (call.caller, call.callee, call.share)).collect();
    assert_eq!(calls, [(a, f, 0.75), (b, f, 0.25)]);
    assert_eq!((tree.nodes[0].left_out, tree.cumulative(a)[0].share), (0.0, 0.75));
    assert_eq!(edges.greatest_descendants_of(&[f], 9)[0].descendants, []);
    assert_eq!(edges.greatest_descendants_of(&[b], 9)[0].descendants.len(), 1);
}

/// Two functions that call each other: the way up may go through the cycle several times.
#[test]
fn mutual_recursion_is_solved() {
    // Of g, 3/4 came from h and 1/4 from `in_g`; of h, 1/2 from g and 1/2 from `in_h`.
    let (names, edges) =
        call_graph(&[("g", 4)], &[("h", "g", 3), ("in_g", "g", 1), ("g", "h", 2), ("in_h", "h", 2)]);
    let (roots, [in_g, in_h]) = roots(&names, ["in_g", "in_h"]);
    let estimates = edges.attribute(&roots);
    let g = &estimates[function(&names, "g").0 as usize];
    // P(g → in_g) = 1/4 + 3/4 · 1/2 · P(g → in_g) = (1/4) / (1 − 3/8) = 0.4.
    near(g.share(in_g).unwrap(), 0.4);
    near(g.share(in_h).unwrap(), 0.6);
    let h = &estimates[function(&names, "h").0 as usize];
    near(h.share(in_g).unwrap(), 0.2);
    // The sum over all paths would count every round: 1/(1 − 3/8) visits of g. A share never exceeds one.
    let tree = edges.call_tree(&[function(&names, "g")], &[], 0.0);
    let above = tree.cumulative(function(&names, "h"));
    near(above[0].share, 0.75);
    near(above.iter().find(|found| found.function == function(&names, "h")).unwrap().share, 1.0);
}

/// Ownership when one root calls another, as receiving sends ACKs: in figure 15, 41 % of TCP transmit is for sending
/// ACKs, which also belong to TCP receive.
#[test]
fn sample_belongs_to_its_innermost_root_and_is_below_all() {
    let profile = profile(
        "tcp_v4_rcv;tcp_send_ack;tcp_transmit_skb 41
         tcp_v4_rcv;tcp_transmit_skb 9
         tcp_sendmsg;tcp_transmit_skb 50",
    );
    let (roots, [receive, ack, send]) = roots(&profile, ["tcp_v4_rcv", "tcp_send_ack", "tcp_sendmsg"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    let transmit = &attribution.functions[0];
    let exact = transmit.exact.as_ref().unwrap();
    assert_eq!(exact.innermost, [9, 41, 50]);
    assert_eq!([receive, ack, send].map(|root| exact.overlapping_share(root).unwrap()), [0.5, 0.41, 0.5]);
    for root in [receive, ack, send] {
        near(transmit.difference(root).unwrap(), 0.0);
        let overlapping = transmit.estimate.overlapping_share(root).unwrap();
        near(overlapping - exact.overlapping_share(root).unwrap(), 0.0);
    }
}

/// A timer's work while a program sends is not a cost of sending; packets that arrive meanwhile are receiving.
#[test]
fn interrupt_is_not_attributed_to_the_interrupted_code() {
    let profile = profile(
        "tcp_sendmsg;asm_sysvec_apic_timer_interrupt;update_curr 7
         tcp_sendmsg;asm_common_interrupt;net_rx_action;tcp_v4_rcv;update_curr 2
         tcp_sendmsg;update_curr 1",
    );
    let roots = Roots::high_level(&profile.functions);
    let names: Vec<_> = roots.iter().map(|root| roots.name(root)).collect();
    assert_eq!(names, ["TCP receive", "TCP send message", "interrupt"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    let exact = attribution.functions[0].exact.as_ref().unwrap();
    assert_eq!(exact.innermost, [2, 1, 7]);
    assert_eq!(exact.overlapping.iter().map(|overlap| overlap.weight).collect::<Vec<_>>(), [2, 1, 9]);
}

/// A root may be hidden beyond the cut of a stack; once one was seen, roots further out do not matter.
#[test]
fn cut_stack_without_a_root_is_undecided() {
    let profile = profile(
        "…;send;copy 5
         …;copy 3
         …;x;send;copy 1
         idle;copy 2",
    );
    let (roots, [send, x]) = roots(&profile, ["send", "x"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    let exact = attribution.functions[0].exact.clone().unwrap();
    assert_eq!(
        (exact.weight, exact.innermost.as_slice(), exact.elsewhere, exact.cannot_tell),
        (11, &[6, 0][..], 2, 3)
    );
    let overlap = |root: Root| {
        (exact.overlapping[usize::from(root.0)].weight, exact.overlapping[usize::from(root.0)].cannot_tell)
    };
    // For x, the stacks that were cut off after send are undecided too.
    assert_eq!((overlap(send), overlap(x)), ((6, 3), (1, 8)));
}

/// Stacks of programs without frame pointers are cut off; they hide nothing of the kernel's work.
#[test]
fn stack_cut_in_a_program_hides_no_kernel_root() {
    let profile = profile(
        "…;read@libc;copy 6
         …;read@libc;send;copy 2
         …;copy 1
         …;main@server;work@server 4",
    );
    let (roots, _) = roots(&profile, ["send"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    let of = |name: &str| {
        let at = function(&profile, name);
        attribution.functions.iter().find(|attributed| attributed.function == at).expect("it cost something")
    };
    let exact = of("copy").exact.as_ref().unwrap();
    assert_eq!((exact.innermost.as_slice(), exact.elsewhere, exact.cannot_tell), (&[2][..], 6, 1));
    let estimate = &of("copy").estimate;
    assert!(
        (estimate.elsewhere - 6.0 / 9.0).abs() < 1e-12 && (estimate.cannot_tell - 1.0 / 9.0).abs() < 1e-12
    );
    assert_eq!(of("work").exact.as_ref().unwrap().elsewhere, 4);
    // A root in the program may be beyond the cut.
    let (roots, _) = super::folded::roots(&profile, ["main"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    let exact = attribution.functions[0].exact.as_ref().unwrap();
    assert_eq!((exact.elsewhere, exact.cannot_tell), (0, 9));
}

/// "Callers with a calling percentage greater than a threshold are traversed. Thus a call tree with the greatest callers can be built
/// bottom-up" (section 3.1.3).
#[test]
fn call_tree_omits_small_callers_without_shifting_their_share() {
    let (names, edges) = call_graph(
        &[("skb_clone", 200), ("tcp_transmit_skb", 80)],
        &[
            ("tcp_transmit_skb", "skb_clone", 90),
            ("packet_rcv", "skb_clone", 10),
            ("tcp_write_xmit", "tcp_transmit_skb", 150),
            ("tcp_send_ack", "tcp_transmit_skb", 50),
            ("tcp_sendmsg", "tcp_write_xmit", 10),
            ("sys_write", "tcp_sendmsg", 10),
        ],
    );
    let [clone, transmit, write, ack, send] =
        ["skb_clone", "tcp_transmit_skb", "tcp_write_xmit", "tcp_send_ack", "tcp_sendmsg"]
            .map(|name| function(&names, name));
    let tree = edges.call_tree(&[clone], &[send], 0.1);
    let nodes: Vec<_> = tree.nodes.iter().map(|node| (node.function, node.own, node.height)).collect();
    // packet_rcv has 10 %, which is not above 10 %; callers of tcp_sendmsg were not examined.
    assert_eq!(nodes, [(clone, 200, 0), (transmit, 80, 1), (write, 0, 2), (ack, 0, 2), (send, 0, 3)]);
    near(tree.nodes[0].left_out, 0.1);
    let sending = tree.cumulative(send);
    near(sending[0].share, 0.9 * 0.75);
    near(sending[0].cost, 200.0 * 0.9 * 0.75);
    near(sending[1].cost, 80.0 * 0.75);
    near(tree.cumulative(ack)[0].share, 0.9 * 0.25);
}
