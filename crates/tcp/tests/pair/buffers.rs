//! What is computed for buffers, compared with what connections use.

use crate::ends::{Application, Pair, settings};
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

/// How each of the kernels' drivers lays packets out, without merging.
fn memory(settings: &Settings) -> PacketMemory {
    PacketMemory::of_kernel(settings.choices.buffer_memory, settings.mtu, false)
}

/// The scale of the SYN, and the largest window advertised, of a transfer to a client that asked for `asked`.
fn transferred(settings: &std::sync::Arc<Settings>, asked: Option<i64>) -> (Option<u8>, u32) {
    let mut pair = Pair::new(settings, Vec::new(), Vec::new());
    let [least, _] = settings.choices.buffer_memory.least_buffers();
    let kept = asked.map(|value| AskedBuffer::of(value, settings.sysctls.rmem_max, least).kept);
    let options = SocketOptions { receive_buffer: kept, ..SocketOptions::default() };
    pair.client = Connection::connect(settings.clone(), options, pair.now);
    pair.client.set_packet_memory(memory(settings));
    pair.answers = Application::writing(6_000_000);
    pair.drive(Duration::from_secs(600));
    pair.assert_complete();
    let (_, syn) = pair.there.record[0];
    let TcpOptions::Syn(offer) = syn.options else { panic!("no options") };
    let shift = offer.window_scale.unwrap_or(0);
    let windows = pair.there.record.iter().skip(1).map(|(_, packet)| u32::from(packet.window) << shift);
    (offer.window_scale, windows.max().unwrap_or(0))
}

/// The largest window of a transfer is the one that is said, with a buffer that was asked for and holds some full segments.
#[test]
fn transfers_reach_the_predicted_windows() {
    for (choices, sysctls) in kernels() {
        for asked in [20_000, 65_536, 150_000, 1 << 20] {
            let sysctls = Sysctls { rmem_max: 200_000, ..sysctls.clone() };
            let settings = settings(choices.clone(), sysctls);
            let said = ReceiveBuffer::of(&settings, Some(asked), memory(&settings));
            let (scale, most) = transferred(&settings, Some(asked));
            assert_eq!(said.scale.map(|(_, shift)| shift), scale, "{asked} {settings:?}");
            // An ACK may go out before the reader has taken the segment that it is for; and without a shift, windows are
            // whole segments and stay while they are near enough.
            let less = said.most_window.checked_sub(most);
            assert!(less.is_some_and(|less| less <= said.payload), "{said:?}: {most}");
        }
    }
}

/// Without being asked, 2.2 and 2.4 stay where they begin.
#[test]
fn buffers_that_are_not_tuned_stay() {
    for (choices, sysctls) in &kernels()[..2] {
        let settings = settings(choices.clone(), sysctls.clone());
        let said = ReceiveBuffer::of(&settings, None, memory(&settings));
        let (_, most) = transferred(&settings, None);
        assert_eq!((said.most, said.most_window), (said.made, most));
    }
}

/// The figures that `Documentation/networking/ip-sysctl.rst` and ubik (IV-A and B) give.
#[test]
fn buffers_match_measured_figures() {
    let large = |sysctls: Sysctls| Sysctls { rmem_max: 64 << 20, wmem_max: 64 << 20, ..sysctls };
    let of = |(choices, sysctls): (Choices, Sysctls)| settings(choices, large(sysctls));
    let [old, two_four, _, today] = kernels().map(of);
    let received = |settings: &Settings| ReceiveBuffer::of(settings, Some(4 << 20), memory(settings));
    // 2.2 halves what was doubled: the window is what was asked for, but for a segment.
    let (of_old, of_two_four) = (received(&old), received(&two_four));
    assert_eq!((of_old.getsockopt, of_old.first_space), (8 << 20, 4 << 20));
    // 2.4 keeps a quarter back (tcp_adv_win_scale is 2).
    assert_eq!((of_two_four.getsockopt, of_two_four.first_space), (8 << 20, 6 << 20));
    let of_today = received(&today);
    assert_eq!((of_today.getsockopt, of_today.ratio), (8 << 20, Some([128, 160])));
    assert_eq!(of_today.most_space, (8 << 20) / 256 * 160);
    let sent = SendBuffer::of(&today, Some(4 << 20));
    assert_eq!((sent.getsockopt, sent.truesize), (8 << 20, 2280));
    assert_eq!(sent.holds, u64::from((8_u32 << 20).div_ceil(2280)) * 1448);
    assert!(sent.super_packet.is_some_and(|[goal, holds]| goal > 60_000 && holds > sent.holds));
}

/// Tuned buffers grow to their bound, and no further.
#[test]
fn tuned_buffers_grow_to_their_bound() {
    for (choices, sysctls) in &kernels()[2..] {
        let tcp_rmem = BufferSizes { max: 2 << 20, ..sysctls.tcp_rmem };
        let settings = settings(choices.clone(), Sysctls { tcp_rmem, ..sysctls.clone() });
        let said = ReceiveBuffer::of(&settings, None, memory(&settings));
        assert_eq!((said.first, said.most), (tcp_rmem.default, 2 << 20));
        let stays = Sysctls { tcp_moderate_rcvbuf: false, ..settings.sysctls.clone() };
        let stays = Settings { sysctls: stays, ..(*settings).clone() };
        let said = ReceiveBuffer::of(&stays, None, memory(&stays));
        assert_eq!(said.most, said.made);
    }
}

proptest! {
    /// Whatever is asked for of whatever kernel: no overflow, and no window that its scale or buffer could not have.
    #[test]
    fn any_request_has_an_answer(
        kernel in 0..4_usize,
        asked in prop::option::of(i64::from(i32::MIN)..=i64::from(i32::MAX)),
        most in any::<u32>(),
        scaling in any::<bool>(),
    ) {
        let (choices, sysctls) = kernels()[kernel].clone();
        let sysctls = Sysctls { rmem_max: most, wmem_max: most, tcp_window_scaling: scaling, ..sysctls };
        let settings = settings(choices, sysctls);
        let said = ReceiveBuffer::of(&settings, asked, memory(&settings));
        let shift = said.scale.map_or(0, |(_, shift)| shift);
        prop_assert!(said.most_window <= 65_535 << shift);
        prop_assert!(said.most_window <= said.most.max(said.made).saturating_add(1 << shift));
        prop_assert_eq!(said.getsockopt, i64::from(said.first));
        if let Some(AskedBuffer { bounded, kept }) = said.asked {
            prop_assert!(bounded <= most && kept >= bounded.min(1 << 30));
            prop_assert_eq!(kept, said.first);
        }
        let sent = SendBuffer::of(&settings, asked);
        prop_assert!(sent.holds <= u64::from(sent.most) + 1448);
    }
}
