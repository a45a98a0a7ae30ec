//! Calculated buffers compared with those of connections.

use crate::endpoints::{Application, Pair, settings};
use proptest::prelude::*;
use slowpath_kernels::Release;
use slowpath_tcp::buffers::{AskedBuffer, ReceiveBuffer, SendBuffer};
use slowpath_tcp::packet::TcpOptions;
use slowpath_tcp::socket::{PacketMemory, SocketOptions};
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Choices, Connection, Settings, Sysctls};
use std::time::Duration;

fn kernels() -> [(Choices, Sysctls); 4] {
    [
        (Release::Linux2_2_20.tcp(), Release::Linux2_2_20.sysctls()),
        (Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls()),
        (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls()),
        (Release::Linux6_18.tcp(), Release::Linux6_18.sysctls()),
    ]
}

/// How the kernel's drivers lay out packets, without GRO.
fn memory(settings: &Settings) -> PacketMemory {
    PacketMemory::of_kernel(settings.choices.buffer_memory, settings.mtu, false)
}

/// The SYN's window scale and the largest advertised window of a transfer to a client with `SO_RCVBUF` `asked`.
fn transferred(settings: &std::sync::Arc<Settings>, asked: Option<i64>) -> (Option<u8>, u32) {
    let mut pair = Pair::new(settings, Vec::new(), Vec::new());
    let [least, _] = settings.choices.buffer_memory.least_buffers();
    let kept = asked.map(|value| AskedBuffer::of(value, settings.sysctls.rmem_max, least).kept);
    let options = SocketOptions { receive_buffer: kept, ..SocketOptions::default() };
    pair.client = Connection::connect(settings.clone(), options, pair.now);
    pair.client.set_packet_memory(memory(settings));
    pair.server_app = Application::writing(6_000_000);
    pair.drive(Duration::from_secs(600));
    pair.assert_complete();
    let (_, syn) = pair.to_server.record[0];
    let TcpOptions::Syn(offer) = syn.options else { panic!("no options") };
    let shift = offer.window_scale.unwrap_or(0);
    let windows = pair.to_server.record.iter().skip(1).map(|(_, packet)| u32::from(packet.window) << shift);
    (offer.window_scale, windows.max().unwrap_or(0))
}

/// The largest window of a transfer is the predicted one, with a fixed buffer of several full segments.
#[test]
fn transfers_reach_the_predicted_windows() {
    for (choices, sysctls) in kernels() {
        for asked in [20_000, 65_536, 150_000, 1 << 20] {
            let sysctls = Sysctls { rmem_max: 200_000, ..sysctls.clone() };
            let settings = settings(choices.clone(), sysctls);
            let predicted = ReceiveBuffer::of(&settings, Some(asked), memory(&settings));
            let (scale, most) = transferred(&settings, Some(asked));
            assert_eq!(predicted.scale.map(|(_, shift)| shift), scale, "{asked} {settings:?}");
            // An ACK may be sent before the reader has taken its segment; and without a scale, windows are whole
            // segments that stay while they are close enough.
            let less = predicted.most_window.checked_sub(most);
            assert!(less.is_some_and(|less| less <= predicted.payload), "{predicted:?}: {most}");
        }
    }
}

/// Without `SO_RCVBUF`, the buffers of 2.2 and 2.4 keep their initial size.
#[test]
fn buffers_without_autotuning_keep_their_size() {
    for (choices, sysctls) in &kernels()[..2] {
        let settings = settings(choices.clone(), sysctls.clone());
        let predicted = ReceiveBuffer::of(&settings, None, memory(&settings));
        let (_, most) = transferred(&settings, None);
        assert_eq!((predicted.most, predicted.most_window), (predicted.made, most));
    }
}

/// The figures of `Documentation/networking/ip-sysctl.rst` and ubik (IV-A and B).
#[test]
fn buffers_match_published_figures() {
    let large = |sysctls: Sysctls| Sysctls { rmem_max: 64 << 20, wmem_max: 64 << 20, ..sysctls };
    let of = |(choices, sysctls): (Choices, Sysctls)| settings(choices, large(sysctls));
    let [old, two_four, _, today] = kernels().map(of);
    let received = |settings: &Settings| ReceiveBuffer::of(settings, Some(4 << 20), memory(settings));
    // 2.2 halves the doubled size: the window is the requested size, less a segment.
    let (of_old, of_two_four) = (received(&old), received(&two_four));
    assert_eq!((of_old.getsockopt, of_old.first_space), (8 << 20, 4 << 20));
    // 2.4 reserves a quarter (tcp_adv_win_scale is 2).
    assert_eq!((of_two_four.getsockopt, of_two_four.first_space), (8 << 20, 6 << 20));
    let of_today = received(&today);
    assert_eq!((of_today.getsockopt, of_today.ratio), (8 << 20, Some([128, 160])));
    assert_eq!(of_today.most_space, (8 << 20) / 256 * 160);
    let sent = SendBuffer::of(&today, Some(4 << 20));
    assert_eq!((sent.getsockopt, sent.truesize), (8 << 20, 2280));
    assert_eq!(sent.holds, u64::from((8_u32 << 20).div_ceil(2280)) * 1448);
    assert!(sent.super_packet.is_some_and(|[goal, holds]| goal > 60_000 && holds > sent.holds));
}

/// Autotuned buffers grow to their maximum, and no further.
#[test]
fn autotuned_buffers_grow_to_their_maximum() {
    for (choices, sysctls) in &kernels()[2..] {
        let tcp_rmem = BufferSizes { max: 2 << 20, ..sysctls.tcp_rmem };
        let settings = settings(choices.clone(), Sysctls { tcp_rmem, ..sysctls.clone() });
        let predicted = ReceiveBuffer::of(&settings, None, memory(&settings));
        assert_eq!((predicted.first, predicted.most), (tcp_rmem.default, 2 << 20));
        let stays = Sysctls { tcp_moderate_rcvbuf: false, ..settings.sysctls.clone() };
        let stays = Settings { sysctls: stays, ..(*settings).clone() };
        let predicted = ReceiveBuffer::of(&stays, None, memory(&stays));
        assert_eq!(predicted.most, predicted.made);
    }
}

proptest! {
    /// Any request on any kernel: no overflow, and no window beyond its scale or buffer.
    #[test]
    fn any_buffer_request_gives_a_valid_window(
        kernel in 0..4_usize,
        asked in prop::option::of(i64::from(i32::MIN)..=i64::from(i32::MAX)),
        most in any::<u32>(),
        scaling in any::<bool>(),
    ) {
        let (choices, sysctls) = kernels()[kernel].clone();
        let sysctls = Sysctls { rmem_max: most, wmem_max: most, tcp_window_scaling: scaling, ..sysctls };
        let settings = settings(choices, sysctls);
        let predicted = ReceiveBuffer::of(&settings, asked, memory(&settings));
        let shift = predicted.scale.map_or(0, |(_, shift)| shift);
        prop_assert!(predicted.most_window <= 65_535 << shift);
        prop_assert!(predicted.most_window <= predicted.most.max(predicted.made).saturating_add(1 << shift));
        prop_assert_eq!(predicted.getsockopt, i64::from(predicted.first));
        if let Some(AskedBuffer { bounded, kept }) = predicted.asked {
            prop_assert!(bounded <= most && kept >= bounded.min(1 << 30));
            prop_assert_eq!(kept, predicted.first);
        }
        let sent = SendBuffer::of(&settings, asked);
        prop_assert!(sent.holds <= u64::from(sent.most) + 1448);
    }
}
