//! The event queue: one due time for each source of events.
//!
//! A simulation has few sources of events (CPUs, timers, interrupts, the heads of wires) and very many events. So the
//! agenda is a table of sources, not a queue of events: each has a slot with the instant at which it is next due, or
//! none. Setting a timer again overwrites its slot: nothing is left stale, cancelled or allocated, and the agenda's
//! size does not depend on how long or how fast the simulation runs.
//!
//! The earliest slot is found by a tournament (Knuth, TAOCP 3, section 5.4.1) with eight players per game. Eight
//! instants fit a cache line and are compared without a branch. Setting a slot only stores its instant; the games above
//! are replayed when a slot of another game is set or the earliest is requested, and only as far as the outcome
//! changes. So if an event sets several slots of one game, such as those of one host, the games are replayed once. Busy
//! slots, those of the CPUs, have a game of their own next to the tournament, whose outcome stays valid while only they
//! are set. `cargo bench -p slowpath-simulator` compares it with heaps and a timing wheel.

use slowpath_model::Instant;

/// The place of one source of events. Of two that are due at the same instant, the one added first runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u32);

impl Slot {
    /// Its number: slots are numbered from 0 in the order of adding.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The slots of one game.
const WIDTH: usize = 8;
/// The bits of a player's number.
const PLAYER_BITS: u32 = WIDTH.ilog2();
/// Later than every instant: the slot is not armed.
const NEVER: i64 = i64::MAX >> PLAYER_BITS;

/// When a player is due, with its number in the low bits: the minimum of a game identifies the winner, and of two due
/// together the one with the smaller number.
const fn key(due: i64, player: usize) -> i64 {
    (due << PLAYER_BITS) | player as i64
}

/// One game: the keys of eight slots, or of the winners of eight games below.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Game([i64; WIDTH]);

impl Game {
    const EMPTY: Self = {
        let mut keys = [0; WIDTH];
        let mut player = 0;
        while player < WIDTH {
            keys[player] = key(NEVER, player);
            player += 1;
        }
        Self(keys)
    };

    /// The winner's key.
    fn first(&self) -> i64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        let (left, right) = (a.min(b).min(c.min(d)), e.min(f).min(g.min(h)));
        left.min(right)
    }
}

/// The player that a key belongs to.
const fn player(key: i64) -> usize {
    key as usize % WIDTH
}

/// A slot that is not busy.
const NOT_BUSY: u8 = WIDTH as u8;

/// Which source is due next.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The game of the first busy slots, in slot order, and their slots.
    busy: Game,
    busy_slots: [Slot; WIDTH],
    busy_count: u8,
    /// Each slot's place in that game.
    places: Vec<u8>,
    /// Which other slot is due first; `None` if some have been set since the last query.
    winner: Option<(i64, Slot)>,
    /// The games of the others.
    slots: Vec<Game>,
    /// The games of their winners, up to the final; none if one game holds all.
    rounds: Vec<Vec<Game>>,
    /// The game whose outcome may not be propagated yet.
    open: usize,
    count: u32,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new()
    }
}

impl Agenda {
    /// An agenda without slots.
    pub fn new() -> Self {
        Self {
            busy: Game::EMPTY,
            busy_slots: [Slot(u32::MAX); WIDTH],
            busy_count: 0,
            places: Vec::new(),
            winner: None,
            slots: vec![Game::EMPTY],
            rounds: Vec::new(),
            open: 0,
            count: 0,
        }
    }

    /// Adds a slot, not armed.
    pub fn add(&mut self) -> Slot {
        let slot = Slot(self.count);
        self.count += 1;
        self.places.push(NOT_BUSY);
        self.winner = None;
        let mut games = (self.count as usize).div_ceil(WIDTH);
        self.slots.resize(games, Game::EMPTY);
        for round in 0.. {
            if games == 1 {
                break;
            }
            games = games.div_ceil(WIDTH);
            if round == self.rounds.len() {
                // The current winner is the first player of a new final.
                self.settle();
                let below = if round == 0 { &self.slots } else { &self.rounds[round - 1] };
                let mut last = Game::EMPTY;
                last.0[0] = key(below[0].first() >> PLAYER_BITS, 0);
                self.rounds.push(vec![last]);
            }
            self.rounds[round].resize(games, Game::EMPTY);
        }
        slot
    }

    /// Adds a slot that nearly every event sets. It only affects speed, and only for the first eight.
    pub fn add_busy(&mut self) -> Slot {
        let slot = self.add();
        if self.busy_count < NOT_BUSY {
            self.places[slot.index()] = self.busy_count;
            self.busy_slots[usize::from(self.busy_count)] = slot;
            self.busy_count += 1;
        }
        slot
    }

    /// Arms the slot for `due`, or disarms it; replaces the previous time.
    pub fn set(&mut self, slot: Slot, due: Option<Instant>) {
        let due = due.map_or(NEVER, |due| due.nanos().min(NEVER));
        let place = usize::from(self.places[slot.index()]);
        if let Some(busy) = self.busy.0.get_mut(place) {
            *busy = key(due, place);
            return;
        }
        let game = slot.index() / WIDTH;
        let key = key(due, slot.index() % WIDTH);
        if self.slots[game].0[slot.index() % WIDTH] == key {
            return;
        }
        if game != self.open {
            self.settle();
            self.open = game;
        }
        self.slots[game].0[slot.index() % WIDTH] = key;
        self.winner = None;
    }

    /// Replays the games above the open one.
    fn settle(&mut self) {
        let mut game = self.open;
        let mut first = self.slots[game].first();
        for round in &mut self.rounds {
            let winner = key(first >> PLAYER_BITS, game % WIDTH);
            let above = &mut round[game / WIDTH];
            if above.0[game % WIDTH] == winner {
                return;
            }
            above.0[game % WIDTH] = winner;
            first = above.first();
            game /= WIDTH;
        }
    }

    /// The slot that is due first, and when; `None` if no slot is armed. It stays armed until it is set again.
    pub fn first(&mut self) -> Option<(Instant, Slot)> {
        let other = self.winner.unwrap_or_else(|| self.first_of_others());
        self.winner = Some(other);
        let busy = self.busy.first();
        let first = other.min((busy >> PLAYER_BITS, self.busy_slots[player(busy)]));
        (first.0 != NEVER).then_some((Instant::from_nanos(first.0), first.1))
    }

    /// When the first slot that is not busy is due, and which one it is.
    fn first_of_others(&mut self) -> (i64, Slot) {
        self.settle();
        let mut game = 0;
        for round in self.rounds.iter().rev() {
            game = game * WIDTH + player(round[game].first());
        }
        let first = self.slots[game].first();
        (first >> PLAYER_BITS, Slot((game * WIDTH + player(first)) as u32))
    }

    /// When the slot is due.
    pub fn due(&self, slot: Slot) -> Option<Instant> {
        let busy = self.busy.0.get(usize::from(self.places[slot.index()]));
        let key = busy.unwrap_or(&self.slots[slot.index() / WIDTH].0[slot.index() % WIDTH]);
        let due = key >> PLAYER_BITS;
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
    fn empty_agenda_has_no_next_event() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.first(), None);
        let slot = agenda.add();
        assert_eq!(agenda.first(), None);
        agenda.set(slot, Some(at(5)));
        assert_eq!(agenda.first(), Some((at(5), slot)));
        agenda.set(slot, None);
        assert_eq!(agenda.first(), None);
    }

    #[test]
    fn slot_added_first_wins_at_the_same_instant() {
        let mut agenda = Agenda::new();
        let slots = [(); 5].map(|()| agenda.add());
        for slot in slots.into_iter().rev() {
            agenda.set(slot, Some(at(7)));
        }
        for slot in slots {
            assert_eq!(agenda.first(), Some((at(7), slot)));
            agenda.set(slot, None);
        }
    }

    #[test]
    fn growing_agenda_keeps_armed_slots() {
        let mut agenda = Agenda::new();
        let first = agenda.add();
        agenda.set(first, Some(at(3)));
        for n in 0..40 {
            let slot = agenda.add();
            agenda.set(slot, Some(at(100 - n)));
            assert_eq!(agenda.first(), Some((at(3), first)));
            assert_eq!(agenda.due(slot), Some(at(100 - n)));
        }
    }

    /// Compared with an ordered set, which is slow and obvious.
    #[test]
    fn agenda_agrees_with_an_ordered_set() {
        for seed in 0..20 {
            let mut draws = Draws::new(seed);
            let mut agenda = Agenda::new();
            let count = 1 + draws.bits() % 70;
            let slots: Vec<Slot> =
                (0..count).map(|n| if n % 5 == 3 { agenda.add_busy() } else { agenda.add() }).collect();
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
                assert_eq!(agenda.first(), expected, "seed {seed}, step {step}");
            }
        }
    }
}
