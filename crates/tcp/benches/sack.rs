//! What an ACK with SACK blocks costs the sender, by how it looks for what they are about: buffers looked at besides those of the
//! segments that have just arrived, and time, for windows of 100 to 100,000 segments and 1 to 1,000 losses, evenly spread (leith, section 1.1).
//!
//! A step of a walk from the head is of the write queue, one of `holes` of the list of what is not sacked; a look-up in the
//! index counts as many as a balanced tree of the window has levels, which is what the kernel's red-black tree takes at
//! least. Walks that grow with the window cost too much to be made for each of 100,000 ACKs: of those, only some reach the
//! sender there, the same ones for all.
//!
//! `cargo bench -p slowpath-tcp --bench sack`

#[path = "../tests/scoreboard/script.rs"]
#[expect(dead_code, reason = "tests do more with it")]
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
/// ACKs that reach the sender of a window, at most.
const ACKS: u32 = 2_000;

/// What the ACKs of a recovery took together.
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

/// A window of which some segments are lost, until all has arrived.
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
        // The last of what is on the wire is reported in any case, or nothing more would be sent.
        if arrived % u64::from(reaches) != 0 && !script.wire.is_empty() {
            continue;
        }
        let began = Instant::now();
        script.sender.handle_packet(script.now, &ack);
        let took = began.elapsed();
        let steps = script.sender.take_work().queue_steps;
        script.collect();
        // One look at each segment that is new is the least.
        let beside = steps.saturating_sub(arrived - told);
        told = arrived;
        if !ack.sack().is_empty() {
            cost.acks += 1;
            cost.steps += beside;
            cost.most = cost.most.max(beside);
            cost.time += took;
        }
        while script.wire.is_empty() && !script.is_complete(window) {
            // Nothing is on its way: a timer sends it.
            let Some(next) = script.sender.poll_timeout() else { break };
            script.now = script.now.max(next);
            script.sender.handle_timeout(script.now);
            script.collect();
        }
    }
    assert!(script.is_complete(window), "{walk:?}: not all of {window} has arrived");
    cost
}

/// By which power of the window something grows, from the second to the last.
fn power(first: f64, last: f64) -> f64 {
    let windows = f64::from(WINDOWS[WINDOWS.len() - 1]) / f64::from(WINDOWS[1]);
    (last.max(1e-9) / first.max(1e-9)).ln() / windows.ln()
}

fn main() {
    println!(
        "For an ACK with SACK blocks: steps besides one for each segment that is new, the most, and time. Of windows of"
    );
    println!(
        "10,000 and 100,000 one ACK in 5 and in 50 reaches the sender. The last columns: by which power of the window"
    );
    println!("steps and time grow, from 1,000 to 100,000.\n");
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
