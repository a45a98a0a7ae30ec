//! `slowpath papers`.

use crate::captures::Captures;
use crate::lab::{made_since, namespaces};
use crate::{json, outcome, run};
use serde_json::{Value, json};
use slowpath_lab::ssh;
use slowpath_lab::web::{Server, tools};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn every_cell_is_next_to_the_published_one() {
    let folder = Captures::new();
    let command = ["papers", "wu", "--seeds", "1", "--json", "--html", "page.html"];
    let (code, out, err) = outcome(&run(&folder, &command));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = json(&out);
    assert_eq!(
        (document["schema"].as_str(), document["seeds"].as_u64()),
        (Some("slowpath/paper/1"), Some(1))
    );
    let tables = document["tables"].as_array().expect("tables");
    let names: Vec<_> = tables.iter().filter_map(|table| table["name"].as_str()).collect();
    assert_eq!(names, ["Table III", "Table IV", "Table V", "Table VI", "Table VII", "Section 5"]);
    let cells: Vec<_> = tables.iter().filter_map(|table| table["cells"].as_array()).flatten().collect();
    // The last table compares solutions, of which the paper publishes two cells each of two rows.
    let (published, solutions) = cells.split_at(4 + 12 + 6 + 18 + 8);
    assert!(published.iter().all(|cell| cell["published"].is_number() && cell["ours"].is_number()));
    assert_eq!(solutions.len(), 7 * 4);
    assert!(solutions.iter().all(|cell| cell["ours"].is_number()));
    assert_eq!(solutions.iter().filter(|cell| cell["published"].is_number()).count(), 4);
    let claims = document["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["holds"].is_boolean() && claim["place"].is_string()));
    let figures = document["figures"].as_array().expect("figures");
    let series: Vec<_> = figures.iter().filter_map(|figure| figure["series"].as_array()).flatten().collect();
    assert_eq!((figures.len(), series.len()), (9, 3 * (2 + 3 + 5)));
    assert!(
        series
            .iter()
            .all(|series| series["x"].as_array().map(Vec::len) == series["y"].as_array().map(Vec::len))
    );
    // The page shows all of it as well.
    let page = fs::read_to_string(folder.path("page.html")).expect("a page");
    let shows = |text: &str| page.contains(&text.replace('&', "&amp;").replace('"', "&quot;"));
    for (of, keys) in [(tables, ["name", "about"]), (figures, ["name", "seen"]), (claims, ["says", "seen"])] {
        for text in of.iter().flat_map(|one| keys.map(|key| one[key].as_str().expect("a text"))) {
            assert!(shows(text), "{text}");
        }
    }
    for run in document["runs"].as_array().expect("runs") {
        assert!(shows(run[1].as_str().expect("a command")), "{run}");
    }
    assert_eq!(page.matches("<svg").count(), figures.len());
    let fails = claims.iter().filter(|claim| claim["holds"] == false).count();
    assert_eq!(page.matches(">does not hold<").count(), fails);
    assert!(page.matches("class=\"letter\"").count() > 10, "R and Z in the plates");
}

#[test]
fn unwritable_page_is_refused_before_the_runs() {
    let folder = Captures::new();
    fs::create_dir(folder.path("mine")).expect("a folder");
    for (page, says) in
        [("mine", "mine: is a folder"), ("nowhere/page.html", "nowhere/page.html: cannot be written")]
    {
        let (code, out, err) = outcome(&run(&folder, &["papers", "weigle", "--html", page]));
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains(says), "{err}");
    }
}

#[test]
fn unknown_paper_is_refused() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["papers", "reno"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("[possible values: wu, weigle, leith, ubik, lavoie]"), "{err}");
}

#[test]
fn arguments_of_the_other_kind_of_paper_are_refused() {
    let folder = Captures::new();
    for (args, why) in [
        (&["wu", "--keep", "kept"][..], "this paper is simulated"),
        (&["leith", "--only", "1K"], "this paper is simulated"),
        (&["lavoie", "--seeds", "2"], "lavoie is measured"),
        (&["lavoie", "--only", "2K one"], "the name of a case is like \"1K one sendfile no-TSO\""),
        (&["lavoie", "--from", "nowhere"], "nowhere: has none of these cases"),
        (&["leith", "--from", "a", "--compare", "b"], "this paper is simulated"),
        (&["lavoie", "--compare", "nowhere"], "--from <DIR>"),
        (
            &["lavoie", "--from", "a", "--compare", "b"],
            "b and a: have none of the cases that are compared: 1K one",
        ),
    ] {
        let (code, out, err) = outcome(&run(&folder, &[&["papers"], args].concat()));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(why), "{args:?}: {err}");
    }
}

/// All missing programs are named at once, with their packages, for every user; nothing is created.
#[test]
fn missing_programs_are_listed_before_anything_is_created() {
    let folder = Captures::new();
    let output = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["papers", "lavoie", "--keep", "kept"])
        .current_dir(folder.path(""))
        .env("PATH", "/nowhere")
        .output()
        .expect("it starts");
    let (code, out, err) = outcome(&output);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("wrk") && err.contains("perf (in linux-perf)"), "{err}");
    assert!(err.contains("apt-get install --no-install-recommends"), "{err}");
    assert!(!folder.path("kept").exists());
}

/// Writes one case as `--keep` stores it: a profile in the format of `perf script`, which has the functions' names,
/// with a stack of one frame for each of these functions.
fn keep(folder: &Captures, name: &str, case: &str, release: &str, costs: &[(&str, usize)]) {
    fs::create_dir_all(folder.path(name)).expect("a folder");
    let words: Vec<&str> = case.split(' ').collect();
    let file_kib: u32 = words[0].trim_end_matches('K').parse().expect("a size");
    let times =
        json!({ "user": 0, "nice": 0, "system": 200, "idle": 0, "interrupts": 0, "softirqs": 0, "steal": 0 });
    let beside = json!({
        "schema": "slowpath/web-run/1", "release": release, "machine": "2 × CPU", "event": "by the clock", "seconds": 2,
        "ran": {
            "case": { "file-kib": file_kib, "requests": 1, "sendfile": true, "tso": false },
            "server-cpu": 0,
            "counted": {
                "seconds": 2.0, "requests": 1000, "connections": 1000, "segments-in": 5000, "segments-out": 5000,
                "retransmitted": 0, "pure-acks-in": 2000, "predicted-acks-in": 0, "bytes-out": 1_000_000,
                "packets-to-server": 5000, "packets-to-client": 5000, "received-on-server-cpu": 5000,
                "received-on-client-cpu": 5000, "dropped": 0, "server": times, "client": times,
            },
            "load": { "command": "wrk", "requests": 1000, "errors": 0 },
        },
    });
    let path = format!("{name}/{}", case.replace(' ', "-"));
    folder.write(&format!("{path}.json"), beside.to_string().as_bytes());
    let mut text = String::new();
    for (function, samples) in costs {
        for _ in 0..*samples {
            text += "nginx 1 [000] 1.000000: 500000 cpu-clock: \n";
            for frame in [function, "tcp_v4_rcv", "handle_softirqs"] {
                text += &format!("\tffffffff81000010 {frame}+0x10 ([kernel.kallsyms])\n");
            }
            text += "\n";
        }
    }
    folder.write(&format!("{path}.perf.data"), text.as_bytes());
}

const COMPARED: [&str; 3] = ["1K one sendfile no-TSO", "8K one sendfile no-TSO", "64K one sendfile no-TSO"];

#[test]
fn two_kernels_are_compared() {
    let folder = Captures::new();
    for case in COMPARED {
        keep(&folder, "old", case, "6.1.0", &[("tcp_ack", 300), ("tcp_transmit_skb", 100)]);
        keep(&folder, "new", case, "6.18.0", &[("tcp_ack", 100), ("__tcp_transmit_skb", 300)]);
    }
    let args = ["papers", "lavoie", "--from", "new", "--compare", "old", "--html", "page.html"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    for text in [
        "Linux 6.18.0 compared with Linux 6.1.0",
        "Figure 22: what functions cost themselves for 64K files; 2 of the ten most expensive are the same",
        "Figure 14: what works below TCP receive, 1K files",
        "TCP receive costs more than in the kernel before, for all sizes (section 4, figures 20 to 22)",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    // 2 s of CPU for 1,000 requests.
    let line = out.lines().find(|line| line.starts_with("__tcp_transmit_skb  ")).expect("a line");
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, ["__tcp_transmit_skb", "25.0", "%", "75.0", "%", "500.00", "1500.00", "<", "1", "%"]);
    let page = fs::read_to_string(folder.path("page.html")).expect("a page");
    assert!(page.contains("<h3 id=\"compared\">Linux 6.18.0 compared with Linux 6.1.0</h3>"));
    assert_eq!(page.matches("<svg class=\"layers\"").count(), 3, "figures 14, 16 and 18: nothing is sent");
    let (code, out, _) = outcome(&run(&folder, &[&args[..6], &["--json"]].concat()));
    let document = json(&out);
    let function = &document["comparison"]["tables"][1]["functions"][0];
    assert_eq!(
        (code, &function["name"], &function["places"]),
        (0, &json!("__tcp_transmit_skb"), &json!([2, 1]))
    );
    let graph = &document["graphs"][0];
    assert_eq!((&graph["nodes"][0]["here"], &graph["edges"][0]["samples"]), (&json!(400), &json!(300)));
    // One kernel is not compared with itself as if it were two.
    let (code, out, _) = outcome(&run(&folder, &["papers", "lavoie", "--from", "new", "--compare", "new"]));
    assert!(code == 0 && out.contains("one kernel compared with itself, Linux 6.18.0"), "{out}");
    assert!(!out.contains("section 4, figures 20 to 22"), "{out}");
}

#[test]
fn folders_with_different_cases_are_not_compared() {
    let folder = Captures::new();
    keep(&folder, "old", COMPARED[0], "6.1.0", &[("tcp_ack", 1)]);
    keep(&folder, "new", COMPARED[0], "6.18.0", &[("tcp_ack", 1)]);
    keep(&folder, "new", COMPARED[2], "6.18.0", &[("tcp_ack", 1)]);
    let args = ["papers", "lavoie", "--from", "new", "--compare", "old"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("old: has no 64K one sendfile no-TSO, which new has; the same cases are compared"),
        "{err}"
    );
    assert_eq!(outcome(&run(&folder, &[&args[..], &["--only", "1K"]].concat())).0, 0);
}

/// Processes whose working directory is that folder, as those of a run are.
pub fn processes_in(folder: &Path) -> usize {
    let folder = fs::canonicalize(folder).expect("a folder");
    let all = fs::read_dir("/proc").expect("proc(5)").flatten();
    all.filter(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)).count()
}

#[test]
#[ignore = "needs root"]
fn lavoie_server_is_loaded_and_profiled() {
    if let Some(missing) = tools::missing(&[Server::Nginx]).first() {
        println!("not judged: papers lavoie: {} is not installed", missing.command);
        return;
    }
    let folder = Captures::new();
    let before = namespaces();
    let only = "8K sendfile no-TSO";
    let command = [
        "papers",
        "lavoie",
        "--seconds",
        "2",
        "--only",
        only,
        "--keep",
        "kept",
        "--json",
        "--html",
        "page.html",
    ];
    let (code, out, err) = outcome(&run(&folder, &command));
    assert_eq!((code, err.as_str()), (0, ""), "{err}");
    assert_eq!((made_since(&before), processes_in(&folder.path(""))), (0, 0), "namespaces and processes");
    let document = json(&out);
    let measured_on = document["measured_on"].to_string();
    assert!(measured_on.contains("nginx with one process on CPU "), "{measured_on}");
    let tables = document["tables"].as_array().expect("tables");
    let cells = |name: &str| {
        let table = tables.iter().find(|table| table["name"] == name).expect("a table");
        table["cells"].as_array().expect("cells").clone()
    };
    // The shares of the CPU sum to the whole.
    let whole: f64 = cells("The whole").iter().map(|cell| cell["ours"].as_f64().expect("a number")).sum();
    assert!((whole - 100.0).abs() < 1e-6, "{whole}");
    let of = |case: &str, quantity: &str| {
        let runs = cells("The runs");
        let is = |cell: &&Value| cell["row"] == case && cell["quantity"] == quantity;
        runs.iter().find(is).and_then(|cell| cell["ours"].as_f64()).expect("a number")
    };
    for (case, requests) in [("8K one sendfile no-TSO", 1.0), ("8K ten sendfile no-TSO", 10.0)] {
        assert!(of(case, "requests a second") > 10.0, "{case}");
        assert_eq!(of(case, "errors"), 0.0, "{case}");
        // Six data segments; a new connection takes at least three more.
        let sent = of(case, "segments sent a request");
        assert!((6.0..14.0).contains(&sent) && (requests > 1.0 || sent > 9.0), "{case}: {sent}");
        // Samples cover two seconds of one CPU, at 1999 per second, or more on a busy machine.
        let (samples, seconds) = (of(case, "samples"), of(case, "seconds"));
        assert!(
            seconds >= 2.0 && (100.0..seconds * 1999.0 * 1.1).contains(&samples),
            "{case}: {samples}, {seconds} s"
        );
    }
    let claims = document["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["holds"].is_boolean() || claim["holds"].is_null()));
    assert!(claims.iter().any(|claim| claim["holds"].is_boolean()));
    // The stored results give the same report.
    let (code, again, err) = outcome(&run(&folder, &["papers", "lavoie", "--from", "kept", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(json(&again), document);
    // The kernel's symbols are stored for use on another kernel; the functions below TCP receive are shown.
    let symbols = fs::read_to_string(folder.path("kept/kallsyms")).expect("symbols");
    assert!(symbols.contains(" tcp_v4_rcv\n"));
    let graphs: Vec<_> =
        document["graphs"].as_array().expect("graphs").iter().map(|graph| &graph["name"]).collect();
    assert_eq!(graphs, ["Figure 16", "Figure 17"]);
    assert!(document["graphs"][0]["nodes"].as_array().is_some_and(|nodes| nodes.len() > 10));
    // Compared with itself, nothing differs.
    let (code, out, _) = outcome(&run(&folder, &["papers", "lavoie", "--from", "kept", "--compare", "kept"]));
    assert!(code == 0 && out.contains("10 of the ten most expensive are the same"), "{out}");
    // Without symbols the functions cannot be resolved, which is an error.
    folder.write("kept/kallsyms", b"");
    let (code, out, err) = outcome(&run(&folder, &["papers", "lavoie", "--from", "kept"]));
    assert!(code == 2 && out.is_empty() && err.contains("so that its functions have no names"), "{err}");
}

/// Real programs: the window of the ssh channel, divided by the RTT, is their rate, and a larger window is faster.
#[test]
#[ignore = "needs root"]
fn copies_over_ssh_are_bound_by_the_window_of_the_channel() {
    if let Some(missing) = ssh::missing().first() {
        println!("not judged: papers ubik --lab: {} is not installed", missing.command);
        return;
    }
    let folder = Captures::new();
    let before = namespaces();
    let only = "scp 24 KiB,scp sshd";
    let command = ["papers", "ubik", "--lab", "--only", only, "--keep", "kept", "--json"];
    let (code, out, err) = outcome(&run(&folder, &command));
    assert_eq!((code, err.as_str()), (0, ""), "{err}");
    assert_eq!((made_since(&before), processes_in(&folder.path(""))), (0, 0), "namespaces and processes");
    let document = json(&out);
    let cells = document["tables"][0]["cells"].as_array().expect("cells");
    let of = |name: &str, quantity: &str| {
        let found = cells.iter().find(|cell| {
            let text = |key: &str| cell[key].as_str().expect("text");
            text("row").contains(name) && text("quantity").starts_with(quantity)
        });
        found.expect("a cell")["ours"].as_f64().expect("a number")
    };
    // sshd's needs more of the machine: it may be slower, but not faster than its window.
    for (name, least) in [("24 KiB", 0.6), ("2 MiB", 0.3)] {
        let share = of(name, "middle") / of(name, "window");
        assert!((least..1.1).contains(&share), "{name}: {share} of window ÷ RTT");
    }
    assert!(of("2 MiB", "middle") > 10.0 * of("24 KiB", "middle"));
    assert!(folder.path("kept/scp-to-sshd-2-MiB/sender.pcap.zst").exists());
}

#[test]
fn copies_that_do_not_exist_are_refused() {
    let folder = Captures::new();
    for (command, why) in [
        (&["papers", "ubik", "--lab", "--only", "ftp"][..], "no case has all the words \"ftp\""),
        (&["papers", "wu", "--lab"], "--lab is for ubik"),
        (&["papers", "lavoie", "--lab"], "--lab is for ubik"),
    ] {
        let (code, out, err) = outcome(&run(&folder, command));
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(why), "{err}");
    }
}
