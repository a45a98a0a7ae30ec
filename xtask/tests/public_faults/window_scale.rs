//! A device on the path changes the window scale, as seen next to the receiver; and programs that resemble it.

use crate::wire::{Passed, report, script};
use crate::{expect, expect_none};
use slowpath_analyses::{Cause, Evidence};

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
