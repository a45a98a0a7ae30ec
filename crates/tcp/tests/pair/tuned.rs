//! How each kernel's receive buffer and window find their sizes, on an undisturbed path of 20 ms.

use crate::ends::{Application, Pair, settings};
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

/// Bounds that bind nobody.
fn roomy(sysctls: Sysctls) -> Sysctls {
    let large = |sizes: BufferSizes| BufferSizes { max: 16 << 20, ..sizes };
    let (tcp_rmem, tcp_wmem) = (large(sysctls.tcp_rmem), large(sysctls.tcp_wmem));
    Sysctls { rmem_max: 16 << 20, wmem_max: 16 << 20, tcp_rmem, tcp_wmem, ..sysctls }
}

/// A transfer of 5 MB between two such hosts.
fn transfer(choices: Choices, sysctls: Sysctls, there: Vec<Fate>) -> Pair {
    let mut pair = Pair::new(&settings(choices, sysctls), there, Vec::new());
    pair.asks = Application::writing(5_000_000);
    pair.drive(MINUTES);
    pair.assert_complete();
    pair
}

/// The receive buffer at the end, and the largest window that was advertised.
fn buffer_and_window(pair: &Pair) -> (u32, u32) {
    let server = pair.server.as_ref().expect("accepted");
    let (_, syn_ack) = pair.back.record[0];
    let TcpOptions::Syn(offer) = syn_ack.options else { panic!("no options") };
    let scale = offer.window_scale.unwrap_or(0);
    let windows = pair.back.record.iter().skip(1).map(|(_, packet)| u32::from(packet.window) << scale);
    (server.receive_buffer(), windows.max().unwrap_or(0))
}

/// 2.2: the buffer stays, half of it is window, all of which is advertised with the first ACK.
#[test]
fn linux_2_2_offers_half_of_its_buffer_at_once() {
    let pair = transfer(Release::Linux2_2_20.tcp(), roomy(Release::Linux2_2_20.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert_eq!(buffer, 65_535);
    assert!((30_000..=32_767).contains(&window), "{window}");
    let (_, first) = pair.back.record[1];
    assert!(u32::from(first.window) > 28_000, "{first:?}");
}

/// 2.4: no more than a field without a scale can say, though the buffer may be larger (weigle, section IV-B).
#[test]
fn linux_2_4_says_no_more_than_its_first_scale_can() {
    let pair = transfer(Release::Linux2_4_17.tcp(), roomy(Release::Linux2_4_17.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert_eq!(buffer, 87_380);
    assert!((60_000..=65_535).contains(&window), "{window}");
    // The first is four segments, and each that arrives adds two.
    let (_, first) = pair.back.record[1];
    assert!(u32::from(first.window) < 12_000, "{first:?}");
}

/// DRS: the scale is that of the bound, and buffer and window follow the sender.
#[test]
fn right_sizing_follows_the_sender() {
    let pair = transfer(Release::Linux2_4_17Drs.tcp(), roomy(Release::Linux2_4_17.sysctls()), Vec::new());
    let (buffer, window) = buffer_and_window(&pair);
    assert!(buffer > 500_000, "{buffer}");
    assert!((buffer / 3..=buffer / 2 + 65_536).contains(&window), "{window} of {buffer}");
}

/// It is bounded by `net.core.rmem_max`: as the kernel comes, it grows no buffer.
#[test]
fn right_sizing_needs_its_bound_raised() {
    let (buffer, window) = buffer_and_window(&transfer(
        Release::Linux2_4_17Drs.tcp(),
        Release::Linux2_4_17.sysctls(),
        Vec::new(),
    ));
    assert_eq!(buffer, 87_380);
    assert!((40_000..=43_690).contains(&window), "{window}");
}

/// PSC's receiver offers what it may from the start.
#[test]
fn the_largest_buffer_is_there_from_the_start() {
    let choices = Choices { receive_tuning: ReceiveTuning::Largest, ..Release::Linux6_18.tcp() };
    let pair =
        Pair::new(&settings(choices.clone(), roomy(Release::Linux6_18.sysctls())), Vec::new(), Vec::new());
    assert_eq!(pair.client.receive_buffer(), 16 << 20);
    let (buffer, window) =
        buffer_and_window(&transfer(choices, roomy(Release::Linux6_18.sysctls()), Vec::new()));
    assert_eq!(buffer, 16 << 20);
    assert!(window > 1 << 20, "{window}");
}

/// Twice what arrived, whoever finds the buffer's size: the window follows though the buffer is there.
#[test]
fn twice_received_is_a_choice_of_its_own() {
    let choices = Choices {
        receive_tuning: ReceiveTuning::Largest,
        first_window: FirstWindow::Rfc2414,
        window_growth: WindowGrowth::TwiceReceived,
        ..Release::Linux6_18.tcp()
    };
    let pair = transfer(choices, roomy(Release::Linux6_18.sysctls()), Vec::new());
    let windows: Vec<u32> = pair.back.record.iter().skip(1).map(|(_, packet)| packet.window.into()).collect();
    let (first, largest) = (windows[0], windows.iter().copied().max().unwrap_or(0));
    assert!(largest > 4 * first, "{first}, {largest}");
}

/// 2.4 grows a buffer when a hole lets more arrive than it has room for (`tcp_clamp_window`); 2.2 never does.
#[test]
fn memory_beyond_a_hole_grows_the_buffer_in_2_4_alone() {
    let lossy = || {
        let mut fates = vec![Fate::Deliver; 400];
        fates[200] = Fate::Drop;
        fates
    };
    // All of the buffer's share is offered at once, and a segment takes more memory than that share allows for.
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

/// Of a full buffer somebody reads a few segments: until 3.14 that opens the window, and since then a sixteenth does.
#[test]
fn how_little_room_closes_the_window_is_a_choice() {
    const BUFFER: u32 = 1 << 20;
    let window_after = |zero_window: ZeroWindow, read: u32| {
        let choices = Choices { zero_window, ..Release::Linux2_6_14.tcp() };
        let sysctls = roomy(Release::Linux2_6_14.sysctls());
        let tcp_rmem = BufferSizes { default: BUFFER, ..sysctls.tcp_rmem };
        let mut pair = Pair::new(&settings(choices, Sysctls { tcp_rmem, ..sysctls }), Vec::new(), Vec::new());
        pair.asks = Application::writing(5_000_000);
        pair.answers.reads_from = Some(Instant::from_nanos(i64::MAX));
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
