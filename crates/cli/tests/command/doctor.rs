//! `slowpath doctor` on loopback, which every host has, and on a host in a namespace, as in the handbook.

use crate::captures::Captures;
use crate::{expect_lines, flat, handbook_example, json, outcome, run};
use slowpath_lab::namespaces::{Namespaces, Place};

#[test]
fn json_has_the_values_read() {
    let folder = Captures::new();
    let args = ["doctor", "--interface", "lo", "--rate", "8Gbit/s", "--rtt", "10s", "--json"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!(err, "");
    let document = json(&out);
    assert_eq!(document["schema"], "slowpath/doctor/1");
    assert_eq!(document["goal"]["window"], 10_000_000_000_u64);
    assert_eq!(document["goal"]["rate_from"], "given");
    assert_eq!(document["host"]["interfaces"][0]["name"], "lo");
    // No host permits a socket buffer of 10 GB: buffer sizes are C's `int`.
    let limit = document["limit"].as_u64().expect("something limits");
    assert!(code == 1 && limit < 8_000_000_000, "{out}");
    let findings = document["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["name"] == "receive-buffer"), "{out}");
    assert!(findings.iter().all(|finding| finding["source"].as_str().is_some_and(|text| !text.is_empty())));
}

#[test]
fn text_starts_with_the_verdict() {
    let folder = Captures::new();
    let args = ["doctor", "127.0.0.1", "--rate", "8Gbit/s", "--rtt", "10s", "--as", "receiver"];
    let (code, out, err) = outcome(&run(&folder, &args));
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.starts_with("A transfer of 8 Gbit/s over 10 s would be limited to about"), "{out}");
    assert!(out.contains("$ sysctl -w net.ipv4.tcp_rmem=") && out.contains("undo: sysctl -w"), "{out}");
    assert!(!out.contains("tcp_wmem"), "a receiver's send buffer does not matter: {out}");
    assert!(out.contains("cause receive-window/buffer-too-small"), "{out}");
    assert!(!out.contains('\x1b'), "a pipe gets no colour");
    assert!(!flat(&out).contains("is assumed"), "{out}");
    let (_, out, _) = outcome(&run(&folder, &["doctor", "--interface", "lo"]));
    let flat = flat(&out);
    assert!(flat.contains("A transfer of 1 Gbit/s over 40 ms"), "loopback has no rate of its own: {out}");
    assert!(flat.contains("The rate is assumed") && flat.contains("The RTT is assumed"), "{out}");
}

#[test]
fn unknown_destination_or_interface_is_an_error() {
    let folder = Captures::new();
    for (args, says) in [
        (&["doctor", "--interface", "no-such-card"][..], "there is no interface no-such-card"),
        (&["doctor", "no-such-host.invalid"], "no-such-host.invalid has no address"),
        (&["doctor", "--interface", "lo", "127.0.0.1"], "cannot be used with"),
        (&["doctor", "--rate", "fast"], "rate"),
        (&["doctor", "--streams", "0"], "--streams"),
    ] {
        let (code, out, err) = outcome(&run(&folder, args));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}

#[test]
#[ignore = "needs root"]
fn handbook_example_matches_the_output() {
    let made = Namespaces::create().expect("namespaces");
    let there = made.path(Place::Receiver);
    made.ip(Place::Sender, &format!("link add eth0 type veth peer name eth0 netns {there}")).expect("a veth");
    for (place, address) in [(Place::Sender, "192.0.2.1/24"), (Place::Receiver, "192.0.2.2/24")] {
        made.ip(place, &format!("addr add {address} dev eth0")).expect("an address");
        made.ip(place, "link set eth0 up").expect("up");
    }
    made.sysctl(Place::Sender, "net.ipv4.tcp_rmem", "4096 131072 4194304").expect("set");
    let (args, wanted) = handbook_example("doctor.md");
    let _folder = Captures::new();
    let mut inside = made.command(Place::Sender, env!("CARGO_BIN_EXE_slowpath"));
    inside.args(args).env("NO_COLOR", "1");
    let (code, out, err) = outcome(&inside.output().expect("it runs"));
    assert_eq!((code, err.as_str()), (1, ""));
    expect_lines(&wanted, &out);
}
