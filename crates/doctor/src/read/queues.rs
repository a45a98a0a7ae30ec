//! Qdiscs, by rtnetlink(7), with the options of each kind.

use super::netlink::Netlink;
use crate::host::Queue;
use slowpath_uapi::netlink::{attributes, number, text, wide};
use std::io;

const RTM_GETQDISC: u16 = 38;
const RTM_GETTCLASS: u16 = 42;
const FIXED_BYTES: usize = 20;
/// Nanoseconds per tick of tc (`PSCHED_SHIFT`, include/net/pkt_sched.h).
const TICK_NS: u64 = 64;

/// The qdiscs of an interface, the root first.
pub fn of(netlink: &mut Netlink, interface: u32) -> io::Result<Vec<Queue>> {
    let mut question = vec![0; FIXED_BYTES];
    question[4..8].copy_from_slice(&interface.to_ne_bytes());
    let mut found = Vec::new();
    let mut default_class = None;
    netlink.dump(RTM_GETQDISC, &question, |message| {
        if let Some((queue, class)) = queue(message, interface) {
            default_class = default_class.or(class);
            found.push(queue);
        }
    })?;
    found.sort_by_key(|queue| queue.parent != u32::MAX);
    if let Some(class) = default_class {
        let rate = class_rate(netlink, &question, class)?;
        if let Some(root) = found.iter_mut().find(|queue| queue.kind == "htb") {
            root.rate = rate;
        }
    }
    Ok(found)
}

/// The options of an interface's root qdisc as the kernel has them, of a form of each kind (`TCA_OPTIONS`).
pub fn root_options(netlink: &mut Netlink, interface: u32) -> io::Result<Vec<u8>> {
    let mut question = vec![0; FIXED_BYTES];
    question[4..8].copy_from_slice(&interface.to_ne_bytes());
    let mut found = Vec::new();
    netlink.dump(RTM_GETQDISC, &question, |message| {
        if queue(message, interface).is_some_and(|(queue, _)| queue.parent == u32::MAX) {
            let options = attributes(&message[FIXED_BYTES..]).find(|(kind, _)| *kind == 2);
            found = options.map_or_else(Vec::new, |(_, options)| options.to_owned());
        }
    })?;
    Ok(found)
}

/// An HTB class: its number, its parent, and its ceiling in bit/s.
struct Class {
    handle: u32,
    parent: u32,
    ceiling: u64,
}

/// HTB's rate for unclassified packets: the lowest ceiling from the default class to the root.
fn class_rate(netlink: &mut Netlink, question: &[u8], default: u32) -> io::Result<Option<u64>> {
    let mut classes = Vec::new();
    netlink.dump(RTM_GETTCLASS, question, |message| classes.extend(class(message)))?;
    Ok(least_ceiling(&classes, default))
}

fn least_ceiling(classes: &[Class], default: u32) -> Option<u64> {
    let mut least = None;
    let mut at = default;
    // The maximum depth of classes (`TC_HTB_MAXDEPTH`).
    for _ in 0..8 {
        let Some(class) = classes.iter().find(|class| class.handle == at) else { break };
        least = Some(least.map_or(class.ceiling, |before: u64| before.min(class.ceiling)));
        at = class.parent;
    }
    least
}

fn class(message: &[u8]) -> Option<Class> {
    let fixed = message.get(..FIXED_BYTES)?;
    let of = |wanted: u16| attributes(&message[FIXED_BYTES..]).find(|(kind, _)| *kind == wanted);
    (text(of(1)?.1) == "htb").then_some(())?;
    let options = of(2)?.1;
    let option = |wanted: u16| attributes(options).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    // TCA_HTB_CEIL64, or `struct tc_htb_opt`: two `struct tc_ratespec`, the second its ceiling.
    let bytes = option(7)
        .map_or_else(|| option(1).map(|parms| number(parms, 20).into()), |value| Some(wide(value, 0)))?;
    Some(Class { handle: number(fixed, 8), parent: number(fixed, 12), ceiling: bits(bytes) })
}

fn bits(bytes_per_s: u64) -> u64 {
    bytes_per_s.saturating_mul(8)
}

/// `struct tcmsg` and its attributes, if it is for this interface; with HTB's default class.
fn queue(message: &[u8], interface: u32) -> Option<(Queue, Option<u32>)> {
    let fixed = message.get(..FIXED_BYTES)?;
    (number(fixed, 4) == interface).then_some(())?;
    let mut queue = Queue { handle: number(fixed, 8), parent: number(fixed, 12), ..Queue::default() };
    let mut options: &[u8] = &[];
    for (kind, value) in attributes(&message[FIXED_BYTES..]) {
        match kind {
            1 => queue.kind = text(value),
            2 => options = value,
            7 => counted(value, &mut queue),
            _ => {}
        }
    }
    // Not for ingress packets.
    (!matches!(queue.kind.as_str(), "ingress" | "clsact")).then_some(())?;
    let class = describe(options, &mut queue);
    Some((queue, class))
}

/// TCA_STATS2: `struct gnet_stats_basic`, `struct gnet_stats_queue`, and a 64-bit packet count.
fn counted(value: &[u8], queue: &mut Queue) {
    for (kind, value) in attributes(value) {
        match kind {
            1 => queue.packets = queue.packets.max(number(value, 8).into()),
            3 => queue.drops = number(value, 8).into(),
            8 => queue.packets = queue.packets.max(wide(value, 0)),
            _ => {}
        }
    }
}

/// TCA_OPTIONS, by kind (include/uapi/linux/pkt_sched.h). Returns HTB's default class.
fn describe(options: &[u8], queue: &mut Queue) -> Option<u32> {
    let option = |wanted: u16| attributes(options).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let packets = |wanted: u16| option(wanted).and_then(|value| fixed(value, 0));
    match queue.kind.as_str() {
        "pfifo" => queue.limit_packets = fixed(options, 0),
        "bfifo" => queue.limit_bytes = fixed(options, 0),
        "sfq" => queue.limit_packets = fixed(options, 8),
        "fq" => {
            queue.limit_packets = packets(1);
            // All ones mean no limit.
            queue.flow_rate = packets(7).filter(|rate| *rate < u32::MAX.into()).map(bits);
        }
        "fq_codel" | "codel" => queue.limit_packets = packets(2),
        "tbf" => {
            let parms = option(1)?;
            let whole = option(4).map(|value| wide(value, 0));
            queue.rate = Some(bits(whole.unwrap_or_else(|| number(parms, 8).into())));
        }
        "htb" => {
            let major = queue.handle & 0xffff_0000;
            return option(2).map(|glob| major | number(glob, 8));
        }
        "cake" => queue.rate = option(2).map(|value| bits(wide(value, 0))).filter(|rate| *rate > 0),
        "netem" => netem(options, queue),
        _ => {}
    }
    None
}

/// A number of a structure; `None` if it is cut short.
fn fixed(options: &[u8], at: usize) -> Option<u64> {
    options.get(at..at + 4).map(|_| number(options, at).into())
}

/// `struct tc_netem_qopt`, followed by attributes: the rate, and the delay in nanoseconds.
fn netem(options: &[u8], queue: &mut Queue) {
    const QOPT_BYTES: usize = 24;
    queue.delay_ns = fixed(options, 0).map(|ticks| ticks * TICK_NS);
    queue.limit_packets = fixed(options, 4);
    queue.loss = fixed(options, 8).and_then(|loss| u32::try_from(loss).ok());
    for (kind, value) in attributes(options.get(QOPT_BYTES..).unwrap_or_default()) {
        match kind {
            6 => queue.rate = Some(bits(number(value, 0).into())).filter(|rate| *rate > 0),
            8 => queue.rate = Some(bits(wide(value, 0))),
            10 => queue.delay_ns = Some(wide(value, 0)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_uapi::netlink::attribute;

    /// An answer of a kind with its options.
    fn parsed(kind: &str, options: &[u8]) -> (Queue, Option<u32>) {
        let mut message = vec![0; FIXED_BYTES];
        message[4] = 3;
        message[8..12].copy_from_slice(&0x0001_0000_u32.to_ne_bytes());
        message[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
        attribute(&mut message, 1, format!("{kind}\0").as_bytes());
        attribute(&mut message, 2, options);
        queue(&message, 3).expect("of this interface")
    }

    fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        attribute(&mut bytes, kind, value);
        bytes
    }

    #[test]
    fn qdisc_options_are_read_by_kind() {
        assert_eq!(parsed("pfifo", &7_u32.to_ne_bytes()).0.limit_packets, Some(7));
        assert_eq!(parsed("bfifo", &9000_u32.to_ne_bytes()).0.limit_bytes, Some(9000));
        assert_eq!(parsed("fq_codel", &nested(2, &10_240_u32.to_ne_bytes())).0.limit_packets, Some(10_240));
        assert_eq!(parsed("fq", &nested(7, &125_000_u32.to_ne_bytes())).0.flow_rate, Some(1_000_000));
        assert_eq!(parsed("fq", &nested(7, &u32::MAX.to_ne_bytes())).0.flow_rate, None);
        assert_eq!(parsed("cake", &nested(2, &125_000_u64.to_ne_bytes())).0.rate, Some(1_000_000));
        let mut parms = [0; 36];
        parms[8..12].copy_from_slice(&1_250_000_u32.to_ne_bytes());
        assert_eq!(parsed("tbf", &nested(1, &parms)).0.rate, Some(10_000_000));
        let mut netem = vec![0; 24];
        netem[..4].copy_from_slice(&15_625_u32.to_ne_bytes());
        netem[4..8].copy_from_slice(&1000_u32.to_ne_bytes());
        let (queue, _) = parsed("netem", &netem);
        assert_eq!((queue.delay_ns, queue.limit_packets, queue.loss), (Some(1_000_000), Some(1000), Some(0)));
        let mut glob = [0; 20];
        glob[8] = 0x30;
        assert_eq!(parsed("htb", &nested(2, &glob)).1, Some(0x0001_0030));
    }

    #[test]
    fn truncated_options_are_unknown() {
        for kind in ["pfifo", "bfifo", "sfq", "fq", "fq_codel", "tbf", "htb", "cake", "netem", "mq", ""] {
            for options in [&[][..], &[1], &[255; 3]] {
                let (queue, class) = parsed(kind, options);
                assert_eq!((queue.limit_packets, queue.rate, class), (None, None, None), "{kind}");
            }
        }
        assert!(queue(&[0; 19], 0).is_none());
    }

    #[test]
    fn htb_class_rate_is_the_lowest_ceiling_above_it() {
        let class = |handle, parent, ceiling| Class { handle, parent, ceiling };
        let classes = [class(0x1_0030, 0x1_0001, 80), class(0x1_0001, 0x1_0000, 50)];
        assert_eq!(least_ceiling(&classes, 0x1_0030), Some(50));
        assert_eq!(least_ceiling(&classes, 0x1_0099), None, "a missing default class shapes nothing");
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_strange(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = class(&bytes);
            for kind in ["pfifo", "sfq", "fq", "fq_codel", "tbf", "htb", "cake", "netem"] {
                let mut queue = Queue { kind: kind.to_owned(), ..Queue::default() };
                let _ = describe(&bytes, &mut queue);
                counted(&bytes, &mut queue);
            }
        }
    }
}
