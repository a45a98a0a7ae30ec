//! What held a sender, spell by spell: a list for each flow that leaves no time out.

use super::why::Why;
use slowpath_model::{Hold, Instant};
use std::time::Duration;

/// Spells kept of a sender. Those after them become one more, of which only the length is known.
const MOST: usize = 1000;

/// What a spell was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something held the sender.
    Held(Why),
    /// All data was sent and acknowledged, and nothing more was written until the flow's end: nothing was held.
    Over,
    /// The sender's host did not report on this time.
    NotSeen,
    /// The maximum number of spells had been kept before.
    NotKept,
}

/// A time with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// What.
    pub what: What,
    /// Since when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}

impl Spell {
    /// For how long.
    pub fn lasted(&self) -> Duration {
        self.to.since(self.from).unwrap_or_default()
    }
}

/// Collects the spells of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Spells {
    kept: Vec<Spell>,
}

impl Spells {
    /// Adds what held the sender until `until`, in no known order: what had held it before goes first.
    pub(super) fn add(&mut self, until: Instant, held: &[(Why, Duration)]) {
        let before = self.kept.last().map(|last| last.what);
        let all: Duration = held.iter().map(|(_, lasted)| *lasted).sum();
        let began = until - all;
        let ended = self.kept.last().map_or(began, |last| last.to);
        if ended < began {
            self.push(What::NotSeen, ended, began);
        }
        // The kernel may add to the time while the source reads it. Then it reports more than there was until then, and
        // that much less the next time.
        let mut from = began.max(ended);
        let mut add = |(why, lasted): &(Why, Duration)| {
            let to = from + *lasted;
            self.push(What::Held(*why), from, to);
            from = to;
        };
        let (first, rest): (Vec<_>, Vec<_>) =
            held.iter().partition(|(why, _)| Some(What::Held(*why)) == before);
        first.into_iter().chain(rest).for_each(&mut add);
    }

    fn push(&mut self, what: What, from: Instant, to: Instant) {
        let is_full = self.kept.len() >= MOST;
        match self.kept.last_mut() {
            Some(last) if last.what == what || last.what == What::NotKept => last.to = last.to.max(to),
            _ if to <= from => {}
            _ => self.kept.push(Spell { what: if is_full { What::NotKept } else { what }, from, to }),
        }
    }

    /// All of the time from one instant to another; `over` is the part after the last data.
    pub(super) fn all(&self, [from, to]: [Instant; 2], mut over: Duration) -> Vec<Spell> {
        let mut spells = Vec::new();
        let mut until = to;
        for spell in self.kept.iter().rev() {
            if spell.to < until {
                spells.push(Spell { what: What::NotSeen, from: spell.to, to: until });
            }
            let spell = Spell { to: spell.to.min(to), ..*spell };
            let is_idle = matches!(spell.what, What::Held(Why::Hold(Hold::Idle | Hold::Drained)));
            let after = if is_idle { over.min(spell.lasted()) } else { Duration::ZERO };
            over -= after;
            let end = spell.to - after;
            for (what, from, to) in [(What::Over, end, spell.to), (spell.what, spell.from, end)] {
                if from < to {
                    spells.push(Spell { what, from, to });
                }
            }
            until = spell.from;
        }
        if from < until {
            spells.push(Spell { what: What::NotSeen, from, to: until });
        }
        spells.reverse();
        // Time after the last data may have been reported in two parts.
        spells.dedup_by(|next, before| {
            let is_one = next.what == before.what;
            if is_one {
                before.to = next.to;
            }
            is_one
        });
        spells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::START + ms(n)
    }

    fn lengths(spells: &[Spell]) -> Vec<(What, u64)> {
        let pairs = spells.windows(2).all(|pair| pair[0].to == pair[1].from);
        assert!(pairs, "each starts where the one before ends: {spells:?}");
        spells.iter().map(|spell| (spell.what, spell.lasted().as_millis() as u64)).collect()
    }

    const SLOW_START: Why = Why::Hold(Hold::SlowStart);
    const FULL: Why = Why::FullPath;
    const IDLE: Why = Why::Hold(Hold::Idle);

    #[test]
    fn spells_are_contiguous() {
        let mut spells = Spells::default();
        spells.add(at(100), &[(SLOW_START, ms(90))]);
        spells.add(at(200), &[(FULL, ms(40)), (SLOW_START, ms(60))]);
        spells.add(at(300), &[(IDLE, ms(30)), (FULL, ms(70))]);
        let found = spells.all([at(0), at(350)], Duration::ZERO);
        let held = What::Held;
        let expected = [
            (What::NotSeen, 10),
            (held(SLOW_START), 150),
            (held(FULL), 110),
            (held(IDLE), 30),
            (What::NotSeen, 50),
        ];
        assert_eq!(lengths(&found), expected);
        let ended = spells.all([at(10), at(300)], ms(20));
        let expected = [(held(SLOW_START), 150), (held(FULL), 110), (held(IDLE), 10), (What::Over, 20)];
        assert_eq!(lengths(&ended), expected);
    }

    #[test]
    fn time_reported_early_is_not_counted_twice() {
        let mut spells = Spells::default();
        spells.add(at(100), &[(FULL, ms(100))]);
        // 3 ms of the following time were added while it was read.
        spells.add(at(200), &[(SLOW_START, ms(103))]);
        spells.add(at(300), &[(FULL, ms(97))]);
        let expected = [(What::Held(FULL), 100), (What::Held(SLOW_START), 103), (What::Held(FULL), 97)];
        assert_eq!(lengths(&spells.all([at(0), at(300)], Duration::ZERO)), expected);
        spells.add(at(310), &[(SLOW_START, ms(15))]);
        let cut = spells.all([at(0), at(310)], Duration::ZERO);
        assert_eq!(cut.last().map(|last| last.to), Some(at(310)), "nothing is beyond the end");
    }

    #[test]
    fn unreported_time_is_not_seen() {
        let nothing = Spells::default().all([at(0), at(70)], Duration::ZERO);
        assert_eq!(lengths(&nothing), [(What::NotSeen, 70)]);
    }

    #[test]
    fn spells_beyond_the_bound_keep_their_time() {
        let mut spells = Spells::default();
        for n in 0..3 * MOST as u64 {
            let why = if n % 2 == 0 { FULL } else { IDLE };
            spells.add(at(n + 1), &[(why, ms(1))]);
        }
        let found = spells.all([at(0), at(3 * MOST as u64)], Duration::ZERO);
        assert_eq!(found.len(), MOST + 1);
        assert_eq!(lengths(&found).last(), Some(&(What::NotKept, 2 * MOST as u64)));
    }
}
