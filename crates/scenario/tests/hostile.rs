//! Any file quickly gives a scenario or a list of errors.

use proptest::prelude::*;
use slowpath_scenario::{Override, check};

/// The errors of a text that is no scenario.
fn refused(text: &str) -> String {
    check("hostile.toml", text, &[], None).expect_err("it is no scenario").to_string()
}

#[test]
fn huge_numbers_are_refused_at_their_place() {
    for text in [
        "seed = 99999999999999999999999999",
        "seed = 0xffffffffffffffffffffffff",
        "duration = \"99999999999999999999 h\"",
        "[path]\ndelay = \"1e400 s\"",
        "[path]\nrate = \"999999999999999999999999 Tbit/s\"",
        "[path]\nrate = \"1 Gbit/s\"\nqueue = \"99999999999 packets\"",
        "[path]\nrate = \"1 Gbit/s\"\nqueue = \"999999999999999999 GiB\"",
        "[path]\nloss = \"1e99 %\"",
        "[flows]\nstreams = 9223372036854775807",
        "[flows.sender]\nnice = -9223372036854775808",
        "[hosts.sender]\ncpus = 4294967296",
        "[hosts.sender.sysctl]\ntcp_rmem = \"4294967296 4294967296 4294967296\"",
        "[hosts.sender.kernel]\nhz = 0",
        "[hosts.sender.costs]\ninterrupt = \"1e12 s\"",
    ] {
        let error = refused(text);
        assert!(error.contains("^"), "{text}: {error}");
    }
}

#[test]
fn largest_values_of_every_key_do_not_overflow() {
    let text = "
        duration = \"24 h\"
        [path]
        rate = \"1 kbit/s\"
        delay = \"100 s\"
        jitter = \"100 s\"
        queue = \"1000 bdp\"
        reorder = \"100 %\"
        reorder-by = \"100 s\"
        cross = { rate = \"1 kbit/s\", packet = \"65535 B\", pattern = \"on-off\", on = \"1 h\", off = \"1 h\" }
        stalls = { at = \"24 h\", lasts = \"24 h\" }
        policer = { rate = \"1 Tbit/s\", burst = \"1024 GiB\" }
        [flows]
        streams = 100000
        stagger = \"1 h\"
        messages = { size = \"1024 GiB\", count = 1000000000 }
        [hosts.receiver]
        load = [{ hogs = 10000 }, { make = 10000, burst = \"1 h\" }]
    ";
    if let Err(error) = check("x.toml", text, &[], None) {
        assert!(error.to_string().contains("more than is sane"), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("x = {}", "[".repeat(100_000)),
        format!("x = {}1{}", "{a=".repeat(50_000), "}".repeat(50_000)),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        format!("[{}]", vec!["a"; 100_000].join(".")),
    ] {
        assert!(!refused(&text).is_empty());
    }
}

#[test]
fn ten_megabyte_file_is_refused_immediately() {
    let error = refused(&"# nothing\n".repeat(1_000_000));
    assert!(error.contains("a scenario has at most"), "{error}");
}

#[test]
fn any_number_of_errors_is_counted() {
    let text: String = (0..80_000).map(|n| format!("k{n} = 1\n")).collect();
    let error = refused(&text);
    assert!(error.contains("and 79970 more"), "{}", error.lines().last().unwrap_or_default());
    let many: String = (0..20_000).map(|_| "[[flows]]\nsream=1\n").collect();
    assert!(refused(&many).len() < 20_000);
}

#[test]
fn control_characters_are_escaped_in_errors() {
    let error = refused("title = \"\u{1b}[31m\"\nx\u{200b} = 1\n\u{0} = 2");
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

/// An existing key.
const KEY: &str = "(duration|seed|path|path\\.(rate|delay|queue|loss|lose|stalls|forward)|hosts|\
                   hosts\\.sender(\\.nic|\\.kernel)?|flows(\\.sender|\\.streams)?)";
/// A value that may or may not be valid for it.
const VALUE: &str = "(-?[0-9]{1,20}|\"[0-9.]{0,8} ?(s|ms|Gbit/s|MiB|%|bdp|packets)\"|\
                     \\[.{0,9}\\]|\\{.{0,9}\\}|true|1\\.5|\"x\")";

proptest! {
    #[test]
    fn any_text_gives_a_scenario_or_errors(text in "\\PC{0,200}") {
        let _ = check("x.toml", &text, &[], None).map_err(|error| error.to_string());
    }

    #[test]
    fn any_value_of_any_key_gives_a_scenario_or_errors(
        key in KEY,
        value in VALUE,
    ) {
        let text = format!("{key} = {value}\n");
        let _ = check("x.toml", &text, &[], None).map_err(|error| error.to_string());
        if let Ok(with) = format!("{key}={value}").parse::<Override>() {
            let _ = check("x.toml", "[path]\nrate = \"1 Mbit/s\"\n", &[with], None).map_err(|error| error.to_string());
        }
    }
}
