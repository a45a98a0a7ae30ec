//! The window and the scale that a SYN offers.

use crate::endpoints::settings;
use slowpath_kernels::Release;
use slowpath_model::Instant;
use slowpath_tcp::packet::TcpOptions;
use slowpath_tcp::socket::SocketOptions;
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Connection, Settings, Sysctls};
use std::sync::Arc;

/// The window field of a SYN, and the scale that it offers.
fn syn(settings: Settings) -> (u16, Option<u8>) {
    let mut client = Connection::connect(Arc::new(settings), SocketOptions::default(), Instant::START);
    let syn = client.poll_transmit().unwrap();
    let TcpOptions::Syn(options) = syn.options else { panic!("a SYN has its own options: {syn:?}") };
    (syn.window, options.window_scale)
}

fn of_release(release: Release) -> Settings {
    (*settings(release.tcp(), release.sysctls())).clone()
}

/// The well-known windows in SYNs of Linux with default buffers.
#[test]
fn default_syn_windows_match_linux() {
    assert_eq!(syn(of_release(Release::Linux6_18)), (64_240, Some(10)));
    for release in [Release::Linux5_14, Release::Linux6_1, Release::Linux6_6, Release::Linux6_12] {
        // A quarter of 128 KiB in 6.6, in whole segments.
        let window = if release == Release::Linux6_6 { 32_120 } else { 64_240 };
        assert_eq!(syn(of_release(release)), (window, Some(7)), "{release:?}");
    }
    assert_eq!(syn(of_release(Release::Linux4_18)), (29_200, Some(7)));
    assert_eq!(syn(of_release(Release::Linux2_6_14)), (5840, Some(2)));
    assert_eq!(syn(of_release(Release::Linux2_4_17)), (5840, Some(0)));
    assert_eq!(syn(of_release(Release::Linux2_2_20)), (32_120, Some(0)));
}

#[test]
fn unscaled_window_is_clamped_to_16_bits() {
    let today = of_release(Release::Linux6_18);
    let tcp_rmem = BufferSizes { default: 2 << 20, ..today.sysctls.tcp_rmem };
    let sysctls = Sysctls { tcp_rmem, tcp_window_scaling: false, ..today.sysctls };
    assert_eq!(syn(Settings { sysctls, ..today }), (65_535, None));
}

/// `ip route ... window 4000`, in whole segments.
#[test]
fn route_window_clamps_the_initial_window() {
    let mut settings = of_release(Release::Linux6_18);
    settings.route.window = Some(4000);
    assert_eq!(syn(settings), (2920, Some(0)));
}

/// `ip route ... initrwnd 20`, as on the live kernel.
#[test]
fn route_initrwnd_sets_the_initial_window() {
    let mut settings = of_release(Release::Linux6_18);
    settings.route.initrwnd = Some(20);
    settings.mtu = 1340;
    assert_eq!(syn(settings).0, 26_000);
}
