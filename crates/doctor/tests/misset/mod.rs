//! A host in a namespace whose settings are good, and settings that are wrong, each with its finding.
//!
//! Shared by the tests that find them (doctor) and the tests that cure them (tune).

use slowpath_doctor::{Asked, Files, Finding, Goal, Role, judge, read};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_model::Rate;
use std::net::IpAddr;
use std::time::Duration;

// As in the lab (RFC 5737).
const HERE: [u8; 4] = [192, 0, 2, 1];
pub const PEER: [u8; 4] = [192, 0, 2, 2];

pub fn goal() -> Goal {
    Goal { rate: Rate::mbit(1000), rtt: Duration::from_millis(20), streams: 1, role: Role::Both }
}

/// Settings of the machine, outside any namespace.
pub const OF_THE_MACHINE: [&str; 6] =
    ["buffers-by-program", "backlog-drops", "budget", "cpu-clock", "tcp-memory", "sock-ops"];

/// A host in a namespace, and another behind a veth.
pub struct Testbed(pub Namespaces);

/// All checked settings, with good values.
const WELL_SET: &[(&str, &str)] = &[
    ("net.ipv4.tcp_dsack", "1"),
    ("net.ipv4.tcp_early_retrans", "3"),
    ("net.ipv4.tcp_frto", "2"),
    ("net.ipv4.tcp_limit_output_bytes", "4194304"),
    ("net.ipv4.tcp_max_reordering", "300"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_no_ssthresh_metrics_save", "1"),
    ("net.ipv4.tcp_notsent_lowat", "4294967295"),
    ("net.ipv4.tcp_recovery", "1"),
    ("net.ipv4.tcp_reordering", "3"),
    ("net.ipv4.tcp_retries2", "15"),
    ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_window_scaling", "1"),
    ("net.ipv4.tcp_wmem", "4096 16384 16777216"),
];

/// A namespace may choose an allowed congestion control for long paths.
const CHOOSE_CONTROL: &str =
    "cd /proc/sys/net/ipv4; for c in bbr cubic; do (echo $c >tcp_congestion_control) 2>&-; done; true";

impl Testbed {
    pub fn well_set() -> Self {
        let namespaces = Namespaces::create().expect("namespaces");
        let there = namespaces.path(Place::Receiver);
        let link = format!("link add eth0 type veth peer name eth0 netns {there}");
        namespaces.ip(Place::Sender, &link).expect("a veth");
        for (place, address) in [(Place::Sender, HERE), (Place::Receiver, PEER)] {
            let address = IpAddr::from(address);
            namespaces.ip(place, &format!("addr add {address}/24 dev eth0")).expect("an address");
            namespaces.ip(place, "link set eth0 up").expect("up");
        }
        Self::of(namespaces)
    }

    /// Of two hosts with these addresses, the good settings on the first.
    pub fn of(namespaces: Namespaces) -> Self {
        let testbed = Self(namespaces);
        testbed.shell("tc qdisc replace dev eth0 root pfifo_fast && ip link set eth0 txqueuelen 1000");
        for (name, value) in WELL_SET {
            testbed.0.sysctl(Place::Sender, name, value).expect("a setting");
        }
        testbed.shell(CHOOSE_CONTROL);
        testbed
    }

    /// Runs a shell line, in the namespace and as root.
    pub fn shell(&self, line: &str) {
        // The output is about settings and not about this test.
        self.0
            .output(Place::Sender, &["sh", "-c", &format!("{line} >/dev/null")])
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    pub fn findings(&self) -> Vec<Finding> {
        let asked = Asked::To(PEER.into());
        let host = self.0.inside(Place::Sender, || Ok(read(&Files::default(), &asked))).expect("inside");
        let host = host.expect("there is a way");
        let mut found = judge(&host, &goal());
        found.retain(|finding| !OF_THE_MACHINE.contains(&finding.name()));
        found
    }

    pub fn expect_none(&self, when: &str) {
        let found = self.findings();
        assert!(found.is_empty(), "{when}: {found:#?}");
    }
}

/// A wrong setting: its finding, and the commands to set and reset it.
pub struct WrongSetting {
    pub finding: &'static str,
    pub set: String,
    pub reset: String,
}

fn by_shell(finding: &'static str, set: &str, reset: &str) -> WrongSetting {
    WrongSetting { finding, set: set.to_owned(), reset: reset.to_owned() }
}

fn sysctl(finding: &'static str, name: &str, value: &str) -> WrongSetting {
    let name = format!("net.ipv4.{name}");
    let well = WELL_SET.iter().find(|(known, _)| *known == name).expect("it has a good value").1;
    by_shell(finding, &format!("sysctl -w {name}='{value}'"), &format!("sysctl -w {name}='{well}'"))
}

fn qdisc(finding: &'static str, what: &str) -> WrongSetting {
    let set = format!("tc qdisc replace dev eth0 root {what}");
    by_shell(finding, &set, "tc qdisc replace dev eth0 root pfifo_fast")
}

fn offload(finding: &'static str, option: &str) -> WrongSetting {
    // Dependent offloads are switched along with it.
    by_shell(finding, &format!("ethtool -K eth0 {option} off"), "ethtool -K eth0 tx on sg on tso on gso on")
}

fn route(finding: &'static str, attribute: &str) -> WrongSetting {
    let line = "ip route replace 192.0.2.0/24 dev eth0 src 192.0.2.1";
    // A fix may have added its own route.
    let reset = format!("ip route del 192.0.2.2/32 2>&1; {line}");
    by_shell(finding, &format!("{line} {attribute}"), &reset)
}

fn link(finding: &'static str, bad: &str, good: &str) -> WrongSetting {
    by_shell(finding, &format!("ip link set eth0 {bad}"), &format!("ip link set eth0 {good}"))
}

pub fn wrong_settings() -> Vec<WrongSetting> {
    vec![
        sysctl("window-scaling", "tcp_window_scaling", "0"),
        sysctl("receive-buffer", "tcp_rmem", "4096 131072 1048576"),
        sysctl("fixed-receive-buffer", "tcp_moderate_rcvbuf", "0"),
        sysctl("send-buffer", "tcp_wmem", "4096 16384 524288"),
        by_shell("congestion-control", "sysctl -w net.ipv4.tcp_congestion_control=reno", CHOOSE_CONTROL),
        sysctl("output-limit", "tcp_limit_output_bytes", "4096"),
        sysctl("notsent-lowat", "tcp_notsent_lowat", "4096"),
        sysctl("slow-start-after-idle", "tcp_slow_start_after_idle", "1"),
        sysctl("mtu-probing", "tcp_mtu_probing", "2"),
        sysctl("sack", "tcp_sack", "0"),
        sysctl("timestamps", "tcp_timestamps", "0"),
        sysctl("tail-loss-probe", "tcp_early_retrans", "0"),
        sysctl("frto", "tcp_frto", "0"),
        sysctl("dsack", "tcp_dsack", "0"),
        sysctl("reordering", "tcp_reordering", "50"),
        sysctl("max-reordering", "tcp_max_reordering", "10"),
        sysctl("retries", "tcp_retries2", "3"),
        link("queue-length", "txqueuelen 5", "txqueuelen 1000"),
        qdisc("queue-length", "pfifo limit 8"),
        qdisc("queue-length", "bfifo limit 10000"),
        qdisc("shaper", "tbf rate 100mbit burst 64k limit 2m"),
        by_shell(
            "shaper",
            "tc qdisc replace dev eth0 root handle 1: htb default 30 && tc class add dev eth0 parent 1: classid 1:30 \
             htb rate 50mbit ceil 200mbit",
            "tc qdisc replace dev eth0 root pfifo_fast",
        ),
        offload("transmit-checksums", "tx"),
        offload("scatter-gather", "sg"),
        offload("gso", "gso"),
        offload("tso", "tso"),
        link("super-packets", "gso_max_segs 2", "gso_max_size 65536 gso_max_segs 65535"),
        link("mtu", "mtu 576", "mtu 1500"),
        route("route-window", "window 20000"),
        route("route-initrwnd", "initrwnd 2"),
        route("route-advmss", "advmss 536"),
        route("route-cwnd", "cwnd lock 20"),
        route("route-initcwnd", "initcwnd 2"),
        route("route-rto-min", "rto_min 3s"),
        route("route-mtu", "mtu 576"),
        route("congestion-control", "congctl reno"),
    ]
}

/// Qdiscs that not every kernel has, with their kinds.
pub fn of_other_kernels() -> [(&'static str, WrongSetting); 2] {
    [
        ("netem", qdisc("emulator", "netem delay 10ms limit 10000")),
        ("fq", qdisc("flow-rate", "fq maxrate 10mbit")),
    ]
}
