//! The keys that differ between runs, with their values as numbers in one unit.

use slowpath_model::units::duration_from_text;
use slowpath_model::{Bytes, Rate};
use slowpath_recording::results::{Field, Holds, Value};
use slowpath_scenario::{Override, SweepCase};

/// The kind of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In seconds.
    Time,
    /// In bit/s.
    Rate,
    /// In bytes.
    Data,
    /// A probability from 0 to 1.
    Chance,
    /// Packets.
    Packets,
    /// Bandwidth-delay products.
    Products,
    /// A count.
    Whole,
    /// A number without a unit.
    Plain,
    /// True or false.
    Switch,
    /// Anything else.
    Text,
}

/// Whole numbers below this are exact as floating point.
const MOST_WHOLE: f64 = (1_u64 << 53) as f64;

/// A key that differs between runs.
pub struct Key {
    /// As `--set` names it.
    pub key: String,
    /// The kind of all its values; text if they differ in kind.
    pub kind: Kind,
}

impl Kind {
    /// The kind of a value, and the number in its unit.
    fn read(text: &str) -> (Self, f64) {
        let text = text.trim();
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).trim();
        let with = |unit: &str| text.strip_suffix(unit).and_then(|number| plain(number.trim()));
        if let Some(number) = plain(text) {
            let whole = text.bytes().all(|byte| byte.is_ascii_digit()) && number < MOST_WHOLE;
            (if whole { Self::Whole } else { Self::Plain }, number)
        } else if let Ok(time) = duration_from_text(text) {
            (Self::Time, time.as_secs_f64())
        } else if let Ok(rate) = text.parse::<Rate>() {
            (Self::Rate, rate.get() as f64)
        } else if let Ok(bytes) = text.parse::<Bytes>() {
            (Self::Data, bytes.get() as f64)
        } else if let Some(percent) = with("%") {
            (Self::Chance, percent / 100.0)
        } else if let Some(ppm) = with("ppm") {
            (Self::Chance, ppm / 1e6)
        } else if let Some(packets) = with("packets").or_else(|| with("packet")) {
            (Self::Packets, packets)
        } else if let Some(products) = with("bdp") {
            (Self::Products, products)
        } else {
            match text {
                "true" => (Self::Switch, 1.0),
                "false" => (Self::Switch, 0.0),
                _ => (Self::Text, 0.0),
            }
        }
    }

    /// The kind that covers two kinds.
    fn beside(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Whole, Self::Plain) | (Self::Plain, Self::Whole) => Self::Plain,
            _ => Self::Text,
        }
    }

    /// The unit of the numbers; `None` for probabilities and numbers without one.
    const fn unit(self) -> Option<&'static str> {
        match self {
            Self::Time => Some("s"),
            Self::Rate => Some("bit/s"),
            Self::Data => Some("B"),
            Self::Packets => Some("packets"),
            Self::Products => Some("bdp"),
            Self::Chance | Self::Whole | Self::Plain | Self::Switch | Self::Text => None,
        }
    }
}

fn plain(text: &str) -> Option<f64> {
    let begins = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|number| begins && number.is_finite())
}

/// Splits an override into key and value.
pub fn split(one: &Override) -> (&str, &str) {
    let (key, value) = one.text().split_once('=').unwrap_or((one.text(), ""));
    (key.trim(), value.trim())
}

impl Key {
    /// Every key that a case sets, in order of appearance.
    pub fn of<'a>(cases: impl Iterator<Item = &'a SweepCase>) -> Vec<Self> {
        let mut keys: Vec<Self> = Vec::new();
        for (key, value) in cases.flat_map(|case| &case.set).map(split) {
            let kind = Kind::read(value).0;
            match keys.iter_mut().find(|other| other.key == key) {
                Some(other) => other.kind = other.kind.beside(kind),
                None => keys.push(Self { key: key.to_owned(), kind }),
            }
        }
        keys
    }

    /// Its column; `taken` says whether a name is used by another column.
    pub fn field(&self, taken: impl Fn(&str) -> bool) -> Field {
        let name = match self.kind.unit() {
            Some(unit) => format!("{} [{unit}]", self.key),
            None if taken(&self.key) => format!("{} [as set]", self.key),
            None => self.key.clone(),
        };
        let holds = match self.kind {
            Kind::Text => Holds::Text,
            Kind::Switch => Holds::Switch,
            Kind::Whole => Holds::Count,
            _ => Holds::Number,
        };
        Field::new(name, holds)
    }

    /// The value that a case sets.
    pub fn written<'a>(&self, case: &'a SweepCase) -> Option<&'a str> {
        // The last setting counts.
        case.set.iter().rev().map(split).find(|(key, _)| *key == self.key).map(|(_, value)| value)
    }

    /// Its value for the data set; `None` if the case keeps the scenario's own.
    pub fn value(&self, case: &SweepCase) -> Option<Value> {
        let written = self.written(case)?;
        let (_, number) = Kind::read(written);
        Some(match self.kind {
            Kind::Text => Value::Text(written.to_owned()),
            Kind::Switch => Value::Switch(number > 0.0),
            Kind::Whole => Value::Count(number as u64),
            _ => Value::Number(number),
        })
    }

    /// Its value for an axis; `None` if it is not a number.
    pub fn number(&self, case: &SweepCase) -> Option<f64> {
        match self.value(case)? {
            Value::Number(number) => Some(number),
            Value::Count(count) => Some(count as f64),
            _ => None,
        }
    }

    /// Whether its values are numbers.
    pub fn is_number(&self) -> bool {
        !matches!(self.kind, Kind::Switch | Kind::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_values_share_one_unit() {
        for (text, wanted) in [
            ("5ms", (Kind::Time, 0.005)),
            ("\"2 s\"", (Kind::Time, 2.0)),
            ("1.5 Gbit/s", (Kind::Rate, 1.5e9)),
            ("64 KiB", (Kind::Data, 65536.0)),
            ("0.1 %", (Kind::Chance, 0.001)),
            ("50ppm", (Kind::Chance, 0.00005)),
            ("1000 packets", (Kind::Packets, 1000.0)),
            ("0.1bdp", (Kind::Products, 0.1)),
            ("4", (Kind::Whole, 4.0)),
            ("4.5", (Kind::Plain, 4.5)),
            ("-20", (Kind::Plain, -20.0)),
            ("false", (Kind::Switch, 0.0)),
            ("cubic", (Kind::Text, 0.0)),
            ("inf", (Kind::Text, 0.0)),
            ("[{ hogs = 1 }]", (Kind::Text, 0.0)),
        ] {
            let (kind, number) = Kind::read(text);
            assert!(kind == wanted.0 && (number - wanted.1).abs() < 1e-12, "{text}: {kind:?} {number}");
        }
    }

    #[test]
    fn column_has_one_type() {
        let case = |set: &[&str]| SweepCase {
            name: None,
            set: set.iter().map(|one| one.parse().unwrap()).collect(),
        };
        let cases = [case(&["a.b=5ms", "path.queue=1bdp"]), case(&["a.b=1 s", "path.queue=10 packets"])];
        let keys = Key::of(cases.iter());
        let names: Vec<_> = keys.iter().map(|key| key.field(|_| false)).collect();
        assert_eq!(names, [Field::new("a.b [s]", Holds::Number), Field::new("path.queue", Holds::Text)]);
        assert_eq!(keys[0].value(&cases[1]), Some(Value::Number(1.0)));
        assert_eq!(keys[1].value(&cases[1]), Some(Value::Text("10 packets".to_owned())));
        assert_eq!(keys[0].value(&case(&["c=1"])), None);
        assert_eq!(
            (Kind::Whole.beside(Kind::Plain), Kind::Whole.beside(Kind::Time)),
            (Kind::Plain, Kind::Text)
        );
        let seed = Key { key: "seed".to_owned(), kind: Kind::Plain };
        assert_eq!(seed.field(|name| name == "seed").name, "seed [as set]");
    }
}
