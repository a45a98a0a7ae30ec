//! Values of options, from text.

use crate::Error;
use crate::anonymize::Ports;
use slowpath_model::units::duration_from_text;
use slowpath_model::{Bytes, FlowId, Rate};
use slowpath_probe::real::{LOWEST_RATE, SERVED_DURATIONS};
use slowpath_tune::gain::{FEWEST_PAIRS, MOST_PAIRS};
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::time::Duration;

/// How many parallel connections a transfer may have.
pub const STREAMS: RangeInclusive<i64> = 1..=10_000;

/// How many pairs of runs may judge a plan.
pub const PAIRS: RangeInclusive<i64> = FEWEST_PAIRS as i64..=MOST_PAIRS as i64;

/// A rate from 1 kbit/s to 1 Tbit/s.
///
/// # Errors
///
/// What to write instead.
pub fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let known = (1_000..=1_000_000_000_000).contains(&rate.get());
    if known { Ok(rate) } else { Err("write a rate from 1kbit/s to 1Tbit/s".to_owned()) }
}

/// An RTT from 1 µs to 100 s.
///
/// # Errors
///
/// What to write instead.
pub fn rtt(text: &str) -> Result<Duration, String> {
    let rtt = duration_from_text(text).map_err(|error| format!("{error}"))?;
    let known = Duration::from_micros(1)..=Duration::from_secs(100);
    if known.contains(&rtt) { Ok(rtt) } else { Err("write an RTT from 1us to 100s".to_owned()) }
}

/// An amount of data of at least a byte.
///
/// # Errors
///
/// What to write instead.
pub fn amount(text: &str) -> Result<Bytes, String> {
    let amount: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if amount == Bytes::ZERO { Err("write an amount of at least 1B".to_owned()) } else { Ok(amount) }
}

/// The highest rate of a probe's far end.
///
/// # Errors
///
/// What to write instead.
pub fn highest(text: &str) -> Result<Rate, String> {
    let rate = rate(text)?;
    if rate >= LOWEST_RATE { Ok(rate) } else { Err(format!("write a rate of {LOWEST_RATE} or more")) }
}

/// The longest measurement of a probe's far end.
///
/// # Errors
///
/// What to write instead.
pub fn longest(text: &str) -> Result<Duration, String> {
    let time = duration_from_text(text).map_err(|error| format!("{error}"))?;
    if SERVED_DURATIONS.contains(&time) { Ok(time) } else { Err("write a time from 10ms to 60s".to_owned()) }
}

/// Two rates, the lower one first.
///
/// # Errors
///
/// What to write instead.
pub fn rates(text: &str) -> Result<(Rate, Rate), String> {
    let (from, to) = text.split_once("..").ok_or("write two rates, such as 300Mbit/s..1Gbit/s")?;
    let (from, to) = (rate(from)?, rate(to)?);
    if from < to { Ok((from, to)) } else { Err("the first rate must be below the second".to_owned()) }
}

/// A probability.
///
/// # Errors
///
/// What to write instead.
pub fn chance(text: &str) -> Result<f64, String> {
    let chance = text.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
    chance.ok_or_else(|| "write a number from 0 to 1, such as 0.0001".to_owned())
}

/// A share such as `1%` or `0.5 %`, as a part of 1.
///
/// # Errors
///
/// What to write instead.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
    number.filter(|share| (0.0..100.0).contains(share)).map(|share| share / 100.0).ok_or_else(|| {
        format!("{text:?} is not a share; write a percentage from 0% to below 100%, such as 5%")
    })
}

/// A gain that is asked for, such as `>=5%`, as a part of 1.
///
/// # Errors
///
/// What to write instead.
pub fn gain(text: &str) -> Result<f64, String> {
    let share = text.trim().strip_prefix(">=").map(|text| share(text.trim_start()));
    share.unwrap_or_else(|| Err("write the smallest gain, such as '>=5%'".to_owned()))
}

/// A flow's number.
///
/// # Errors
///
/// What to write instead.
pub fn flow_id(text: &str) -> Result<FlowId, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("flows are numbered from 1; `slowpath flows FILE` lists them".to_owned()),
        Ok(number) => Ok(FlowId(number)),
    }
}

/// A buffer's size.
///
/// # Errors
///
/// What to write instead.
pub fn size(text: &str) -> Result<u32, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    u32::try_from(size.get())
        .ok()
        .filter(|size| i32::try_from(*size).is_ok())
        .ok_or_else(|| format!("setsockopt takes an int; write at most {} B, just below 2 GiB", i32::MAX))
}

/// For how long a plan is applied: from a second to 30 days, in whole seconds.
///
/// # Errors
///
/// What to write instead.
pub fn lasting(text: &str) -> Result<Duration, String> {
    let time = duration_from_text(text).map_err(|error| format!("{error}"))?;
    let known = (1..=30 * 86_400).contains(&time.as_secs()) && time.subsec_nanos() == 0;
    if known { Ok(time) } else { Err("write whole seconds from 1s to 720h, such as 10min".to_owned()) }
}

/// A host's name in a scenario.
///
/// # Errors
///
/// What to write instead.
pub fn host_name(text: &str) -> Result<String, String> {
    let is_name =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("a host's name consists of letters, digits, - and _".to_owned())
    }
}

/// The addresses of a host's name, at least one, the ones to try first at the front.
///
/// # Errors
///
/// If the name has none.
pub fn addresses(name: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let no_address = |source| Error::NoAddress { name: name.to_owned(), source };
    let found: Vec<_> = (bare, port).to_socket_addrs().map_err(|error| no_address(Some(error)))?.collect();
    if found.is_empty() { Err(no_address(None)) } else { Ok(found) }
}

/// What to do with the ports of clients.
///
/// # Errors
///
/// What to write instead.
pub fn ports(text: &str) -> Result<Ports, String> {
    match text {
        "keep" => Ok(Ports::Keep),
        "map" => Ok(Ports::Map),
        _ => Err("write keep or map".to_owned()),
    }
}
