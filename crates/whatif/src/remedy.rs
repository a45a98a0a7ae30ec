//! What can be tried: settings of the hosts, and properties of the path.

use crate::fit::{FIRST_BUFFER, RMEM_MOST};
use crate::fitted::{Control, LossProcess, ReceiveBuffer};
use crate::reproduce::Model;
use crate::scenario::{Setting, Subject, keys, rate, rmem, time};
use crate::seen::Seen;
use crate::upgrade::{Changed, kernel_of, upgrade};
use slowpath_analyses::{Cause, Limit};
use slowpath_kernels::Release;
use slowpath_model::units::{duration_from_text, duration_text};
use slowpath_model::{Bytes, Rate};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A change of one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Remedy {
    /// The receive buffer may grow to this size, and nothing fixes it: the third value of `tcp_rmem`.
    ReceiveBuffer(Bytes),
    /// The receive buffer's first size: the second value of `tcp_rmem`.
    FirstReceiveBuffer(Bytes),
    /// The send buffer may grow to this size, and nothing fixes it: the third value of `tcp_wmem`.
    SendBuffer(Bytes),
    /// Both ends offer window scaling.
    WindowScaling,
    /// The sender's congestion control.
    CongestionControl(Control),
    /// Packets are lost by chance with this probability, in millionths; a policer is gone.
    Loss(f64),
    /// The congestion window is kept over pauses (`tcp_slow_start_after_idle` 0).
    KeptWindow,
    /// Segments sent before the first ACK.
    InitialWindow(u32),
    /// The rate of the bottleneck, in bits of IP packets per second; a policer is gone.
    Rate(Rate),
    /// The RTT without a queue.
    Rtt(Duration),
    /// The bottleneck's queue, in packets.
    Queue(u32),
    /// Both hosts run this kernel.
    Kernel(Release),
    /// Both hosts have one choice or sysctl as another kernel has it. Only an upgrade tries that.
    Changed(Changed),
}

/// The names of all remedies, with an example of each value.
pub const EXAMPLES: [&str; 12] = [
    "receive-buffer=6MiB",
    "first-receive-buffer=1MiB",
    "send-buffer=4MiB",
    "window-scaling=on",
    "congestion-control=bbr",
    "loss=0",
    "slow-start-after-idle=off",
    "initial-window=32",
    "rate=100Mbit/s",
    "rtt=20ms",
    "queue=500",
    "kernel=6.8",
];

/// Text that is not a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" cannot be tried: {why}; write one of {}", EXAMPLES.join(", "))]
pub struct NotARemedy {
    text: String,
    why: String,
}

impl Remedy {
    /// Its name, before the `=`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ReceiveBuffer(_) => "receive-buffer",
            Self::FirstReceiveBuffer(_) => "first-receive-buffer",
            Self::SendBuffer(_) => "send-buffer",
            Self::WindowScaling => "window-scaling",
            Self::CongestionControl(_) => "congestion-control",
            Self::Loss(_) => "loss",
            Self::KeptWindow => "slow-start-after-idle",
            Self::InitialWindow(_) => "initial-window",
            Self::Rate(_) => "rate",
            Self::Rtt(_) => "rtt",
            Self::Queue(_) => "queue",
            Self::Kernel(_) => "kernel",
            Self::Changed(changed) => changed.name,
        }
    }

    /// Applies it to the settings of a scenario.
    pub fn apply(&self, settings: &mut Vec<Setting>) {
        let remove = |settings: &mut Vec<Setting>, keys: &[&str]| {
            settings.retain(|setting| !keys.contains(&&*setting.key));
        };
        let [first, largest] = receive_sizes(settings);
        let mut put = |subject, key, value| {
            remove(settings, &[key]);
            settings.push(Setting::new(subject, key, value));
        };
        match *self {
            Self::ReceiveBuffer(most) => {
                put(Subject::ReceiveBuffer, keys::RMEM, rmem(first, most));
                remove(settings, &[keys::SO_RCVBUF, keys::MODERATE]);
            }
            Self::FirstReceiveBuffer(first) => {
                put(Subject::ReceiveBuffer, keys::RMEM, rmem(first, largest.max(first)));
            }
            Self::SendBuffer(most) => {
                let first = FIRST_SEND_BUFFER.min(most.get());
                put(Subject::SendBuffer, keys::WMEM, format!("4096 {first} {}", most.get()));
                remove(settings, &[keys::SO_SNDBUF]);
            }
            Self::WindowScaling => remove(settings, &keys::SCALING),
            Self::CongestionControl(control) => {
                put(Subject::Control, keys::CONTROL, control.name().to_owned());
            }
            Self::Loss(ppm) => {
                put(Subject::Loss, keys::LOSS, format!("{ppm:.0} ppm"));
                remove(settings, &[keys::POLICER_RATE, keys::POLICER_BURST]);
            }
            Self::KeptWindow => put(Subject::InitialWindow, keys::SLOW_START_AFTER_IDLE, "0".to_owned()),
            Self::InitialWindow(segments) => {
                put(Subject::InitialWindow, keys::INITIAL_WINDOW, format!("{segments} segments"));
            }
            Self::Rate(new) => {
                put(Subject::Rate, keys::RATE, rate(new));
                remove(settings, &[keys::POLICER_RATE, keys::POLICER_BURST]);
            }
            Self::Rtt(new) => put(Subject::Rtt, keys::DELAY, time(new / 2)),
            Self::Queue(packets) => put(Subject::Queue, keys::QUEUE, format!("{packets} packets")),
            Self::Kernel(to) => upgrade(settings, kernel_of(settings), to),
            Self::Changed(changed) => changed.apply(settings),
        }
    }
}

/// The second and the third value of `tcp_rmem`: those of the settings, or of Linux 6.18.
fn receive_sizes(settings: &[Setting]) -> [Bytes; 2] {
    let known = settings.iter().find(|setting| setting.key == keys::RMEM);
    let sizes = known.map(|setting| setting.value.split(' ').skip(1).flat_map(str::parse).map(Bytes::new));
    let sizes: Vec<Bytes> = sizes.into_iter().flatten().collect();
    if let [first, most] = sizes[..] { [first, most] } else { [FIRST_BUFFER, RMEM_MOST[0]] }
}

/// The second value of `tcp_wmem` (6.18), in bytes.
const FIRST_SEND_BUFFER: u64 = 16 * 1024;

impl fmt::Display for Remedy {
    /// `receive-buffer=6 MiB`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", self.name())?;
        match self {
            Self::ReceiveBuffer(amount) | Self::FirstReceiveBuffer(amount) | Self::SendBuffer(amount) => {
                amount.fmt(f)
            }
            Self::WindowScaling => f.write_str("on"),
            Self::KeptWindow => f.write_str("off"),
            Self::CongestionControl(control) => control.fmt(f),
            Self::Loss(ppm) if *ppm == 0.0 => f.write_str("0"),
            Self::Loss(ppm) => write!(f, "{ppm:.0} ppm"),
            Self::InitialWindow(segments) => segments.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Rtt(rtt) => f.write_str(&duration_text(*rtt)),
            Self::Queue(packets) => packets.fmt(f),
            Self::Kernel(kernel) => f.write_str(kernel.name()),
            Self::Changed(changed) => f.write_str(&changed.values()[1]),
        }
    }
}

impl FromStr for Remedy {
    type Err = NotARemedy;

    fn from_str(text: &str) -> Result<Self, NotARemedy> {
        let refuse = |why: String| NotARemedy { text: text.to_owned(), why };
        let (name, value) = text.split_once('=').ok_or_else(|| refuse("it has no value".to_owned()))?;
        let value = value.trim();
        let unit = |error: &dyn fmt::Display| refuse(error.to_string());
        let whole = |most: u32| {
            let number = value.parse::<u32>().ok().filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| refuse(format!("its value is a whole number from 1 to {most}")))
        };
        let buffer = || {
            let amount: Bytes = value.parse().map_err(|error| unit(&error))?;
            let is_possible = (LEAST_BUFFER..=MOST_BUFFER).contains(&amount.get());
            if is_possible { Ok(amount) } else { Err(refuse("a buffer has 4 KiB to 1 GiB".to_owned())) }
        };
        match name.trim() {
            "receive-buffer" => Ok(Self::ReceiveBuffer(buffer()?)),
            "first-receive-buffer" => Ok(Self::FirstReceiveBuffer(buffer()?)),
            "send-buffer" => Ok(Self::SendBuffer(buffer()?)),
            "window-scaling" if value == "on" => Ok(Self::WindowScaling),
            "window-scaling" => Err(refuse("its value is on".to_owned())),
            "slow-start-after-idle" if value == "off" => Ok(Self::KeptWindow),
            "slow-start-after-idle" => Err(refuse("its value is off".to_owned())),
            "congestion-control" => {
                let control = Control::ALL.into_iter().find(|control| control.name() == value);
                control
                    .map(Self::CongestionControl)
                    .ok_or_else(|| refuse("the controls are cubic, reno and bbr".to_owned()))
            }
            "loss" => loss(value).map(Self::Loss).ok_or_else(|| refuse("a loss is such as 0.1 %".to_owned())),
            "initial-window" => whole(10_000).map(Self::InitialWindow),
            "rate" => {
                let rate: Rate = value.parse().map_err(|error| unit(&error))?;
                let is_possible = (1_000..=1_000_000_000_000).contains(&rate.get());
                if is_possible {
                    Ok(Self::Rate(rate))
                } else {
                    Err(refuse("a link has 1 kbit/s to 1 Tbit/s".to_owned()))
                }
            }
            "rtt" => {
                let rtt = duration_from_text(value).map_err(|error| unit(&error))?;
                if rtt <= MOST_RTT {
                    Ok(Self::Rtt(rtt))
                } else {
                    Err(refuse("an RTT is 10 s at most".to_owned()))
                }
            }
            "queue" => whole(1_000_000).map(Self::Queue),
            "kernel" => value.parse().map(Self::Kernel).map_err(|error| unit(&error)),
            _ => Err(refuse("there is no such remedy".to_owned())),
        }
    }
}

const LEAST_BUFFER: u64 = 4 * 1024;
const MOST_BUFFER: u64 = 1 << 30;
const MOST_RTT: Duration = Duration::from_secs(10);

/// A probability, in millionths: `0`, `0.1 %`, `50 ppm`.
fn loss(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix('%') {
        Some(number) => (number, 1e4),
        None => (text.strip_suffix("ppm").unwrap_or(text), 1.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    let is_bare = !text.ends_with('%') && !text.ends_with("ppm");
    let ppm = number * factor;
    ((!is_bare || number == 0.0) && (0.0..=1e6).contains(&ppm)).then_some(ppm)
}

/// What the verdict suggests, of that which a setting cures, for a fit: the largest cause first.
pub fn suggested(captured: &Seen, model: &Model) -> Vec<Remedy> {
    let fitted = &model.fitted;
    let mut found: Vec<Remedy> = Vec::new();
    // Twice the BDP for a window, of which half a buffer is made (tcp_rmem), and room to spare.
    let bdp = fitted.rate.value.amount_in(fitted.rtt.value).get();
    let buffer = Bytes::new((4 * bdp).next_power_of_two().clamp(6 << 20, MOST_BUFFER));
    let mut add = |remedy: Remedy| {
        if !found.contains(&remedy) {
            found.push(remedy);
        }
    };
    for (cause, share) in &captured.causes {
        if *share < LEAST_SHARE {
            continue;
        }
        match cause {
            Cause::NoWindowScaling => add(Remedy::WindowScaling),
            // Twice the BDP: half of a buffer is window at first.
            Cause::AutotuningLag if matches!(fitted.receive, ReceiveBuffer::Tuned(_)) => {
                let first = (2 * bdp).next_power_of_two().clamp(LEAST_BUFFER, MOST_BUFFER);
                add(Remedy::FirstReceiveBuffer(Bytes::new(first)));
            }
            _ if cause.limit() == Limit::ReceiveWindow => add(Remedy::ReceiveBuffer(buffer)),
            Cause::SendBufferFull => add(Remedy::SendBuffer(buffer)),
            Cause::SlowStart => {
                add(Remedy::InitialWindow(LARGER_INITIAL_WINDOW));
                if fitted.requests.is_some() {
                    add(Remedy::KeptWindow);
                }
            }
            _ => {}
        }
    }
    if !matches!(fitted.loss, LossProcess::None) {
        if matches!(fitted.loss, LossProcess::Chance(_)) {
            add(Remedy::Loss(0.0));
        }
        add(Remedy::CongestionControl(if model.control == Control::Bbr {
            Control::Cubic
        } else {
            Control::Bbr
        }));
    } else if captured.of_limit(Limit::Path) + captured.of_limit(Limit::CongestionWindow) >= LEAST_SHARE
        && model.control != Control::Bbr
    {
        add(Remedy::CongestionControl(Control::Bbr));
    }
    found
}

/// A cause below this share is not worth a try.
const LEAST_SHARE: f64 = 0.1;

/// An initial window three times that of RFC 6928, as large content networks use.
const LARGER_INITIAL_WINDOW: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_read_and_shown() {
        for example in EXAMPLES {
            let remedy: Remedy = example.parse().expect(example);
            let shown = remedy.to_string();
            assert_eq!(shown.parse::<Remedy>().expect(&shown), remedy, "{example}");
            assert!(example.starts_with(remedy.name()), "{example}");
        }
        assert_eq!("loss=0.1 %".parse(), Ok(Remedy::Loss(1000.0)));
        assert_eq!("loss=50ppm".parse(), Ok(Remedy::Loss(50.0)));
    }

    #[test]
    fn largest_buffer_leaves_the_first_one_and_the_first_leaves_the_largest() {
        let rmem = |value: &str| vec![Setting::new(Subject::ReceiveBuffer, keys::RMEM, value.to_owned())];
        let applied = |remedy: Remedy, mut settings: Vec<Setting>| {
            remedy.apply(&mut settings);
            settings.into_iter().map(|setting| setting.value).collect::<Vec<_>>()
        };
        let (small, large) =
            (Remedy::ReceiveBuffer(Bytes::kib(6144)), Remedy::FirstReceiveBuffer(Bytes::kib(2048)));
        assert_eq!(applied(small, rmem("4096 16384 33554432")), ["4096 16384 6291456"]);
        assert_eq!(applied(large, rmem("4096 16384 33554432")), ["4096 2097152 33554432"]);
        assert_eq!(applied(large, rmem("4096 16384 131072")), ["4096 2097152 2097152"]);
        assert_eq!(applied(small, Vec::new()), ["4096 131072 6291456"]);
    }

    #[test]
    fn what_is_no_remedy_is_refused_with_a_reason() {
        for (text, why) in [
            ("loss", "no value"),
            ("loss=0.5", "such as 0.1 %"),
            ("loss=200 %", "such as 0.1 %"),
            ("receive-buffer=6", "unit"),
            ("receive-buffer=1B", "4 KiB"),
            ("congestion-control=vegas", "cubic, reno and bbr"),
            ("initial-window=0", "from 1"),
            ("rtt=11s", "10 s at most"),
            ("rate=1bit/s", "1 kbit/s"),
            ("window-scaling=off", "is on"),
            ("slow-start-after-idle=on", "is off"),
            ("speed=1", "no such remedy"),
        ] {
            let error = text.parse::<Remedy>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
