//! A route's value, in the words of `ip route`.

use super::NO_ROUTE;

/// Keys of a route's value, besides the attributes of connections ([`METRICS`]).
pub(super) const ROUTE_KEYS: &[&str] = &["via", "dev", "proto", "scope", "src", "metric", "pref", "onlink"];
/// Attributes of connections over a route (`mx_names` of iproute2).
pub(super) const METRICS: &[&str] = &[
    "advmss",
    "congctl",
    "cwnd",
    "fastopen_no_cookie",
    "features",
    "hoplimit",
    "initcwnd",
    "initrwnd",
    "mtu",
    "quickack",
    "reordering",
    "rto_min",
    "rtt",
    "rttvar",
    "ssthresh",
    "window",
];

/// Keys and values of a route's words: `mtu lock 1400` has the value `lock 1400`.
pub(super) fn pairs(words: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = words.iter().copied().peekable();
    while let Some(key) = rest.next() {
        if key == "onlink" {
            found.push((key.to_owned(), String::new()));
            continue;
        }
        let mut value = rest.next().unwrap_or_default().to_owned();
        if value == "lock" {
            value = format!("lock {}", rest.next().unwrap_or_default());
        }
        found.push((key.to_owned(), value));
    }
    found
}

/// A route's words in one order, without what `ip route` prints but nobody set (`print_route`, iproute2 6.15).
pub(super) fn canonical(words: &[&str]) -> String {
    if words == [NO_ROUTE] {
        return NO_ROUTE.to_owned();
    }
    // Flags of the moment.
    let words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !matches!(*word, "linkdown" | "dead" | "offload" | "rt_trap"))
        .collect();
    let implied = |key: &str, value: &str| {
        matches!(
            (key, value),
            ("proto", "boot") | ("scope", "link" | "global") | ("metric", "0" | "1024") | ("pref", "medium")
        )
    };
    let mut pairs = pairs(&words);
    pairs.retain(|(key, value)| !implied(key, value));
    for (key, value) in &mut pairs {
        if matches!(&**key, "rto_min" | "rtt" | "rttvar") {
            // Setting rto_min locks it, and the kernel prints the lock.
            *value = milliseconds(value.trim_start_matches("lock "));
        }
    }
    pairs.sort();
    let words: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key} {value}")).collect();
    words.join(" ").trim_end().to_owned()
}

/// A time as `ip route` takes or prints it, in milliseconds where it is one.
fn milliseconds(text: &str) -> String {
    let number = |unit: &str| text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok());
    let ms = number("ms").or_else(|| number("s").map(|seconds| seconds * 1000.0));
    ms.map_or_else(|| text.to_owned(), |ms| format!("{ms}ms"))
}

/// The attributes of connections over a route, without its next hop, interface and what else belongs to one host.
pub fn attributes(value: &str) -> String {
    let pairs = pairs(&value.split_whitespace().collect::<Vec<_>>());
    let kept = pairs.into_iter().filter(|(key, _)| METRICS.contains(&&**key));
    kept.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(" ")
}
