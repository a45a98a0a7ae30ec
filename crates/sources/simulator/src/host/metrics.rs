//! The parameter cache of a host (`tcp_metrics`, until 3.5 the route cache).
//!
//! A host has one address, so there is one entry for all connections with another host, and at most one entry per host.

use super::socket::Socket;
use crate::outside::Outside;
use slowpath_model::Instant;
use slowpath_tcp::choices::MetricsCache;
use slowpath_tcp::{Metrics, Settings};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The entries, by host.
#[derive(Debug, Default)]
pub struct CachedMetrics(BTreeMap<usize, Entry>);

#[derive(Debug)]
struct Entry {
    /// The settings of new connections to that host: the host's settings and the cached metrics.
    settings: Arc<Settings>,
    /// Start of its lifetime.
    since: Instant,
}

impl CachedMetrics {
    /// The cached metrics of a host, unless they have expired.
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

    /// The settings of a host's connection, if its peer's metrics are cached. The kernel looks them up after the
    /// handshake, not when it sends the SYN.
    pub fn recall(&self, host: usize, connection: u32, out: &Outside<'_>) -> Option<Arc<Settings>> {
        let peer = out.links.get(connection)?.peer_of(host);
        self.of(peer, out.now).map(|entry| Arc::clone(&entry.settings))
    }

    /// Saves the metrics of a host's connection when it is over.
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

    /// In 2.6.14 the route expires, however often it is used; in 6.18 an entry does that was not updated.
    #[test]
    fn metrics_entries_expire_as_in_the_kernel() {
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
            let mut cached_metrics = CachedMetrics::default();
            let known =
                |cached_metrics: &CachedMetrics, minutes: u64| cached_metrics.of(1, at(minutes)).is_some();
            cached_metrics.set(1, at(0), Metrics { ssthresh: Some(7), ..Metrics::default() }, &plain);
            assert_eq!(known(&cached_metrics, 9), after_9);
            assert_eq!(cached_metrics.metrics(2, at(0)), Metrics::default(), "another host's");
            let metrics = cached_metrics.metrics(1, at(9));
            cached_metrics.set(1, at(9), metrics, &plain);
            assert_eq!(known(&cached_metrics, 18), after_18);
            assert_eq!(known(&cached_metrics, 100), after_100);
        }
    }
}
