//! Files for monitoring systems: what they name is exported, and their own programs accept them.

use super::{Exporter, installed};
use crate::captures::Captures;
use crate::paths::expect_unit;
use slowpath_watch::metrics::sample_names;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use yaml_rust2::{Yaml, YamlLoader};

const DASHBOARD: &str = "contrib/slowpath-dashboard.json";
const RULES: &str = "contrib/slowpath-rules.yml";
const UNIT: &str = "tools/systemd/slowpath-metrics.service";
const DAEMON_SET: &str = "contrib/slowpath-daemonset.yaml";
const CONTAINERFILE: &str = "contrib/Containerfile";

/// A file of the repository.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn yaml(name: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The metrics in a text: words that begin with `slowpath_`, but for those of rules that name their own.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    let words = text.split(|letter| !is_word(letter)).filter(|word| word.starts_with("slowpath_"));
    words.filter(|word| !word.contains(':')).map(str::to_owned).collect()
}

#[test]
fn metrics_of_dashboard_rules_and_handbook_are_exported() {
    let exported: BTreeSet<String> = sample_names().into_iter().collect();
    let mut named = 0;
    for name in [DASHBOARD, RULES, "contrib/slowpath-rules-test.yml", "docs/src/metrics.md"] {
        let found = metrics(&read(name));
        named += found.len();
        for metric in found {
            let is_histogram = exported.contains(&format!("{metric}_bucket")) && name.ends_with(".md");
            assert!(exported.contains(&metric) || is_histogram, "{name}: {metric} is not exported");
        }
    }
    assert!(named > 60, "only {named} names were found");
}

/// The causes and limits in queries exist.
#[test]
fn causes_of_dashboard_and_rules_exist() {
    use slowpath_analyses::{Cause, Limit};
    let known: BTreeSet<&str> = Cause::ALL
        .iter()
        .map(|cause| cause.slug())
        .chain(Limit::ALL.iter().map(|limit| limit.slug()))
        .collect();
    for name in [DASHBOARD, RULES, "docs/src/metrics.md"] {
        let text = read(name).replace("\\\"", "\"");
        for label in ["limit", "cause"] {
            for part in
                text.split(&format!("{label}=\"")).skip(1).chain(text.split(&format!("{label}!~\"")).skip(1))
            {
                for value in part.split('"').next().unwrap_or_default().split('|') {
                    assert!(known.contains(value), "{name}: no {label} is {value}");
                }
            }
        }
    }
}

#[test]
fn promtool_accepts_rules_and_configuration() {
    if !installed("promtool_accepts_rules_and_configuration", "promtool") {
        return;
    }
    for args in [
        &["check", "rules", "slowpath-rules.yml"][..],
        &["test", "rules", "slowpath-rules-test.yml"],
        &["check", "config", "prometheus.yml"],
    ] {
        let output =
            Command::new("promtool").args(args).current_dir(path("contrib")).output().expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said));
    }
}

/// In Prometheus's own format, since `promtool` of the distribution reads no other.
#[test]
fn promtool_accepts_the_metrics() {
    if !installed("promtool_accepts_the_metrics", "promtool") {
        return;
    }
    let exporter = Exporter::start(&Captures::new(), "127.0.0.1:0", &["--own"]);
    exporter.intervals(1.0);
    let (head, body) = exporter.ask("/metrics", "Accept: text/plain;version=0.0.4\r\n");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool.spawn().expect("it runs");
    child.stdin.take().expect("it was asked for").write_all(body.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    // It says what it would name otherwise, and succeeds all the same.
    assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn dashboard_is_json_with_queries_in_every_panel() {
    let dashboard: serde_json::Value = serde_json::from_str(&read(DASHBOARD)).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
        let queries = panel["targets"].as_array().map_or(0, Vec::len);
        assert_eq!(queries > 0, panel["type"] != "row", "{panel}");
    }
    assert!(panels.len() > 20, "{}", panels.len());
}

/// The capabilities that the unit, the container and the DaemonSet name are the same four.
#[test]
fn unit_container_and_manifest_name_the_same_rights() {
    let sorted = |names: &mut dyn Iterator<Item = String>| -> Vec<String> {
        let mut names: Vec<String> = names.map(|name| name.trim().to_uppercase()).collect();
        names.sort();
        names
    };
    let wanted = ["BPF", "DAC_READ_SEARCH", "PERFMON", "SYS_PTRACE"];
    let unit = read(UNIT);
    for key in ["CapabilityBoundingSet=", "AmbientCapabilities="] {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)).expect(key);
        assert_eq!(sorted(&mut line.split(' ').map(|name| name.replace("CAP_", ""))), wanted);
    }
    let container = read(CONTAINERFILE);
    let list =
        container.split("--cap-add=").nth(1).and_then(|rest| rest.split(' ').next()).expect("--cap-add");
    assert_eq!(sorted(&mut list.split(',').map(str::to_owned)), wanted);
    let manifest = yaml(DAEMON_SET);
    assert_eq!((manifest.len(), manifest[0]["kind"].as_str()), (1, Some("DaemonSet")));
    let pod = &manifest[0]["spec"]["template"]["spec"];
    assert_eq!((pod["hostPID"].as_bool(), pod["hostNetwork"].as_bool()), (Some(true), Some(true)));
    let rights = &pod["containers"][0]["securityContext"];
    let added = rights["capabilities"]["add"].as_vec().expect("capabilities");
    assert_eq!(sorted(&mut added.iter().filter_map(Yaml::as_str).map(str::to_owned)), wanted);
    assert_eq!(rights["capabilities"]["drop"][0].as_str(), Some("ALL"));
    assert_eq!(rights["allowPrivilegeEscalation"].as_bool(), Some(false));
    assert!(rights["privileged"].is_badvalue());
}

#[test]
fn yaml_of_every_shipped_file_parses() {
    let folder = fs::read_dir(path("contrib")).expect("contrib").flatten().map(|entry| entry.path());
    let mut read = 0;
    for file in folder.filter(|file| file.extension().is_some_and(|end| end == "yml" || end == "yaml")) {
        let name = format!("contrib/{}", file.file_name().expect("a name").to_string_lossy());
        assert!(!yaml(&name).is_empty(), "{name}");
        read += 1;
    }
    assert!(read >= 4, "{read}");
}

#[test]
fn unit_of_systemd_is_in_order() {
    let unit = read(UNIT);
    assert!(unit.contains("\nExecStart=/usr/local/bin/slowpath watch --metrics 127.0.0.1:9433\n"));
    expect_unit("slowpath-metrics.service", &unit);
}
