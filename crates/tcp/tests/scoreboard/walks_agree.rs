//! All ways to search the queue for SACK blocks give the same result.

use crate::script::{Script, choices};
use proptest::prelude::*;
use slowpath_tcp::choices::SackWalk;
use std::collections::VecDeque;
use std::time::Duration;

const WINDOW: u32 = 300;

/// What happens to the segments in flight.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next arrives, and so does its ACK.
    Arrive,
    /// The next arrives; its ACK is lost.
    Unacknowledged,
    /// The next is lost.
    Lose,
    /// The next is reordered behind this many.
    Late(usize),
    /// The next arrives twice: the sender gets a DSACK.
    Time,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => Just(Step::Arrive),
        3 => Just(Step::Unacknowledged),
        1 => Just(Step::Lose),
        1 => (1usize..20).prop_map(Step::Late),
        1 => Just(Step::Time),
    ];
    prop::collection::vec(step, 1..400)
}

/// Visible state of a sender: segments SACKed, lost and retransmitted, cwnd, and the segments in flight.
type Shown = ([u32; 4], VecDeque<u32>);

fn play(walk: SackWalk, steps: &[Step]) -> Vec<Shown> {
    let choices = slowpath_tcp::Choices { sack_walk: walk, ..choices(SackWalk::FromHead) };
    let mut script = Script::new(choices, WINDOW);
    let mut seen = Vec::new();
    for &step in steps {
        match step {
            Step::Arrive | Step::Unacknowledged => {
                let ack = script.arrive();
                if let (Some(ack), Step::Arrive) = (ack, step) {
                    script.sender.handle_packet(script.now, &ack);
                }
            }
            Step::Lose => {
                script.wire.pop_front();
            }
            Step::Late(by) => {
                if let Some(segment) = script.wire.pop_front() {
                    let at = by.min(script.wire.len());
                    script.wire.insert(at, segment);
                }
            }
            Step::Time => {
                script.now = script.now + Duration::from_millis(5);
                script.sender.handle_timeout(script.now);
            }
        }
        script.collect();
        let info = script.sender.info(script.now);
        seen.push(([info.sacked, info.lost, info.retrans, info.snd_cwnd], script.wire.clone()));
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn all_sack_walks_agree(steps in steps()) {
        let expected = play(SackWalk::FromHead, &steps);
        for walk in [SackWalk::Repeats, SackWalk::Holes, SackWalk::Index] {
            for (at, (other, one)) in play(walk, &steps).iter().zip(&expected).enumerate() {
                let newest = |shown: &Shown| shown.1.iter().rev().take(5).copied().collect::<Vec<_>>();
                let seen = |shown: &Shown| (shown.0, shown.1.len(), newest(shown));
                prop_assert_eq!(seen(other), seen(one), "{:?} at step {} ({:?})", walk, at, steps[at]);
            }
        }
    }
}
