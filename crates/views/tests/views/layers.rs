//! Call graphs in layers: a snapshot, and invariants of any graph.

use proptest::prelude::*;
use slowpath_views::flame::Kind;
use slowpath_views::layers::{Box, Graph, Line, PAGE_STYLE, Picture, inline, svg};

fn graph(names: &[&str], calls: &[(usize, usize, f64)]) -> Graph {
    let one = |name: &&str| Box {
        name: (*name).to_owned(),
        lines: vec!["1.0 %, 50.0 % here".to_owned()],
        about: format!("{name}: about"),
        filled: 0.5,
        kind: Kind::Kernel,
    };
    let line = |(from, to, weight): &(usize, usize, f64)| Line {
        from: *from,
        to: *to,
        weight: *weight,
        label: format!("{:.1} %", weight * 10.0),
        about: format!("{from} to {to}"),
        is_direct: from % 2 == 0,
    };
    Graph {
        title: "a root".to_owned(),
        boxes: names.iter().map(one).collect(),
        lines: calls.iter().map(line).collect(),
    }
}

fn drawn(graph: Graph) -> String {
    svg(&Picture { title: "title".to_owned(), remarks: vec!["remark".to_owned()], graphs: vec![graph] })
}

/// The values of an attribute, in order, without percentages.
fn numbers(text: &str, name: &str) -> Vec<f64> {
    let key = format!(" {name}=\"");
    let values = text.match_indices(&key).map(|(at, _)| &text[at + key.len()..]);
    values.filter_map(|rest| rest[..rest.find('"')?].parse().ok()).collect()
}

/// Left, top, width and height of the background of each box, in the boxes' order.
fn boxes(svg: &str) -> Vec<[f64; 4]> {
    let grounds = svg.split("<g><title>").skip(1).filter(|part| part.contains("<rect"));
    grounds.map(|part| ["x", "y", "width", "height"].map(|name| numbers(part, name)[0])).collect()
}

#[test]
fn call_graph_svg() {
    let receive = graph(
        &["TCP receive", "tcp_rcv_established", "tcp_ack", "skb_clone"],
        &[(0, 1, 1.0), (1, 2, 0.6), (1, 3, 0.2), (2, 3, 0.1), (3, 1, 0.05)],
    );
    insta::assert_snapshot!(drawn(receive));
}

#[test]
fn names_cannot_leave_their_element() {
    let hostile = "</text><script>alert(\"1\")</script>&\u{1b}[31m\u{0}";
    let mut graph = graph(&[hostile, hostile], &[(0, 1, 1.0)]);
    graph.title = hostile.to_owned();
    graph.boxes[1].lines = vec![hostile.to_owned()];
    graph.lines[0].label = hostile.to_owned();
    graph.lines[0].about = hostile.to_owned();
    let picture =
        Picture { title: hostile.to_owned(), remarks: vec![hostile.to_owned()], graphs: vec![graph] };
    let svg = svg(&picture);
    assert!(!svg.contains("<script") && !svg.contains('\u{0}') && !svg.contains('\u{1b}'), "{svg}");
    // Every start tag has its end tag: no name became an element.
    for name in ["g", "text", "title", "svg"] {
        let begins = svg.matches(&format!("<{name}>")).count() + svg.matches(&format!("<{name} ")).count();
        assert_eq!(begins, svg.matches(&format!("</{name}>")).count(), "{name}");
    }
}

#[test]
fn empty_graphs_are_drawn() {
    let empty = svg(&Picture { title: String::new(), remarks: Vec::new(), graphs: Vec::new() });
    assert!(empty.starts_with("<svg") && empty.ends_with("</svg>\n") && !empty.contains("NaN"));
    let alone = drawn(graph(&["TCP receive"], &[]));
    assert!(boxes(&alone).len() == 1 && !alone.contains("NaN") && !alone.contains("inf"));
}

/// A page has several graphs: they have no ids that could clash, and use only the page's colours.
#[test]
fn inline_graph_has_no_ids_and_uses_the_page_colours() {
    let mut receive = graph(&["TCP <receive>", "tcp_ack"], &[(0, 1, 1.0)]);
    receive.boxes[1].kind = Kind::Unknown;
    let drawn = inline(&receive);
    for word in [" id=", "<style", "xmlns", "url(", "#", "href"] {
        assert!(!drawn.contains(word), "{word}: {drawn}");
    }
    assert!(drawn.contains("aria-label=\"a root\"") && drawn.contains("TCP &lt;receive&gt;"), "{drawn}");
    // Every colour used is defined, for the light and the dark theme.
    let asked = drawn.split("var(--").skip(1).filter_map(|rest| rest.split(')').next());
    let own: Vec<&str> = asked.filter(|name| !["ink", "raised"].contains(name)).collect();
    assert!(own.len() > 6, "{own:?}");
    for name in own {
        assert_eq!(PAGE_STYLE.matches(&format!("--{name}:")).count(), 2, "{name}");
    }
}

proptest! {
    /// Boxes do not overlap and lie within the picture, names are whole, callers are above callees except where a cycle
    /// is closed, and a graph without cycles has no line that points upwards.
    #[test]
    fn any_graph_is_legible(
        count in 1_usize..24,
        calls in prop::collection::vec((0_usize..24, 0_usize..24, 0.0_f64..1.0), 0..60),
        is_cyclic in any::<bool>(),
    ) {
        let names: Vec<String> = (0..count).map(|at| "f".repeat(1 + at * 37 % 60)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut calls: Vec<_> = calls.into_iter().map(|(a, b, weight)| (a % count, b % count, weight)).filter(|(a, b, _)| a != b).collect();
        if !is_cyclic {
            for call in &mut calls {
                *call = (call.0.min(call.1), call.0.max(call.1), call.2);
            }
        }
        calls.sort_by_key(|call| (call.0, call.1));
        calls.dedup_by_key(|call| (call.0, call.1));
        let svg = drawn(graph(&names, &calls));
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let found = boxes(&svg);
        prop_assert_eq!(found.len(), count);
        let (wide, high) = (numbers(&svg, "width")[0], numbers(&svg, "height")[0]);
        for (at, [x, y, width, height]) in found.iter().copied().enumerate() {
            // 6.6 px is the character width of common monospace fonts at 11 px.
            prop_assert!(width >= 6.6 * names[at].len() as f64);
            prop_assert!(x >= -0.1 && y >= -0.1 && x + width <= wide && y + height <= high);
            for [x2, y2, width2, _] in &found[at + 1..] {
                prop_assert!((y - y2).abs() >= height || x + width < *x2 || x2 + width2 < x, "they lie on each other");
            }
        }
        for (from, to, _) in &calls {
            prop_assert!(found[*from][1] != found[*to][1], "a caller in the row of its callee");
            prop_assert!(is_cyclic || found[*from][1] < found[*to][1], "a caller below its callee");
        }
        prop_assert_eq!(svg.matches("<path").count(), 2 * calls.len());
    }
}
