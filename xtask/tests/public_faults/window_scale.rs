//! A device on the path changes the window scale, as seen next to the receiver; and programs that resemble it.

use crate::captures::losing;
use crate::transfer::{MS, Setup, transfer};
use crate::wire::{Passed, report, script};
use crate::{expect, expect_mainly, expect_none, main_finding, share_of};
use slowpath_analyses::{Cause, Evidence};
use slowpath_model::End;

/// A first flight of ten full segments, then one segment of the given size every 250 ms, and the receiver's window
/// field; both ends offered a scale of 7. Seen at the receiver.
pub fn after_the_first_flight(sizes: &[u32], field: u32) -> Vec<Passed> {
    let mut lines = "0.000000 > S 0:0(0) win 64240 <mss 1460,sackOK,wscale 7> // frame 0 id 101 ttl 63
         0.000040 < S. 0:0(0) ack 1 win 65160 <mss 1460,sackOK,wscale 7> // frame 0 id 0 ttl 64
         0.040100 > . 1:1(0) ack 1 win 502 // frame 0 id 102 ttl 63\n"
        .to_owned();
    let (mut seq, mut id, mut at) = (1, 103, 0.0405);
    let mut sent = |len: u32, gap: f64, lines: &mut String| {
        *lines += &format!(
            "{at:.6} > . {seq}:{}({len}) ack 1 win 502 // frame 0 id {id} ttl 63
             {:.6} < . 1:1(0) ack {} win {field} // frame 0 id {id} ttl 64\n",
            seq + len,
            at + 0.00003,
            seq + len
        );
        (seq, id, at) = (seq + len, id + 1, at + gap);
    };
    for nth in 0..10 {
        sent(1460, if nth == 9 { 0.25 } else { 0.0001 }, &mut lines);
    }
    for len in sizes {
        sent(*len, 0.25, &mut lines);
    }
    script(&lines)
}

#[test]
fn segments_filling_the_unscaled_window_show_a_sender_without_scaling() {
    let report = report(&after_the_first_flight(&[509; 20], 509));
    let evidence = expect(&report, Cause::NoWindowScaling, "scaled-otherwise");
    assert_eq!(evidence, Evidence::ScaledOtherwise { segments: 20, sender: 0, receiver: 7 });
}

#[test]
fn segments_filling_twice_the_window_field_show_a_sender_with_wscale_1() {
    let report = report(&after_the_first_flight(&[1018; 20], 509));
    let evidence = expect(&report, Cause::WindowScaleTooSmall, "scaled-otherwise");
    assert_eq!(evidence, Evidence::ScaledOtherwise { segments: 20, sender: 1, receiver: 7 });
}

/// The receiver's own scale is 10, and a device shows the sender 7: the window after the SYN's is an eighth of it, and has grown by
/// what the first segments allow. Where it is half of it, the receiver has less; nothing was there yet that it could have left unread.
#[test]
fn first_window_that_is_far_smaller_than_the_syns_is_no_slow_readers() {
    let with = |window: u32| {
        let window = Box::new(move |_, _| window);
        report(&transfer(Setup { amount: 2_000_000, window, ..Setup::default() }).a)
    };
    let [far_smaller, half] = [67 << 7, 255 << 7].map(with);
    expect_none(&far_smaller, Cause::SlowReader);
    assert_eq!(far_smaller.main().findings[0].cause, Cause::WindowScaleTooSmall);
    assert_eq!(half.main().findings[0].cause, Cause::ReceiveBufferTooSmall);
    // One RTT is still called a slow reader's.
    assert!(share_of(&half, |cause| cause == Cause::SlowReader) < 0.02);
}

/// A program writes the same amount each time, or amounts that happen to fit the window a few times.
#[test]
fn equal_writes_of_a_program_are_not_a_window() {
    let writes: [(&str, Vec<u32>, u32); 3] = [
        ("a power of two", vec![512; 20], 512),
        ("1000 bytes", vec![1000; 20], 509),
        ("any size", (0..20).map(|n| if n % 3 == 0 { 509 } else { 100 + 37 * n }).collect(), 509),
    ];
    for (what, sizes, field) in writes {
        let report = report(&after_the_first_flight(&sizes, field));
        for cause in [Cause::NoWindowScaling, Cause::WindowScaleTooSmall] {
            expect_none(&report, cause);
        }
        assert_eq!(report.main().findings[0].cause, Cause::SenderIdle, "{what}");
    }
}

/// What passed after the first 200 ms: the handshake was not captured.
fn without_handshake(mut passed: Vec<Passed>) -> Vec<Passed> {
    passed.retain(|(at, _)| at.nanos() > 200 * MS);
    passed
}

/// The window is far larger than what a full path and its queue hold.
#[test]
fn the_least_scale_that_fits_is_not_the_window() {
    let setup =
        || Setup { amount: 3_000_000, rate: 650, window: Box::new(|_, _| 8 << 20), ..Setup::default() };
    for passed in [transfer(setup()).a, transfer(setup()).b] {
        let report = report(&without_handshake(passed));
        for cause in [Cause::AutotuningLag, Cause::ReceiveBufferTooSmall, Cause::SlowReader] {
            expect_none(&report, cause);
        }
    }
}

#[test]
fn a_window_that_is_full_all_the_time_limits_at_any_scale() {
    let setup = || Setup { amount: 6_000_000, window: Box::new(|_, _| 200 << 10), ..Setup::default() };
    for passed in [transfer(setup()).a, transfer(setup()).b] {
        expect_mainly(&without_handshake(passed), Cause::ReceiveBufferTooSmall);
    }
}

/// In a capture that begins amid a transfer, flights end where the window does with the least scale that fits, within a
/// segment: each ACK of two makes room for two.
#[test]
fn window_of_the_least_scale_filled_to_the_byte_limits() {
    let of = |flight: i64| {
        let lines = (0..2_000).map(|n| {
            let (at, ack) = (n * 900, 1 + 2_896 * n);
            let (first, middle, end) = (ack + flight - 2_896, ack + flight - 1_448, ack + flight);
            format!(
                "{}.{:06} < . 1:1(0) ack {ack} win 40760
                 {}.{:06} > . {first}:{middle}(1448) ack 1 win 502
                 {}.{:06} > . {middle}:{end}(1448) ack 1 win 502\n",
                at / 1_000_000,
                at % 1_000_000,
                (at + 20) / 1_000_000,
                (at + 20) % 1_000_000,
                (at + 25) / 1_000_000,
                (at + 25) % 1_000_000,
            )
        });
        report(&script(&lines.collect::<String>()))
    };
    let filled = of(163_040);
    assert_eq!(main_finding(&filled).cause, Cause::ReceiveBufferTooSmall, "{:#?}", filled.main().findings);
    assert_eq!(filled.main().measures.unseen_gaps, 0);
    expect_none(&of(120_000), Cause::ReceiveBufferTooSmall);
}

/// A firewall that takes the window field as it is lets the first flight pass, by the window of the SYN-ACK, and then not
/// one segment: each ends beyond the field.
#[test]
fn nothing_beyond_the_unscaled_field_after_the_first_flight_is_a_firewalls() {
    let behind_a_firewall = |firewall: bool| {
        let mut edge = i64::MAX;
        transfer(Setup {
            amount: 400_000,
            window: Box::new(|_, _| 80 << 10),
            fate: Box::new(losing(move |segment| {
                if let (End::B, Some(ack)) = (segment.from, segment.ack) {
                    edge = ack.0 + i64::from(segment.window);
                }
                let is_beyond = segment.end().0 > if firewall { edge } else { 200_000 };
                segment.len > 0 && segment.from == End::A && is_beyond
            })),
            ..Setup::default()
        })
    };
    expect_mainly(&behind_a_firewall(true).a, Cause::BeyondUnscaledWindow);
    expect_mainly(&behind_a_firewall(false).a, Cause::PeerGone);
}
