//! Routes and the device, as set by ip(8).

use super::Modelled;
use super::sockets::{File, Stage};
use crate::kernel::{KernelError, Understood};
use slowpath_tcp::choices::CongestionControl;
use slowpath_tcp::socket::cookie::CookieCache;
use slowpath_tcp::{Metrics, Route, Settings};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// What `ip` refuses, apart from `tcp_min_advmss`: an MTU below IP's minimum (RFC 791).
const LEAST_MTU: u32 = 68;
/// Words of a route that take a value and have no effect here. RTT, window and reordering would initialise an entry of
/// the metrics cache (`tcpm_suck_dst`), which starts empty here.
const PLACES: &[&str] = &[
    "via",
    "dev",
    "proto",
    "protocol",
    "scope",
    "src",
    "metric",
    "table",
    "type",
    "tos",
    "dsfield",
    "nexthop",
    "weight",
    "rtt",
    "rttvar",
    "cwnd",
    "ssthresh",
    "reordering",
    "realms",
    "pref",
    "expires",
    "ttl-propagate",
];

/// The route to the only other host, with its device.
#[derive(Clone, Debug)]
pub struct Way {
    device_mtu: u32,
    route_mtu: Option<u32>,
    pub hop_limit: Option<u8>,
    route: Route,
    gso_max: (u32, u32),
    /// Cached metrics of connections; not part of a route, so a route change keeps them.
    pub metrics: Metrics,
}

impl Way {
    pub fn new(mtu: u32) -> Self {
        let gso_max = (65_535, 65_536);
        Self {
            device_mtu: mtu,
            route_mtu: None,
            hop_limit: None,
            route: Route::default(),
            gso_max,
            metrics: Metrics::default(),
        }
    }

    /// Applies it to the settings of sockets.
    pub fn put(&self, settings: &mut Settings) {
        settings.mtu = self.route_mtu.unwrap_or(self.device_mtu);
        settings.gso_max = self.gso_max;
        settings.route = Route { known: self.metrics, ..self.route };
    }

    /// Sets one word of a route; `None` if there is no such word.
    fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let number = || value.parse::<u32>().map_err(|_| format!("{name} takes a number, not {value}"));
        let flag = || number().map(|number| number != 0);
        let result = match name {
            "mtu" => number().and_then(|mtu| match mtu {
                0 => Err("a route cannot have an MTU of 0".to_owned()),
                mtu => {
                    self.route_mtu = Some(mtu.max(LEAST_MTU));
                    Ok(())
                }
            }),
            "initcwnd" => number().map(|n| self.route.initcwnd = Some(n).filter(|n| *n != 0)),
            "initrwnd" => number().map(|n| self.route.initrwnd = Some(n).filter(|n| *n != 0)),
            "window" => number().map(|n| self.route.window = Some(n).filter(|n| *n != 0)),
            "advmss" => number().map(|n| self.route.advmss = Some(n).filter(|n| *n != 0)),
            "hoplimit" => number().map(|n| self.hop_limit = u8::try_from(n).ok().filter(|n| *n != 0)),
            "quickack" => flag().map(|on| self.route.quickack = on),
            "fastopen_no_cookie" => flag().map(|on| self.route.fast_open_no_cookie = on),
            "rto_min" => time(value)
                .map(|time| self.route.rto_min = Some(time))
                .ok_or_else(|| format!("{name} takes a time such as 20ms, not {value}")),
            "congctl" => match CongestionControl::named(value) {
                Some(control) => {
                    self.route.congestion = Some(control);
                    Ok(())
                }
                None => Err(format!("the model has no congestion control called {value}")),
            },
            "features" => {
                self.route.ecn |= value == "ecn";
                self.route.ecn_low |= value == "ecn_low";
                Ok(())
            }
            _ => return None,
        };
        Some(result)
    }
}

/// `20ms`, `1s`, `0.2s`; a bare number is milliseconds (`get_time_rtt`, iproute2).
fn time(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let seconds = match &text[end..] {
        "s" | "sec" | "secs" => number,
        "" | "ms" | "msec" | "msecs" => number / 1000.0,
        _ => return None,
    };
    (0.0..=86_400.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// Whether a destination covers an address.
fn covers(destination: &str, address: &[u8]) -> bool {
    if destination == "default" {
        return true;
    }
    let (network, bits) = destination.split_once('/').unwrap_or((destination, "128"));
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<usize>()) else { return false };
    let network = match network {
        IpAddr::V4(network) => network.octets().to_vec(),
        IpAddr::V6(network) => network.octets().to_vec(),
    };
    let bits = bits.min(network.len() * 8);
    let mut pairs = network.iter().zip(address).take(bits.div_ceil(8)).enumerate();
    network.len() == address.len()
        && pairs.all(|(at, (a, b))| {
            let unused = 8 - (bits - at * 8).min(8);
            a >> unused == b >> unused
        })
}

impl Modelled {
    /// `ip`: routes to the other host and the device change the settings; anything else has no effect here.
    pub(super) fn ip(&mut self, words: &[String]) -> Result<Understood, KernelError> {
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        let result = match &words[..] {
            ["r" | "ro" | "route", "add" | "change" | "replace" | "append" | "prepend", route @ ..] => {
                self.change_route(route)
            }
            ["r" | "ro" | "route", "del" | "delete" | "flush", ..] => {
                self.way = Way { metrics: self.way.metrics, ..Way::new(self.way.device_mtu) };
                Ok(())
            }
            ["l" | "link", "set", link @ ..] => self.change_link(link),
            ["tcp_metrics" | "tcpmetrics", "flush" | "del" | "delete", ..] => {
                self.way.metrics = Metrics::default();
                self.cookies = CookieCache::default();
                Ok(())
            }
            [
                "tcp_metrics" | "tcpmetrics" | "a" | "addr" | "address" | "r" | "ro" | "route" | "l" | "link",
                ..,
            ] => Ok(()),
            _ => return Ok(Understood::No),
        };
        result.map_err(|what| KernelError::new(format!("ip {}: {what}", words.join(" "))))?;
        self.apply_settings();
        Ok(Understood::Yes)
    }

    fn change_route(&mut self, words: &[&str]) -> Result<(), String> {
        let kinds = ["unicast", "local", "to"];
        let mut words = words.iter().copied().filter(|word| !kinds.contains(word));
        let destination = words.next().ok_or("the destination is missing")?;
        let half = self.addresses.len() / 2;
        let to_us = covers(destination, &self.addresses[..half]);
        let (gso_max, metrics) = (self.way.gso_max, self.way.metrics);
        let mut way = Way { gso_max, metrics, ..Way::new(self.way.device_mtu) };
        while let Some(name) = words.next() {
            let value = words.by_ref().find(|word| *word != "lock");
            match (way.set(name, value.unwrap_or("")), value) {
                (Some(result), Some(_)) => result?,
                (Some(_), None) => return Err(format!("{name} has no value")),
                (None, _) if PLACES.contains(&name) => {}
                (None, _) if name == "onlink" => {}
                (None, _) => return Err(format!("{name} is no word of a route that is known here")),
            }
        }
        if to_us {
            self.way = way;
        }
        Ok(())
    }

    fn change_link(&mut self, words: &[&str]) -> Result<(), String> {
        let mut words = words.iter().copied();
        while let Some(name) = words.next() {
            let mut number = || -> Result<u32, String> {
                let value = words.next().unwrap_or("");
                value.parse().map_err(|_| format!("{name} takes a number, not {value}"))
            };
            match name {
                "mtu" => self.way.device_mtu = number()?.max(LEAST_MTU),
                "gso_max_segs" => self.way.gso_max.0 = number()?,
                "gso_max_size" | "gso_ipv4_max_size" => self.way.gso_max.1 = number()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Settings have changed, for existing and future sockets.
    pub(super) fn apply_settings(&mut self) {
        let mut settings = (*self.settings).clone();
        settings.choices = self.profile.tcp.clone();
        settings.sysctls = self.profile.sysctls.clone();
        self.way.put(&mut settings);
        self.settings = Arc::new(settings);
        for file in self.files.values_mut() {
            let File::Socket(socket) = file else { continue };
            match &mut socket.stage {
                Stage::Fresh(listener) | Stage::Listening(listener) => listener.set_settings(&self.settings),
                Stage::Connected(connection) => connection.set_settings(self.settings.clone()),
            }
        }
        for (_, connection) in &mut self.orphans {
            connection.set_settings(self.settings.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_destination_covers_its_network() {
        for (destination, holds) in [
            ("default", true),
            ("192.0.2.0/24", true),
            ("192.0.2.1", true),
            ("192.0.0.0/22", true),
            ("192.0.4.0/22", false),
            ("192.0.2.0/31", true),
            ("192.0.2.2/31", false),
            ("2001:db8::/32", false),
            ("nonsense", false),
        ] {
            assert_eq!(covers(destination, &[192, 0, 2, 1]), holds, "{destination}");
        }
    }

    #[test]
    fn route_times_have_units() {
        assert_eq!(time("20ms"), Some(Duration::from_millis(20)));
        assert_eq!(time("0.5s"), Some(Duration::from_millis(500)));
        assert_eq!(time("7"), Some(Duration::from_millis(7)));
        assert_eq!(time("7h"), None);
    }
}
