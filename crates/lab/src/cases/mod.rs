//! The case table: what is done to a transfer, and how that limits it.
//!
//! Each kind of case is a function with a row of parameters per variant. The rows of `shipped` and of the regression
//! set `heldout` have no pair of rate and RTT in common, and differ in sizes and faults as well. The rows of the
//! regression set `fresh` share neither a rate nor an RTT with the others.

mod application;
mod congestion_window;
mod loss;
mod middleboxes;
mod mixed;
mod path;
mod receive_window;
mod receiver_processing;
mod recording;
mod reneging;
mod send_buffer;
mod sending_host;

use crate::case::{LabelledCase, Set};
use crate::settings::Offload;
use crate::workload::{Stream, Workload, Writer};

/// All cases of a set.
pub fn all(set: Set) -> Vec<LabelledCase> {
    [
        receive_window::cases(set),
        send_buffer::cases(set),
        sending_host::cases(set),
        application::cases(set),
        loss::cases(set),
        path::cases(set),
        congestion_window::cases(set),
        receiver_processing::cases(set),
        reneging::cases(set),
        mixed::cases(set),
        recording::cases(set),
        middleboxes::cases(set),
    ]
    .concat()
}

/// The rows of a set.
fn rows<T: Clone>(set: Set, shipped: &[T], heldout: &[T], fresh: &[T]) -> Vec<T> {
    match set {
        Set::Fresh => fresh.to_vec(),
        Set::Shipped => shipped.to_vec(),
        Set::Heldout => heldout.to_vec(),
    }
}

const PACKETS: Offload = Offload::PerPacket;
const SUPER: Offload = Offload::SuperPackets;

fn mbit(n: u64) -> u64 {
    n * 1_000_000
}

fn ms(n: u64) -> u64 {
    n * 1_000_000
}

fn secs(n: u64) -> u64 {
    ms(1000 * n)
}

/// One stream that sends all the time.
fn bulk(seconds: u64) -> Workload {
    Workload::Streams(vec![Stream::one(Writer::For { duration_ns: secs(seconds) })])
}

/// A suffix for variants whose captures show super-packets.
fn suffix(offload: Offload) -> &'static str {
    match offload {
        Offload::PerPacket => "",
        Offload::SuperPackets => "-tso",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn case_ids_are_unique() {
        let mut ids = HashSet::new();
        for set in Set::ALL {
            for case in all(set) {
                assert!(!case.about.is_empty() && !case.variant.is_empty(), "{}", case.name);
                assert!(ids.insert(case.id()), "{} is not unique", case.id());
            }
        }
    }

    #[test]
    fn shipped_and_heldout_share_no_path() {
        let paths = |set| -> HashSet<_> {
            let path = |c: LabelledCase| {
                (c.name, c.experiment.forward.link.map(|l| l.rate), c.experiment.forward.delay)
            };
            all(set).into_iter().map(path).collect()
        };
        let both: Vec<_> = paths(Set::Shipped).intersection(&paths(Set::Heldout)).cloned().collect();
        assert_eq!(both, []);
    }

    #[test]
    fn fresh_shares_no_rate_or_rtt_with_the_other_sets() {
        let others = [Set::Shipped, Set::Heldout].map(all).concat();
        for case in all(Set::Fresh) {
            let rate = |case: &LabelledCase| case.experiment.forward.link.as_ref().map(|link| link.rate);
            let alike = |other: &&LabelledCase| {
                rate(other) == rate(&case) || other.experiment.forward.delay == case.experiment.forward.delay
            };
            let alike: Vec<String> = others
                .iter()
                .filter(|other| other.name == case.name)
                .filter(alike)
                .map(LabelledCase::id)
                .collect();
            assert!(alike.is_empty(), "{} shares a rate or an RTT with {alike:?}", case.id());
        }
    }

    #[test]
    fn all_sets_have_the_same_kinds() {
        let kinds = |set| all(set).into_iter().map(|c| c.name).collect::<HashSet<_>>();
        assert_eq!(kinds(Set::Shipped), kinds(Set::Heldout));
        assert_eq!(kinds(Set::Shipped), kinds(Set::Fresh));
    }
}
