//! The rules on hand-written hosts: a well-configured host has no finding, and each fault has its own, with its
//! numbers.

use slowpath_doctor::host::{Clock, Interface, Interrupt, Metrics, Offload, Queue, Ring, Route, Softnet};
use slowpath_doctor::{Finding, Goal, Host, Role, Severity, bound, judge};
use slowpath_model::Rate;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// ubik's path: 1 Gbit/s over 40 ms.
fn goal() -> Goal {
    Goal { rate: Rate::mbit(1000), rtt: Duration::from_millis(40), streams: 1, role: Role::Both }
}

fn peer() -> IpAddr {
    [192, 0, 2, 9].into()
}

fn on() -> Offload {
    Offload { on: true, can_change: true }
}

fn off() -> Offload {
    Offload { on: false, can_change: true }
}

fn well_set() -> Host {
    let sysctls = [
        ("net.core.netdev_budget", "300"),
        ("net.core.netdev_max_backlog", "1000"),
        ("net.core.rmem_max", "16777216"),
        ("net.core.wmem_max", "16777216"),
        ("net.ipv4.tcp_adv_win_scale", "1"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_dsack", "1"),
        ("net.ipv4.tcp_early_retrans", "3"),
        ("net.ipv4.tcp_frto", "2"),
        ("net.ipv4.tcp_limit_output_bytes", "4194304"),
        ("net.ipv4.tcp_max_reordering", "300"),
        ("net.ipv4.tcp_mem", "287901\t383869\t575802"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.tcp_no_ssthresh_metrics_save", "1"),
        ("net.ipv4.tcp_notsent_lowat", "4294967295"),
        ("net.ipv4.tcp_pacing_ca_ratio", "120"),
        ("net.ipv4.tcp_recovery", "1"),
        ("net.ipv4.tcp_reordering", "3"),
        ("net.ipv4.tcp_retries2", "15"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t33554432"),
        ("net.ipv4.tcp_rto_min_us", "200000"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_slow_start_after_idle", "0"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t16777216"),
    ];
    let features =
        ["tx-checksum-ipv4", "tx-scatter-gather", "tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro"];
    let root =
        Queue { kind: "pfifo_fast".to_owned(), parent: u32::MAX, packets: 1_000_000, ..Queue::default() };
    let interface = Interface {
        name: "eth0".to_owned(),
        index: 2,
        running: Some(true),
        mtu: Some(1500),
        queue_length: Some(1000),
        gso_max_segments: Some(65_535),
        gso_max_bytes: Some(65_536),
        speed: Some(1_000_000_000),
        full_duplex: Some(true),
        offloads: features.map(|name| (name.to_owned(), on())).into(),
        receive_ring: Some(Ring { slots: 4096, most: 4096 }),
        receive_queues: Some(4),
        steered_queues: Some(0),
        queues: Some(vec![root]),
        ..Interface::default()
    };
    Host {
        release: Some("6.18.0".to_owned()),
        sysctls: sysctls.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        page: Some(4096),
        route: Some(Route { to: Some(peer()), interface: 2, ..Route::default() }),
        interfaces: vec![interface],
        metrics: Some(Vec::new()),
        counters: [("TcpInSegs", 1_000_000), ("TcpOutSegs", 1_000_000), ("TcpExtTCPTimeouts", 20)]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
        softnet: vec![Softnet { processed: 1_000_000, dropped: 0, squeezed: 10, cpu: None }; 4],
        sock_ops: Some(0),
        ..Host::default()
    }
}

fn with(change: impl FnOnce(&mut Host)) -> Host {
    let mut host = well_set();
    change(&mut host);
    host
}

fn setting(name: &str, value: &str) -> Host {
    with(|host| drop(host.sysctls.insert(format!("net.ipv4.{name}"), value.to_owned())))
}

fn card(change: impl FnOnce(&mut Interface)) -> Host {
    with(|host| change(&mut host.interfaces[0]))
}

fn names(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.name()).collect()
}

/// The only finding.
#[track_caller]
fn only(host: &Host, goal: &Goal) -> Finding {
    let found = judge(host, goal);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

#[test]
fn well_configured_host_has_no_finding() {
    assert_eq!(judge(&well_set(), &goal()), []);
    for role in [Role::Sender, Role::Receiver] {
        assert_eq!(judge(&well_set(), &Goal { role, ..goal() }), []);
    }
}

#[test]
fn unknown_values_are_not_judged() {
    assert_eq!(judge(&Host::default(), &goal()), []);
    let bare = Host { interfaces: vec![Interface::default()], ..Host::default() };
    assert_eq!(judge(&bare, &goal()), []);
}

/// 4 MiB of buffer are 2 MiB of window, and 2,097,152 bytes in 40 ms are 419 Mbit/s.
#[test]
fn receive_buffer_finding_has_the_computed_rate_and_fix() {
    let host = setting("tcp_rmem", "4096 131072 4194304");
    let finding = only(&host, &goal());
    assert_eq!(finding.severity, Severity::Limits(Rate::bits_per_second(419_430_400)));
    assert_eq!(finding.name(), "receive-buffer");
    // Four times 5 MB, in whole MiB.
    assert_eq!(finding.fixes[0].command, "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 20971520\"");
    assert_eq!(finding.fixes[0].undo.as_deref(), Some("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 4194304\""));
    assert_eq!(judge(&host, &Goal { streams: 3, ..goal() }), [], "three connections share the window");
    assert_eq!(judge(&host, &Goal { role: Role::Sender, ..goal() }), []);
    assert_eq!(judge(&host, &Goal { rtt: Duration::from_millis(10), ..goal() }), []);
}

#[test]
fn buffer_fix_is_sufficient() {
    for (rate, rtt) in [(1_000, 40), (10_000, 100), (100, 300), (25_000, 5)] {
        let goal = Goal { rate: Rate::mbit(rate), rtt: Duration::from_millis(rtt), ..goal() };
        for name in ["tcp_rmem", "tcp_wmem"] {
            let host = setting(name, "4096 65536 262144");
            let found = judge(&host, &goal);
            let fix = found.iter().find(|finding| finding.seen.contains(name)).expect("it is small");
            let value = fix.fixes[0].command.split('"').nth(1).expect("three numbers");
            let after = judge(&setting(name, value), &goal);
            assert!(!after.iter().any(|finding| finding.seen.contains(name)), "{rate} {rtt}: {after:#?}");
        }
    }
}

/// ubik IV-B, before 6.6: with -2 a quarter of a buffer is advertised.
#[test]
fn advertised_part_applies_before_6_6() {
    let older = |scale: &str, buffer: &str| {
        let mut host = setting("tcp_rmem", buffer);
        host.release = Some("5.15.0-91-generic".to_owned());
        host.sysctls.insert("net.ipv4.tcp_adv_win_scale".to_owned(), scale.to_owned());
        host
    };
    let buffer = "4096 131072 12582912";
    assert_eq!(judge(&older("1", buffer), &goal()), []);
    let finding = only(&older("-2", buffer), &goal());
    assert_eq!(finding.name(), "advertised-part");
    assert_eq!(finding.severity.limit(), Rate::of(slowpath_model::Bytes::kib(3 << 10), goal().rtt));
    // Three quarters of 6 MiB, 4.5 MiB, are a little less than 5 MB; of 7 MiB they are more.
    assert_eq!(names(&judge(&older("2", "4096 131072 6291456"), &goal())), ["receive-buffer"]);
    assert_eq!(judge(&older("2", "4096 131072 7340032"), &goal()), []);
    assert_eq!(judge(&setting("tcp_adv_win_scale", "-2"), &goal()), [], "6.6 and later ignore it");
}

#[test]
fn missing_window_scaling_limits_both_roles() {
    let host = setting("tcp_window_scaling", "0");
    let findings = judge(&host, &goal());
    assert_eq!(names(&findings), ["window-scaling"]);
    // 65,535 bytes in 40 ms.
    assert_eq!(bound(&findings).map(|(rate, _)| rate), Some(Rate::bits_per_second(13_107_000)));
    assert_eq!(judge(&host, &Goal { rtt: Duration::from_micros(100), ..goal() }), [], "near, it suffices");
}

#[test]
fn tcp_mem_limits_all_connections() {
    let finding = only(&setting("tcp_mem", "768 1024 1536"), &goal());
    // 1024 pages are 4 MiB, half of which is payload.
    assert_eq!(
        (finding.name(), finding.severity),
        ("tcp-memory", Severity::Limits(Rate::bits_per_second(419_430_400)))
    );
}

#[test]
fn limits_for_setsockopt_are_hints() {
    let host = with(|host| drop(host.sysctls.insert("net.core.rmem_max".to_owned(), "212992".to_owned())));
    let finding = only(&host, &goal());
    assert_eq!((finding.name(), finding.is_fault()), ("buffers-by-program", false));
    assert!(finding.title.contains("SO_RCVBUF itself gets about 42.6 Mbit/s"), "{}", finding.title);
}

#[test]
fn each_wrong_setting_has_its_finding() {
    for (name, value, finding) in [
        ("tcp_moderate_rcvbuf", "0", "fixed-receive-buffer"),
        ("tcp_congestion_control", "reno", "congestion-control"),
        ("tcp_congestion_control", "vegas", "congestion-control"),
        ("tcp_congestion_control", "dctcp", "congestion-control"),
        ("tcp_limit_output_bytes", "8192", "output-limit"),
        ("tcp_notsent_lowat", "8192", "notsent-lowat"),
        ("tcp_slow_start_after_idle", "1", "slow-start-after-idle"),
        ("tcp_sack", "0", "sack"),
        ("tcp_timestamps", "0", "timestamps"),
        ("tcp_early_retrans", "0", "tail-loss-probe"),
        ("tcp_frto", "0", "frto"),
        ("tcp_dsack", "0", "dsack"),
        ("tcp_reordering", "100", "reordering"),
        ("tcp_max_reordering", "20", "max-reordering"),
        ("tcp_rto_min_us", "3000000", "rto-min"),
        ("tcp_rto_min_us", "5000", "rto-min"),
        ("tcp_retries2", "5", "retries"),
    ] {
        let found = only(&setting(name, value), &goal());
        assert_eq!(found.name(), finding, "{name} = {value}");
        assert!(!found.fixes.is_empty() && !found.source.is_empty() && !found.why.is_empty(), "{found:?}");
    }
    assert_eq!(judge(&setting("tcp_recovery", "0"), &goal()), [], "6.17 and later ignore it");
    let mut older = setting("tcp_recovery", "0");
    older.release = Some("6.12.9".to_owned());
    assert_eq!(only(&older, &goal()).name(), "rack");
    let slow = Goal { rate: Rate::mbit(10), rtt: Duration::from_millis(1), ..goal() };
    for (name, value) in
        [("tcp_congestion_control", "reno"), ("tcp_sack", "0"), ("tcp_notsent_lowat", "4096")]
    {
        assert_eq!(
            judge(&setting(name, value), &slow),
            [],
            "{name} does not matter to a window of a segment"
        );
    }
}

#[test]
fn cached_ssthresh_is_found() {
    let entry = Metrics { to: Some(peer()), ssthresh: Some(14), ..Metrics::default() };
    let mut host = with(|host| host.metrics = Some(vec![entry]));
    assert_eq!(judge(&host, &goal()), [], "new connections do not use it");
    host.sysctls.insert("net.ipv4.tcp_no_ssthresh_metrics_save".to_owned(), "0".to_owned());
    let finding = only(&host, &goal());
    assert_eq!((finding.name(), finding.severity), ("parameter-cache", Severity::Costs));
    assert_eq!(finding.fixes[0].command, "ip tcp_metrics delete 192.0.2.9");
    if let Some(route) = &mut host.route {
        route.to = Some([192, 0, 2, 10].into());
    }
    assert_eq!(judge(&host, &goal()), [], "it belongs to another host");
    if let Some(route) = &mut host.route {
        route.to = None;
    }
    assert_eq!(only(&host, &goal()).severity, Severity::Hint, "the destination is unknown");
}

#[test]
fn each_route_attribute_has_its_finding() {
    let route = |name: &str, value: u32| {
        with(|host| {
            let route = host.route.as_mut().expect("it has one");
            route.gateway = Some([192, 0, 2, 1].into());
            route.attributes = [(name.to_owned(), value), ("quickack".to_owned(), 1)].into();
        })
    };
    for (name, value, finding) in [
        ("window", 20_000, "route-window"),
        ("initrwnd", 4, "route-initrwnd"),
        ("advmss", 536, "route-advmss"),
        ("initcwnd", 1, "route-initcwnd"),
        ("rto_min", 2000, "route-rto-min"),
        ("mtu", 576, "route-mtu"),
    ] {
        let found = only(&route(name, value), &goal());
        assert_eq!(found.name(), finding);
        assert_eq!(
            found.fixes[0].command, "ip route replace 192.0.2.9/32 via 192.0.2.1 dev eth0 quickack 1",
            "the other attribute stays"
        );
    }
    assert_eq!(judge(&route("cwnd", 20), &goal()), [], "without its lock it has no effect");
    assert_eq!(judge(&route("initcwnd", 10), &goal()), []);
    let mut locked = route("cwnd", 20);
    locked.route.as_mut().expect("it has one").locked.push("cwnd".to_owned());
    // 20 segments of 1448 bytes in 40 ms.
    assert_eq!(only(&locked, &goal()).severity, Severity::Limits(Rate::bits_per_second(5_792_000)));
}

#[test]
fn each_qdisc_fault_has_its_finding() {
    let queue = |change: fn(&mut Queue)| {
        card(|card| {
            let mut queue = Queue { kind: "fq".to_owned(), parent: u32::MAX, ..Queue::default() };
            change(&mut queue);
            card.queues = Some(vec![queue]);
        })
    };
    let limits = |host: &Host| only(host, &goal()).severity.limit();
    assert_eq!(limits(&queue(|queue| queue.rate = Some(5_000_000))), Some(Rate::mbit(5)));
    assert_eq!(limits(&queue(|queue| queue.flow_rate = Some(7_000_000))), Some(Rate::mbit(7)));
    let flows = Goal { streams: 200, ..goal() };
    assert_eq!(
        judge(
            &queue(|queue| (queue.flow_rate, queue.limit_packets) = (Some(7_000_000), Some(10_000))),
            &flows
        ),
        []
    );
    assert_eq!(only(&queue(|queue| queue.limit_packets = Some(5)), &goal()).name(), "queue-length");
    assert_eq!(only(&queue(|queue| queue.limit_bytes = Some(9000)), &goal()).name(), "queue-length");
    let netem = |queue: &mut Queue| {
        (queue.kind, queue.delay_ns, queue.loss) = ("netem".to_owned(), Some(20_000_000), Some(42_949_673));
    };
    let finding = only(&queue(netem), &goal());
    assert_eq!(
        finding.why,
        "It delays packets by 20 ms and loses 1 % of them: it emulates a path for tests."
    );
    let receiver = Goal { role: Role::Receiver, ..goal() };
    assert_eq!(judge(&queue(|queue| queue.limit_packets = Some(5)), &receiver), [], "ACKs are few");
    // ubik's own case: a NIC without segmentation, 100 packets of queue at 1 Gbit/s.
    let as_then = card(|card| {
        card.queue_length = Some(100);
        for offload in card.offloads.values_mut() {
            *offload = Offload::default();
        }
    });
    assert_eq!(only(&as_then, &goal()).name(), "queue-length");
    assert_eq!(judge(&card(|card| card.queue_length = Some(100)), &goal()), [], "super-packets need fewer");
}

#[test]
fn fq_flow_rate_below_the_goal_is_found() {
    let mut host = setting("tcp_pacing_ca_ratio", "80");
    assert_eq!(judge(&host, &goal()), [], "nothing paces");
    host.interfaces[0].queues = Some(vec![Queue { kind: "fq".to_owned(), ..Queue::default() }]);
    assert_eq!(only(&host, &goal()).name(), "pacing-ratio");
}

#[test]
fn each_nic_fault_has_its_finding() {
    let switched = |name: &str, to: Offload| card(|card| card.offloads.extend([(name.to_owned(), to)]));
    for (feature, finding) in [
        ("tx-checksum-ipv4", "transmit-checksums"),
        ("tx-scatter-gather", "scatter-gather"),
        ("tx-generic-segmentation", "gso"),
        ("tx-tcp-segmentation", "tso"),
        ("rx-gro", "gro"),
    ] {
        assert_eq!(only(&switched(feature, off()), &goal()).name(), finding);
        let fixed = Offload { on: false, can_change: false };
        assert_eq!(judge(&switched(feature, fixed), &goal()), [], "nobody can change it");
        let slow = Goal { rate: Rate::mbit(100), ..goal() };
        assert_eq!(judge(&switched(feature, off()), &slow), [], "few packets cost little");
    }
    let veth = card(|card| {
        card.kind = Some("veth".to_owned());
        card.offloads.insert("rx-gro".to_owned(), off());
    });
    assert_eq!(judge(&veth, &goal()), [], "super-packets are passed whole");
    let rate = |host: &Host| only(host, &goal()).severity;
    assert_eq!(rate(&card(|card| card.speed = Some(100_000_000))), Severity::Limits(Rate::mbit(100)));
    assert_eq!(
        rate(&card(|card| card.running = Some(false))),
        Severity::Limits(Rate::bits_per_second(0)),
        "nothing leaves it"
    );
    assert_eq!(only(&card(|card| card.full_duplex = Some(false)), &goal()).name(), "half-duplex");
    assert_eq!(only(&card(|card| card.mtu = Some(576)), &goal()).name(), "mtu");
    assert_eq!(only(&card(|card| card.gso_max_bytes = Some(3000)), &goal()).name(), "super-packets");
}

#[test]
fn slaves_of_a_bond_may_be_slower_than_the_goal() {
    let mut host = card(|card| card.speed = Some(2_000_000_000));
    let beneath = |running| Interface {
        speed: Some(1_000_000_000),
        running: Some(running),
        ..host.interfaces[0].clone()
    };
    let both = [beneath(true), beneath(false)];
    host.interfaces.extend(both);
    let goal = Goal { rate: Rate::mbit(1500), rtt: Duration::from_millis(20), streams: 4, ..goal() };
    assert_eq!(judge(&host, &goal), []);
    host.interfaces[0].speed = None;
    assert_eq!(
        only(&host, &goal).severity,
        Severity::Limits(Rate::mbit(1000)),
        "a VLAN's is that of its card"
    );
}

#[test]
fn counters_are_hints_above_the_tolerable_loss() {
    let lost = |missed: u64| {
        card(|card| {
            (card.statistics.rx_packets, card.statistics.rx_missed_errors) = (1_000_000_000, missed);
            card.receive_ring = Some(Ring { slots: 256, most: 4096 });
        })
    };
    assert_eq!(judge(&lost(10), &goal()), [], "CUBIC tolerates one in a hundred million");
    let finding = only(&lost(1_000_000), &goal());
    assert_eq!((finding.name(), finding.is_fault()), ("ring-overflow", false));
    assert_eq!(finding.fixes[0].command, "ethtool -G eth0 rx 4096");
    for (name, host) in [
        ("bad-frames", card(|card| card.statistics.rx_crc_errors = 100)),
        ("queue-drops", card(|card| card.queues.as_mut().expect("queues")[0].drops = 5000)),
        ("backlog-drops", with(|host| host.softnet[0].dropped = 5000)),
        ("budget", with(|host| host.softnet[0].squeezed = 50_000)),
    ] {
        let finding = only(&host, &goal());
        assert_eq!((finding.name(), finding.is_fault()), (name, false));
    }
    let counted = |name: &str, count| with(|host| host.counters.extend([(name.to_owned(), count)]));
    for (counter, count, name) in [
        ("TcpExtTCPRcvQDrop", 5000, "receive-queue-drops"),
        ("TcpExtTCPBacklogDrop", 5000, "backlog-full"),
        ("TcpExtRcvPruned", 5000, "pruned"),
        ("TcpExtTCPRcvCollapsed", 5000, "collapsed"),
        ("TcpExtTCPZeroWindowDrop", 5000, "zero-window-drops"),
        ("TcpExtTCPMemoryPressures", 1, "memory-pressure"),
        ("TcpExtTCPTimeouts", 5000, "timeouts"),
        ("TcpExtTCPSpuriousRTOs", 15, "spurious-timeouts"),
        ("TcpExtTCPRetransFail", 5000, "retransmits-refused"),
    ] {
        let finding = only(&counted(counter, count), &goal());
        assert_eq!((finding.name(), finding.is_fault()), (name, false));
    }
    assert_eq!(judge(&counted("TcpExtTCPRcvQDrop", 5), &goal()), [], "small counts are not significant");
}

#[test]
fn cpu_findings_of_fast_nics() {
    let fast = Goal { rate: Rate::mbit(25_000), rtt: Duration::from_micros(500), streams: 8, ..goal() };
    let mut host = card(|card| card.speed = Some(25_000_000_000));
    assert_eq!(judge(&host, &fast), []);
    host.interfaces[0].receive_queues = Some(1);
    assert_eq!(only(&host, &fast).name(), "one-queue");
    host.interfaces[0].steered_queues = Some(1);
    assert_eq!(judge(&host, &fast), [], "RPS shares the work");
    let of = |cpus: &str| (1..5).map(|number| Interrupt { number, cpus: cpus.to_owned() }).collect();
    host.interfaces[0].interrupts = of("0-3");
    assert_eq!(judge(&host, &fast), []);
    host.interfaces[0].interrupts = of("0");
    assert_eq!(only(&host, &fast).name(), "one-cpu");
    let clock = |driver: &str, governor: &str, allowed: u64| {
        with(|host| {
            let (driver, governor) = (driver.to_owned(), governor.to_owned());
            let clock =
                Clock { cpu: 0, governor, driver, allowed_khz: Some(allowed), most_khz: Some(3_000_000) };
            host.clocks = vec![clock];
        })
    };
    assert_eq!(only(&clock("acpi-cpufreq", "powersave", 3_000_000), &goal()).name(), "cpu-clock");
    assert_eq!(judge(&clock("intel_pstate", "powersave", 3_000_000), &goal()), []);
    assert_eq!(only(&clock("intel_pstate", "performance", 1_200_000), &goal()).name(), "cpu-clock");
}

#[test]
fn lowest_limit_comes_first() {
    let mut host = setting("tcp_sack", "0");
    host.sysctls.insert("net.ipv4.tcp_wmem".to_owned(), "4096 16384 1048576".to_owned());
    host.sysctls.insert("net.ipv4.tcp_rmem".to_owned(), "4096 131072 1048576".to_owned());
    host.sysctls.insert("net.ipv4.tcp_dsack".to_owned(), "0".to_owned());
    let findings = judge(&host, &goal());
    assert_eq!(names(&findings), ["receive-buffer", "send-buffer", "sack", "dsack"]);
    assert_eq!(bound(&findings).map(|(_, finding)| finding.name()), Some("receive-buffer"));
}

#[test]
fn absurd_hosts_and_goals_neither_panic_nor_overflow() {
    let absurd =
        ["", "0", "-1", "18446744073709551615", "99999999999999999999999", "x y z", "4096 -5 -7", "\0"];
    let goals = [(0, 0, 0), (u64::MAX, u64::MAX, u32::MAX), (1, u64::MAX, 1), (u64::MAX, 1, 0)];
    for value in absurd {
        for (rate, rtt, streams) in goals {
            let goal = Goal {
                rate: Rate::bits_per_second(rate),
                rtt: Duration::from_nanos(rtt),
                streams,
                role: Role::Both,
            };
            let mut host = well_set();
            host.sysctls.values_mut().for_each(|text| value.clone_into(text));
            host.release = Some(value.to_owned());
            judge(&host, &goal);
            host.page = Some(u64::MAX);
            host.softnet =
                vec![Softnet { processed: u64::MAX, dropped: u64::MAX, squeezed: u64::MAX, cpu: None }; 2];
            host.counters.values_mut().for_each(|count| *count = u64::MAX);
            let card = &mut host.interfaces[0];
            let most = u64::MAX;
            card.statistics.rx_packets = most;
            (card.statistics.rx_missed_errors, card.statistics.rx_crc_errors) = (most, most);
            (card.statistics.rx_fifo_errors, card.statistics.collisions) = (most, most);
            (card.mtu, card.speed, card.gso_max_bytes) = (Some(0), Some(0), Some(0));
            let queue = Queue { kind: "netem".to_owned(), drops: most, packets: most, ..Queue::default() };
            card.queues =
                Some(vec![Queue { delay_ns: Some(most), loss: Some(u32::MAX), parent: u32::MAX, ..queue }]);
            let names = ["mtu", "window", "cwnd", "initcwnd", "advmss", "rto_min", "ssthresh", "initrwnd"];
            let route = host.route.as_mut().expect("it has one");
            route.attributes = names.map(|name| (name.to_owned(), u32::MAX)).into();
            judge(&host, &goal);
            host.route.as_mut().expect("it has one").attributes =
                BTreeMap::from(names.map(|name| (name.to_owned(), 1)));
            judge(&host, &goal);
        }
    }
}
