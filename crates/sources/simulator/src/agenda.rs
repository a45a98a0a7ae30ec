//! What happens next: one due time for each thing that can make something happen.
//!
//! A simulation has few sources of events (CPUs, timers, interrupts, the heads of wires) and very many events. So
//! the agenda is not a queue of events but a table of sources: each has a slot with the instant at which it is
//! next due, or none. Setting a timer again overwrites its slot: nothing stale is left behind, nothing is
//! cancelled, nothing is allocated, and the agenda's size does not depend on how long or how fast the simulation
//! runs.
//!
//! The earliest slot is found by a tournament (Knuth, TAOCP 3, section 5.4.1) of eight in each game: setting a slot
//! replays the games on its way up and stops where the outcome stays the same, which for a timer far ahead, such as
//! a retransmission timer moved with every ACK, is at once. Eight instants lie on one cache line and are compared
//! without a branch. `cargo bench -p slowpath-simulator` measures it beside heaps and a timing wheel.

use slowpath_model::Instant;

/// The place of one source of events. Of two that are due at the same instant the one that was added first goes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// Its number: slots are counted from 0 in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Later than every instant: the slot is not armed.
const NEVER: i64 = i64::MAX >> WIDTH.ilog2();

/// How many play in one game.
const WIDTH: usize = 8;

/// One game: eight slots, or the winners of eight games below.
#[derive(Clone, Copy, Debug)]
struct Game {
    /// When each player is due.
    due: [i64; WIDTH],
    /// The slot that each player is, or that won below.
    slots: [u32; WIDTH],
    /// Which player is due first.
    winner: usize,
}

impl Game {
    const EMPTY: Self = Self { due: [NEVER; WIDTH], slots: [0; WIDTH], winner: 0 };

    /// A player's instant is now this one: says who is due first, and when, if that is another answer than before.
    fn play(&mut self, player: usize, due: i64, slot: u32) -> Option<(i64, u32)> {
        let before = self.first();
        self.due[player] = due;
        self.slots[player] = slot;
        // The player's number fills the low bits of what is compared, so that the least of all names who it is, and
        // of two due together it is the one with the smaller number.
        let key = |player: usize| (self.due[player] << WIDTH.ilog2()) | player as i64;
        let [a, b, c, d] = [0, 2, 4, 6].map(|player| key(player).min(key(player + 1)));
        self.winner = (a.min(b).min(c.min(d)) as usize) % WIDTH;
        let first = self.first();
        (first != before).then_some(first)
    }

    /// When the winner is due, and its slot.
    fn first(&self) -> (i64, u32) {
        (self.due[self.winner], self.slots[self.winner])
    }
}

/// Which source is due next.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The games, from those of the slots up to the last one.
    rounds: Vec<Vec<Game>>,
    slots: u32,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new()
    }
}

impl Agenda {
    /// An agenda without slots.
    pub fn new() -> Self {
        Self { rounds: vec![vec![Game::EMPTY]], slots: 0 }
    }

    /// Adds a slot, not armed.
    pub fn add(&mut self) -> Slot {
        let slot = Slot(self.slots);
        self.slots += 1;
        let mut games = (self.slots as usize).div_ceil(WIDTH);
        for round in 0.. {
            if round == self.rounds.len() {
                // The winner so far is the first player of a new last game.
                let (due, slot) = self.rounds[round - 1][0].first();
                let mut last = Game::EMPTY;
                last.play(0, due, slot);
                self.rounds.push(vec![last]);
            }
            self.rounds[round].resize(games, Game::EMPTY);
            if games == 1 {
                return slot;
            }
            games = games.div_ceil(WIDTH);
        }
        slot
    }

    /// Arms the slot for `due`, or disarms it. What it was armed for before is forgotten.
    pub fn set(&mut self, slot: Slot, due: Option<Instant>) {
        let mut player = slot.index();
        let due = due.map_or(NEVER, |due| due.nanos().min(NEVER));
        if self.rounds[0][player / WIDTH].due[player % WIDTH] == due {
            return;
        }
        let mut leader = (due, slot.0);
        for round in &mut self.rounds {
            match round[player / WIDTH].play(player % WIDTH, leader.0, leader.1) {
                Some(first) => leader = first,
                None => return,
            }
            player /= WIDTH;
        }
    }

    /// The slot that is due first, and when; `None` if no slot is armed. It stays armed until it is set again.
    pub fn next(&self) -> Option<(Instant, Slot)> {
        let (due, slot) = self.rounds[self.rounds.len() - 1][0].first();
        (due != NEVER).then_some((Instant::from_nanos(due), Slot(slot)))
    }

    /// When the slot is due.
    pub fn due(&self, slot: Slot) -> Option<Instant> {
        let due = self.rounds[0][slot.index() / WIDTH].due[slot.index() % WIDTH];
        (due != NEVER).then_some(Instant::from_nanos(due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_path::chance::Draws;
    use std::collections::BTreeSet;

    fn at(nanos: i64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn an_empty_agenda_has_nothing_next() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.next(), None);
        let slot = agenda.add();
        assert_eq!(agenda.next(), None);
        agenda.set(slot, Some(at(5)));
        assert_eq!(agenda.next(), Some((at(5), slot)));
        agenda.set(slot, None);
        assert_eq!(agenda.next(), None);
    }

    #[test]
    fn of_two_at_the_same_instant_the_first_added_goes_first() {
        let mut agenda = Agenda::new();
        let slots = [(); 5].map(|()| agenda.add());
        for slot in slots.into_iter().rev() {
            agenda.set(slot, Some(at(7)));
        }
        for slot in slots {
            assert_eq!(agenda.next(), Some((at(7), slot)));
            agenda.set(slot, None);
        }
    }

    #[test]
    fn a_growing_agenda_keeps_what_is_armed() {
        let mut agenda = Agenda::new();
        let first = agenda.add();
        agenda.set(first, Some(at(3)));
        for n in 0..40 {
            let slot = agenda.add();
            agenda.set(slot, Some(at(100 - n)));
            assert_eq!(agenda.next(), Some((at(3), first)));
            assert_eq!(agenda.due(slot), Some(at(100 - n)));
        }
    }

    /// Against an ordered set, which is slow and obvious.
    #[test]
    fn agrees_with_an_ordered_set() {
        for seed in 0..20 {
            let mut draws = Draws::new(seed);
            let mut agenda = Agenda::new();
            let slots: Vec<Slot> = (0..1 + draws.bits() % 70).map(|_| agenda.add()).collect();
            let mut armed = vec![None; slots.len()];
            let mut set = BTreeSet::new();
            for step in 0..5_000 {
                let index = (draws.bits() % slots.len() as u64) as usize;
                if let Some(old) = armed[index] {
                    set.remove(&(old, index));
                }
                let due = (!draws.bits().is_multiple_of(4)).then(|| at((draws.bits() % 50) as i64));
                armed[index] = due;
                set.extend(due.map(|due| (due, index)));
                agenda.set(slots[index], due);
                let expected = set.first().map(|&(due, index)| (due, slots[index]));
                assert_eq!(agenda.next(), expected, "seed {seed}, step {step}");
            }
        }
    }
}
