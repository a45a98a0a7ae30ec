//! The interface: its link, MTU, offloads and rings.

use super::{Examination, FRAMING, HEADERS, together};
use crate::finding::{Check, Finding, Severity, change, look, set};
use crate::host::{Interface, Ring};
use slowpath_model::{Rate, shown};
use slowpath_remedies::setting::{Cpus, LinkAttribute, Steering};
use slowpath_remedies::{Change, Fix, Host, Setting, Target, percent};

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    found.extend(exam.host.outgoing().and_then(down));
    found.extend(exam.host.link().and_then(|interface| link(exam, interface)));
    for interface in &exam.host.interfaces {
        found.extend(duplex(interface));
        found.extend(packet_size(exam, interface));
        found.extend(offload(exam, interface));
        found.extend(super_packets(exam, interface));
        found.extend(lost_receiving(exam, interface));
        found.extend(bad_frames(exam, interface));
        found.extend(one_queue(exam, interface));
        found.extend(one_cpu(exam, interface));
    }
}

fn down(interface: &Interface) -> Option<Finding> {
    (!interface.running?).then_some(())?;
    let name = shown::word(&interface.name);
    let nothing = Severity::Limits(Rate::bits_per_second(0));
    Some(
        Finding::new(Check::LinkDown, nothing, format!("{name} is down, or has no carrier"))
            .seen(format!("ip link show {name}"))
            .because("It sends nothing.", "rtnetlink(7), IFF_LOWER_UP")
            .fixed_by(change(format!("ip link set {name} up"))),
    )
}

fn link(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let line = Rate::bits_per_second(interface.speed?);
    let severity = exam.limits(line)?;
    let mtu = u64::from(exam.mtu());
    let payload = mtu.saturating_sub(HEADERS.into()) as f64 / (mtu + FRAMING) as f64;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::LinkRate, severity, format!("the link of {name} carries {line}"))
            .seen(format!("ethtool {name}: {line}"))
            .because(
                format!("{} of it is TCP payload, and the goal is {}.", percent(payload), exam.goal.rate),
                "IEEE 802.3; ethtool(8)",
            )
            .fixed_by(look(format!("ethtool {name}"))),
    )
}

fn duplex(interface: &Interface) -> Option<Finding> {
    (!interface.full_duplex?).then_some(())?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::HalfDuplex, Severity::Costs, format!("{name} is half duplex"))
            .seen(format!("ethtool {name}: half duplex"))
            .because(
                "ACKs and data take turns, and if the other end is set to full duplex, frames that arrive \
                 meanwhile are lost.",
                "IEEE 802.3, clause 4; ethtool(8)",
            )
            .fixed_by(change(format!("ethtool -s {name} autoneg on"))),
    )
}

/// IPv6's minimum MTU (RFC 8200, section 5).
const LEAST_PACKET: u32 = 1280;

fn link_setting(interface: &Interface, attribute: LinkAttribute) -> Setting {
    Setting::Link { device: interface.name.clone(), attribute }
}

fn packet_size(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let mtu = interface.mtu.filter(|mtu| *mtu < LEAST_PACKET)?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::Mtu, Severity::Costs, format!("packets of {name} are small"))
            .seen(format!("mtu {mtu} of {name}"))
            .because(
                format!(
                    "{} % of each packet is headers, and the goal is {} packets a second.",
                    HEADERS * 100 / mtu.max(1),
                    exam.goal.rate.get() / 8 / u64::from(mtu.max(1))
                ),
                "RFC 8200, section 5; RFC 9293, section 3.7.1",
            )
            .fixed_by(set(link_setting(interface, LinkAttribute::Mtu), 1500, mtu)),
    )
}

/// An important offload: its name in `ethtool -k`, its option of `ethtool -K`, the side it helps, and its benefit.
struct OffloadCheck {
    features: &'static [&'static str],
    option: &'static str,
    check: Check,
    sending: bool,
    without: &'static str,
}

/// Each sending offload requires those before it (`netdev_fix_features`, 6.18), so only the first is reported.
const WORK: [OffloadCheck; 5] = [
    OffloadCheck {
        features: &["tx-checksum-ip-generic", "tx-checksum-ipv4"],
        option: "tx",
        check: Check::TransmitChecksums,
        sending: true,
        without: "The CPU checksums and copies every byte sent: without checksum offload there is no \
                  scatter-gather, and so no segmentation offload.",
    },
    OffloadCheck {
        features: &["tx-scatter-gather"],
        option: "sg",
        check: Check::ScatterGather,
        sending: true,
        without: "Every packet is copied into one piece, and the NIC does no segmentation.",
    },
    OffloadCheck {
        features: &["tx-generic-segmentation"],
        option: "gso",
        check: Check::Gso,
        sending: true,
        without: "Every packet sent goes through the stack by itself instead of 64 KiB at a time.",
    },
    OffloadCheck {
        features: &["tx-tcp-segmentation"],
        option: "tso",
        check: Check::Tso,
        sending: true,
        without: "The CPU segments super-packets before the NIC, and hands over each packet.",
    },
    OffloadCheck {
        features: &["rx-gro"],
        option: "gro",
        check: Check::Gro,
        sending: false,
        without: "Every packet received goes through the stack by itself, with an ACK for every second one.",
    },
];

fn offload(exam: &Examination<'_>, interface: &Interface) -> Vec<Finding> {
    if !exam.has_many_packets() {
        return Vec::new();
    }
    let is_off = |work: &&OffloadCheck| {
        let mut known = work.features.iter().filter_map(|name| interface.offload(name)).peekable();
        let mut off = known.peek().is_some();
        // A NIC has one kind of checksum offload; it is off if none of the available ones is on.
        let mut could = false;
        known.for_each(|offload| {
            off &= !offload.on;
            could |= offload.can_change;
        });
        off && could
    };
    let counts = |work: &&OffloadCheck| {
        let role = if work.sending { exam.goal.role.sends() } else { exam.goal.role.receives() };
        // Within a machine super-packets are passed whole.
        role && (work.sending || interface.is_wired())
    };
    let sending = WORK.iter().filter(|work| work.sending).filter(counts).find(is_off);
    let receiving = WORK.iter().filter(|work| !work.sending).filter(counts).find(is_off);
    sending.into_iter().chain(receiving).map(|work| switched_off(exam, interface, work)).collect()
}

fn switched_off(exam: &Examination<'_>, interface: &Interface, work: &OffloadCheck) -> Finding {
    let (name, option) = (shown::word(&interface.name), work.option);
    Finding::new(work.check, Severity::Costs, format!("{option} of {name} is off"))
        .seen(format!("ethtool -k {name}: {} off", work.features[0]))
        .because(
            format!("{} The goal is {} packets a second.", work.without, exam.packets_per_s()),
            "ethtool(8), -K; segmentation-offloads.rst",
        )
        .fixed_by(set(
            Setting::Offload { device: interface.name.clone(), option: option.to_owned() },
            "on",
            "off",
        ))
}

/// Super-packets smaller than this save little.
const SMALL_SUPER_PACKET: u32 = 8;

fn super_packets(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    (exam.goal.role.sends() && exam.has_many_packets()).then_some(())?;
    let segments = interface.gso_max_segments.unwrap_or(u32::MAX);
    let bytes = interface.gso_max_bytes.unwrap_or(u32::MAX);
    let fits = segments.min(bytes / exam.mss().max(1));
    (fits < SMALL_SUPER_PACKET).then_some(())?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::SuperPackets, Severity::Costs, format!("super-packets for {name} are small"))
            .seen(format!("gso_max_segs {segments}, gso_max_size {bytes} of {name}"))
            .because(
                format!(
                    "A super-packet has at most {fits} segments, where 44 would fit; the goal is {} packets a \
                     second.",
                    exam.packets_per_s()
                ),
                "ip-link(8), gso_max_segs; sk_setup_caps, tcp_tso_autosize (6.18)",
            )
            .fixed_by(set(
                link_setting(interface, LinkAttribute::SuperPackets),
                "gso_max_size 65536 gso_max_segs 65535",
                format!("gso_max_size {bytes} gso_max_segs {segments}"),
            )),
    )
}

fn lost_receiving(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let counted = &interface.statistics;
    let lost = together(&[counted.rx_missed_errors, counted.rx_fifo_errors, counted.rx_over_errors]);
    let share = exam.is_too_much(lost, together(&[counted.rx_packets, lost]))?;
    let name = shown::word(&interface.name);
    let mut finding = Finding::new(
        Check::RingOverflow,
        Severity::Hint,
        format!("the receive ring of {name} has overflowed"),
    )
    .seen(format!(
        "{} received, missed {}, fifo {}, over {} of {name}",
        counted.rx_packets, counted.rx_missed_errors, counted.rx_fifo_errors, counted.rx_over_errors
    ))
    .because(
        format!(
            "{} of the received packets, where CUBIC tolerates {} at the goal. Counted since the interface was \
             created: look again after a transfer.",
            percent(share),
            percent(exam.bearable_loss().unwrap_or(0.0))
        ),
        "if_link.h, rtnl_link_stats64; wu, section 2.1; ethtool(8), -G",
    );
    if let Some(Ring { slots, most }) = interface.receive_ring.filter(|ring| ring.slots < ring.most) {
        finding = finding.fixed_by(set(Setting::ReceiveRing { device: interface.name.clone() }, most, slots));
    }
    Some(finding.fixed_by(look(format!("ethtool -S {name} | grep -iE 'miss|drop|no_buf|fifo'"))))
}

fn bad_frames(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let counted = &interface.statistics;
    let bad = together(&[counted.rx_crc_errors, counted.tx_carrier_errors, counted.collisions]);
    let share = exam.is_too_much(bad, together(&[counted.rx_packets, counted.tx_packets, bad]))?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::BadFrames, Severity::Hint, format!("frames of {name} are damaged on the wire"))
            .seen(format!(
                "crc {}, carrier {}, collisions {} of {name}",
                counted.rx_crc_errors, counted.tx_carrier_errors, counted.collisions
            ))
            .because(
                format!("{} of all: a bad cable or module, or a duplex mismatch.", percent(share)),
                "if_link.h, rtnl_link_stats64; ubik V (link layer errors)",
            )
            .fixed_by(look(format!("ethtool {name}; ethtool -m {name}"))),
    )
}

/// A rate that one CPU can hardly receive, even with every offload.
const MUCH_FOR_A_CPU: Rate = Rate::bits_per_second(10_000_000_000);

fn one_queue(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let asked = exam.goal.role.receives() && exam.goal.rate >= MUCH_FOR_A_CPU && exam.goal.streams > 1;
    let one = interface.receive_queues? == 1 && interface.steered_queues? == 0;
    (asked && one && interface.is_wired() && exam.host.softnet.len() > 1).then_some(())?;
    let name = shown::word(&interface.name);
    let cpus = u32::try_from(exam.host.softnet.len()).ok()?;
    let steer = Change {
        setting: Setting::Steering { device: interface.name.clone(), queue: 0, what: Steering::Rps },
        now: Some(Cpus::default().to_string()),
        then: Cpus::first(cpus).to_string(),
        target: Target::Exactly,
    };
    Some(
        Finding::new(
            Check::OneQueue,
            Severity::Hint,
            format!("one CPU handles all packets received on {name}"),
        )
        .seen(format!("one receive queue, no CPUs in /sys/class/net/{name}/queues/rx-0/rps_cpus"))
        .because(
            format!("{} in {} connections is much for one CPU.", exam.goal.rate, exam.goal.streams),
            "scaling.rst (RSS, RPS)",
        )
        .fixed_by(change(format!("ethtool -L {name} combined {cpus}")))
        .fixed_by(Fix::of(Host::This, steer)),
    )
}

fn one_cpu(exam: &Examination<'_>, interface: &Interface) -> Option<Finding> {
    let asked = exam.goal.rate >= MUCH_FOR_A_CPU && exam.goal.streams > 1;
    // There is usually one interrupt besides those of queues.
    (asked && interface.interrupts.len() > 2 && exam.host.softnet.len() > 1).then_some(())?;
    let cpus = &interface.interrupts.first()?.cpus;
    let alone = !cpus.contains(['-', ',']) && interface.interrupts.iter().all(|one| one.cpus == *cpus);
    alone.then_some(())?;
    let name = shown::word(&interface.name);
    Some(
        Finding::new(Check::OneCpu, Severity::Hint, format!("CPU {cpus} takes all interrupts of {name}"))
            .seen(format!("/proc/irq/N/effective_affinity_list of {} interrupts", interface.interrupts.len()))
            .because("Its queues could be handled by as many CPUs.", "scaling.rst (RSS IRQ Configuration)")
            .fixed_by(change("systemctl start irqbalance").undone_by("systemctl stop irqbalance")),
    )
}
