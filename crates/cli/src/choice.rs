//! Arguments that several commands share: which flows, where a capture was made, and instants.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use slowpath_analyses::VantageOverride;
use slowpath_model::{Bytes, FlowId, Instant};

/// Which flows.
#[derive(Args)]
pub struct Choice {
    /// Only the flow with this number, as the verdict and `slowpath flows` print it
    #[arg(long, value_name = "N", value_parser = flow_id)]
    pub flow: Option<FlowId>,
    /// Only flows that carried at least this much in one direction, such as "1 MiB"
    #[arg(long, value_name = "AMOUNT", default_value = "0 B")]
    pub min_bytes: Bytes,
}

/// Where a capture was made.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// On the sending host, or right next to it
    Sender,
    /// On the receiving host, or right next to it
    Receiver,
    /// Somewhere on the path
    Between,
}

impl Place {
    pub fn vantage(self) -> VantageOverride {
        match self {
            Self::Sender => VantageOverride::Sender,
            Self::Receiver => VantageOverride::Receiver,
            Self::Between => VantageOverride::Between,
        }
    }
}

/// One of `all`, each with its name and a shorter one that serves too.
pub fn named<T: Clone + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (T, String, Option<String>)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    let names = all.iter().map(|(_, name, short)| PossibleValue::new(name.clone()).aliases(short.clone()));
    PossibleValuesParser::new(names).try_map(move |text| {
        let found = all.iter().find(|(_, name, short)| *name == text || short.as_ref() == Some(&text));
        found.map(|(value, _, _)| value.clone()).ok_or("no such name")
    })
}

/// A flow's number.
pub fn flow_id(text: &str) -> Result<FlowId, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("flows are numbered from 1; `slowpath flows FILE` lists them".to_owned()),
        Ok(number) => Ok(FlowId(number)),
    }
}

/// Seconds, with or without their unit, as the events show them.
pub fn instant(text: &str) -> Result<Instant, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim();
    let seconds: f64 = number
        .parse()
        .ok()
        .filter(|seconds: &f64| seconds.is_finite() && seconds.abs() < 9e9)
        .ok_or("write seconds since the first packet, such as 3.25")?;
    Ok(Instant::from_nanos((seconds * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_seconds() {
        assert_eq!(instant("3.25"), Ok(Instant::from_nanos(3_250_000_000)));
        assert_eq!(instant("-0.5s"), Ok(Instant::from_nanos(-500_000_000)));
        assert!(instant("soon").is_err());
        assert!(instant("inf").is_err());
    }
}
