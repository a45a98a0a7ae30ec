//! Tests of the page of a paper.

use super::*;
use slowpath_papers::comparison::{Compared, Comparison, Difference};
use slowpath_papers::graph::{Call, Graph, Worker};

/// A report with medians of runs over a logarithmic axis, and the paper's own numbers.
fn report() -> Report {
    let sizes = [16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];
    let ours =
        |factor: f64| sizes.map(|size: f64| (size, [0.8, 1.0, 1.1].map(|part| part * factor * size.sqrt())));
    let published = sizes.map(|size: f64| (size, 20.0 * size.sqrt() + 11.0));
    let mut odd = Series::of_runs("2.6 <changed> & \"quoted\"", ours(32.0));
    odd.y[2] = f64::NAN;
    Report {
        paper: "none",
        title: "None 2007, A <paper>",
        seeds: 3,
        measured_on: Vec::new(),
        tables: vec![Table {
            name: "Table I",
            about: "what was measured",
            cells: vec![
                Cell::new("a row", "throughput, Mbit/s", 100.0, [90.0, 95.0, 99.0], Judged::Share),
                Cell::new("a row", "packets, far", 10.0, [1.0, 2.0, 3.0], Judged::Factor),
            ],
        }],
        figures: vec![Figure {
            name: "Figure 1",
            about: "throughput over buffers",
            x: figure::Axis::logarithmic("buffer", "KiB"),
            y: figure::Axis::linear("throughput", "Mbit/s"),
            series: vec![Series::of_runs("2.4", ours(20.0)), Series::published("2.4", published), odd],
            says: "the larger the buffer, the faster",
            seen: "so it is".to_owned(),
        }],
        claims: vec![Claim {
            place: "section 1",
            says: "larger is faster",
            seen: "it is <not>".to_owned(),
            holds: Some(false),
        }],
        graphs: vec![of_calls("Figure 2"), of_calls("Figure 3")],
        comparison: Some(compared()),
        runs: vec![("a row".to_owned(), "slowpath run a.toml --set 'b={ c = 1 }'".to_owned())],
    }
}

fn of_calls(name: &'static str) -> Graph {
    let node = |name: &str, all| Worker {
        name: name.to_owned(),
        own: all / 2,
        own_here: all / 4,
        all,
        here: all / 4,
    };
    Graph {
        name,
        about: "who works for <whom>",
        says: "a fifth is &",
        root: "TCP receive",
        samples: 1000,
        least: 10,
        left_out: 7,
        nodes: vec![node("TCP receive", 800), node("tcp_<ack>", 400)],
        edges: vec![Call { from: 0, to: 1, samples: 100, direct: 100 }],
    }
}

fn compared() -> Comparison {
    let function = |name: &str, among_all| Difference {
        name: name.to_owned(),
        places: [Some(1), None],
        shares: [Some(12.5), Some(0.0)],
        us_a_request: [Some(2.0), None],
        by_chance: Some(0.001),
        among_all: Some(among_all),
    };
    Comparison {
        of: ["Linux <1>", "Linux 2"].map(str::to_owned),
        remarks: vec!["measured on <different> machines".to_owned()],
        tables: vec![Compared {
            name: "Figure 4",
            about: "what functions cost",
            samples: [1000, 2000],
            us_a_request: [Some(16.0), None],
            in_both_top_tens: 4,
            functions: vec![function("tcp_<lost>", 0.01), function("kfree", 0.5)],
        }],
    }
}

/// A page with several graphs and a comparison of two measurements.
#[test]
fn page_shows_call_graphs_and_comparison() {
    let page = page(&report());
    for text in [
        "<b>Figure 2</b> who works for &lt;whom&gt;. TCP receive: 20.0 % of all CPU time; 7 functions too small, 1,000 samples.",
        ">tcp_&lt;ack&gt;</text>",
        ">40.0 %, 25.0 % here</text>",
        ">itself 20.0 %, 50.0 % here</text>",
        "a fifth is &amp;.",
        "<h3 id=\"compared\">Linux 2 compared with Linux &lt;1&gt;</h3>",
        "<li>measured on &lt;different&gt; machines</li>",
        "4 of the ten most expensive are the same",
        "<th>all of it</th><td>100.0 %</td><td>100.0 %</td><td>16.00</td><td>–</td>",
        "<th>tcp_&lt;lost&gt;</th><td>12.5 %</td><td>0.0 %</td><td>2.00</td><td>–</td><td class=\"told\">1 %</td>",
        "<td>50 %</td>",
        "href=\"#graphs\"",
        "href=\"#compared\"",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // A wide graph scrolls within its own box; no two elements have the same id.
    assert_eq!(
        (page.matches("<svg class=\"layers\"").count(), page.matches("class=\"scroll\"").count()),
        (2, 2)
    );
    let mut names: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), page.matches("<style").count()), (all, 1));
    // Every link in the page has a target in it.
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(names.contains(&link), "{link}");
    }
}

#[test]
fn page_without_graphs_has_no_graph_section() {
    let plain = Report { graphs: Vec::new(), comparison: None, ..report() };
    let page = page(&plain);
    assert!(
        !page.contains("id=\"graphs\"")
            && !page.contains("#compared")
            && !page.contains("<svg class=\"layers\"")
    );
}

#[test]
fn page_shows_every_part_of_the_report() {
    let page = page(&report());
    for text in [
        "A &lt;paper&gt;",
        "<b>Table I</b> what was measured",
        "<td class=\"fails\">far</td>",
        "<td class=\"fails\">does not hold</td>",
        "it is &lt;not&gt;",
        "<b>Figure 1</b> throughput over buffers",
        "buffer, KiB (logarithmic)",
        ">throughput, Mbit/s<",
        "the larger the buffer, the faster",
        "2.6 &lt;changed&gt; &amp; &quot;quoted&quot;",
        ">2.4, published<",
        "--set 'b={ c = 1 }'",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Unknown values have no point, and do not break an axis.
    assert!(!page.contains("NaN") && page.matches("class=\"mark\"").count() == 7 + 7 + 6);
    // The simulated 2.4 is a solid line, the paper's a dashed one of the same colour.
    let line = |dashes| format!("stroke=\"var(--line-0)\" stroke-dasharray=\"{dashes}\"");
    assert!(page.contains(&line("")) && page.contains(&line("10 5")));
}

#[test]
fn page_is_self_contained() {
    let page = page(&report());
    for word in ["http:", "https:", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!OWN_STYLE.contains("</style") && !PAGE_STYLE.contains("</style"));
}

#[test]
fn numbers_have_no_superfluous_digits() {
    for (number, text) in [(0.0, "0"), (0.1 + 0.2, "0.3"), (20.0, "20"), (1500.0, "1500"), (1e6, "1,000,000")]
    {
        assert_eq!(plain(number), text);
    }
}
