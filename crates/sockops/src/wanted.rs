//! What is asked for a prefix, as the command line has it: `192.0.2.0/24,rate=1Gbit/s,rtt=80ms`. Pure.

use crate::record::CONGESTION_NAME;
use crate::targets::{BadPrefix, Prefix};
use slowpath_model::units::duration_from_text;
use slowpath_model::{Bytes, Rate};
use std::str::FromStr;
use std::time::Duration;

/// What is asked for the connections to a prefix. What is not given is left alone, or comes from a path store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The prefix.
    pub prefix: Prefix,
    /// The rate and the RTT of its paths, from which buffers follow.
    pub path: Option<(Rate, Duration)>,
    /// The send buffer, as `tcp_wmem` counts it.
    pub send: Option<Bytes>,
    /// The receive buffer, as `tcp_rmem` counts it.
    pub receive: Option<Bytes>,
    /// The largest window.
    pub clamp: Option<Bytes>,
    /// The highest rate of a connection.
    pub pacing: Option<Rate>,
    /// The congestion control.
    pub congestion: Option<String>,
}

/// Why a text asks for nothing that can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWanted {
    /// It begins with no prefix.
    #[error(transparent)]
    Prefix(#[from] BadPrefix),
    /// A part is no setting.
    #[error(
        "{0:?} is no setting; write rate=RATE and rtt=TIME, send=SIZE, receive=SIZE, clamp=SIZE, pacing=RATE or \
         congestion=NAME after the prefix, separated by commas"
    )]
    Setting(String),
    /// A value has another form.
    #[error("{key}: {why}")]
    Value {
        /// The setting.
        key: String,
        /// What to write.
        why: String,
    },
    /// A setting is there twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// A rate without an RTT, or the reverse.
    #[error("buffers follow from a rate and an RTT: give both, rate=RATE and rtt=TIME")]
    Half,
}

/// A connection's buffers and window: at least what the kernel gives everybody, and an `int`.
fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    let known = 4096..=i32::MAX as u64;
    if known.contains(&size.get()) { Ok(size) } else { Err("write a size from 4KiB to 2047MiB".to_owned()) }
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    // What the option takes in BPF: a 32-bit number of bytes per second, of which the largest means no limit.
    let known = 8_000..=(u64::from(u32::MAX) - 1) * 8;
    if known.contains(&rate.get()) {
        Ok(rate)
    } else {
        Err("write a rate from 8kbit/s to 34Gbit/s".to_owned())
    }
}

fn path_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    if rate.get() >= 1000 { Ok(rate) } else { Err("write a rate of at least 1kbit/s".to_owned()) }
}

fn rtt(text: &str) -> Result<Duration, String> {
    let rtt = duration_from_text(text).map_err(|error| format!("{error}"))?;
    let known = Duration::from_micros(1)..=Duration::from_secs(100);
    if known.contains(&rtt) { Ok(rtt) } else { Err("write an RTT from 1us to 100s".to_owned()) }
}

fn congestion(text: &str) -> Result<String, String> {
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_name && (1..CONGESTION_NAME).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err("write the name of a congestion control, such as bbr".to_owned())
    }
}

/// Takes a value that is not there yet.
fn take<T>(
    into: &mut Option<T>,
    key: &str,
    text: &str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<(), BadWanted> {
    if into.is_some() {
        return Err(BadWanted::Twice(key.to_owned()));
    }
    *into = Some(parse(text).map_err(|why| BadWanted::Value { key: key.to_owned(), why })?);
    Ok(())
}

impl FromStr for Wanted {
    type Err = BadWanted;

    fn from_str(text: &str) -> Result<Self, BadWanted> {
        let mut parts = text.split(',');
        let prefix = parts.next().unwrap_or_default().parse()?;
        let (mut wanted_rate, mut wanted_rtt) = (None, None);
        let mut wanted = Self::nothing(prefix);
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(BadWanted::Setting(part.to_owned()));
            };
            match key {
                "rate" => take(&mut wanted_rate, key, value, path_rate),
                "rtt" => take(&mut wanted_rtt, key, value, rtt),
                "send" => take(&mut wanted.send, key, value, size),
                "receive" => take(&mut wanted.receive, key, value, size),
                "clamp" => take(&mut wanted.clamp, key, value, size),
                "pacing" => take(&mut wanted.pacing, key, value, rate),
                "congestion" => take(&mut wanted.congestion, key, value, congestion),
                _ => Err(BadWanted::Setting(part.to_owned())),
            }?;
        }
        if wanted_rate.is_some() != wanted_rtt.is_some() {
            return Err(BadWanted::Half);
        }
        wanted.path = wanted_rate.zip(wanted_rtt);
        if wanted == Self::nothing(prefix) {
            return Err(BadWanted::Setting(String::new()));
        }
        Ok(wanted)
    }
}

impl Wanted {
    /// Nothing is asked for.
    const fn nothing(prefix: Prefix) -> Self {
        Self { prefix, path: None, send: None, receive: None, clamp: None, pacing: None, congestion: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<Wanted>().expect_err(text).to_string()
    }

    #[test]
    fn prefix_and_settings_are_read() {
        let wanted: Wanted = "192.0.2.0/24,rate=1Gbit/s,rtt=80ms,congestion=bbr".parse().expect("settings");
        assert_eq!(wanted.path, Some((Rate::mbit(1000), Duration::from_millis(80))));
        assert_eq!(wanted.congestion.as_deref(), Some("bbr"));
        assert_eq!(wanted.send, None);
        let wanted: Wanted =
            "2001:db8::/32,send=16MiB,receive=8MiB,clamp=4MiB,pacing=900Mbit/s".parse().expect("settings");
        assert_eq!(wanted.clamp, Some(Bytes::new(4 << 20)));
        assert_eq!(wanted.pacing, Some(Rate::mbit(900)));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_what_to_write() {
        assert!(refused("host,send=1MiB").contains("no prefix"));
        assert!(refused("192.0.2.0/24").contains("rate=RATE"));
        assert!(refused("192.0.2.0/24,sned=1MiB").contains("sned=1MiB"));
        assert!(refused("192.0.2.0/24,send=1").starts_with("send:"));
        assert!(refused("192.0.2.0/24,send=4GiB").contains("2047MiB"));
        assert!(refused("192.0.2.0/24,rate=1Gbit/s").contains("both"));
        assert!(refused("192.0.2.0/24,pacing=100Gbit/s").contains("34Gbit/s"));
        assert!(refused("192.0.2.0/24,congestion=a b").contains("bbr"));
        assert_eq!(refused("192.0.2.0/24,send=1MiB,send=2MiB"), "send is given twice");
    }
}
