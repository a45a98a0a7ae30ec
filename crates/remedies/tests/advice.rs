//! The advice of every cause on a representative flow, and what holds for all advice.

mod sample;

use sample::{finding, report, report_of};
use slowpath_analyses::report::{Finding, FlowReport, Measures};
use slowpath_analyses::{Cause, Evidence, Limit};
use slowpath_model::{Bytes, End, Rate, Vantage};
use slowpath_remedies::{Advice, Fix, advise};
use std::fmt::Write;
use std::time::Duration;

/// The sysctls that may be named, from `Documentation/networking/ip-sysctl.rst`,
/// `Documentation/networking/nf_conntrack-sysctl.rst` and `Documentation/admin-guide/sysctl/net.rst` of Linux 6.18.
const SYSCTLS: [&str; 54] = [
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fastopen_blackhole_timeout_sec",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_count",
    "net.netfilter.nf_conntrack_max",
    "net.netfilter.nf_conntrack_tcp_be_liberal",
    "net.netfilter.nf_conntrack_tcp_timeout_established",
];

/// The counters that may be named, from `nstat -az` of 6.18 (`net/ipv4/proc.c`: `snmp4_tcp_list`, `snmp4_net_list`,
/// `snmp4_ipextstats_list`).
const COUNTERS: [&str; 63] = [
    "IpExtInCEPkts",
    "IpExtInECT0Pkts",
    "IpExtInECT1Pkts",
    "TcpExtDelayedACKLocked",
    "TcpExtIPReversePathFilter",
    "TcpExtListenDrops",
    "TcpExtListenOverflows",
    "TcpExtOfoPruned",
    "TcpExtPAWSActive",
    "TcpExtPAWSEstab",
    "TcpExtPAWSTimewait",
    "TcpExtPruneCalled",
    "TcpExtRcvPruned",
    "TcpExtSyncookiesRecv",
    "TcpExtTCPSACKDiscard",
    "TcpExtSyncookiesSent",
    "TcpExtTCPACKSkippedChallenge",
    "TcpExtTCPACKSkippedPAWS",
    "TcpExtTCPAbortFailed",
    "TcpExtTCPAbortOnClose",
    "TcpExtTCPAbortOnData",
    "TcpExtTCPAbortOnLinger",
    "TcpExtTCPAbortOnMemory",
    "TcpExtTCPAbortOnTimeout",
    "TcpExtTCPBacklogDrop",
    "TcpExtTCPChallengeACK",
    "TcpExtTCPDSACKRecv",
    "TcpExtTCPDSACKUndo",
    "TcpExtTCPDeliveredCE",
    "TcpExtTCPFastOpenActive",
    "TcpExtTCPFastOpenActiveFail",
    "TcpExtTCPFastOpenBlackhole",
    "TcpExtTCPFromZeroWindowAdv",
    "TcpExtTCPFullUndo",
    "TcpExtTCPHystartDelayCwnd",
    "TcpExtTCPHystartDelayDetect",
    "TcpExtTCPHystartTrainCwnd",
    "TcpExtTCPHystartTrainDetect",
    "TcpExtTCPKeepAlive",
    "TcpExtTCPLossProbeRecovery",
    "TcpExtTCPLossProbes",
    "TcpExtTCPLossUndo",
    "TcpExtTCPLostRetransmit",
    "TcpExtTCPMemoryPressures",
    "TcpExtTCPOFODrop",
    "TcpExtTCPPartialUndo",
    "TcpExtTCPRcvCollapsed",
    "TcpExtTCPRcvQDrop",
    "TcpExtTCPReqQFullDoCookies",
    "TcpExtTCPReqQFullDrop",
    "TcpExtTCPRetransFail",
    "TcpExtTCPSACKReneging",
    "TcpExtTCPSACKReorder",
    "TcpExtTCPSYNChallenge",
    "TcpExtTCPSpuriousRTOs",
    "TcpExtTCPTSReorder",
    "TcpExtTCPTimeouts",
    "TcpExtTCPToZeroWindowAdv",
    "TcpExtTCPWantZeroWindowAdv",
    "TcpExtTCPZeroWindowDrop",
    "TcpEstabResets",
    "TcpInCsumErrors",
    "TcpOutRsts",
];

fn shown(advice: &[Advice]) -> String {
    let mut text = String::new();
    for piece in advice {
        writeln!(text, "- {}", piece.text).expect("written");
        for Fix { host, command, effect, needs, undo, .. } in &piece.fixes {
            writeln!(text, "    [{}] $ {command}", host.slug()).expect("written");
            writeln!(text, "        {effect}").expect("written");
            if let Some(needs) = needs {
                writeln!(text, "        needs {needs}").expect("written");
            }
            if let Some(undo) = undo {
                writeln!(text, "        undo: {undo}").expect("written");
            }
        }
        if let Some(caution) = &piece.caution {
            writeln!(text, "    caution: {caution}").expect("written");
        }
    }
    text
}

fn everything() -> impl Iterator<Item = (Cause, FlowReport, Vec<Advice>)> {
    Cause::ALL.iter().map(|cause| {
        let report = report_of(*cause);
        let advice = advise(&finding(*cause), &report);
        (*cause, report, advice)
    })
}

#[test]
fn advice_of_every_cause() {
    for limit in Limit::ALL {
        let mut text = String::new();
        for (cause, _, advice) in everything().filter(|(cause, ..)| cause.limit() == limit) {
            writeln!(text, "== {cause}\n{}", shown(&advice)).expect("written");
        }
        insta::assert_snapshot!(limit.slug(), text);
    }
}

#[test]
fn advice_names_only_existing_sysctls_and_counters() {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'))
            .map(|word| word.trim_matches('.').to_owned())
            .collect()
    };
    for (cause, _, advice) in everything() {
        for word in words(&shown(&advice)) {
            if word.starts_with("net.") {
                assert!(SYSCTLS.contains(&word.as_str()), "{cause}: {word}");
            }
            if ["TcpExt", "TcpIn", "IpExt"].iter().any(|start| word.starts_with(start)) {
                assert!(COUNTERS.contains(&word.as_str()), "{cause}: {word}");
            }
            if word.starts_with("tcp_") && word.contains("mem") {
                assert!(
                    ["tcp_rmem", "tcp_wmem", "tcp_mem", "tcp_rmem.before", "tcp_wmem.before"]
                        .contains(&word.as_str()),
                    "{cause}: {word}"
                );
            }
        }
    }
}

#[test]
fn changing_commands_state_rights_and_undo() {
    const SETTERS: [&str; 15] = [
        "sysctl -w",
        "route add",
        "tc qdisc replace",
        "ethtool -G",
        "modprobe",
        "renice",
        "kill",
        "chrt -",
        "ethtool -K",
        "ip link set",
        "echo",
        "tcp_metrics delete",
        "iptables -A",
        "iptables -I",
        "iptables -t mangle -A",
    ];
    for (cause, _, advice) in everything() {
        assert!(!advice.is_empty(), "{cause}");
        for command in advice.iter().flat_map(|piece| &piece.fixes) {
            let sets = SETTERS.iter().any(|setter| command.command.contains(setter));
            let deletes = command.command.contains("tcp_metrics delete");
            assert!(!sets || command.needs.is_some(), "{cause}: {}", command.command);
            assert_eq!(sets, command.changes, "{cause}: {}", command.command);
            assert_eq!(sets && !deletes, command.undo.is_some(), "{cause}: {}", command.command);
            assert!(!command.effect.is_empty(), "{cause}: {}", command.command);
        }
    }
}

/// What a findings file may change is held against this list: nothing that is advised may be missing from it.
#[test]
fn typed_changes_are_those_that_a_plan_accepts() {
    let mut seen = 0;
    for (cause, report, advice) in everything() {
        for change in advice.iter().flat_map(|one| &one.fixes).filter_map(|fix| fix.change.as_ref()) {
            let is_advised = [report.key.a, report.key.b].iter().any(|end| change.is_advised(end.address));
            assert!(is_advised, "{cause}: {change:?}");
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn sysctl_is_saved_before_it_is_set() {
    for (cause, _, advice) in everything() {
        for piece in &advice {
            for (index, command) in piece.fixes.iter().enumerate() {
                let Some(file) = command.undo.as_deref().and_then(|line| line.strip_prefix("sysctl -p "))
                else {
                    continue;
                };
                let noted = index.checked_sub(1).map(|before| piece.fixes[before].command.as_str());
                assert!(
                    noted.is_some_and(|line| line.ends_with(&format!("| tee {file}"))),
                    "{cause}: {command:?}"
                );
            }
        }
    }
}

fn with_receiver(scale: u8, window: Bytes) -> FlowReport {
    let mut report = report();
    let measures = &mut report.directions[End::A.index()].measures;
    measures.window.max = Some(window);
    if let Some(options) = &mut measures.options {
        options.window_scale = Some(scale);
    }
    report
}

/// Slow start that something else interrupted is none of pauses.
#[test]
fn slow_start_without_a_pause_is_not_that_of_pauses() {
    let advises_pauses = |longest: Duration| {
        let mut report = report_of(Cause::SlowStart);
        report.directions[End::B.index()].measures.idle_longest = longest;
        advise(&finding(Cause::SlowStart), &report)
            .iter()
            .any(|one| one.text.contains("pause longer than the RTO"))
    };
    assert!(advises_pauses(Duration::from_secs(2)));
    assert!(!advises_pauses(Duration::from_millis(133)));
}

/// 3 MiB per 40 ms are 629 Mbit/s; 2.5 Gbit/s is the smallest link rate above twice 600; that is 12.5 MB per 40 ms, and
/// four times that is 47.7 MiB.
#[test]
fn receive_buffer_advice_matches_a_manual_calculation() {
    let mut report = with_receiver(7, Bytes::kib(3 << 10));
    report.directions[End::B.index()].measures.goodput = Some(Rate::mbit(600));
    let text = shown(&advise(&finding(Cause::ReceiveBufferTooSmall), &report));
    for part in [
        "3 MiB per RTT of 40 ms allow at most 629 Mbit/s",
        "2.5 Gbit/s needs 11.9 MiB",
        "at least 48 MiB",
        "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 50331648\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The scale shows what keeps a window small (`tcp_select_initial_window`). A scale of 10 is chosen for 32 MiB, of
/// which half would be advertised, and 208 KiB is far from that. A scale of 2 is chosen for 128 to 256 KiB; if all 208
/// KiB are advertised, that was the buffer's own size. A scale of 7 is chosen for 4 to 8 MiB, of which 3 MiB may be
/// everything.
#[test]
fn fixed_so_rcvbuf_is_distinguished_from_host_limit() {
    let first = |scale, window| {
        let advice = advise(&finding(Cause::ReceiveBufferTooSmall), &with_receiver(scale, window));
        (advice[0].text.clone(), advice.len())
    };
    let (text, pieces) = first(10, Bytes::kib(208));
    assert!(
        text.contains("Something keeps this window small") && text.contains("between 32 MiB and 64 MiB"),
        "{text}"
    );
    assert_eq!(pieces, 1, "the host's limit suffices");
    assert!(first(2, Bytes::kib(208)).0.contains("Probably the receiving application fixed this buffer"));
    assert!(first(0, Bytes::kib(60)).0.contains("Probably the receiving application fixed this buffer"));
    let (text, pieces) = first(7, Bytes::kib(3 << 10));
    assert!(text.starts_with("The receiver's window had reached its largest size"), "{text}");
    assert_eq!(pieces, 2);
}

/// A host whose limits are the kernel's defaults is never advised to lower them, except for a standing queue, on
/// purpose.
#[test]
fn host_limits_are_not_lowered() {
    for (cause, _, advice) in everything().filter(|(cause, ..)| *cause != Cause::StandingQueue) {
        for command in advice.iter().flat_map(|piece| &piece.fixes) {
            for (key, default) in [("tcp_rmem", 32 << 20), ("tcp_wmem", 4 << 20), ("mem_max", 4 << 20)] {
                if command.command.contains("sysctl -w") && command.command.contains(key) {
                    let value = command.command.rsplit(['=', ' ']).next().unwrap_or_default();
                    let value: u64 = value.trim_matches('"').parse().expect("a number");
                    assert!(value >= default, "{cause}: {}", command.command);
                }
            }
        }
    }
}

/// Next to the sender, what a shaper lets out shows as evenly sent; elsewhere, it is a slow link.
#[test]
fn full_path_not_seen_from_the_sender_may_be_a_shaper_on_its_host() {
    let mut report = report();
    let seen_from = |report: &FlowReport| shown(&advise(&finding(Cause::BottleneckFull), report));
    report.vantage.vantage = Vantage::At(report.sender);
    assert!(!seen_from(&report).contains("tc -s -d qdisc"), "{}", seen_from(&report));
    for vantage in [Vantage::At(!report.sender), Vantage::Between, Vantage::Unknown] {
        report.vantage.vantage = vantage;
        assert!(seen_from(&report).contains("tc -s -d qdisc"), "{}", seen_from(&report));
    }
}

#[test]
fn full_path_that_loses_much_is_not_the_good_case() {
    let mut report = report();
    let shown = |report: &FlowReport| shown(&advise(&finding(Cause::BottleneckFull), report));
    assert!(shown(&report).contains("This is the good case"), "{}", shown(&report));
    report.directions[report.sender as usize].measures.labels.retransmission = 2_000;
    let text = shown(&report);
    assert!(!text.contains("the good case") && text.contains("2.9 % of the segments were lost"), "{text}");
}

#[test]
fn receiver_that_reneges_under_an_open_window_needs_no_larger_buffer() {
    let mut report = report();
    let shown = |report: &FlowReport| shown(&advise(&finding(Cause::SackReneging), report));
    assert!(shown(&report).contains("Give the receiver a larger buffer"), "{}", shown(&report));
    let receiver = !report.sender;
    report.directions[receiver as usize].measures.window.min = Some(Bytes::kib(200));
    let text = shown(&report);
    assert!(text.contains("its window stood at 208 KiB") && !text.contains("tcp_rmem"), "{text}");
}

#[test]
fn rate_of_a_reader_is_that_of_a_transfer_that_it_held_for_most_of_the_time() {
    for (share, is_said) in [(0.9, true), (0.4, false)] {
        let finding = Finding { share, ..finding(Cause::SlowReader) };
        let text = shown(&advise(&finding, &report()));
        assert_eq!(text.contains("It read 40 Mbit/s on average"), is_said, "{text}");
    }
}

#[test]
fn keepalive_time_for_all_sockets_of_a_host_is_not_short() {
    for (pause, is_for_all) in [(3, false), (20, false), (30, true), (600, true)] {
        let mut finding = finding(Cause::PeerGone);
        finding.evidence = vec![Evidence::SilentAfterPause { pause: Duration::from_secs(pause) }];
        let text = shown(&advise(&finding, &report()));
        assert!(text.contains("TCP_KEEPIDLE"), "{text}");
        assert_eq!(text.contains("sysctl -w net.ipv4.tcp_keepalive_time"), is_for_all, "{text}");
    }
}

/// What a handshake of one RTT and a lost packet took is not the RTT.
#[test]
fn handshake_with_a_lost_packet_is_not_the_rtt() {
    let text = |took: u64| {
        let mut report = report_of(Cause::Handshake);
        report.opening.round_trip = Some(Duration::from_millis(took));
        shown(&advise(&finding(Cause::Handshake), &report))
    };
    assert!(
        text(541).contains("one RTT, 40 ms here") && text(541).contains("This one took 541 ms"),
        "{}",
        text(541)
    );
    assert!(!text(45).contains("This one took"), "{}", text(45));
}

/// 4 Mbit/s over 40 ms need no scale.
#[test]
fn scale_that_is_no_larger_is_not_advised() {
    let text = |goodput: u64| {
        let mut report = report_of(Cause::NoWindowScaling);
        report.directions[End::B.index()].measures.goodput = Some(Rate::mbit(goodput));
        shown(&advise(&finding(Cause::WindowScaleTooSmall), &report))
    };
    assert!(!text(4).contains("needs a scale of"), "{}", text(4));
    assert!(text(400).contains("needs a scale of"), "{}", text(400));
}

#[test]
fn rate_without_pauses_is_not_above_the_best_one() {
    let text = |peak: f64| {
        let mut report = report_of(Cause::SenderIdle);
        report.directions[End::B.index()].overview.peak_rate = peak;
        shown(&advise(&finding(Cause::SenderIdle), &report))
    };
    assert!(text(0.0).contains("at most 160 Mbit/s"), "{}", text(0.0));
    assert!(text(60e6).contains("about 60 Mbit/s, the most that arrived"), "{}", text(60e6));
    assert!(!text(40e6).contains("If it had always written"), "{}", text(40e6));
}

/// No number is made up: without RTT and goodput there is advice, and it names no rate.
#[test]
fn unknown_values_give_no_computed_rates() {
    for cause in Cause::ALL {
        let mut report = report_of(*cause);
        report.opening.round_trip = None;
        report.vantage.vantage = Vantage::Unknown;
        report.vantage.to_a = None;
        for direction in &mut report.directions {
            direction.measures = Measures::default();
        }
        let text = shown(&advise(&finding(*cause), &report));
        assert!(!text.is_empty(), "{cause}");
        for unit in [" Mbit/s", " kbit/s"] {
            for quoted in text.split(unit).skip(1) {
                let known = [
                    "with 4 MB",
                    " with 16 MB",
                    " to 72",
                    ", and",
                    " with",
                    ", next to one 265",
                    ", and 75",
                    ", though both windows",
                    ").",
                ];
                assert!(
                    known.iter().any(|known| quoted.starts_with(known)),
                    "{cause}: a rate before \"{}\"",
                    &quoted[..quoted.len().min(40)]
                );
            }
        }
        assert!(!text.contains("0 B per RTT"), "{cause}: {text}");
    }
}

/// Extreme values neither panic nor overflow.
#[test]
fn extreme_values_do_not_panic() {
    for cause in Cause::ALL {
        for (goodput, round_trip, share, spells) in [
            (u64::MAX, Duration::MAX, 1.0, u64::MAX),
            (1, Duration::from_nanos(1), 0.0, 0),
            (0, Duration::ZERO, f64::NAN, 1),
        ] {
            let mut report = report_of(*cause);
            report.opening.round_trip = Some(round_trip);
            report.vantage.to_a = None;
            report.vantage.vantage = Vantage::Between;
            for direction in &mut report.directions {
                let measures = &mut direction.measures;
                measures.goodput = Some(Rate::bits_per_second(goodput));
                measures.flight_max = Bytes::new(goodput);
                measures.window.max = Some(Bytes::new(goodput));
                measures.bytes = Bytes::new(goodput);
                measures.labels.retransmission = goodput;
                measures.rtt_by_ack.min = Some(round_trip);
                measures.rtt_by_ack.mean = Some(round_trip);
                measures.rtt_by_ack.max = Some(Duration::MAX);
            }
            let mut finding = finding(*cause);
            finding.share = share;
            finding.spells = spells;
            finding.lasted = round_trip;
            assert!(!advise(&finding, &report).is_empty());
        }
    }
}
