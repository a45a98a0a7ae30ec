//! A whole root qdisc, in the words of tc(8): `fq_codel limit 10240 ecn`, `handle 1: bfifo limit 100k`, or `default`.
//!
//! Values are compared in the units in which the kernel keeps them. One that names some of the options of its kind stands for any
//! value of the others.
//!
//! Reference: tc-pfifo(8), tc-tbf(8), tc-codel(8), tc-fq_codel(8), tc-fq(8); `get_size`, `get_rate`, `get_time` (iproute2 6.15).

use super::Unfit;
use std::collections::BTreeMap;

/// The qdisc that the kernel chooses (`net.core.default_qdisc`).
pub const DEFAULT: &str = "default";

/// What a number of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Packets, flows or queues.
    Count,
    Bytes,
    /// In bit/s, whole bytes.
    Rate,
    /// In nanoseconds.
    Time,
    /// One of two words without a number; the first is what this option is kept under.
    Switch(&'static str),
}

type Options = &'static [(&'static str, Unit)];

/// Kinds that are set with their options and read back with the same, as far as slowpath knows these.
const KINDS: &[(&str, Options)] = &[
    (DEFAULT, &[]),
    ("noqueue", &[]),
    ("pfifo_fast", &[]),
    ("pfifo", &[("limit", Unit::Count)]),
    ("bfifo", &[("limit", Unit::Bytes)]),
    ("tbf", &[("rate", Unit::Rate), ("burst", Unit::Bytes), ("limit", Unit::Bytes)]),
    (
        "codel",
        &[
            ("limit", Unit::Count),
            ("target", Unit::Time),
            ("interval", Unit::Time),
            ("ce_threshold", Unit::Time),
            ("ecn", Unit::Switch("ecn")),
            ("noecn", Unit::Switch("ecn")),
        ],
    ),
    (
        "fq_codel",
        &[
            ("limit", Unit::Count),
            ("flows", Unit::Count),
            ("quantum", Unit::Bytes),
            ("target", Unit::Time),
            ("interval", Unit::Time),
            ("ce_threshold", Unit::Time),
            ("memory_limit", Unit::Bytes),
            ("drop_batch", Unit::Count),
            ("ecn", Unit::Switch("ecn")),
            ("noecn", Unit::Switch("ecn")),
        ],
    ),
    (
        "fq",
        &[
            ("limit", Unit::Count),
            ("flow_limit", Unit::Count),
            ("quantum", Unit::Bytes),
            ("initial_quantum", Unit::Bytes),
            ("maxrate", Unit::Rate),
            ("buckets", Unit::Count),
            ("orphan_mask", Unit::Count),
            ("refill_delay", Unit::Time),
            ("low_rate_threshold", Unit::Rate),
            ("ce_threshold", Unit::Time),
            ("timer_slack", Unit::Time),
            ("horizon", Unit::Time),
            ("pacing", Unit::Switch("pacing")),
            ("nopacing", Unit::Switch("pacing")),
            ("horizon_cap", Unit::Switch("horizon_cap")),
            ("horizon_drop", Unit::Switch("horizon_cap")),
        ],
    ),
];

/// A root qdisc with some or all of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootQdisc {
    handle: Option<u16>,
    kind: &'static str,
    /// The word and the number of each option, by what it is kept under. A switch has no number.
    options: BTreeMap<&'static str, (&'static str, u64)>,
}

impl RootQdisc {
    /// The qdisc of a text; an error says what to write.
    pub(super) fn parse(text: &str) -> Result<Self, Unfit> {
        let mut words = text.split_whitespace().peekable();
        let mut handle = None;
        if words.peek() == Some(&"handle") {
            words.next();
            let word = words.next().unwrap_or_default();
            let number = word.strip_suffix(':').and_then(|number| u16::from_str_radix(number, 16).ok());
            let unfit = || Unfit(format!("\"{word}\" is not the handle of a qdisc; write one such as 1:"));
            handle = Some(number.filter(|number| (1..u16::MAX).contains(number)).ok_or_else(unfit)?);
        }
        let kind = words.next().unwrap_or_default();
        let (kind, known) = KINDS.iter().find(|(known, _)| *known == kind).ok_or_else(|| {
            let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            Unfit(format!(
                "\"{kind}\" is not a qdisc that slowpath can restore; it can: {}",
                kinds.join(", ")
            ))
        })?;
        if *kind == DEFAULT && handle.is_some() {
            return Err(Unfit("the default qdisc has no handle".to_owned()));
        }
        let mut options = BTreeMap::new();
        while let Some(word) = words.next() {
            let (name, unit) = known.iter().find(|(known, _)| *known == word).ok_or_else(|| {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                Unfit(format!(
                    "\"{word}\" is not an option of {kind} that slowpath can restore; it can: {names}"
                ))
            })?;
            let (key, number) = match unit {
                Unit::Switch(key) => (*key, 0),
                unit => {
                    let word = words.next().unwrap_or_default();
                    let number = unit.number(word);
                    let form = unit.form();
                    (*name, number.ok_or_else(|| Unfit(format!("{name}: \"{word}\" is not {form}")))?)
                }
            };
            if options.insert(key, (*name, number)).is_some() {
                return Err(Unfit(format!("{name} is there twice, or with its opposite")));
            }
        }
        if *kind == "tbf" && options.len() < known.len() {
            return Err(Unfit("tbf needs rate, burst and limit (in place of latency)".to_owned()));
        }
        Ok(Self { handle, kind, options })
    }

    /// Its one text.
    pub(super) fn text(&self) -> String {
        self.words(None).join(" ")
    }

    /// Whether it has what `wanted` names.
    pub(super) fn is(&self, wanted: &Self) -> bool {
        self.kind == wanted.kind
            && (wanted.handle.is_none() || wanted.handle == self.handle)
            && wanted.options.iter().all(|(key, value)| match self.options.get(key) {
                Some(found) if *key == "burst" => found.1.abs_diff(value.1) <= self.bytes_of_tick(),
                found => found == Some(value),
            })
    }

    /// tc and the kernel keep a burst as a time in ticks of 64 ns (`PSCHED_SHIFT`): the bytes of one.
    fn bytes_of_tick(&self) -> u64 {
        let rate = self.options.get("rate").map_or(0, |(_, bits)| bits / 8);
        (rate.saturating_mul(64) / 1_000_000_000).max(1)
    }

    /// If the kernel made one tick more or less of the burst than `self` has, the qdisc with which it makes that burst.
    pub(super) fn compensated(&self, became: &Self) -> Option<Self> {
        let [wanted, found] = [self, became].map(|qdisc| qdisc.options.get("burst").map(|(_, bytes)| *bytes));
        let (wanted, found) = wanted.zip(found).filter(|(wanted, found)| wanted != found)?;
        let mut again = self.clone();
        again.options.insert("burst", ("burst", (2 * wanted).saturating_sub(found)));
        became.is(self).then_some(again)
    }

    /// The words of tc that change `from` into this qdisc.
    fn words(&self, from: Option<&Self>) -> Vec<String> {
        let units = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or(&[][..], |(_, units)| *units);
        let mut words = Vec::new();
        if let Some(handle) = self.handle {
            words.extend(["handle".to_owned(), format!("{handle:x}:")]);
        }
        words.push(self.kind.to_owned());
        // In the order of the table.
        for (name, unit) in units {
            let key = if let Unit::Switch(key) = unit { key } else { name };
            let Some((word, number)) = self.options.get(key).filter(|(word, _)| word == name) else {
                continue;
            };
            // fq_codel_change() refuses it for a qdisc that exists, even if it is what that has.
            let is_fixed = *word == "flows"
                && from.is_some_and(|from| {
                    from.kind == self.kind && from.options.get(key) == Some(&(word, *number))
                });
            if is_fixed {
                continue;
            }
            words.push((*word).to_owned());
            words.extend(unit.text(*number));
        }
        words
    }

    /// The program that turns `from` into this qdisc, and its arguments.
    pub(super) fn command(&self, device: &str, from: &str) -> Vec<String> {
        let start = |what: &str| ["tc", "qdisc", what, "dev", device, "root"].map(str::to_owned).to_vec();
        if self.kind == DEFAULT {
            return start("del");
        }
        let mut words = start("replace");
        words.extend(self.words(Self::parse(from).ok().as_ref()));
        words
    }
}

impl Unit {
    const fn form(self) -> &'static str {
        match self {
            Self::Count | Self::Switch(_) => "a number",
            Self::Bytes => "an amount of data; write one such as 3000, 100k or 2m",
            Self::Rate => "a rate; write one such as 900mbit or 2gbit",
            Self::Time => "a time; write one such as 5ms or 100us",
        }
    }

    /// The units of tc, with what a number is multiplied by.
    const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Count | Self::Switch(_) => &[("", 1), ("p", 1)],
            Self::Bytes => &[
                ("", 1),
                ("b", 1),
                ("k", 1 << 10),
                ("kb", 1 << 10),
                ("m", 1 << 20),
                ("mb", 1 << 20),
                ("g", 1 << 30),
                ("gb", 1 << 30),
            ],
            Self::Rate => &[
                ("bit", 1),
                ("kbit", 1000),
                ("mbit", 1_000_000),
                ("gbit", 1_000_000_000),
                ("bps", 8),
                ("kbps", 8000),
                ("mbps", 8_000_000),
            ],
            Self::Time => &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1)],
        }
    }

    fn number(self, text: &str) -> Option<u64> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let unit = unit.to_ascii_lowercase();
        let (_, factor) = self.units().iter().find(|(known, _)| *known == unit)?;
        let number = digits.parse::<u64>().ok()?.checked_mul(*factor)?;
        // The kernel counts whole bytes.
        Some(if self == Self::Rate { number / 8 * 8 } else { number })
    }

    fn text(self, number: u64) -> Option<String> {
        Some(match self {
            Self::Count | Self::Bytes => number.to_string(),
            Self::Rate => format!("{number}bit"),
            Self::Time if number.is_multiple_of(1000) => format!("{}us", number / 1000),
            Self::Time => format!("{number}ns"),
            Self::Switch(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdisc(text: &str) -> RootQdisc {
        RootQdisc::parse(text).expect(text)
    }

    #[test]
    fn units_of_tc_are_those_of_the_kernel() {
        for (text, same) in [
            ("default", "default"),
            ("bfifo limit 100k", "bfifo limit 102400"),
            ("handle 1: pfifo limit 8p", "handle 1: pfifo limit 8"),
            ("tbf limit 77777b burst 3333 rate 1234567bit", "tbf rate 1234560bit burst 3333 limit 77777"),
            ("tbf rate 1Mbit burst 10Kb limit 2m", "tbf rate 1000000bit burst 10240 limit 2097152"),
            ("fq_codel ecn target 5ms limit 10240", "fq_codel limit 10240 target 5000us ecn"),
            (
                "fq timer_slack 10500ns nopacing maxrate 1mbps",
                "fq maxrate 8000000bit timer_slack 10500ns nopacing",
            ),
        ] {
            assert_eq!(qdisc(text).text(), same);
            assert_eq!(qdisc(same), qdisc(text));
        }
    }

    #[test]
    fn what_tc_would_not_take_or_slowpath_not_restore_is_refused() {
        for text in [
            "",
            "handle",
            "handle 1",
            "handle 0: pfifo",
            "handle 1: default",
            "htb default 30",
            "netem delay 1ms",
            "pfifo limit",
            "pfifo limit 5kb",
            "pfifo limit -5",
            "pfifo limit 5 limit 6",
            "bfifo limit 1.5k",
            "tbf rate 1mbit burst 10k latency 50ms",
            "tbf rate 1mbit burst 10k",
            "tbf rate 1000 burst 10k limit 10k",
            "fq_codel ecn noecn",
            "codel target 5",
            "pfifo limit 99999999999999999999",
            "default limit 5",
        ] {
            assert!(RootQdisc::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_that_are_not_named_may_have_any_value() {
        let found = qdisc("handle 8001: fq_codel limit 10240 flows 1024 quantum 1514 noecn");
        for (wanted, fits) in [
            ("fq_codel", true),
            ("fq_codel limit 10240", true),
            ("handle 8001: fq_codel", true),
            ("fq_codel limit 100", false),
            ("fq_codel ecn", false),
            ("fq_codel target 5ms", false),
            ("handle 1: fq_codel", false),
            ("codel limit 10240", false),
            ("default", false),
        ] {
            assert_eq!(found.is(&qdisc(wanted)), fits, "{wanted}");
        }
    }

    #[test]
    fn a_burst_is_compared_in_ticks() {
        let of = |rate: &str, burst: u64| qdisc(&format!("tbf rate {rate} burst {burst} limit 5000"));
        assert!(of("8gbit", 1_000_000).is(&of("8gbit", 1_000_060)));
        assert!(!of("8gbit", 1_000_000).is(&of("8gbit", 1_000_070)));
        assert!(of("1mbit", 3332).is(&of("1mbit", 3333)) && !of("1mbit", 3332).is(&of("1mbit", 3334)));
        assert_eq!(of("8gbit", 9886).compensated(&of("8gbit", 9877)), Some(of("8gbit", 9895)));
        assert_eq!(of("8gbit", 9886).compensated(&of("8gbit", 9886)), None);
    }

    #[test]
    fn flows_of_fq_codel_are_not_changed_in_place() {
        let (old, new) =
            ("handle 1: fq_codel limit 100 flows 1024", "handle 1: fq_codel limit 10 flows 1024");
        let words = |to: &str, from: &str| qdisc(to).command("eth0", from).join(" ");
        assert_eq!(words(old, new), "tc qdisc replace dev eth0 root handle 1: fq_codel limit 100");
        assert_eq!(words(old, "default"), format!("tc qdisc replace dev eth0 root {old}"));
        assert_eq!(words("default", old), "tc qdisc del dev eth0 root");
    }
}
