//! Choices as text, as in scenario files and the table of kernels.

use crate::receive::TickLimit;
use crate::schedule::{ExtraRun, Scheduler};
use slowpath_model::units::{duration_from_text, duration_text};
use slowpath_tcp::choices::{BufferArithmetic, CongestionControl, InitialWindow, SendTuning};
use slowpath_tcp::sysctl::BufferSizes;
use std::time::Duration;

/// A choosable value, as text.
pub trait Value: Sized {
    /// The form of such text, to follow "write".
    fn form() -> String;

    /// Parses text; `None` if it is invalid.
    fn read(text: &str) -> Option<Self>;

    /// The text that [`Value::read`] parses.
    fn write(&self) -> String;
}

/// The units of sysctl times, in nanoseconds.
pub(crate) const NANOSECOND: u128 = 1;
pub(crate) const MICROSECOND: u128 = 1000 * NANOSECOND;
pub(crate) const MILLISECOND: u128 = 1000 * MICROSECOND;
pub(crate) const SECOND: u128 = 1000 * MILLISECOND;

/// The time of a whole number of units; `None` for other text, and for more than 584 years.
pub(crate) fn time(text: &str, unit: u128) -> Option<Duration> {
    let nanos = u128::from(text.parse::<u64>().ok()?).checked_mul(unit)?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// Names each value of an enum.
macro_rules! named {
    ($type:ty: $($name:literal => $value:expr),+ $(,)?) => {
        impl $crate::value::Value for $type {
            fn form() -> String {
                $crate::value::one_of(&[$($name),+])
            }

            fn read(text: &str) -> Option<Self> {
                [$(($name, $value)),+].into_iter().find_map(|(name, value)| (name == text).then_some(value))
            }

            fn write(&self) -> String {
                [$(($name, $value)),+]
                    .into_iter()
                    .find_map(|(name, value)| (value == *self).then(|| name.to_owned()))
                    .unwrap_or_default()
            }
        }
    };
}

/// `"a", "b" or "c"`.
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

named!(bool: "yes" => true, "no" => false);
impl Value for CongestionControl {
    fn form() -> String {
        one_of(&Self::ALL.iter().map(|control| control.name()).collect::<Vec<_>>())
    }

    fn read(text: &str) -> Option<Self> {
        Self::named(text)
    }

    fn write(&self) -> String {
        self.name().to_owned()
    }
}

/// Whole numbers.
macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn form() -> String {
                format!("a whole number from {} to {}", <$type>::MIN, <$type>::MAX)
            }

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

whole!(u8, u32, i32);

impl Value for Duration {
    fn form() -> String {
        "a time such as \"2 ms\"".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        duration_from_text(text).ok()
    }

    fn write(&self) -> String {
        duration_text(*self)
    }
}

impl Value for Option<Duration> {
    fn form() -> String {
        "a time such as \"2 ms\", or \"none\"".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        if text == "none" { Some(None) } else { duration_from_text(text).ok().map(Some) }
    }

    fn write(&self) -> String {
        self.map_or_else(|| "none".to_owned(), duration_text)
    }
}

impl Value for TickLimit {
    fn form() -> String {
        "a number of ticks or a time, such as \"2 ticks\" or \"4 ms\"".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        let number = text.strip_suffix(" ticks").or_else(|| text.strip_suffix(" tick"));
        let ticks = number.and_then(|number| number.parse().ok()).filter(|ticks| *ticks > 0);
        match ticks {
            Some(ticks) => Some(Self::Ticks(ticks)),
            None => duration_from_text(text).ok().map(Self::Time),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Ticks(1) => "1 tick".to_owned(),
            Self::Ticks(ticks) => format!("{ticks} ticks"),
            Self::Time(time) => duration_text(*time),
        }
    }
}

/// The default base slice of [`Scheduler::Eevdf`] (since 6.15).
const BASE_SLICE: Duration = Duration::from_micros(700);
/// A task that ran too much wakes with that debt.
const WITH_DEBTS: &str = " with debts";

impl Value for Scheduler {
    fn form() -> String {
        "\"goodness\", \"o1\", \"o1 with extra runs in recvmsg\", \"o1 with extra runs while packets wait\", \
         \"cfs\", \"eevdf\", or \"eevdf 3 ms\" with a base slice; \"eevdf with debts\" and \"eevdf with debts 3 ms\" \
         without delayed dequeues"
            .to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "goodness" => Some(Self::Goodness),
            "o1" => Some(Self::O1 { extra_run: ExtraRun::Never }),
            "o1 with extra runs in recvmsg" => Some(Self::O1 { extra_run: ExtraRun::InRecvmsg }),
            "o1 with extra runs while packets wait" => Some(Self::O1 { extra_run: ExtraRun::PacketsWait }),
            "cfs" => Some(Self::Cfs),
            _ => {
                let rest = text.strip_prefix("eevdf")?;
                let (rest, delayed_dequeue) = match rest.strip_prefix(WITH_DEBTS) {
                    Some(rest) => (rest, false),
                    None => (rest, true),
                };
                let base_slice = match rest {
                    "" => BASE_SLICE,
                    _ => duration_from_text(rest.strip_prefix(' ')?).ok()?,
                };
                (!base_slice.is_zero()).then_some(Self::Eevdf { base_slice, delayed_dequeue })
            }
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Goodness => "goodness".to_owned(),
            Self::O1 { extra_run: ExtraRun::Never } => "o1".to_owned(),
            Self::O1 { extra_run: ExtraRun::InRecvmsg } => "o1 with extra runs in recvmsg".to_owned(),
            Self::O1 { extra_run: ExtraRun::PacketsWait } => {
                "o1 with extra runs while packets wait".to_owned()
            }
            Self::Cfs => "cfs".to_owned(),
            Self::Eevdf { base_slice, delayed_dequeue } => {
                let debts = if *delayed_dequeue { "" } else { WITH_DEBTS };
                format!("eevdf{debts} {}", duration_text(*base_slice))
            }
        }
    }
}

impl Value for InitialWindow {
    fn form() -> String {
        "\"rfc3390\", or a number of segments such as \"10 segments\"".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        if text == "rfc3390" {
            return Some(Self::Rfc3390);
        }
        text.strip_suffix(" segments")?.parse().ok().filter(|segments| *segments > 0).map(Self::Segments)
    }

    fn write(&self) -> String {
        match self {
            Self::Rfc3390 => "rfc3390".to_owned(),
            Self::Segments(segments) => format!("{segments} segments"),
        }
    }
}

impl Value for BufferArithmetic {
    fn form() -> String {
        "\"scaling-ratio\", or \"adv-win-scale N\" with N from -31 to 31".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        if text == "scaling-ratio" {
            return Some(Self::ScalingRatio);
        }
        let scale: i32 = text.strip_prefix("adv-win-scale ")?.parse().ok()?;
        (-31..=31).contains(&scale).then_some(Self::AdvertisedScale(scale))
    }

    fn write(&self) -> String {
        match self {
            Self::ScalingRatio => "scaling-ratio".to_owned(),
            Self::AdvertisedScale(scale) => format!("adv-win-scale {scale}"),
        }
    }
}

impl Value for SendTuning {
    fn form() -> String {
        "\"fixed\", or a number of congestion windows such as \"2 windows\"".to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        if text == "fixed" {
            return Some(Self::Fixed);
        }
        text.strip_suffix(" windows")?.parse().ok().filter(|windows| *windows > 0).map(Self::Windows)
    }

    fn write(&self) -> String {
        match self {
            Self::Fixed => "fixed".to_owned(),
            Self::Windows(windows) => format!("{windows} windows"),
        }
    }
}

impl Value for BufferSizes {
    fn form() -> String {
        "three numbers of bytes, the least, the first and the most, such as \"4096 131072 33554432\""
            .to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        let mut sizes = text.split_whitespace().map(|size| size.parse().ok());
        let read = Self { min: sizes.next()??, default: sizes.next()??, max: sizes.next()?? };
        let in_order = 0 < read.min && read.min <= read.default && read.default <= read.max;
        (in_order && sizes.next().is_none()).then_some(read)
    }

    fn write(&self) -> String {
        format!("{} {} {}", self.min, self.default, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_numbers_round_trip() {
        for text in [
            "goodness",
            "o1",
            "o1 with extra runs in recvmsg",
            "o1 with extra runs while packets wait",
            "cfs",
            "eevdf 3 ms",
            "eevdf with debts 750 µs",
        ] {
            assert_eq!(Scheduler::read(text).unwrap().write(), text);
        }
        for text in ["rfc3390", "10 segments"] {
            assert_eq!(InitialWindow::read(text).unwrap().write(), text);
        }
        for text in ["scaling-ratio", "adv-win-scale -2"] {
            assert_eq!(BufferArithmetic::read(text).unwrap().write(), text);
        }
        for text in ["fixed", "2 windows"] {
            assert_eq!(SendTuning::read(text).unwrap().write(), text);
        }
        for text in ["1 tick", "2 ticks", "4 ms"] {
            assert_eq!(TickLimit::read(text).unwrap().write(), text);
        }
    }

    #[test]
    fn impossible_values_are_rejected() {
        assert_eq!(Scheduler::read("eevdf 0 s"), None);
        assert_eq!(TickLimit::read("0 ticks"), None);
        assert_eq!(InitialWindow::read("0 segments"), None);
        assert_eq!(SendTuning::read("0 windows"), None);
        assert_eq!(BufferArithmetic::read("adv-win-scale 32"), None);
        assert_eq!(BufferSizes::read("8192 4096 16384"), None);
        assert_eq!(BufferSizes::read("1 2 3 4"), None);
        assert_eq!(crate::schedule::Preemption::form(), "\"none\", \"voluntary\" or \"full\"");
    }
}
