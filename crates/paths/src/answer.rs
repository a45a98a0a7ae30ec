//! What is known of a path by now, and which buffers follow from it. Pure: entries, the time and the host's kernel in, an answer out.
//!
//! Buffers are computed by [`slowpath_tune::advice`], as `slowpath tune advise` does.

use crate::entry::{Entry, MOST_TIME, Measure, Pair, Question, Source};
use serde::{Deserialize, Serialize};
use slowpath_model::{Bytes, Rate};
use slowpath_tune::advice::{Known, NoNumbers, Numbers, Transfer};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// The name of the answer's form.
pub const FORM: &str = "slowpath/path/1";
/// The most parallel connections that an answer is for, as in all commands.
pub const MOST_STREAMS: u32 = 10_000;
/// Buffers are at most as large as the kernel's `int` allows.
const MOST_BUFFER: u64 = i32::MAX as u64;

/// What a program needs to know before a transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// [`FORM`].
    pub schema: String,
    /// The host that sends.
    pub from: IpAddr,
    /// The host that receives.
    pub to: IpAddr,
    /// When this was answered, in seconds since 1970.
    pub at: u64,
    /// Parallel connections.
    pub streams: u32,
    /// The best value of each measure that is known: one at most.
    pub values: Vec<Value>,
    /// The rate that all connections together can expect; null if no rate is trusted.
    pub rate: Option<ExpectedRate>,
    /// The RTT of the empty path, in nanoseconds; null if none is trusted.
    pub rtt_ns: Option<u64>,
    /// The buffers of each connection; null without a rate or an RTT.
    pub buffers: Option<Buffers>,
    /// Why there are no buffers, where a rate and an RTT are known; null otherwise.
    pub no_buffers: Option<String>,
}

/// A value of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// What is measured.
    pub measure: Measure,
    /// The value, in the unit of the measure.
    pub value: u64,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Where it is from.
    pub source: Source,
    /// For how many seconds it is trusted.
    pub trusted_s: u32,
    /// Whether it is trusted now. Others are shown, and nothing is computed from them.
    pub trusted: bool,
}

/// A rate, and which of the values it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedRate {
    /// The rate.
    pub bit_per_s: u64,
    /// The value that it is: available bandwidth, capacity, or a delivered rate, which the path may exceed.
    pub basis: Measure,
}

/// Buffers of a connection, by the arithmetic of the kernel of the host that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// The kernel: `linux-6.18`.
    pub kernel: String,
    /// The bandwidth-delay product of all connections together.
    pub product_bytes: u64,
    /// The window that each connection needs.
    pub window_bytes: u64,
    /// The limit to set in `tcp_rmem`.
    pub receive_bytes: u64,
    /// The limit to set in `tcp_wmem`.
    pub send_bytes: u64,
    /// What a program has to ask for that sets `SO_RCVBUF` itself; null if no value suffices.
    pub ask_receive_bytes: Option<u64>,
    /// What a program has to ask for that sets `SO_SNDBUF` itself; null if no value suffices.
    pub ask_send_bytes: Option<u64>,
}

/// Computes buffers for the kernel of a host, and remembers them: paths are asked about again and again, with the same values.
#[derive(Clone, Debug, Default)]
pub struct Advisor {
    known: Known,
    computed: HashMap<(u64, u64, u32), Result<Buffers, NoNumbers>>,
}

/// The answers that an advisor remembers; then it begins anew.
const MOST_COMPUTED: usize = 16_384;

impl Advisor {
    /// Computes for this kernel.
    pub fn new(known: Known) -> Self {
        Self { known, computed: HashMap::new() }
    }

    /// The buffers of `slowpath tune advise` for this rate, RTT and number of connections.
    fn buffers(&mut self, rate: ExpectedRate, rtt_ns: u64, streams: u32) -> Result<Buffers, NoNumbers> {
        let key = (rate.bit_per_s, rtt_ns, streams);
        if let Some(buffers) = self.computed.get(&key) {
            return buffers.clone();
        }
        if self.computed.len() >= MOST_COMPUTED {
            self.computed.clear();
        }
        let (rate, rtt) = (Rate::bits_per_second(rate.bit_per_s), Duration::from_nanos(rtt_ns));
        let numbers = Numbers::of(Transfer { rate, rtt, streams, memory: None }, &self.known);
        let buffers = numbers.map(|numbers| Buffers::of(&numbers));
        self.computed.insert(key, buffers.clone());
        buffers
    }
}

/// Why an answer is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// Its form is another.
    #[error("its form is {0:?}, not {FORM:?}")]
    Form(String),
    /// It is about other hosts.
    #[error("it is about {0}, which was not asked for")]
    OtherPath(Pair),
    /// It is for another number of connections.
    #[error("it is for {0} connections, which were not asked for")]
    OtherStreams(u32),
    /// A number is not one that a path or a kernel has.
    #[error("its {what} is {value}")]
    Number {
        /// What is wrong.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// A value is not one that a path has.
    #[error("its {} is {value}", measure.slug())]
    Value {
        /// What is measured.
        measure: Measure,
        /// The value.
        value: u64,
    },
    /// Two values are of one measure.
    #[error("it has two values of {}", .0.slug())]
    Twice(Measure),
    /// Its parts do not agree.
    #[error("its values do not give its {0}")]
    Contradiction(&'static str),
}

/// The best value of each measure at a time. Of the trusted ones, it is the smallest for the least RTT, since queues only add to it,
/// and the largest for a delivered rate, since the path gives at least that; otherwise the newest. Of several of one time, that of the
/// source that comes first counts. Values that are no longer trusted come last.
fn best(entries: &[Entry], now: u64) -> Vec<Value> {
    let of = |measure: Measure| {
        let all = entries.iter().filter(|entry| entry.measure == measure);
        let best = all.min_by_key(|entry| {
            let is_old = !entry.is_trusted(now);
            let least = match measure {
                Measure::RttMin if !is_old => entry.value,
                Measure::Delivered if !is_old => u64::MAX - entry.value,
                _ => 0,
            };
            (is_old, least, std::cmp::Reverse(entry.at), entry.source, entry.value)
        })?;
        let Entry { at, source, value, trusted_s, .. } = *best;
        Some(Value { measure, value, at, source, trusted_s, trusted: best.is_trusted(now) })
    };
    Measure::ALL.into_iter().filter_map(of).collect()
}

/// The trusted value of a measure.
fn trusted(values: &[Value], measure: Measure) -> Option<&Value> {
    values.iter().find(|value| value.measure == measure && value.trusted)
}

/// The available bandwidth, or else the capacity. A transfer since that got more shows that there is more.
fn rate(values: &[Value]) -> Option<ExpectedRate> {
    let first = trusted(values, Measure::Available).or_else(|| trusted(values, Measure::Capacity));
    let delivered = trusted(values, Measure::Delivered);
    let best = match (first, delivered) {
        (Some(first), Some(more)) if more.at > first.at && more.value > first.value => more,
        (Some(first), _) => first,
        (None, delivered) => delivered?,
    };
    Some(ExpectedRate { bit_per_s: best.value, basis: best.measure })
}

fn rtt_ns(values: &[Value]) -> Option<u64> {
    let rtt = trusted(values, Measure::RttMin).or_else(|| trusted(values, Measure::Rtt));
    rtt.map(|rtt| rtt.value)
}

impl Answer {
    /// The answer for a path, from all that is known of it.
    pub fn of(pair: Pair, entries: &[Entry], streams: u32, advisor: &mut Advisor, now: u64) -> Self {
        let values = best(entries, now);
        let streams = streams.clamp(1, MOST_STREAMS);
        let (rate, rtt_ns) = (rate(&values), rtt_ns(&values));
        let computed = rate.zip(rtt_ns).map(|(rate, rtt_ns)| advisor.buffers(rate, rtt_ns, streams));
        let (buffers, no_buffers) = match computed {
            Some(Ok(buffers)) => (Some(buffers), None),
            Some(Err(why)) => (None, Some(why.to_string())),
            None => (None, None),
        };
        let Pair { from, to } = pair;
        let schema = FORM.to_owned();
        Self { schema, from, to, at: now, streams, values, rate, rtt_ns, buffers, no_buffers }
    }

    /// The best value of a measure.
    pub fn value(&self, measure: Measure) -> Option<&Value> {
        self.values.iter().find(|value| value.measure == measure)
    }

    /// The path.
    pub fn pair(&self) -> Pair {
        Pair::new(self.from, self.to)
    }

    /// The rate that all connections together can expect.
    pub fn expected_rate(&self) -> Option<Rate> {
        self.rate.map(|rate| Rate::bits_per_second(rate.bit_per_s))
    }

    /// The RTT of the empty path.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt_ns.map(Duration::from_nanos)
    }

    /// Refuses an answer that nobody would compute: a store may lie. What is believed is in the range of real paths and kernels, of what
    /// was asked for, and does not contradict itself.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, question: &Question) -> Result<(), BadAnswer> {
        if self.schema != FORM {
            return Err(BadAnswer::Form(self.schema.chars().take(40).collect()));
        }
        let has = |asked: &[IpAddr], address: IpAddr| asked.iter().any(|one| one.to_canonical() == address);
        let pair = self.pair();
        if !has(&question.to, pair.to) || !(question.from.is_empty() || has(&question.from, pair.from)) {
            return Err(BadAnswer::OtherPath(pair));
        }
        if self.streams != question.streams.max(1) {
            return Err(BadAnswer::OtherStreams(self.streams));
        }
        let number = |what, value, is_right| match is_right {
            true => Ok(()),
            false => Err(BadAnswer::Number { what, value }),
        };
        number("time", self.at, self.at <= MOST_TIME)?;
        for (index, value) in self.values.iter().enumerate() {
            let measure = value.measure;
            if self.values[..index].iter().any(|other| other.measure == measure) {
                return Err(BadAnswer::Twice(measure));
            }
            if !measure.range().contains(&value.value) {
                return Err(BadAnswer::Value { measure, value: value.value });
            }
            number("time of a value", value.at, value.at <= MOST_TIME)?;
        }
        if self.rate != rate(&self.values) {
            return Err(BadAnswer::Contradiction("rate"));
        }
        if self.rtt_ns != rtt_ns(&self.values) {
            return Err(BadAnswer::Contradiction("RTT"));
        }
        let Some(buffers) = &self.buffers else { return Ok(()) };
        let Some((rate, rtt_ns)) = self.rate.zip(self.rtt_ns) else {
            return Err(BadAnswer::Contradiction("buffers"));
        };
        // Rounded one way or the other, and the window with a margin.
        let product = u128::from(rate.bit_per_s) * u128::from(rtt_ns) / 8_000_000_000;
        let (least, most) = (product / u128::from(self.streams), product + product / 4 + 8);
        if u128::from(buffers.product_bytes).abs_diff(product) > 8
            || !(least..=most).contains(&buffers.window_bytes.into())
        {
            return Err(BadAnswer::Contradiction("window"));
        }
        let limits = [("receive buffer", buffers.receive_bytes), ("send buffer", buffers.send_bytes)];
        for (what, value) in limits {
            number(what, value, (1..=MOST_BUFFER).contains(&value))?;
        }
        // For a small window, the least buffer that a kernel gives is enough: a program may ask for 0.
        for value in [buffers.ask_receive_bytes, buffers.ask_send_bytes].into_iter().flatten() {
            number("buffer to ask for", value, value <= MOST_BUFFER)?;
        }
        Ok(())
    }
}

impl Buffers {
    fn of(numbers: &Numbers) -> Self {
        Self {
            kernel: numbers.kernel.clone(),
            product_bytes: numbers.product.get(),
            window_bytes: numbers.window.get(),
            receive_bytes: numbers.receive.limit.get(),
            send_bytes: numbers.send.limit.get(),
            ask_receive_bytes: numbers.receive.ask.map(Bytes::get),
            ask_send_bytes: numbers.send.ask.map(Bytes::get),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    fn pair() -> Pair {
        Pair::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
    }

    fn entry(at: u64, measure: Measure, value: u64) -> Entry {
        Entry::new(pair(), at, Source::Probe, measure, value)
    }

    fn known() -> Known {
        Known { release: "6.18.1".to_owned(), page: 4096, sysctls: Vec::new() }
    }

    fn answer(entries: &[Entry]) -> Answer {
        Answer::of(pair(), entries, 1, &mut Advisor::new(known()), NOW)
    }

    #[test]
    fn buffers_are_those_that_tune_advises() {
        let entries =
            [entry(NOW, Measure::RttMin, 40_000_000), entry(NOW, Measure::Available, 1_000_000_000)];
        let buffers = answer(&entries).buffers.expect("buffers");
        let transfer =
            Transfer { rate: Rate::mbit(1000), rtt: Duration::from_millis(40), streams: 1, memory: None };
        let numbers = Numbers::of(transfer, &known()).expect("numbers");
        assert_eq!(buffers, Buffers::of(&numbers));
        assert_eq!((buffers.product_bytes, buffers.window_bytes), (5_000_000, 5_625_000));
    }

    #[test]
    fn least_rtt_is_the_smallest_trusted_one_and_others_are_the_newest() {
        let day = 86_400;
        let entries = [
            entry(NOW - day, Measure::RttMin, 1_000_000),
            entry(NOW - 10, Measure::RttMin, 9_000_000),
            entry(NOW - 5, Measure::RttMin, 11_000_000),
            entry(NOW - 10, Measure::Rtt, 10_000_000),
            entry(NOW - 5, Measure::Rtt, 30_000_000),
        ];
        let answer = answer(&entries);
        assert_eq!(answer.rtt_ns, Some(9_000_000));
        assert_eq!(answer.value(Measure::Rtt).map(|value| value.value), Some(30_000_000));
    }

    #[test]
    fn values_no_longer_trusted_are_shown_and_nothing_follows_from_them() {
        let entries = [
            entry(NOW - 90_000, Measure::RttMin, 40_000_000),
            entry(NOW - 3600, Measure::Available, 100_000_000),
        ];
        let answer = answer(&entries);
        assert!(!answer.values.iter().any(|value| value.trusted));
        assert_eq!(
            (answer.values.len(), answer.rate, answer.rtt_ns, &answer.buffers),
            (2, None, None, &None)
        );
    }

    #[test]
    fn rate_is_available_then_capacity_then_delivered_and_rises_with_a_later_faster_transfer() {
        let available = entry(NOW - 100, Measure::Available, 50_000_000);
        let capacity = entry(NOW - 100, Measure::Capacity, 100_000_000);
        let basis = |entries: &[Entry]| answer(entries).rate.map(|rate| (rate.basis, rate.bit_per_s));
        assert_eq!(basis(&[available, capacity]), Some((Measure::Available, 50_000_000)));
        assert_eq!(basis(&[capacity]), Some((Measure::Capacity, 100_000_000)));
        let delivered = |at, value| entry(at, Measure::Delivered, value);
        assert_eq!(basis(&[delivered(NOW, 7_000_000)]), Some((Measure::Delivered, 7_000_000)));
        assert_eq!(basis(&[available, delivered(NOW, 7_000_000)]), Some((Measure::Available, 50_000_000)));
        assert_eq!(basis(&[available, delivered(NOW, 70_000_000)]), Some((Measure::Delivered, 70_000_000)));
        assert_eq!(
            basis(&[available, delivered(NOW - 200, 70_000_000)]),
            Some((Measure::Available, 50_000_000))
        );
    }

    #[test]
    fn kernel_without_arithmetic_is_named() {
        let entries =
            [entry(NOW, Measure::RttMin, 40_000_000), entry(NOW, Measure::Available, 1_000_000_000)];
        let old = Known { release: "2.0.36".to_owned(), ..known() };
        let answer = Answer::of(pair(), &entries, 1, &mut Advisor::new(old), NOW);
        assert!(answer.no_buffers.is_some_and(|why| why.contains("2.0.36")));
        assert_eq!(answer.buffers, None);
    }

    #[test]
    fn remembered_buffers_are_those_of_their_numbers() {
        let mut advisor = Advisor::new(known());
        let mut buffers = |rate, rtt, streams| {
            let entries = [entry(NOW, Measure::RttMin, rtt), entry(NOW, Measure::Available, rate)];
            let answer = Answer::of(pair(), &entries, streams, &mut advisor, NOW);
            let fresh = Answer::of(pair(), &entries, streams, &mut Advisor::new(known()), NOW);
            assert_eq!(answer, fresh);
            answer.buffers.expect("buffers").product_bytes
        };
        let first = buffers(100_000_000, 10_000_000, 1);
        assert_eq!(buffers(200_000_000, 10_000_000, 1), 2 * first);
        assert_eq!(buffers(100_000_000, 30_000_000, 3), 3 * first);
        assert_eq!(buffers(100_000_000, 10_000_000, 1), first);
    }

    #[test]
    fn hostile_answers_are_refused() {
        let asked = Question { to: vec![pair().to], ..Question::default() };
        let entries =
            [entry(NOW, Measure::RttMin, 40_000_000), entry(NOW, Measure::Available, 1_000_000_000)];
        let good = answer(&entries);
        assert_eq!(good.check(&asked), Ok(()));
        let refused = |change: &dyn Fn(&mut Answer)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.check(&asked).expect_err("it is refused").to_string()
        };
        assert_eq!(
            refused(&|bad| bad.schema = "x".repeat(1000)).len(),
            refused(&|bad| {
                bad.schema = "x".repeat(40);
            })
            .len()
        );
        assert!(refused(&|bad| bad.to = [192, 0, 2, 9].into()).contains("192.0.2.9"));
        assert_eq!(refused(&|bad| bad.values[0].value = 0), "its rtt-min is 0");
        assert_eq!(refused(&|bad| bad.values.push(bad.values[0])), "it has two values of rtt-min");
        assert_eq!(refused(&|bad| bad.rtt_ns = Some(1)), "its values do not give its RTT");
        assert_eq!(refused(&|bad| bad.rate = None), "its values do not give its rate");
        assert_eq!(refused(&|bad| bad.streams = 2), "it is for 2 connections, which were not asked for");
        let window =
            |bytes| refused(&|bad: &mut Answer| bad.buffers.as_mut().expect("buffers").window_bytes = bytes);
        assert_eq!(window(4_999_999), "its values do not give its window");
        assert_eq!(window(10_000_000), "its values do not give its window");
        let elsewhere = Question { from: vec![[192, 0, 2, 9].into()], ..asked.clone() };
        assert_eq!(good.check(&elsewhere), Err(BadAnswer::OtherPath(pair())));
        assert_eq!(
            refused(&|bad| bad.buffers.as_mut().expect("buffers").receive_bytes = 1 << 40),
            "its receive buffer is 1099511627776"
        );
        assert_eq!(
            refused(&|bad| {
                bad.values.clear();
                (bad.rate, bad.rtt_ns) = (None, None);
            }),
            "its values do not give its buffers"
        );
    }
}
