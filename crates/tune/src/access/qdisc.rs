//! The root qdisc of an interface, as words that tc(8) takes and that make the kernel show the same again.
//!
//! Reference: include/uapi/linux/pkt_sched.h, and the `dump` and `change` of each kind in net/sched (6.18).

use crate::error::AccessError;
use slowpath_doctor::host::Interface;
use slowpath_remedies::setting::DEFAULT_QDISC;
use slowpath_uapi::netlink::{attributes, number, wide};

const ROOT: u32 = u32::MAX;

/// The root qdisc with its handle and all of its options, of which the kernel has `options`.
pub(super) fn root(interface: &Interface, options: &[u8]) -> Result<String, AccessError> {
    let name = &interface.name;
    let by_hand = |why: String| AccessError::Absent(format!("{why}; that is left to a person"));
    let queues = interface.queues.as_deref().unwrap_or_default();
    let root = queues.iter().find(|queue| queue.parent == ROOT);
    let root = root.ok_or_else(|| AccessError::Absent(format!("{name} has no qdisc")))?;
    // What the kernel has created has no handle, nor have the queues of its mq.
    if queues.iter().all(|queue| queue.handle >> 16 == 0) {
        return Ok(DEFAULT_QDISC.to_owned());
    }
    let kind = &root.kind;
    if queues.len() > 1 {
        return Err(by_hand(format!("the root qdisc {kind} of {name} has others below it")));
    }
    let words =
        words(kind, options).map_err(|why| by_hand(format!("the root qdisc of {name} is {kind}, {why}")))?;
    let handle = root.handle >> 16;
    Ok(format!("handle {handle:x}: {kind} {words}").trim_end().to_owned())
}

/// Whether packets of a kind are sorted by filters, which slowpath does not restore.
pub(super) fn may_have_filters(value: &str) -> bool {
    value.split_whitespace().any(|word| word == "fq_codel")
}

/// Options that are words with a number.
struct Words<'a> {
    options: &'a [u8],
    text: Vec<String>,
}

impl Words<'_> {
    fn option(&self, wanted: u16) -> Option<&[u8]> {
        attributes(self.options).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
    }

    fn value(&self, wanted: u16) -> Option<u64> {
        self.option(wanted).and_then(|value| fixed(value, 0))
    }

    /// A number in a unit of tc.
    fn add(&mut self, name: &str, wanted: u16, unit: &str) {
        if let Some(value) = self.value(wanted) {
            self.text.push(format!("{name} {value}{unit}"));
        }
    }

    /// A rate, which the kernel has in bytes; all ones mean none.
    fn add_rate(&mut self, name: &str, wanted: u16) {
        if let Some(rate) = self.value(wanted).filter(|rate| *rate != u64::from(u32::MAX)) {
            self.text.push(format!("{name} {}bit", rate * 8));
        }
    }

    /// A time of codel, which the kernel has in units of 1,024 ns and shows in whole µs.
    fn add_codel_time(&mut self, name: &str, wanted: u16) {
        let shown = |us: u64| (((us * 1000) >> 10) << 10) / 1000;
        if let Some(us) = self.value(wanted) {
            let us = if shown(us) == us { us } else { us + 1 };
            self.text.push(format!("{name} {us}us"));
        }
    }

    fn switch(&mut self, wanted: u16, [off, on]: [&str; 2]) {
        if let Some(value) = self.value(wanted) {
            self.text.push(if value == 0 { off } else { on }.to_owned());
        }
    }

    /// An option of another than its usual value is one that the words cannot say.
    fn need(&self, wanted: u16, usual: u64, name: &str) -> Result<(), String> {
        match self.value(wanted) {
            Some(value) if value != usual => Err(format!("with {name}, which slowpath cannot restore")),
            _ => Ok(()),
        }
    }
}

/// A number of a structure; `None` if it is cut short.
fn fixed(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 4).map(|_| number(bytes, at).into())
}

/// The options of a kind; an error says what slowpath could not restore.
fn words(kind: &str, options: &[u8]) -> Result<String, String> {
    const CUT: &str = "whose options cannot be read";
    let mut words = Words { options, text: Vec::new() };
    match kind {
        "noqueue" | "pfifo_fast" => {}
        "pfifo" | "bfifo" => words.text.push(format!("limit {}", fixed(options, 0).ok_or(CUT)?)),
        "tbf" => words.text.push(bucket(&words)?),
        "codel" => {
            words.add("limit", 2, "");
            words.add_codel_time("target", 1);
            words.add_codel_time("interval", 3);
            words.add_codel_time("ce_threshold", 5);
            words.switch(4, ["noecn", "ecn"]);
        }
        "fq_codel" => {
            words.need(10, 0, "ce_threshold_selector")?;
            words.add("limit", 2, "");
            words.add("flows", 5, "");
            words.add("quantum", 6, "");
            words.add_codel_time("target", 1);
            words.add_codel_time("interval", 3);
            words.add_codel_time("ce_threshold", 7);
            words.add("memory_limit", 9, "");
            words.add("drop_batch", 8, "");
            words.switch(4, ["noecn", "ecn"]);
        }
        "fq" => fair(&mut words)?,
        "mq" | "htb" | "hfsc" | "prio" | "drr" | "qfq" | "ets" | "mqprio" | "taprio" | "cbq" => {
            return Err("which has classes".to_owned());
        }
        _ => return Err("which slowpath cannot restore exactly".to_owned()),
    }
    Ok(words.text.join(" "))
}

/// `struct tc_tbf_qopt`: two `struct tc_ratespec`, limit, buffer and mtu.
fn bucket(words: &Words<'_>) -> Result<String, String> {
    /// Nanoseconds of a tick of tc (`PSCHED_SHIFT`, include/net/pkt_sched.h).
    const TICK_NS: u128 = 64;
    const ETHERNET: u8 = 1;
    let parms = words.option(1).filter(|parms| parms.len() >= 36).ok_or("whose options cannot be read")?;
    let (linklayer, overhead, mpu) = (parms[1], &parms[2..4], &parms[6..8]);
    if linklayer > ETHERNET || overhead != [0, 0] || mpu != [0, 0] {
        return Err("with overhead, mpu or linklayer, which slowpath cannot restore".to_owned());
    }
    if number(parms, 20) != 0 || words.option(5).is_some() {
        return Err("with peakrate, which slowpath cannot restore".to_owned());
    }
    let rate = words.option(4).map_or_else(|| number(parms, 8).into(), |rate| wide(rate, 0));
    // tc has made a time of the burst, rounded down or, in other versions, up (`tc_calc_xmittime`).
    const HALF: u128 = 500_000_000;
    let burst = (u128::from(number(parms, 28)) * TICK_NS * u128::from(rate) + HALF) / (2 * HALF);
    Ok(format!("rate {}bit burst {burst} limit {}", u128::from(rate) * 8, number(parms, 24)))
}

/// The options of fq (`fq_dump`).
fn fair(words: &mut Words<'_>) -> Result<(), String> {
    /// `fq_prio2band` of the default priomap, after the number of bands (`sch_default_prio2band`).
    const PRIORITIES: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    const WEIGHTS: [u32; 3] = [589_824, 196_608, 65_536];
    let has_other = |found: Option<&[u8]>, usual: &[u8]| found.is_some_and(|found| !found.ends_with(usual));
    let weights: Vec<u8> = WEIGHTS.into_iter().flat_map(u32::to_ne_bytes).collect();
    if has_other(words.option(16), &PRIORITIES) || has_other(words.option(17), &weights) {
        return Err("with priomap or weights, which slowpath cannot restore".to_owned());
    }
    words.need(18, 0, "offload_horizon")?;
    words.add("limit", 1, "");
    words.add("flow_limit", 2, "");
    words.add("quantum", 3, "");
    words.add("initial_quantum", 4, "");
    words.add_rate("maxrate", 7);
    if let Some(log) = words.value(8) {
        words.text.push(format!("buckets {}", 1_u64 << log.min(32)));
    }
    words.add("orphan_mask", 10, "");
    words.add("refill_delay", 9, "us");
    words.add_rate("low_rate_threshold", 11);
    if words.value(12).is_some_and(|threshold| threshold != u64::from(u32::MAX)) {
        words.add("ce_threshold", 12, "us");
    }
    words.add("timer_slack", 13, "ns");
    words.add("horizon", 14, "us");
    words.switch(5, ["nopacing", "pacing"]);
    // TCA_FQ_HORIZON_DROP is one byte.
    if let Some(drops) = words.option(15).and_then(|value| value.first().copied()) {
        words.text.push(if drops == 0 { "horizon_cap" } else { "horizon_drop" }.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_doctor::host::Queue;
    use slowpath_remedies::Setting;
    use slowpath_uapi::netlink::attribute;

    fn nested(options: &[(u16, u32)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        options.iter().for_each(|(kind, value)| attribute(&mut bytes, *kind, &value.to_ne_bytes()));
        bytes
    }

    /// `struct tc_tbf_qopt` of a rate in bytes.
    fn tbf(rate: u32, limit: u32, buffer: u32) -> Vec<u8> {
        let mut parms = vec![0; 36];
        for (at, value) in [(8, rate), (24, limit), (28, buffer)] {
            parms[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        parms[1] = 1;
        parms
    }

    fn in_bucket(parms: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        attribute(&mut bytes, 1, parms);
        bytes
    }

    #[test]
    fn options_are_words_that_make_them() {
        let setting: Setting = "qdisc eth0 root".parse().expect("a setting");
        let fq_codel = nested(&[
            (1, 4999),
            (2, 10240),
            (3, 99_999),
            (4, 1),
            (5, 1024),
            (6, 1514),
            (8, 64),
            (9, 33_554_432),
        ]);
        let fq = nested(&[
            (1, 10_000),
            (2, 100),
            (3, 3028),
            (4, 15_140),
            (5, 1),
            (7, u32::MAX),
            (8, 10),
            (9, 40_000),
            (10, 1023),
            (11, 68_750),
            (12, u32::MAX),
            (13, 10_000),
            (14, 10_000_000),
        ]);
        for (kind, options, text) in [
            ("noqueue", Vec::new(), ""),
            ("pfifo", 8_u32.to_ne_bytes().to_vec(), "limit 8"),
            ("tbf", in_bucket(&tbf(125_000, 102_400, 1_280_000)), "rate 1000000bit burst 10240 limit 102400"),
            (
                "fq_codel",
                fq_codel,
                "limit 10240 flows 1024 quantum 1514 target 5000us interval 100000us memory_limit 33554432 drop_batch 64 ecn",
            ),
            (
                "fq",
                fq,
                "limit 10000 flow_limit 100 quantum 3028 initial_quantum 15140 buckets 1024 orphan_mask 1023 \
                 refill_delay 40000us low_rate_threshold 550000bit timer_slack 10000ns horizon 10000000us pacing",
            ),
            (
                "codel",
                nested(&[(1, 4999), (2, 1000), (3, 99_999), (4, 0)]),
                "limit 1000 target 5000us interval 100000us noecn",
            ),
        ] {
            assert_eq!(words(kind, &options).as_deref(), Ok(text), "{kind}");
            assert_eq!(setting.check(&format!("handle 1: {kind} {text}")), Ok(()), "{kind}");
        }
    }

    #[test]
    fn what_could_not_be_restored_is_named() {
        let mut overhead = tbf(1, 1, 1);
        overhead[2] = 4;
        let mut peak = tbf(1, 1, 1);
        peak[20] = 1;
        for (kind, options, says) in [
            ("htb", Vec::new(), "which has classes"),
            ("netem", Vec::new(), "cannot restore exactly"),
            ("pfifo", vec![1], "cannot be read"),
            ("tbf", Vec::new(), "cannot be read"),
            ("tbf", in_bucket(&overhead), "with overhead"),
            ("tbf", in_bucket(&peak), "with peakrate"),
            ("fq_codel", nested(&[(10, 1)]), "with ce_threshold_selector"),
            ("fq", nested(&[(17, 5)]), "with priomap or weights"),
        ] {
            let error = words(kind, &options).expect_err(kind);
            assert!(error.contains(says), "{kind}: {error}");
        }
    }

    #[test]
    fn what_the_kernel_chose_is_the_default() {
        let queue =
            |kind: &str, handle, parent| Queue { kind: kind.to_owned(), handle, parent, ..Queue::default() };
        for (queues, value) in [
            (vec![queue("noqueue", 0, ROOT)], Some("default")),
            (vec![queue("mq", 0, ROOT), queue("fq_codel", 0, 1), queue("fq_codel", 0, 2)], Some("default")),
            (vec![queue("pfifo", 0x8001_0000, ROOT)], Some("handle 8001: pfifo limit 8")),
            (vec![queue("mq", 0, ROOT), queue("fq", 0x8001_0000, 1)], None),
            (vec![queue("htb", 0x1_0000, ROOT), queue("pfifo", 0, 0x1_0001)], None),
            (vec![queue("htb", 0x1_0000, ROOT)], None),
            (Vec::new(), None),
        ] {
            let interface = Interface { queues: Some(queues.clone()), ..Interface::default() };
            assert_eq!(root(&interface, &8_u32.to_ne_bytes()).ok().as_deref(), value, "{queues:?}");
        }
    }
}
