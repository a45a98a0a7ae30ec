//! `slowpath run`, and scenarios as the input of other commands.

use crate::captures::Captures;
use crate::{flat, json, outcome, run};
use serde_json::Value;

/// Four seconds over a path of 20 Mbit/s.
const SCENARIO: &[u8] =
    b"title = \"short\"\nduration = \"4 s\"\n[path]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n";

#[test]
fn run_prints_tables_and_verdict() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    let (code, out, err) = outcome(&run(&folder, &["run", "short.toml"]));
    assert_eq!((code, err.as_str()), (0, ""));
    for part in ["4 s simulated, seed 1", "flow-1", "host sender: CPU 0", "of that time: bottleneck"] {
        assert!(flat(&out).contains(part), "{part}: {out}");
    }
    let (code, changed, _) =
        outcome(&run(&folder, &["run", "short.toml", "--set", "path.rate=10Mbit/s", "--json"]));
    let document = json(&changed);
    assert_eq!((code, &document["schema"]), (0, &Value::from("slowpath/run/1")));
    let rate = document["flows"][0]["rate_bit_per_s"].as_f64().expect("a rate");
    assert!((8.5e6..10e6).contains(&rate), "{rate}");
}

/// The page has the plot and the list; the text and JSON are as without it.
#[test]
fn page_of_a_run_has_its_flows_with_plots() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    let (_, text, _) = outcome(&run(&folder, &["run", "short.toml"]));
    let (code, out, err) = outcome(&run(&folder, &["run", "short.toml", "--html", "run.html"]));
    assert_eq!((code, out, err.as_str()), (0, text, ""));
    let page = std::fs::read_to_string(folder.path("run.html")).expect("it was written");
    assert!(page.contains("<title>short.toml – slowpath</title>"));
    let (_, rest) = page.split_once("id=\"data\">").expect("the data");
    let data = json(rest.split_once("</script>").expect("its end").0);
    assert_eq!(data["command"], "slowpath diagnose short.toml");
    let flow = &data["flows"][0];
    assert!(flow["picture"]["fresh"]["length"].as_array().is_some_and(|all| all.len() > 1000));
    assert_eq!((&data["lines"]["flow"], &data["lines"]["upload"]), (&Value::from([1]), &Value::from([1])));
    assert!(data["lines"]["bytes"][0].as_u64().is_some_and(|bytes| bytes > 5_000_000), "{}", data["lines"]);
    let cause = flow["findings"][0]["cause"].as_u64().expect("a place") as usize;
    assert!(data["causes"][cause]["page"].as_str().is_some_and(|page| page.starts_with("# ")));
}

#[test]
fn pcap_of_a_run_has_the_bytes_of_its_diagnosis() {
    let folder = Captures::new();
    folder.write("short.toml", SCENARIO);
    let (code, ..) = outcome(&run(&folder, &["run", "short.toml", "--pcap", "out"]));
    assert_eq!(code, 0);
    let bytes = |file: &str| {
        let (code, out, err) = outcome(&run(&folder, &["flows", file, "--json"]));
        assert_eq!((code, err.as_str()), (0, ""), "{file}");
        json(&out)["flows"][0]["bytes"].clone()
    };
    assert_eq!(bytes("short.toml"), bytes("out/sender.pcapng"));
}

#[test]
fn refused_scenario_shows_the_line() {
    let folder = Captures::new();
    folder.write("wrong.toml", b"[path]\ndealy = \"20 ms\"\n");
    for command in ["run", "diagnose", "show", "flows"] {
        let (code, out, err) = outcome(&run(&folder, &[command, "wrong.toml"]));
        assert_eq!((code, out.as_str()), (2, ""), "{command}");
        assert!(err.contains("wrong.toml:2:1") && err.contains("did you mean delay?"), "{command}: {err}");
    }
}

/// The second transfer loses nothing, and starts with the ssthresh of the first.
#[test]
fn cached_ssthresh_is_recognised() {
    let folder = Captures::new();
    let scenario = include_bytes!("../../../../scenarios/cached-ssthresh.toml");
    folder.write("cached.toml", scenario);
    let (code, out, _) = outcome(&run(&folder, &["diagnose", "cached.toml", "--json"]));
    let document = json(&out);
    let flows = document["flows"].as_array().expect("flows");
    let next = flows.iter().find(|flow| flow["flow"] == 2).expect("the second flow");
    assert_eq!((code, &next["main_cause"]), (0, &Value::from("congestion-window/early-exit")), "{next}");
}
