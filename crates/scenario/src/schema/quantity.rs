//! The types of values, and how each is written.

use crate::file::{Node, Value};
use slowpath_model::units::{duration_from_text, duration_text};
use slowpath_model::{Bytes, Rate};
use slowpath_tcp::choices::CongestionControl;
use std::time::Duration;

/// A type of values.
pub trait Quantity: Sized + PartialOrd {
    /// The form of its values on the reference page: `time, such as "40 ms"`.
    fn form() -> String;

    /// The value of a node, or the error and what to write instead.
    fn read(node: &Node) -> Result<Self, Wrong>;

    /// The value as written in a file, without quotes.
    fn show(&self) -> String;

    /// The value of bare text, as in declared defaults; `None` if it is invalid.
    fn bare(text: &str) -> Option<Self> {
        let place = crate::file::Place::in_file(0..0);
        Self::read(&Node { value: Value::bare(text), place }).ok()
    }
}

/// An error in a value, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub hint: String,
}

impl Wrong {
    fn kind(node: &Node, wanted: &str, hint: &str) -> Self {
        Self { message: format!("this is {}, not {wanted}", node.value.kind()), hint: hint.to_owned() }
    }
}

/// Reads text; refuses other values, with a hint that the unit is missing for a number.
fn text<'n>(node: &'n Node, wanted: &str, example: &str) -> Result<&'n str, Wrong> {
    match &node.value {
        Value::Text(text) => Ok(text),
        Value::Integer(_) | Value::Other(_) => Err(Wrong {
            message: "this number has no unit".to_owned(),
            hint: format!("write {wanted} as a number and a unit, such as \"{example}\""),
        }),
        _ => Err(Wrong::kind(node, wanted, &format!("write \"{example}\""))),
    }
}

fn not(text: &str, wanted: &str, example: &str) -> Wrong {
    // Text may be as long as the file.
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    Wrong {
        message: format!("\"{short}{dots}\" is not {wanted}"),
        hint: format!("write a number and a unit, such as \"{example}\""),
    }
}

impl Quantity for Duration {
    fn form() -> String {
        "time, such as `\"40 ms\"`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = text(node, "a time", "40 ms")?;
        duration_from_text(text).map_err(|_| not(text, "a time", "40 ms"))
    }

    fn show(&self) -> String {
        // Three digits are too few to compare what was written with what was understood.
        let shown = duration_text(*self);
        if duration_from_text(&shown) == Ok(*self) { shown } else { format!("{} ns", self.as_nanos()) }
    }
}

impl Quantity for Rate {
    fn form() -> String {
        "rate, such as `\"1 Gbit/s\"`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = text(node, "a rate", "100 Mbit/s")?;
        text.parse().map_err(|_| not(text, "a rate", "100 Mbit/s"))
    }

    fn show(&self) -> String {
        let shown = self.to_string();
        if shown.parse() == Ok(*self) { shown } else { format!("{} bit/s", self.get()) }
    }
}

impl Quantity for Bytes {
    fn form() -> String {
        "amount of data, such as `\"4 MiB\"`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = text(node, "an amount of data", "64 KiB")?;
        text.parse().map_err(|_| not(text, "an amount of data", "64 KiB"))
    }

    fn show(&self) -> String {
        let shown = self.to_string();
        if shown.parse() == Ok(*self) { shown } else { format!("{} B", self.get()) }
    }
}

/// A probability, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub struct Chance {
    /// Millionths, at most a million.
    pub ppm: u32,
}

impl Quantity for Chance {
    fn form() -> String {
        "probability, such as `\"0.1 %\"`, `\"50 ppm\"`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = text(node, "a probability", "0.1 %")?;
        let wrong = || not(text, "a probability", "0.1 %");
        let (number, factor) = match (text.strip_suffix('%'), text.strip_suffix("ppm")) {
            (Some(number), _) => (number, 10_000.0),
            (_, Some(number)) => (number, 1.0),
            _ => return Err(wrong()),
        };
        let digits = number.trim();
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(wrong());
        }
        let ppm = digits.parse::<f64>().map_err(|_| wrong())? * factor;
        if ppm > 1e6 {
            return Err(Wrong {
                message: format!("\"{text}\" is more than certain"),
                hint: "write at most \"100 %\"".into(),
            });
        }
        if ppm > 0.0 && ppm < 1.0 {
            let message = format!("\"{text}\" is less than one in a million");
            return Err(Wrong { message, hint: "write at least \"1 ppm\", or \"0 %\" for never".into() });
        }
        Ok(Self { ppm: ppm.round() as u32 })
    }

    fn show(&self) -> String {
        format!("{} %", f64::from(self.ppm) / 10_000.0)
    }
}

/// The size of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSize {
    /// Packets.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
    /// Bandwidth-delay products of the path.
    Bdp(f64),
}

impl PartialOrd for QueueSize {
    /// Sizes of different kinds have no order, so a range would refuse them all: a queue has none.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Packets(a), Self::Packets(b)) => a.partial_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.partial_cmp(b),
            (Self::Bdp(a), Self::Bdp(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

impl Quantity for QueueSize {
    fn form() -> String {
        "size of a queue: `\"1000 packets\"`, `\"1 MiB\"` or `\"1 bdp\"`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = text(node, "the size of a queue", "1000 packets")?;
        let wrong = || Wrong {
            hint: "write \"1000 packets\", \"1 MiB\" or \"1 bdp\" (rate times both delays)".to_owned(),
            ..not(text, "the size of a queue", "")
        };
        if let Some(number) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            return number.trim().parse().map(Self::Packets).map_err(|_| wrong());
        }
        if let Some(number) = text.strip_suffix("bdp") {
            let number: f64 = number.trim().parse().map_err(|_| wrong())?;
            return if (0.0..=1000.0).contains(&number) { Ok(Self::Bdp(number)) } else { Err(wrong()) };
        }
        text.parse().map(Self::Bytes).map_err(|_| wrong())
    }

    fn show(&self) -> String {
        match self {
            Self::Packets(packets) => format!("{packets} packets"),
            Self::Bytes(bytes) => bytes.show(),
            Self::Bdp(products) => format!("{products} bdp"),
        }
    }
}

/// Whole numbers without a unit.
macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Quantity for $type {
            fn form() -> String {
                "whole number".to_owned()
            }

            fn read(node: &Node) -> Result<Self, Wrong> {
                match node.value {
                    Value::Integer(number) => number.try_into().map_err(|_| Wrong {
                        message: format!("{number} is too {}", if number < 0 { "small" } else { "large" }),
                        hint: format!("write a number from {} to {}", <$type>::MIN, <$type>::MAX),
                    }),
                    _ => Err(Wrong::kind(node, "a whole number", "write a whole number without quotes, such as 1")),
                }
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

whole!(i8, u32, u64);

impl Quantity for bool {
    fn form() -> String {
        "`true` or `false`".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        match node.value {
            Value::Bool(switch) => Ok(switch),
            _ => Err(Wrong::kind(node, "a switch", "write true or false, without quotes")),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Quantity for String {
    fn form() -> String {
        "text".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.value {
            Value::Text(text) if text.len() > 1000 => Err(Wrong {
                message: "this text is too long".to_owned(),
                hint: "write at most 1000 bytes".to_owned(),
            }),
            Value::Text(text) => Ok(text.clone()),
            _ => Err(Wrong::kind(node, "text", "write it in quotes")),
        }
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl<T: Quantity> Quantity for Vec<T> {
    fn form() -> String {
        format!("list of: {}", T::form())
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        match &node.value {
            Value::List(list) => list.iter().map(T::read).collect(),
            _ => T::read(node).map(|one| vec![one]),
        }
    }

    fn show(&self) -> String {
        self.iter().map(T::show).collect::<Vec<_>>().join(", ")
    }
}

/// A congestion control, by its `TCP_CONGESTION` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control(pub CongestionControl);

impl PartialOrd for Control {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.0.name().partial_cmp(other.0.name())
    }
}

impl Quantity for Control {
    fn form() -> String {
        format!(
            "congestion control: {}",
            quoted(&CongestionControl::ALL.iter().map(|c| c.name()).collect::<Vec<_>>())
        )
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let Value::Text(text) = &node.value else {
            return Err(Wrong::kind(node, "a congestion control", "write \"cubic\""));
        };
        CongestionControl::named(text).map(Self).ok_or_else(|| Wrong {
            message: "there is no such congestion control here".to_owned(),
            hint: format!(
                "there are {}",
                CongestionControl::ALL.iter().map(|c| c.name()).collect::<Vec<_>>().join(", ")
            ),
        })
    }

    fn show(&self) -> String {
        self.0.name().to_owned()
    }
}

/// Names for the reference page.
fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ")
}

/// One of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
        pub enum $type {
            $($(#[$of])* $variant),+
        }

        impl Quantity for $type {
            fn form() -> String {
                quoted(&[$($word),+])
            }

            fn read(node: &Node) -> Result<Self, Wrong> {
                match &node.value {
                    $(Value::Text(text) if text == $word => Ok(Self::$variant),)+
                    Value::Text(_) => Err(Wrong {
                        message: "this is none of the words that can stand here".to_owned(),
                        hint: format!("write {}", [$($word),+].join(" or ")),
                    }),
                    _ => Err(Wrong::kind(node, "a word", &format!("write {}", [$($word),+].join(" or ")))),
                }
            }

            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $word.to_owned()),+
                }
            }
        }
    };
}

words! {
    /// How requests share connections.
    Connection {
        /// One connection carries all of a stream's requests.
        Kept = "kept",
        /// Each request has its own.
        Each = "each",
    }
}

words! {
    /// A scheduling class (sched(7)).
    Class {
        /// `SCHED_OTHER`.
        Other = "other",
        /// `SCHED_IDLE`.
        Idle = "idle",
        /// `SCHED_FIFO`, all of one priority.
        Fifo = "fifo",
    }
}

words! {
    /// Which CPUs take a NIC's interrupts.
    Affinity {
        /// One of them.
        One = "one",
        /// All of them, round-robin.
        InTurn = "in-turn",
    }
}

words! {
    /// The arrival pattern of cross traffic.
    Pattern {
        /// At equal intervals.
        Constant = "constant",
        /// Independently of each other.
        Poisson = "poisson",
        /// In bursts.
        OnOff = "on-off",
    }
}

words! {
    /// What a middlebox drops.
    Dropping {
        /// Packets of super-packets.
        SuperPackets = "super-packets",
        /// SYNs with data.
        SynData = "syn-data",
        /// Data beyond the window field.
        BeyondUnscaledWindow = "beyond-unscaled-window",
    }
}

words! {
    /// What a middlebox does to the ECN field of every packet.
    Clearing {
        /// It clears it.
        Bleach = "bleach",
    }
}

words! {
    /// How a host chooses IPv4 identifications.
    HostIdentification {
        /// One counter for all of its packets.
        PerHost = "per-host",
        /// Random.
        Random = "random",
        /// Always 0.
        Zero = "zero",
        /// As the sender does, with the bytes swapped.
        ByteSwapped = "byte-swapped",
    }
}

/// What a window scale option becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Scale {
    /// It gets this shift count.
    Shift(u8),
    /// It is removed.
    Removed,
}

/// The largest shift count (RFC 7323, section 2.3).
const MOST_SHIFT: u8 = 14;

impl Quantity for Scale {
    fn form() -> String {
        format!("shift count from 0 to {MOST_SHIFT}, or `\"removed\"`")
    }

    fn read(node: &Node) -> Result<Self, Wrong> {
        let wrong = || Wrong {
            message: "this is no window scale".to_owned(),
            hint: format!("write a number from 0 to {MOST_SHIFT}, or \"removed\""),
        };
        match &node.value {
            Value::Integer(shift) => {
                u8::try_from(*shift).ok().filter(|shift| *shift <= MOST_SHIFT).map(Self::Shift)
            }
            Value::Text(text) => (text == "removed").then_some(Self::Removed),
            _ => None,
        }
        .ok_or_else(wrong)
    }

    fn show(&self) -> String {
        match self {
            Self::Shift(shift) => shift.to_string(),
            Self::Removed => "removed".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Place;

    fn read<T: Quantity>(value: Value) -> Result<T, String> {
        T::read(&Node { value, place: Place::in_file(0..1) }).map_err(|wrong| wrong.message)
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn numbers_without_a_unit_are_refused() {
        assert_eq!(read::<Duration>(Value::Integer(40)), Err("this number has no unit".to_owned()));
        assert_eq!(read::<Rate>(Value::Other("1.5".into())), Err("this number has no unit".to_owned()));
        assert_eq!(read::<Bytes>(text("65536")), Err("\"65536\" is not an amount of data".to_owned()));
        assert_eq!(read::<QueueSize>(text("1000")), Err("\"1000\" is not the size of a queue".to_owned()));
        assert_eq!(read::<u32>(text("4")), Err("this is text, not a whole number".to_owned()));
    }

    #[test]
    fn chances_are_at_most_1_and_never_rounded_to_0() {
        let ppm = |t| read::<Chance>(text(t)).map(|chance| chance.ppm);
        assert_eq!(ppm("0.1 %"), Ok(1000));
        assert_eq!(ppm("50ppm"), Ok(50));
        assert_eq!(ppm("100 %"), Ok(1_000_000));
        assert_eq!(ppm("0 %"), Ok(0));
        for wrong in ["101 %", "0.00001 %", "-1 %", "NaN %", "inf %", "+1 %", "1", "%"] {
            assert!(ppm(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn queue_sizes_are_packets_bytes_or_bdps() {
        assert_eq!(read(text("1000 packets")), Ok(QueueSize::Packets(1000)));
        assert_eq!(read(text("1 packet")), Ok(QueueSize::Packets(1)));
        assert_eq!(read(text("1 MiB")), Ok(QueueSize::Bytes(Bytes::kib(1024))));
        assert_eq!(read(text("1.5 bdp")), Ok(QueueSize::Bdp(1.5)));
        for wrong in ["-1 packets", "1.5 packets", "NaN bdp", "-1 bdp", "1e9 bdp", "5000000000 packets"] {
            assert!(read::<QueueSize>(text(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn single_value_is_a_list_of_one() {
        assert_eq!(read(text("1 s")), Ok(vec![Duration::from_secs(1)]));
        assert_eq!(read::<Vec<u64>>(Value::List(vec![])), Ok(vec![]));
    }

    #[test]
    fn shown_values_round_trip() {
        for bytes in [0, 1, 1023, 1024, 174_760, 4 << 20] {
            assert_eq!(Bytes::bare(&Bytes::new(bytes).show()), Some(Bytes::new(bytes)));
        }
        assert_eq!(Chance::bare(&Chance { ppm: 1234 }.show()), Some(Chance { ppm: 1234 }));
        assert_eq!(Connection::bare("kept"), Some(Connection::Kept));
    }
}
