//! Cached path metrics, and their effect on the next connection.

use crate::endpoints::{Application, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_tcp::choices::MetricsCache;
use slowpath_tcp::{Connection, Metrics, Settings, Sysctls};
use std::sync::Arc;
use std::time::Duration;

fn old() -> Settings {
    (*settings(Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls())).clone()
}

/// A client that has sent 2 MB with one segment lost, and closed.
fn lossy(settings: Settings) -> Connection {
    let fates = (0..2000).map(|n| if n == 60 { Fate::Drop } else { Fate::Deliver }).collect();
    let mut pair = Pair::new(&Arc::new(settings), fates, Vec::new());
    pair.client_app = Application::writing(2_000_000);
    pair.drive(Duration::from_secs(30));
    assert_eq!(pair.client.info(pair.now).total_retrans, 1);
    pair.client
}

/// `tcp_update_metrics`, 2.6.14, for a connection that left slow start and is in the Open state when it closes.
#[test]
fn lossy_connection_saves_ssthresh() {
    let mut client = lossy(old());
    let info = client.info(slowpath_model::Instant::START);
    let learned = client.poll_metrics(Metrics::default()).expect("both sides have closed");
    assert!(info.snd_cwnd > info.snd_ssthresh, "{info:?}");
    assert_eq!(learned.ssthresh, Some((info.snd_cwnd / 2).max(info.snd_ssthresh)));
    assert_eq!(learned.cwnd, Some(info.snd_cwnd / 2));
    assert_eq!(learned.rtt_us.map(|rtt| rtt / 8), Some(info.rtt));
    assert_eq!(client.poll_metrics(Metrics::default()), None, "it is reported once");
    // A shorter RTT moves the cached one by an eighth; a longer one replaces it.
    let longer = Metrics { rtt_us: Some(16 * info.rtt), ..Metrics::default() };
    let moved = lossy(old()).poll_metrics(longer).and_then(|metrics| metrics.rtt_us);
    assert!(moved.is_some_and(|rtt| rtt.abs_diff(15 * info.rtt) <= 1), "{moved:?}, {}", info.rtt);
}

#[test]
fn kernels_without_a_metrics_cache_save_nothing() {
    let mut unsaved = old();
    unsaved.sysctls.tcp_no_metrics_save = true;
    let mut without = old();
    without.choices.metrics = MetricsCache::No;
    for settings in [unsaved, without] {
        assert_eq!(lossy(settings).poll_metrics(Metrics::default()), None);
    }
}

/// Over a path of 20 ms. In 2.6.14 measuring continues from a cached RTT, and the RTO is that and its variation, at
/// least 200 ms; in 6.18 it only lengthens the first RTO: the RTT and twice that, or 200 ms.
#[test]
fn next_connection_starts_from_cached_metrics() {
    let known = Metrics {
        rtt_us: Some(8 * 300_000),
        rttvar_us: Some(4 * 40_000),
        ssthresh: Some(7),
        cwnd: Some(20),
        reordering: Some(9),
    };
    let keeping = Sysctls { tcp_no_ssthresh_metrics_save: false, ..Release::Linux6_18.sysctls() };
    for (choices, sysctls, threshold, rtt_ms, rto_ms) in [
        (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls(), 7, 300, 500),
        (Release::Linux6_18.tcp(), Release::Linux6_18.sysctls(), 0x7fff_ffff, 20, 900),
        (Release::Linux6_18.tcp(), keeping, 7, 20, 900),
    ] {
        let mut settings = (*settings(choices, sysctls)).clone();
        settings.route.known = known;
        let mut pair = Pair::new(&Arc::new(settings), Vec::new(), Vec::new());
        pair.client_app = Application { to_write: 1, shut: true, ..Application::default() };
        pair.drive(Duration::from_millis(25));
        let info = pair.client.info(pair.now);
        assert_eq!((info.snd_ssthresh, info.reordering), (threshold, 9));
        assert!(info.rtt.abs_diff(rtt_ms * 1000) < 2000, "{} µs", info.rtt);
        assert!(info.rto.abs_diff(rto_ms * 1000) <= 4000, "{} µs", info.rto);
    }
}

/// Without timestamps a too short RTO would never be noticed: 2.6.14 ignores the handshake's RTT, unless the cached one
/// makes the RTO three seconds or more.
#[test]
fn linux_2_6_14_starts_with_a_3_s_rto_without_timestamps() {
    for (known_ms, expected_ms) in [(None, 3000), (Some(300), 3000), (Some(4000), 4200)] {
        let mut settings = old();
        settings.sysctls.tcp_timestamps = 0;
        settings.route.known.rtt_us = known_ms.map(|rtt: u32| 8000 * rtt);
        let mut pair = Pair::new(&Arc::new(settings), Vec::new(), Vec::new());
        pair.drive(Duration::from_millis(25));
        assert!(pair.client.info(pair.now).rto.abs_diff(expected_ms * 1000) <= 4000, "{known_ms:?}");
    }
}

/// Without a cached RTT, `tcp_init_metrics` skips the choice of an initial cwnd, which stays at the two segments of a
/// new socket. Later kernels always choose one.
#[test]
fn linux_2_6_14_starts_with_cwnd_2_on_an_unknown_path() {
    let (old, today) = (old(), (*settings(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls())).clone());
    for (settings, timestamps, known_ms, segments) in [
        (&old, 1, None, 2),
        (&old, 1, Some(30), 3),
        (&old, 0, Some(30), 2),
        (&old, 0, Some(4000), 3),
        (&today, 1, None, 10),
    ] {
        let mut settings = settings.clone();
        settings.sysctls.tcp_timestamps = timestamps;
        settings.route.known.rtt_us = known_ms.map(|rtt: u32| 8000 * rtt);
        let mut pair = Pair::new(&Arc::new(settings), Vec::new(), Vec::new());
        pair.client_app = Application::writing(100_000);
        pair.drive(Duration::from_millis(35));
        let info = pair.client.info(pair.now);
        assert_eq!((info.snd_cwnd, info.unacked), (segments, segments), "{known_ms:?}");
    }
}
