//! Settings as text, and the lines of changes.

use super::*;

fn change(setting: &str, now: &str, then: &str) -> Change {
    let setting: Setting = setting.parse().expect("a setting");
    for value in [now, then] {
        setting.check(value).expect("a value");
    }
    Change { setting, now: Some(now.to_owned()), then: then.to_owned(), target: Target::Exactly }
}

#[test]
fn each_kind_has_its_line_and_its_undo() {
    for (setting, now, then, command, undo) in [
        (
            "sysctl net.ipv4.tcp_rmem",
            "4096 131072\t4194304",
            "4096 131072 20971520",
            "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 20971520\"",
            "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 4194304\"",
        ),
        (
            "sysctl net.ipv4.tcp_adv_win_scale",
            "-2",
            "1",
            "sysctl -w net.ipv4.tcp_adv_win_scale=1",
            "sysctl -w net.ipv4.tcp_adv_win_scale=-2",
        ),
        (
            "link a'b txqueuelen",
            "5",
            "1000",
            r"ip link set 'a'\''b' txqueuelen 1000",
            r"ip link set 'a'\''b' txqueuelen 5",
        ),
        (
            "link eth0 gso_max",
            "gso_max_size 65536 gso_max_segs 2",
            "gso_max_size 65536 gso_max_segs 65535",
            "ip link set eth0 gso_max_size 65536 gso_max_segs 65535",
            "ip link set eth0 gso_max_size 65536 gso_max_segs 2",
        ),
        ("offload eth0 tso", "off", "on", "ethtool -K eth0 tso on", "ethtool -K eth0 tso off"),
        (
            "offload eth0 tso",
            "tx-tcp-segmentation off tx-tcp6-segmentation on",
            "on",
            "ethtool -K eth0 tso on",
            "ethtool -K eth0 tx-tcp-segmentation off tx-tcp6-segmentation on",
        ),
        ("ring eth0 rx", "256", "4096", "ethtool -G eth0 rx 4096", "ethtool -G eth0 rx 256"),
        (
            "route 192.0.2.9/32",
            "none",
            "via 192.0.2.1 dev eth0 quickack 1",
            "ip route replace 192.0.2.9/32 via 192.0.2.1 dev eth0 quickack 1",
            "ip route del 192.0.2.9/32 via 192.0.2.1 dev eth0",
        ),
        (
            "route -6 default",
            "via fe80::1 dev eth0 initcwnd 2",
            "via fe80::1 dev eth0",
            "ip -6 route replace default via fe80::1 dev eth0",
            "ip -6 route replace default via fe80::1 dev eth0 initcwnd 2",
        ),
        (
            "qdisc eth0 root pfifo limit",
            "8",
            "1000",
            "tc qdisc change dev eth0 root pfifo limit 1000",
            "tc qdisc change dev eth0 root pfifo limit 8",
        ),
        (
            "qdisc eth0 1:30 bfifo limit",
            "8",
            "9",
            "tc qdisc change dev eth0 parent 1:30 bfifo limit 9",
            "tc qdisc change dev eth0 parent 1:30 bfifo limit 8",
        ),
        (
            "qdisc eth0 root",
            "handle 8001: tbf rate 1mbit burst 10k limit 100k",
            "fq_codel ecn",
            "tc qdisc replace dev eth0 root fq_codel ecn",
            "tc qdisc replace dev eth0 root handle 8001: tbf rate 1000000bit burst 10240 limit 102400",
        ),
        (
            "qdisc eth0 root",
            "default",
            "bfifo limit 3000",
            "tc qdisc replace dev eth0 root bfifo limit 3000",
            "tc qdisc del dev eth0 root",
        ),
        (
            "rps eth0 rx-0",
            "none",
            "0-3,32",
            "echo 1,0000000f > /sys/class/net/eth0/queues/rx-0/rps_cpus",
            "echo 0 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
        ),
        (
            "link eth0; gso_max",
            "gso_max_size 65536 gso_max_segs 2",
            "gso_max_size 65536 gso_max_segs 65535",
            "ip link set 'eth0;' gso_max_size 65536 gso_max_segs 65535",
            "ip link set 'eth0;' gso_max_size 65536 gso_max_segs 2",
        ),
        (
            "rfs a'b rx-12",
            "0",
            "4096",
            r"echo 4096 > '/sys/class/net/a'\''b/queues/rx-12/rps_flow_cnt'",
            r"echo 0 > '/sys/class/net/a'\''b/queues/rx-12/rps_flow_cnt'",
        ),
        (
            "xps eth0 tx-1",
            "1",
            "none",
            "echo 0 > /sys/class/net/eth0/queues/tx-1/xps_cpus",
            "echo 2 > /sys/class/net/eth0/queues/tx-1/xps_cpus",
        ),
        (
            "irq 24 affinity",
            "0-3",
            "1",
            "echo 1 > /proc/irq/24/smp_affinity_list",
            "echo 0-3 > /proc/irq/24/smp_affinity_list",
        ),
        (
            "process 4711@123 nice",
            "4711=0 4712=5",
            "-5",
            "renice -n -5 -p $(ls /proc/4711/task)",
            "renice -n 0 -p 4711; renice -n 5 -p 4712",
        ),
        (
            "process 4711 scheduler",
            "4711=SCHED_OTHER 4712=SCHED_FIFO:7 4713=SCHED_BATCH|SCHED_RESET_ON_FORK",
            "SCHED_RR 1",
            "chrt -a -r -p 1 4711",
            "chrt -o -p 0 4711; chrt -f -p 7 4712; chrt -b -R -p 0 4713",
        ),
        (
            "process 4711 affinity",
            "0-3",
            "4711=0 4712=1",
            "taskset -c -p 0 4711; taskset -c -p 1 4712",
            "taskset -a -c -p 0-3 4711",
        ),
    ] {
        let change = change(setting, now, then);
        assert_eq!((change.command().as_str(), change.undo().as_deref()), (command, Some(undo)));
        assert_eq!(change.setting.to_string(), setting, "as it was written");
    }
}

#[test]
fn what_is_no_setting_is_refused() {
    for text in [
        "",
        "sysctl",
        "sysctl kernel.core_pattern",
        "sysctl net.ipv4/../../kernel/core_pattern",
        "sysctl net..tcp_rmem",
        "link eth0 address",
        "link -all mtu",
        "link a-name-that-is-too-long mtu",
        "offload eth0 everything",
        "ring eth0 tx",
        "route 192.0.2.9",
        "route 192.0.2.9/33",
        "route 2001:db8::/64",
        "route -6 192.0.2.0/24",
        "qdisc eth0 root netem limit",
        "qdisc eth0 here pfifo limit",
        "link .. mtu",
        "rps . rx-0",
        "rps ../eth0 rx-0",
        "rps eth0 tx-0",
        "rps eth0 rx-+1",
        "rps eth0 rx-../../rx-0",
        "xps eth0 rx-0",
        "irq ../24 affinity",
        "irq -1 affinity",
        "irq 24 smp_affinity",
        "process 0 nice",
        "process self nice",
        "process 1@ nice",
        "process 1@+5 nice",
        "process 1@5@6 nice",
        "process 1 priority",
    ] {
        let error = text.parse::<Setting>().expect_err(text);
        assert!(error.to_string().contains("write one of"), "{error}");
    }
}

#[test]
fn what_is_no_value_is_refused() {
    for (setting, values) in [
        ("sysctl net.ipv4.tcp_rmem", &["", "1;2", "$(reboot)", "-w"][..]),
        ("link eth0 mtu", &["", "many", "1500 up", "-1", "4294967296"]),
        ("offload eth0 tso", &["yes", "rx-gro on", "tx-tcp-segmentation", "tx-tcp-segmentation maybe"]),
        (
            "route 192.0.2.9/32",
            &["dev", "via 192.0.2.1", "dev eth0 nexthop", "dev eth0 table 5", "none dev eth0"],
        ),
        ("rps eth0 rx-0", &["", "ff,", "0-", "3-1", "0; reboot"]),
        ("rfs eth0 rx-0", &["", "100", "-1", "none"]),
        ("irq 24 affinity", &["", "none", "0 1"]),
        ("process 1 nice", &["", "20", "-21", "+5", "1=", "=5", "1=5 2", "0=5", "1=5;reboot"]),
        (
            "process 1 scheduler",
            &["", "other", "SCHED_FIFO", "SCHED_FIFO 0", "SCHED_FIFO 100", "SCHED_OTHER 1", "SCHED_DEADLINE"],
        ),
        ("process 1 affinity", &["", "none", "1=none", "0-3 4"]),
    ] {
        let setting: Setting = setting.parse().expect("a setting");
        for value in values {
            assert!(setting.check(value).is_err(), "{setting}: {value}");
        }
    }
}

#[test]
fn routes_are_compared_without_what_is_implied() {
    let route: Setting = "route 192.0.2.9/32".parse().expect("a setting");
    let set = route.canonical("dev eth0 rto_min 3000ms initcwnd 2");
    assert_eq!(set, route.canonical("dev eth0 scope link  initcwnd 2 rto_min lock 3s"));
    assert_ne!(set, route.canonical("dev eth0 rto_min 200ms initcwnd 2"));
    assert_ne!(set, route.canonical("dev eth0 proto static rto_min 3000ms initcwnd 2"));
    assert_ne!(route.canonical("dev eth0 mtu 576"), route.canonical("dev eth0 mtu lock 576"));
    let v6: Setting = "route -6 default".parse().expect("a setting");
    assert_eq!(
        v6.canonical("via fe80::1 dev eth0"),
        v6.canonical("via fe80::1 dev eth0 metric 1024 pref medium")
    );
}

#[test]
fn two_changes_of_a_route_are_joined() {
    let now = "dev eth0 initcwnd 2 mtu lock 576 window 20000";
    let mut first = change("route default", now, "dev eth0 mtu lock 576 window 20000");
    first.join(&change("route default", now, "dev eth0 initcwnd 2 mtu lock 576"));
    assert_eq!(first.then, "dev eth0 mtu lock 576");
    let mut sysctl = change("sysctl net.ipv4.tcp_sack", "0", "1");
    sysctl.join(&change("sysctl net.ipv4.tcp_sack", "0", "2"));
    assert_eq!(sysctl.then, "1");
}

#[test]
fn a_route_keeps_what_the_advice_does_not_know() {
    let advised = change("route default", "via 192.0.2.1 dev eth0 initcwnd 2", "via 192.0.2.1 dev eth0");
    let found = "via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.7 metric 100 initcwnd 2 mtu lock 1400";
    let then = "via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.7 metric 100 mtu lock 1400";
    assert_eq!(advised.onto(found).as_deref(), Some(then));
    assert_eq!(advised.onto("via 192.0.2.1 dev eth0"), None, "it has nothing to remove");
    assert_eq!(advised.onto("none"), None);
    let new = change("route 192.0.2.9/32", "none", "dev eth0");
    assert_eq!((new.onto("none").as_deref(), new.onto("dev eth1")), (Some("dev eth0"), None));
    let sysctl = change("sysctl net.ipv4.tcp_sack", "0", "1");
    assert_eq!(sysctl.onto("2").as_deref(), Some("1"));
}

fn advised(setting: &str, then: &str, target: Target) -> Change {
    Change { setting: setting.parse().expect(setting), now: None, then: then.to_owned(), target }
}

#[test]
fn limits_are_only_raised_or_only_lowered() {
    let rmem = |target| advised("sysctl net.ipv4.tcp_rmem", "4096 131072 6291456", target);
    for (found, raised, lowered) in [
        ("4096 131072 4194304", "4096 131072 6291456", "4096 131072 4194304"),
        ("8192 87380 33554432", "8192 131072 33554432", "4096 87380 6291456"),
        ("4096 131072 6291456", "4096 131072 6291456", "4096 131072 6291456"),
    ] {
        assert_eq!(rmem(Target::AtLeast).onto(found).as_deref(), Some(raised), "{found}");
        assert_eq!(rmem(Target::AtMost).onto(found).as_deref(), Some(lowered), "{found}");
    }
    assert_eq!(rmem(Target::AtLeast).onto("4096 131072"), None);
    let mut both = rmem(Target::AtLeast);
    assert!(both.join(&advised("sysctl net.ipv4.tcp_rmem", "4096 1048576 33554432", Target::AtLeast)));
    assert_eq!(both.then, "4096 1048576 33554432");
    assert!(!both.join(&rmem(Target::AtMost)), "one wants more, and one less");
    assert_eq!(both.then, "4096 1048576 33554432");
    let mut first = advised("sysctl net.ipv4.tcp_sack", "1", Target::Exactly);
    assert!(
        first.join(&first.clone()) && !first.join(&advised("sysctl net.ipv4.tcp_sack", "0", Target::Exactly))
    );
}

#[test]
fn attributes_are_added_to_a_route() {
    let mut change = advised("route 192.0.2.9/32", "initcwnd 30", Target::Added);
    assert_eq!(change.onto("none"), None, "there is nothing to add it to");
    for (found, then) in [
        ("via 192.0.2.1 dev eth0", "via 192.0.2.1 dev eth0 initcwnd 30"),
        ("dev eth0 initcwnd 10 mtu lock 1400", "dev eth0 mtu lock 1400 initcwnd 30"),
    ] {
        assert_eq!(change.onto(found).as_deref(), Some(then));
    }
    assert!(change.join(&advised("route 192.0.2.9/32", "rto_min 50ms", Target::Added)));
    assert_eq!(change.onto("dev eth0").as_deref(), Some("dev eth0 rto_min 50ms initcwnd 30"));
    assert!(!change.join(&advised("route 192.0.2.9/32", "initcwnd 20", Target::Added)));
}

#[test]
fn only_what_advice_changes_is_advised() {
    let peer = "192.0.2.9".parse().expect("an address");
    for (setting, then, target) in [
        ("sysctl net.ipv4.tcp_rmem", "4096 131072 6291456", Target::AtLeast),
        ("sysctl net.ipv4.tcp_ecn", "0", Target::Exactly),
        ("route 192.0.2.9/32", "initcwnd 30", Target::Added),
    ] {
        assert!(advised(setting, then, target).is_advised(peer), "{setting}");
    }
    for (setting, then, target) in [
        ("sysctl net.ipv4.ip_forward", "1", Target::Exactly),
        ("sysctl net.ipv4.tcp_ecn", "0; reboot", Target::Exactly),
        ("route 192.0.2.8/32", "initcwnd 30", Target::Added),
        ("route default", "initcwnd 30", Target::Added),
        ("route 192.0.2.9/32", "via 203.0.113.1", Target::Added),
        ("route 192.0.2.9/32", "dev eth0 initcwnd 30", Target::Exactly),
        ("link eth0 mtu", "9000", Target::Exactly),
    ] {
        assert!(!advised(setting, then, target).is_advised(peer), "{setting} {then}");
    }
}

#[test]
fn threads_are_compared_one_by_one() {
    let nice: Setting = "process 10@5 nice".parse().expect("a setting");
    let (old, new) = ("10=0 11=5", "-5");
    for (found, is_old, is_new, is_either) in [
        ("10=0 11=5", true, false, true),
        ("10=-5 11=-5", false, true, true),
        // A kill in the middle.
        ("10=-5 11=5", false, false, true),
        // 11 has ended.
        ("10=0", true, false, true),
        // 12 was started later, and inherited from the first.
        ("10=0 11=5 12=0", true, false, true),
        ("10=0 11=5 12=-5", false, false, true),
        ("10=0 11=9", false, false, false),
    ] {
        let found_is = |value: &str| nice.is(found, value);
        assert_eq!((found_is(old), found_is(new)), (is_old, is_new), "{found}");
        assert_eq!(nice.is_one_of(found, &[old, new]), is_either, "{found}");
    }
    assert_eq!((nice.brief("10=0 11=0"), nice.brief("10=0 11=5")), ("0".to_owned(), "10=0 11=5".to_owned()));
    let rps: Setting = "rps eth0 rx-0".parse().expect("a setting");
    assert!(rps.is("0-2", "0,1,2") && !rps.is("none", "0"));
}
