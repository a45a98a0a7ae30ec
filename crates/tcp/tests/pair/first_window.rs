//! The window that a SYN offers, and its scale.

use crate::ends::settings;
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

/// The windows that everybody has seen in the SYN of a Linux with default buffers.
#[test]
fn first_windows_are_the_known_ones() {
    assert_eq!(syn(of_release(Release::Linux6_18)), (64_240, Some(10)));
    assert_eq!(syn(of_release(Release::Linux2_6_14)), (5840, Some(2)));
    assert_eq!(syn(of_release(Release::Linux2_4_17)), (5840, Some(0)));
    assert_eq!(syn(of_release(Release::Linux2_2_20)), (32_120, Some(0)));
}

#[test]
fn an_unscaled_window_is_clamped_to_its_field() {
    let today = of_release(Release::Linux6_18);
    let tcp_rmem = BufferSizes { default: 2 << 20, ..today.sysctls.tcp_rmem };
    let sysctls = Sysctls { tcp_rmem, tcp_window_scaling: false, ..today.sysctls };
    assert_eq!(syn(Settings { sysctls, ..today }), (65_535, None));
}

/// `ip route ... window 4000`, in whole segments.
#[test]
fn a_window_of_the_route_clamps_the_first_one() {
    let mut settings = of_release(Release::Linux6_18);
    settings.route.window = Some(4000);
    assert_eq!(syn(settings), (2920, Some(0)));
}

/// `ip route ... initrwnd 20`, as the live kernel shows it.
#[test]
fn a_route_bounds_the_first_window() {
    let mut settings = of_release(Release::Linux6_18);
    settings.route.initrwnd = Some(20);
    settings.mtu = 1340;
    assert_eq!(syn(settings).0, 26_000);
}
