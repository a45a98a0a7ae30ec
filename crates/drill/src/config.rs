//! A script's options: packetdrill's own; those with an effect here have fields.

use crate::source::{Place, ScriptError, Source};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The IP version, and the socket's family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv4 on the wire under an IPv6 socket.
    V4MappedV6,
    /// IPv6.
    V6,
}

/// How a script is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The IP version.
    pub ip_version: IpVersion,
    /// The minimum tolerance of an event's time.
    pub tolerance: Duration,
    /// The minimum tolerance in thousandths of the time since the previous event.
    pub tolerance_per_mille: u32,
    /// Whether a packet must be sent in one piece, not in several that add up.
    pub strict_segments: bool,
    /// The tick of outbound timestamps; without it they are not checked.
    pub timestamp_tick: Option<Duration>,
    /// Whether echoed timestamps that were never sent are mapped by their distance from the first one.
    pub scaled_echoes: bool,
    /// Packet failures are only notes.
    pub packets_may_fail: bool,
    /// System call failures are only notes.
    pub calls_may_fail: bool,
    /// The local port.
    pub bind_port: u16,
    /// The remote port of active opens.
    pub connect_port: u16,
    /// The MTU of the device.
    pub mtu: u16,
    /// The local address, if not the default.
    pub local: Option<IpAddr>,
    /// The remote address, if not the default.
    pub remote: Option<IpAddr>,
    /// The gateway's address, if not the default.
    pub gateway: Option<IpAddr>,
    /// Definitions of words.
    pub defines: BTreeMap<String, String>,
    /// The script is only parsed.
    pub dry_run: bool,
    /// Scripts to run first.
    pub init_scripts: Vec<String>,
}

/// Words that scripts expect their caller to define. The cookies are for the key set by scripts
/// (`a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4`) and the default addresses.
const DEFINES_V4: &[(&str, &str)] = &[
    ("TFO_COOKIE", "3021b9d889017eeb"),
    ("TFO_COOKIE_ZERO", "b7c12350a90dc8f5"),
    ("CMSG_LEVEL_IP", "SOL_IP"),
    ("CMSG_TYPE_RECVERR", "IP_RECVERR"),
];
const DEFINES_V6: &[(&str, &str)] = &[
    ("TFO_COOKIE", "c1d1e9742a47a9bc"),
    ("TFO_COOKIE_ZERO", "82af1a8f9a205c34"),
    ("CMSG_LEVEL_IP", "SOL_IPV6"),
    ("CMSG_TYPE_RECVERR", "IPV6_RECVERR"),
];

impl Default for Config {
    fn default() -> Self {
        Self {
            ip_version: IpVersion::V4,
            tolerance: Duration::from_millis(4),
            // The timer wheel has a precision of an eighth (kernel/time/timer.c, since 4.8).
            tolerance_per_mille: 125,
            strict_segments: false,
            timestamp_tick: None,
            scaled_echoes: false,
            packets_may_fail: false,
            calls_may_fail: false,
            bind_port: 8080,
            connect_port: 8080,
            mtu: 1500,
            local: None,
            remote: None,
            gateway: None,
            defines: BTreeMap::new(),
            dry_run: false,
            init_scripts: Vec::new(),
        }
    }
}

impl Config {
    /// The definition of a word.
    pub fn definition(&self, word: &str) -> Option<&str> {
        if let Some(value) = self.defines.get(word) {
            return Some(value);
        }
        let usual = if self.ip_version == IpVersion::V6 { DEFINES_V6 } else { DEFINES_V4 };
        usual.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
    }

    /// The tolerance of an event `since` after the previous one.
    pub fn tolerance_after(&self, since: Duration) -> Duration {
        let share = since.saturating_mul(self.tolerance_per_mille) / 1000;
        self.tolerance.max(share)
    }

    /// Applies an option line.
    ///
    /// # Errors
    /// If the option is unknown, or its value is invalid.
    pub fn set(&mut self, source: &Source, option: &OptionLine) -> Result<(), ScriptError> {
        self.apply(&option.name, option.value.as_deref())
            .map_err(|(message, hint)| source.error(option.place, message).hint(hint))
    }

    /// Sets an option by name, as written in a script or on a command line.
    ///
    /// # Errors
    /// The error, and what to write instead.
    pub fn apply(&mut self, name: &str, value: Option<&str>) -> Result<(), (String, String)> {
        let given = value.unwrap_or("");
        let wrong = |wanted: &str| {
            (format!("--{name}={given} cannot be used"), format!("write --{name}= and {wanted}"))
        };
        match name {
            "ip_version" => {
                self.ip_version = match given {
                    "ipv4" => IpVersion::V4,
                    "ipv4-mapped-ipv6" => IpVersion::V4MappedV6,
                    "ipv6" => IpVersion::V6,
                    _ => return Err(wrong("ipv4, ipv4-mapped-ipv6 or ipv6")),
                }
            }
            "tolerance_usecs" => self.tolerance = microseconds(given).ok_or_else(|| wrong("microseconds"))?,
            "tolerance_percent" => {
                let percent: f64 = given.parse().map_err(|_| wrong("a percentage"))?;
                if !(0.0..=100_000.0).contains(&percent) {
                    return Err(wrong("a percentage"));
                }
                self.tolerance_per_mille = (percent * 10.0).round() as u32;
            }
            "tcp_ts_tick_usecs" => {
                let tick = microseconds(given).ok_or_else(|| wrong("microseconds"))?;
                self.timestamp_tick = (!tick.is_zero()).then_some(tick);
            }
            "bind_port" => self.bind_port = port(given).ok_or_else(|| wrong("a port"))?,
            "connect_port" => self.connect_port = port(given).ok_or_else(|| wrong("a port"))?,
            "mtu" => self.mtu = given.parse().map_err(|_| wrong("bytes, up to 65535"))?,
            "local_ip" => self.local = Some(address(given).ok_or_else(|| wrong("an address"))?),
            "remote_ip" => self.remote = Some(address(given).ok_or_else(|| wrong("an address"))?),
            "gateway_ip" => self.gateway = Some(address(given).ok_or_else(|| wrong("an address"))?),
            "define" | "D" => {
                let (word, value) = given.split_once('=').ok_or_else(|| wrong("WORD=VALUE"))?;
                self.defines.insert(word.to_owned(), value.to_owned());
            }
            "non_fatal" => {
                self.packets_may_fail = given.contains("packet");
                self.calls_may_fail = given.contains("syscall");
            }
            "init_scripts" => {
                let scripts = given.split([',', ' ']).filter(|script| !script.is_empty());
                self.init_scripts = scripts.map(str::to_owned).collect();
            }
            "strict_segments" => self.strict_segments = true,
            "tcp_ts_ecr_scaled" => self.scaled_echoes = true,
            "dry_run" => self.dry_run = true,
            name if INDIFFERENT.contains(&name) => {}
            _ => {
                let hint =
                    "packetdrill has no such option; `slowpath drill --help` lists those that matter here";
                return Err((format!("there is no option --{name}"), hint.to_owned()));
            }
        }
        Ok(())
    }
}

/// Options of packetdrill without effect here: how it runs code, its modes over a wire, and its verbosity.
const INDIFFERENT: &[&str] = &[
    "code_command",
    "code_format",
    "code_sockopt",
    "debug",
    "is_anyip",
    "mss",
    "netmask_ip",
    "send_omit_free",
    "so_filename",
    "so_flags",
    "speed",
    "v",
    "verbose",
    "wire_client",
    "wire_client_dev",
    "wire_server",
    "wire_server_at",
    "wire_server_dev",
    "wire_server_ip",
    "wire_server_port",
];

/// An option line as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLine {
    /// Where.
    pub place: Place,
    /// Its name, without the dashes.
    pub name: String,
    /// The text after `=`.
    pub value: Option<String>,
}

fn microseconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_micros)
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port != 0)
}

/// An address, with or without a prefix length.
fn address(text: &str) -> Option<IpAddr> {
    text.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerance_is_the_larger_of_absolute_and_relative() {
        let config = Config::default();
        assert_eq!(config.tolerance_after(Duration::from_millis(10)), Duration::from_millis(4));
        assert_eq!(config.tolerance_after(Duration::from_secs(2)), Duration::from_millis(250));
    }

    #[test]
    fn invalid_options_are_refused() {
        let mut config = Config::default();
        config.apply("tolerance_usecs", Some("10000")).unwrap();
        config.apply("remote_ip", Some("192.0.2.7/24")).unwrap();
        config.apply("send_omit_free", None).unwrap();
        assert_eq!(config.tolerance, Duration::from_millis(10));
        assert_eq!(config.remote, Some([192, 0, 2, 7].into()));
        for (name, value) in
            [("ip_version", "ipv5"), ("bind_port", "0"), ("mtu", "x"), ("tolerence", "1"), ("define", "x")]
        {
            assert!(config.apply(name, Some(value)).is_err(), "{name}");
        }
    }
}
