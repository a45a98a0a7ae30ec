//! The parameter cache of a host (`tcp_metrics`, until 3.5 the route cache).
//!
//! A host has one address, so that there is one entry for all connections with another host. Entries are no more than
//! there are hosts.

use super::socket::Socket;
use crate::outside::Outside;
use slowpath_model::Instant;
use slowpath_tcp::choices::MetricsCache;
use slowpath_tcp::{Metrics, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entries, by host.
#[derive(Debug, Default)]
pub struct Remembered(BTreeMap<usize, Entry>);

#[derive(Debug)]
struct Entry {
    /// The settings of new connections to that host: the host's settings and the cached metrics.
    settings: Arc<Settings>,
    /// From when its lifetime counts.
    since: Instant,
}

impl Remembered {
    /// The cached metrics of a host, unless they are too old.
    fn of(&self, peer: usize, now: Instant) -> Option<&Entry> {
        let entry = self.0.get(&peer)?;
        let lifetime = entry.settings.choices.metrics.lifetime();
        (now.since(entry.since).unwrap_or_default() <= lifetime).then_some(entry)
    }

    fn metrics(&self, peer: usize, now: Instant) -> Metrics {
        self.of(peer, now).map(|entry| entry.settings.route.known).unwrap_or_default()
    }

    fn set(&mut self, peer: usize, now: Instant, metrics: Metrics, plain: &Settings) {
        let old = self.of(peer, now).filter(|_| plain.choices.metrics == MetricsCache::Routes);
        let since = old.map_or(now, |entry| entry.since);
        let mut settings = plain.clone();
        settings.route.known = metrics;
        self.0.insert(peer, Entry { settings: Arc::new(settings), since });
    }

    /// The settings of a connection of a host, if it is known with what it leads to. The kernel looks when the handshake
    /// is over, not when the SYN goes out.
    pub fn recall(&self, host: usize, connection: u32, out: &Outside<'_>) -> Option<Arc<Settings>> {
        let peer = out.links.get(connection)?.peer_of(host);
        self.of(peer, out.now).map(|entry| Arc::clone(&entry.settings))
    }

    /// Keeps what a connection of a host has learned, when it is over.
    pub fn learn(&mut self, host: usize, socket: &mut Socket, plain: &Settings, out: &Outside<'_>) {
        let Some(link) = out.links.get(socket.connection) else { return };
        let peer = link.peer_of(host);
        if let Some(metrics) = socket.tcp.poll_metrics(self.metrics(peer, out.now)) {
            self.set(peer, out.now, metrics, plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_kernels::Release;
    use std::time::Duration;

    /// 2.6.14 forgets the route, however often it is used; 6.18 an entry that nobody has added to.
    #[test]
    fn entries_last_as_long_as_the_kernel_keeps_them() {
        let at = |minutes: u64| Instant::START + Duration::from_secs(60 * minutes);
        for (choices, after_9, after_18, after_100) in
            [(Release::Linux2_6_14.tcp(), true, false, false), (Release::Linux6_18.tcp(), true, true, false)]
        {
            let plain = Settings {
                choices,
                sysctls: Release::Linux6_18.sysctls(),
                mtu: 1500,
                ip_header: 20,
                gso_max: (65_535, 65_536),
                route: Default::default(),
            };
            let mut remembered = Remembered::default();
            let known = |remembered: &Remembered, minutes: u64| remembered.of(1, at(minutes)).is_some();
            remembered.set(1, at(0), Metrics { ssthresh: Some(7), ..Metrics::default() }, &plain);
            assert_eq!(known(&remembered, 9), after_9);
            assert_eq!(remembered.metrics(2, at(0)), Metrics::default(), "another host's");
            let metrics = remembered.metrics(1, at(9));
            remembered.set(1, at(9), metrics, &plain);
            assert_eq!(known(&remembered, 18), after_18);
            assert_eq!(known(&remembered, 100), after_100);
        }
    }
}
