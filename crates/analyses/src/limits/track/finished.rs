//! What is left of a direction's time when it is over.

use super::Track;
use crate::lateness::Punctual;
use crate::limits::episodes::Episodes;
use crate::limits::other_scale::ScaledOtherwise;
use crate::limits::pace::FromAfar;
use crate::limits::stretch::{Hold, Log, Marks};
use crate::limits::ticks::Clock;
use crate::limits::trains::Trains;
use crate::overview::TakenBack;
use crate::report::ScaleKnown;
use crate::rtt::{Distance, LinuxRto};
use slowpath_model::{Bytes, Instant};

/// A direction's time when it is over.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its stretches.
    pub log: &'a Log,
    /// Its losses.
    pub episodes: &'a Episodes,
    /// The most that was in flight, as the sender knew it.
    pub flight_max: Bytes,
    /// Bytes in flight times nanoseconds.
    pub flight_area: f64,
    /// When data was last sent.
    pub sent: Instant,
    /// Until when data was in flight, in nanoseconds; `None` where none was for any time.
    pub in_flight_until: Option<Instant>,
    /// What the receiver took back of its window.
    pub taken_back: TakenBack,
    /// By how much the window opened at most long after all data had been acknowledged, in bytes, and until when it did.
    pub unread: (u32, Instant),
    /// What a tap far from the sender shows of whether ACKs trigger it.
    pub from_afar: FromAfar,
    /// The rate of bursts as they arrive far from the sender.
    pub trains: Trains,
    /// Since when the sender knows of a hole that was never filled, by SACK.
    pub missing_since: Option<Instant>,
    /// The clock that a program wrote by.
    pub clock: Option<Clock>,
    /// How often the times between ACKs showed a reader that deals with what it read, if they show one.
    pub read_times: Option<u16>,
    /// Next to the sender: it does without Nagle's algorithm.
    pub nagle_is_off: bool,
    /// Until when windows were underestimated, because their scale was unknown.
    pub rescaled: Option<Instant>,
    /// Until when the sender's distance was not known.
    unplaced: Option<Instant>,
    /// The view that a sender far from the tap has of the window.
    pub scaled_otherwise: Option<ScaledOtherwise>,
}

impl Finished<'_> {
    /// Whether the sender's distance from the tap was not known at `at`: what had reached it, and when, is not known either.
    pub fn is_unplaced(&self, at: Instant) -> bool {
        self.unplaced.is_some_and(|until| at < until)
    }
}

impl Track {
    /// Ends the direction's time at `at` and gives its stretches. `acks` and `data` are the most punctual packets of the receiver
    /// and of the sender, if those tell how late others were.
    pub fn finish(
        &mut self,
        at: Instant,
        near: &Distance,
        rto: &LinuxRto,
        acks: Option<Punctual>,
        data: Option<Punctual>,
    ) -> Finished<'_> {
        self.catch_up(at, None, near, rto);
        let hold = self.hold();
        if matches!(hold, Hold::Idle | Hold::Dry) && !near.is_here() {
            // Nothing more came that could show the silence to be idleness.
            self.is_complete = false;
            self.note_unproven_silence(at, rto);
        }
        self.account(at, hold, rto);
        self.cut();
        if !self.reactions.are_to_acks() {
            self.log.soon_is_chance();
        }
        self.log.date(acks, data);
        if let Some(since) = self.ticks.finish() {
            self.log.mark(since, self.sent, Marks::TICKING);
        }
        Finished {
            log: &self.log,
            episodes: &self.episodes,
            flight_max: Bytes::new(self.flight_max.unsigned_abs()),
            flight_area: self.flight_area,
            sent: self.sent,
            in_flight_until: self.in_flight_until,
            taken_back: self.taken_back,
            unread: (self.beyond.unread, self.beyond.unread_until),
            from_afar: self.from_afar,
            trains: self.trains,
            missing_since: self.missing_since,
            clock: self.ticks.clock(),
            read_times: self.reads.times(),
            nagle_is_off: self.nagle.is_off(),
            rescaled: self.rescaled.filter(|_| !matches!(self.known.scale, ScaleKnown::Agreed(_))),
            // Answers of unknown age were taken to be known at once, which is right at the sender.
            unplaced: match near.min() {
                None => Some(at),
                Some(_) => self.unplaced.filter(|_| !near.is_here()),
            },
            scaled_otherwise: self.other_scale.found(self.flight_max),
        }
    }
}
