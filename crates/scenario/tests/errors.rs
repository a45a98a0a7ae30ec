//! The errors of a scenario file: all of them, each with its line, its caret and a hint.

use slowpath_scenario::check;

fn refused(text: &str) -> String {
    check("x.toml", text, &[], None).expect_err("it is no scenario").to_string()
}

#[test]
fn all_errors_are_reported_at_once() {
    let error = refused(
        r#"duration = 60
sead = 1

[path]
rate = "1 Gbit"
dealy = "20 ms"
delay = "20"
queue = "1000"
loss = "101 %"
reorder-by = "1 ms"

[path.forward.bursts]
enter = "1 %"

[hosts.sender]
kernel = "6.19"
cpus = 0
machine = "laptop"
load = { hogs = 1, make = 2 }

[hosts.sender.sysctl]
tcp_sakc = 0
tcp_sack = 2
net.ipv4.tcp_rmem = 4096

[hosts.receiver.kernel]
base = "2.4.17"
scheduler = "cfs"
preempt = "full"

[hosts.receiver.nic]
gro = true
interrupt-cpu = 4

[flows]
to = "reciever"
amount = "1 GiB"
lasts = "10 s"
streams = "4"

[flows.sender.socket]
TCP_CONGESTION = "bicc"
TCP_MAXSEG = "9000 B"
SO_SNDBUFF = "1 MiB"

[record]
hosts = []
"#,
    );
    insta::assert_snapshot!(error);
}

#[test]
fn contradictions_are_reported() {
    let error = refused(
        r#"duration = "10 s"
[[path]]
between = ["a", "a"]
[[path]]
between = ["a", "b"]
rate = "10 Mbit/s"
queue = "1000 B"
stalls = [{ at = "1 s", lasts = "2 s" }, { at = "2 s", lasts = "1 s" }]
lose = [{ syn = 1, packets = [2] }, { from = "1 KiB" }, { packets = [0] }, {}]
cross = { rate = "1 Mbit/s", on = "1 s", start = "2 s", stop = "1 s" }
[[path]]
between = ["b", "a"]
[hosts.a]
[hosts.b]
load = [{}, { hogs = 1, burst = "1 s" }, { hogs = 1, cpu = 9, start = "2 s", stop = "1 s" }]
[hosts.c]
kernel = "2.6.14"
load = [{ hogs = 1, class = "idle" }, { make = 1, class = "fifo", nice = 5 }]
[[flows]]
from = "a"
to = "c"
start = "10 s"
[[flows]]
from = "a"
to = "b"
name = "flow-1"
[flows.requests]
response = []
[flows.receiver]
pauses = [{ at = "1 s" }, { at = "2 s", lasts = "1 s" }]
"#,
    );
    insta::assert_snapshot!(error);
}

#[test]
fn toml_errors_do_not_hide_other_errors() {
    let error = refused("duration = 10 s\n[path\nrate = \"1 Gbit/s\"\n[flows]\nstreams = many\nsream = 1\n");
    insta::assert_snapshot!(error);
}

#[test]
fn errors_in_overrides_are_shown_like_those_in_the_file() {
    let with = |text: &str| text.parse().expect("a key and a value");
    let overrides =
        [with("path.delay=50"), with("path.dealy=50ms"), with("seed.x=1"), with("hosts.sender.kernel.hz=0")];
    let error = check("x.toml", "seed = 1\n", &overrides, None).expect_err("it is no scenario");
    insta::assert_snapshot!(error.to_string());
}

/// A kernel before 3.11 has no busy polling, and the time is in whole microseconds.
#[test]
fn busy_polling_requires_linux_3_11() {
    let error = refused(
        "[hosts.receiver]\nkernel = \"2.6.14\"\nsysctl = { busy_read = 50 }\n\
         [flows.receiver.socket]\nSO_BUSY_POLL = \"50 us\"\n[flows.sender.socket]\nSO_BUSY_POLL = \"1500 ns\"\n",
    );
    insta::assert_snapshot!(error);
}

#[test]
fn sequences_that_cannot_be_are_refused() {
    let error = refused(
        r#"[[flows]]
name = "endless"
runs = 2
[[flows]]
name = "next"
after = "endles"
[[flows]]
start = "1 s"
after = "endless"
[[flows]]
pause = "1 s"
[[flows]]
name = "many"
amount = "1 B"
runs = 1000
"#,
    );
    insta::assert_snapshot!(error);
}
