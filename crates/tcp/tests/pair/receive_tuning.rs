//! How each kernel sizes receive buffer and window, on a clean path of 20 ms.

use crate::endpoints::{Application, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_model::Instant;
use slowpath_tcp::choices::{FirstWindow, ReceiveTuning, WindowGrowth, ZeroWindow};
use slowpath_tcp::packet::TcpOptions;
use slowpath_tcp::socket::ReadFlags;
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Choices, Sysctls};
use std::time::Duration;

const MINUTES: Duration = Duration::from_secs(600);

/// Limits that never bind.
fn roomy(sysctls: Sysctls) -> Sysctls {
    let large = |sizes: BufferSizes| BufferSizes { max: 16 << 20, ..sizes };
    let (tcp_rmem, tcp_wmem) = (large(sysctls.tcp_rmem), large(sysctls.tcp_wmem));
    Sysctls { rmem_max: 16 << 20, wmem_max: 16 << 20, tcp_rmem, tcp_wmem, ..sysctls }
}

/// A transfer of 5 MB between two hosts with these settings.
fn transfer(choices: Choices, sysctls: Sysctls, to_server: Vec<Fate>) -> Pair {
    let mut pair = Pair::new(&settings(choices, sysctls), to_server, Vec::new());
    pair.client_app = Application::writing(5_000_000);
    pair.drive(MINUTES);
    pair.assert_complete();
    pair
}

/// The final receive buffer, and the largest advertised window.
fn buffer_and_window(pair: &Pair) -> (u32, u32) {
    let server = pair.server.as_ref().expect("accepted");
    let (_, syn_ack) = pair.to_client.record[0];
    let TcpOptions::Syn(offer) = syn_ack.options else { panic!("no options") };
    let scale = offer.window_scale.unwrap_or(0);
    let windows = pair.to_client.record.iter().skip(1).map(|(_, packet)| u32::from(packet.window) << scale);
    (server.receive_buffer(), windows.max().unwrap_or(0))
}

/// 2.2: the buffer is fixed, half of it is window, all of it advertised with the first ACK.
#[test]
fn linux_2_2_offers_half_of_its_buffer_with_the_first_ack() {
    let pair = transfer(Release::Linux2_2_20.tcp(), roomy(Release::Linux2_2_20.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert_eq!(buffer, 65_535);
    assert!((30_000..=32_767).contains(&window), "{window}");
    let (_, first) = pair.to_client.record[1];
    assert!(u32::from(first.window) > 28_000, "{first:?}");
}

/// 2.4: at most what an unscaled field holds, though the buffer may be larger (weigle, section IV-B).
#[test]
fn linux_2_4_window_is_limited_by_the_scale_of_the_syn() {
    let pair = transfer(Release::Linux2_4_17.tcp(), roomy(Release::Linux2_4_17.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert_eq!(buffer, 87_380);
    assert!((60_000..=65_535).contains(&window), "{window}");
    // The first window is four segments; each arriving segment adds two.
    let (_, first) = pair.to_client.record[1];
    assert!(u32::from(first.window) < 12_000, "{first:?}");
}

/// DRS: the scale fits the maximum, and buffer and window follow the sender.
#[test]
fn right_sizing_follows_the_sender() {
    let pair = transfer(Release::Linux2_4_17Drs.tcp(), roomy(Release::Linux2_4_17.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert!(buffer > 500_000, "{buffer}");
    assert!((buffer / 3..=buffer / 2 + 65_536).contains(&window), "{window} of {buffer}");
}

/// Its limit is `net.core.rmem_max`: with the default, the buffer does not grow.
#[test]
fn right_sizing_is_limited_by_rmem_max() {
    let (buffer, window) = buffer_and_window(&transfer(
        Release::Linux2_4_17Drs.tcp(),
        Release::Linux2_4_17.sysctls(),
        Vec::new(),
    ));
    assert_eq!(buffer, 87_380);
    assert!((40_000..=43_690).contains(&window), "{window}");
}

/// PSC's receiver offers its maximum from the start.
#[test]
fn largest_tuning_offers_the_maximum_from_the_start() {
    let choices = Choices { receive_tuning: ReceiveTuning::Largest, ..Release::Linux6_18.tcp() };
    let pair =
        Pair::new(&settings(choices.clone(), roomy(Release::Linux6_18.sysctls())), Vec::new(), Vec::new());
    assert_eq!(pair.client.receive_buffer(), 16 << 20);
    let (buffer, window) =
        buffer_and_window(&transfer(choices, roomy(Release::Linux6_18.sysctls()), Vec::new()));
    assert_eq!(buffer, 16 << 20);
    assert!(window > 1 << 20, "{window}");
}

/// Twice what arrived, however the buffer is sized: the window grows slowly though the buffer has room.
#[test]
fn twice_received_growth_is_independent_of_buffer_tuning() {
    let choices = Choices {
        receive_tuning: ReceiveTuning::Largest,
        first_window: FirstWindow::Rfc2414,
        window_growth: WindowGrowth::TwiceReceived,
        ..Release::Linux6_18.tcp()
    };
    let pair = transfer(choices, roomy(Release::Linux6_18.sysctls()), Vec::new());
    let windows: Vec<u32> =
        pair.to_client.record.iter().skip(1).map(|(_, packet)| packet.window.into()).collect();
    let (first, largest) = (windows[0], windows.iter().copied().max().unwrap_or(0));
    assert!(largest > 4 * first, "{first}, {largest}");
}

/// 2.4 grows a buffer when more arrives beyond a hole than it has room for (`tcp_clamp_window`); 2.2 never does.
#[test]
fn out_of_order_memory_grows_the_buffer_only_in_2_4() {
    let lossy = || {
        let mut fates = vec![Fate::Deliver; 400];
        fates[200] = Fate::Drop;
        fates
    };
    // The whole window is offered immediately, and a segment takes more memory than the window allows for.
    let hasty = Choices { window_growth: WindowGrowth::AtOnce, ..Release::Linux2_4_17.tcp() };
    let frugal = Sysctls {
        tcp_rmem: BufferSizes { min: 4096, default: 60_000, max: 1 << 20 },
        ..Release::Linux2_4_17.sysctls()
    };
    let (grown, _) = buffer_and_window(&transfer(hasty.clone(), frugal.clone(), lossy()));
    let fixed = Choices { receive_tuning: ReceiveTuning::Fixed, ..hasty };
    let (stayed, _) = buffer_and_window(&transfer(fixed, frugal, lossy()));
    assert!(grown > stayed, "{grown}, {stayed}");
}

/// The application reads a few segments of a full buffer: until 3.14 that opens the window; since then a sixteenth must
/// be free.
#[test]
fn zero_window_threshold_depends_on_the_kernel() {
    const BUFFER: u32 = 1 << 20;
    let window_after = |zero_window: ZeroWindow, read: u32| {
        let choices = Choices { zero_window, ..Release::Linux2_6_14.tcp() };
        let sysctls = roomy(Release::Linux2_6_14.sysctls());
        let tcp_rmem = BufferSizes { default: BUFFER, ..sysctls.tcp_rmem };
        let mut pair = Pair::new(&settings(choices, Sysctls { tcp_rmem, ..sysctls }), Vec::new(), Vec::new());
        pair.client_app = Application::writing(5_000_000);
        pair.server_app.reads_from = Some(Instant::from_nanos(i64::MAX));
        pair.drive(Duration::from_secs(20));
        assert_eq!(pair.reached[1].last().expect("an ACK").window, 0);
        let server = pair.server.as_mut().expect("accepted");
        assert_eq!(server.read(pair.now, read, ReadFlags::default()), Ok(read));
        server.poll_transmit().map_or(0, |ack| ack.window)
    };
    for (zero_window, opens) in
        [(ZeroWindow::BelowSegment, [true; 2]), (ZeroWindow::BelowSixteenth, [false, true])]
    {
        // A fiftieth and an eighth.
        let opened = [BUFFER / 50, BUFFER / 8].map(|read| window_after(zero_window, read) > 0);
        assert_eq!(opened, opens, "{zero_window:?}");
    }
}
