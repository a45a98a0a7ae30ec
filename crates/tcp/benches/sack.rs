//! Cost per ACK with SACK blocks, by how the sender searches its queue: buffers visited besides those of newly arrived
//! segments, and time, for windows of 100 to 100,000 segments and 1 to 1,000 losses, evenly spread (leith, section
//! 1.1).
//!
//! A step from the head is over the write queue, a step of `holes` over the list of what is not SACKed. An index lookup
//! counts the levels of a balanced tree of the window, the minimum of the kernel's red-black tree. Walks that grow with
//! the window are too expensive for 100,000 ACKs: only some ACKs reach the sender there, the same for all walks.
//!
//! `cargo bench -p slowpath-tcp --bench sack`

#[path = "../tests/scoreboard/script.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod script;

use script::{Script, choices};
use slowpath_tcp::choices::SackWalk;
use std::time::{Duration, Instant};

const WALKS: [(&str, SackWalk); 4] = [
    ("from-head (2.4)", SackWalk::FromHead),
    ("repeats (Kelly)", SackWalk::Repeats),
    ("holes (Leith)", SackWalk::Holes),
    ("index (6.18)", SackWalk::Index),
];
const WINDOWS: [u32; 4] = [100, 1_000, 10_000, 100_000];
const LOSSES: [u32; 4] = [1, 10, 100, 1_000];
/// The maximum number of ACKs that reach the sender of a window.
const ACKS: u32 = 2_000;

/// The total cost of a recovery's ACKs.
#[derive(Clone, Copy, Default)]
struct Cost {
    acks: u32,
    steps: u64,
    most: u64,
    time: Duration,
}

impl Cost {
    fn steps_each(self) -> f64 {
        self.steps as f64 / f64::from(self.acks.max(1))
    }

    fn nanos_each(self) -> f64 {
        self.time.as_nanos() as f64 / f64::from(self.acks.max(1))
    }
}

/// Sends a window with some segments lost, until all data has arrived.
fn recover(walk: SackWalk, window: u32, losses: u32) -> Cost {
    let mut script = Script::new(choices(walk), window);
    let apart = script.wire.len() / losses as usize;
    let mut at = 0;
    script.wire.retain(|_| {
        at += 1;
        (at - 1) % apart != 0
    });
    script.sender.take_work();
    let reaches = (window / ACKS).max(1);
    let mut cost = Cost::default();
    let (mut arrived, mut told) = (0, 0);
    while let Some(ack) = script.arrive() {
        arrived += 1;
        // The last segment in flight is always acknowledged, or nothing more would be sent.
        if arrived % u64::from(reaches) != 0 && !script.wire.is_empty() {
            continue;
        }
        let began = Instant::now();
        script.sender.handle_packet(script.now, &ack);
        let took = began.elapsed();
        let steps = script.sender.take_work().queue_steps;
        script.collect();
        // Each newly arrived segment must be visited once.
        let beside = steps.saturating_sub(arrived - told);
        told = arrived;
        if !ack.sack().is_empty() {
            cost.acks += 1;
            cost.steps += beside;
            cost.most = cost.most.max(beside);
            cost.time += took;
        }
        while script.wire.is_empty() && !script.is_complete(window) {
            // Nothing is in flight: a timer sends it.
            let Some(next) = script.sender.poll_timeout() else { break };
            script.now = script.now.max(next);
            script.sender.handle_timeout(script.now);
            script.collect();
        }
    }
    assert!(script.is_complete(window), "{walk:?}: not all of {window} segments have arrived");
    cost
}

/// The exponent of growth from the second to the last window.
fn power(first: f64, last: f64) -> f64 {
    let windows = f64::from(WINDOWS[WINDOWS.len() - 1]) / f64::from(WINDOWS[1]);
    (last.max(1e-9) / first.max(1e-9)).ln() / windows.ln()
}

fn main() {
    println!(
        "Per ACK with SACK blocks: steps besides one per new segment, the maximum, and time. For windows of"
    );
    println!(
        "10,000 and 100,000, one ACK in 5 and in 50 reaches the sender. The last columns: the power of the window"
    );
    println!("with which steps and time grow, from 1,000 to 100,000.\n");
    print!("{:16} {:>6}", "", "losses");
    for window in WINDOWS {
        print!(" {:>30}", format!("{window} segments"));
    }
    println!(" {:>6} {:>6}", "steps", "time");
    for (name, walk) in WALKS {
        for losses in LOSSES {
            let costs = WINDOWS.map(|window| (losses * 4 <= window).then(|| recover(walk, window, losses)));
            print!("{name:16} {losses:6}");
            for cost in costs {
                match cost {
                    Some(cost) => {
                        print!(" {:>9.1} {:>9} {:>7.0} ns", cost.steps_each(), cost.most, cost.nanos_each())
                    }
                    None => print!(" {:>30}", ""),
                }
            }
            match (costs[1], costs[3]) {
                (Some(first), Some(last)) => println!(
                    " {:>6.2} {:>6.2}",
                    power(first.steps_each(), last.steps_each()),
                    power(first.nanos_each(), last.nanos_each())
                ),
                _ => println!(),
            }
        }
    }
}
