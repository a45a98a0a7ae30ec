//! Follows one direction as its sender saw it, and says what held it between any two events.
//!
//! The tap may be far from the sender, which then learns of the receiver's answers later than the tap. Answers
//! therefore wait in a queue until the sender shows that it has them (by echoing their timestamp) or must have them
//! (its distance has passed). At the sender the queue is empty and costs nothing; one mechanism serves every vantage.

mod beyond;
mod far_away;
mod finished;
mod losses;
mod nagle;
mod prompts;
mod silences;
mod unstamped;

pub use finished::Finished;

use super::answer::Answer;
use super::bunches::{Bunches, New};
use super::episodes::{Arrived, Episodes};
use super::other_scale::OtherScale;
use super::pace::{FromAfar, Reactions};
use super::reads::Reads;
use super::stretch::{Hold, Log, Marks, Prompt, Stretch};
use super::thresholds::DELAYED_ACK_NS;
use super::ticks::Ticks;
use super::trains::Trains;
use crate::label::Label;
use crate::lateness;
use crate::outstanding::{Placed, SpuriousRetransmission};
use crate::overview::TakenBack;
use crate::report::ScaleKnown;
use crate::rtt::{Distance, LinuxRto, micros};
use beyond::Beyond;
use nagle::Nagle;
use slowpath_model::{Flags, Instant, Segment, StreamOffset};
use std::collections::VecDeque;
use unstamped::Unstamped;

/// What still counts of the answers so far.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    una: StreamOffset,
    edge: Option<StreamOffset>,
    /// The farthest that the edge ever was.
    reach: Option<StreamOffset>,
    window: u32,
    field_full: bool,
    sacked: i64,
    /// How far the window's edge lies below an earlier one, in bytes.
    taken_back: i64,
    scale: ScaleKnown,
}

/// The time of one direction.
#[derive(Clone, Debug)]
pub struct Track {
    /// Time is accounted for up to here.
    last: Instant,
    current: Stretch,
    log: Log,
    known: Known,
    pending: VecDeque<Answer>,
    nxt: StreamOffset,
    /// Bytes outstanding to the sender's knowledge: see [`Self::outstanding`].
    flight: i64,
    round_end: StreamOffset,
    dry: bool,
    /// Delivered since data was last sent, by how many ACKs; what was outstanding then, and the time under [`Hold::Open`].
    unanswered: i64,
    acks_unanswered: u32,
    flight_sent: i64,
    open_since_sent: i64,
    /// What was in flight, in bytes, when an ACK last ended a long pause.
    woken_at: Option<i64>,
    /// How long it usually pauses between two bursts, in nanoseconds.
    usual_gap: i64,
    usual_ack_gap: i64,
    /// The most bytes in flight.
    flight_max: i64,
    /// Bytes in flight times nanoseconds.
    flight_area: f64,
    /// Until when data was in flight.
    in_flight_until: Option<Instant>,
    /// What the current answer shows of the time until it: [`Marks::GAP`], [`Marks::HELD_BACK`].
    told: Marks,
    /// The last long silence that was ended by data behind a hole: from, to.
    jumped: Option<(Instant, Instant)>,
    /// The other end sent payload while this one had nothing to send, since it last sent.
    asked: bool,
    /// When the sender learnt of the other end's payload, since it last sent data itself.
    spoken: Option<Instant>,
    /// When the sender last learnt of a delivery, when it learnt of the first of a burst of them, and when it last sent data.
    learnt: Instant,
    burst_learnt: Instant,
    sent: Instant,
    lost_before: bool,
    /// The receiver has reported a congestion mark since anything was last retransmitted.
    marked: bool,
    taken_back: TakenBack,
    mss: u32,
    episodes: Episodes,
    beyond: Beyond,
    /// When windows became larger by a scale that was found.
    rescaled: Option<Instant>,
    /// Until when the sender's distance was not known.
    unplaced: Option<Instant>,
    /// When the sender last learnt of a pure ACK, including duplicates: each may let data out.
    acked: Instant,
    /// The time between that ACK and the one before, in nanoseconds.
    between_answers: i64,
    /// The window's edge at the start of the current stretch.
    reach_before: Option<StreamOffset>,
    /// What triggered the data sent last.
    prompt: Prompt,
    nagle: Nagle,
    from_afar: FromAfar,
    reactions: Reactions,
    trains: Trains,
    bunches: Bunches,
    ticks: Ticks,
    reads: Reads,
    other_scale: OtherScale,
    unstamped: Unstamped,
    /// See [`Self::date_silence`].
    dated_silence: i64,
    /// Since when the sender knows of a hole, by SACK.
    missing_since: Option<Instant>,
    /// The receiver reports what it misses.
    receiver_reports: bool,
    /// What had arrived before that hole showed, if it is the lowest.
    before_hole: Option<Arrived>,
    /// The last new segment was a full one that ended a program's write, by its push flag.
    pushed: bool,
    /// The largest window so far.
    window_most: u32,
    /// See [`least_sent`].
    least: u32,
    /// The last new segment left nothing to send.
    ended_short: bool,
    /// See [`Self::is_complete`].
    is_complete: bool,
}

/// The shortest timer, in nanoseconds: half of Linux's `TCP_RTO_MIN`.
const SHORTEST_TIMER: i64 = 100_000_000;

/// A time up to this, in nanoseconds, is no wait of an RTT.
const SHORTEST_WAIT: i64 = 2_000_000;

/// How late a host may be by itself, in nanoseconds.
const LATE_BY_ITSELF: i64 = 10_000_000;

/// Bursts are this part of an RTT apart, or more.
const BURSTS_APART: i64 = 8;

/// Between bursts, a sender pauses longer than this, in nanoseconds.
const SHORTEST_PAUSE: i64 = 1_000_000;

/// A window field from this on stands at its maximum but for a segment.
const LARGE_FIELD: u16 = 64_000;

impl Track {
    /// A direction whose time begins at `from` with `una` as the lowest offset not acknowledged.
    pub fn new(from: Instant, una: StreamOffset) -> Self {
        Self {
            last: from,
            current: Stretch::at(from),
            log: Log::default(),
            known: Known { una, ..Known::default() },
            pending: VecDeque::new(),
            nxt: una,
            flight: 0,
            round_end: una,
            dry: true,
            unanswered: 0,
            acks_unanswered: 0,
            flight_sent: 0,
            open_since_sent: 0,
            woken_at: None,
            usual_gap: 0,
            usual_ack_gap: 0,
            flight_max: 0,
            flight_area: 0.0,
            in_flight_until: None,
            told: Marks::default(),
            jumped: None,
            asked: false,
            spoken: None,
            learnt: from,
            burst_learnt: from,
            sent: from,
            lost_before: false,
            marked: false,
            taken_back: TakenBack::default(),
            mss: 1,
            episodes: Episodes::default(),
            beyond: Beyond::default(),
            rescaled: None,
            unplaced: None,
            acked: from,
            between_answers: i64::MAX / 2,
            reach_before: None,
            prompt: Prompt::default(),
            nagle: Nagle::default(),
            from_afar: FromAfar::default(),
            reactions: Reactions::default(),
            trains: Trains::default(),
            bunches: Bunches::default(),
            ticks: Ticks::default(),
            reads: Reads::default(),
            other_scale: OtherScale::default(),
            unstamped: Unstamped::default(),
            dated_silence: 0,
            missing_since: None,
            receiver_reports: false,
            before_hole: None,
            pushed: false,
            window_most: 0,
            least: 1,
            ended_short: true,
            is_complete: false,
        }
    }

    /// Frees what grew. The rest is good for its memory only.
    pub fn empty(&mut self) {
        self.log = Log::default();
        self.pending = VecDeque::new();
        self.episodes = Episodes::default();
        self.ticks = Ticks::default();
    }

    /// The window the receiver opened with, where one was seen.
    pub fn seed(&mut self, window: u32, seen: bool) {
        if seen {
            self.known.window = window;
            self.note_window(window);
            self.known.edge = Some(self.known.una + window);
            self.known.reach = self.known.edge;
        }
    }

    /// The receiver offers another window than its SYN did: that one is not what the new one shrank from. The sender still keeps to
    /// it where it waits for half of its largest window ([`least_sent`]).
    #[cold]
    pub fn opens_anew(&mut self, window: u32) {
        self.known.window = self.known.window.min(window);
        self.current.window_max = self.current.window_max.min(window);
        self.log.cap_windows(window);
    }

    /// The largest payload of a segment, as far as known.
    pub fn set_mss(&mut self, mss: u32) {
        if mss != self.mss {
            self.mss = mss;
            self.least = least_sent(mss, self.window_most);
        }
    }

    /// The sender learns of `window`.
    fn note_window(&mut self, window: u32) {
        if window > self.window_most {
            self.window_most = window;
            self.least = least_sent(self.mss, window);
        }
    }

    /// Bytes outstanding to the sender's knowledge. Data beyond any window that it had was sent after an ACK that the
    /// capture lacks.
    fn outstanding(&self) -> i64 {
        let sent = self.known.reach.map_or(self.nxt, |reach| self.nxt.min(reach.max(self.known.una)));
        (sent.distance_from(self.known.una) - self.known.sacked).max(0)
    }

    /// What holds the sender now.
    #[inline]
    fn hold(&self) -> Hold {
        if self.episodes.is_repairing() {
            // Data retransmitted into a closed window is not accepted, however often it arrives.
            let closed = self.known.edge.is_some() && self.known.window == 0;
            return if closed { Hold::Window } else { Hold::Recovery };
        }
        let room = self.known.edge.map(|edge| edge.distance_from(self.nxt));
        if room.is_some_and(|room| room < i64::from(self.least)) && !self.seems_full_by_chance() {
            Hold::Window
        } else if self.known.una >= self.nxt {
            Hold::Idle
        } else if self.dry {
            Hold::Dry
        } else {
            Hold::Open
        }
    }

    /// Accounts for the time up to `at`. A wait of an RTT or more is a stretch of its own.
    #[inline(always)]
    fn account(&mut self, at: Instant, hold: Hold, rto: &LinuxRto) {
        let lasted = at.nanos_since(self.last);
        if lasted <= 0 {
            return;
        }
        let flight = self.flight;
        if flight > 0 {
            self.flight_area += flight as f64 * lasted as f64;
            self.in_flight_until = Some(at);
            // More than at any segment sent, if the receiver reneges on SACKed data.
            self.flight_max = self.flight_max.max(flight);
        }
        if lasted >= SHORTEST_WAIT && lasted >= rto.srtt_nanos().unwrap_or(0) {
            self.account_wait(at, hold, rto);
        } else {
            self.spend(at, hold);
        }
        if hold == Hold::Open {
            self.open_since_sent += lasted;
        }
    }

    /// The time up to `at` passed under `hold`.
    #[inline]
    fn spend(&mut self, at: Instant, hold: Hold) {
        if self.spoken.is_some() && matches!(hold, Hold::Idle | Hold::Dry) {
            let lasted = micros(at.nanos_since(self.last));
            self.current.answering = self.current.answering.saturating_add(lasted);
        }
        self.last = at;
        self.current.extend(at, hold);
        self.current.marks.set(self.told);
        if self.asked && matches!(hold, Hold::Idle | Hold::Dry) {
            self.current.marks.set(Marks::PEER_SPOKE);
        }
    }

    /// Accounts for a wait of an RTT or more, as a stretch of its own.
    #[inline(never)]
    fn account_wait(&mut self, at: Instant, hold: Hold, rto: &LinuxRto) {
        let long = rto.srtt_nanos().unwrap_or(0).max(SHORTEST_WAIT);
        // A wait for a window may take an RTT; within two of them something was sent.
        let missed = self.told.has(Marks::GAP) && at.nanos_since(self.last) >= 2 * long;
        self.cut();
        self.spend(at, hold);
        if missed {
            self.current.marks.set(Marks::MISSED);
        }
        self.fill_in();
        if missed || !matches!(hold, Hold::Open | Hold::Dry) {
            self.cut();
        }
    }

    /// Writes into the current stretch what holds at any time.
    fn fill_in(&mut self) {
        if !self.lost_before {
            self.current.marks.set(Marks::BEFORE_LOSS);
        }
        self.current.window_max = self.current.window_max.max(self.known.window);
        self.current.window_min = self.current.window_min.min(self.known.window);
        if self.known.field_full {
            self.current.marks.set(Marks::FIELD_FULL);
        }
        if self.known.edge.is_some() && self.known.window == 0 {
            self.current.marks.set(Marks::ZERO_WINDOW);
        }
        if self.marked {
            self.current.marks.set(Marks::AFTER_ECN);
        }
        if self.known.taken_back > 0 {
            self.current.marks.set(Marks::TAKEN_BACK);
        }
        self.current.rtt_min = self.current.rtt_min.min(self.unstamped.standing().map_or(u32::MAX, micros));
    }

    /// Ends the current stretch here.
    #[inline(never)]
    fn cut(&mut self) {
        if self.current.to > self.current.from || self.current.delivered > 0 {
            self.fill_in();
            self.log.push(self.current);
        }
        self.current = Stretch::at(self.last);
        self.current.flight_max = u32::try_from(self.flight).unwrap_or(u32::MAX);
        self.open_since_sent = 0;
        self.round_end = self.nxt;
        self.reach_before = self.known.reach;
    }

    /// The receiver answered. `near` is how far the sender is from the tap.
    #[inline(always)]
    pub fn answered(&mut self, mut answer: Answer, near: &Distance, rto: &LinuxRto) {
        if answer.marks.has(Marks::GAP)
            && let Some((from, to)) = self.jumped.take()
        {
            // The data missing at the tap had arrived: the capture missed it.
            self.log.mark(from, to, Marks::MISSED);
        }
        // Linux delays ACKs while its reader does not let the window open further; those ACKs are not late.
        if let Some(from) = answer.late_since.filter(|_| self.opens_further(answer.edge)) {
            answer.marks.set(Marks::HELD_BACK);
            self.log.mark(from, answer.at, Marks::HELD_BACK);
            if self.current.from >= from {
                self.current.marks.set(Marks::HELD_BACK);
            }
        }
        self.beyond.answered(&answer, answer.una >= self.nxt, rto);
        if !answer.scale.is_known() {
            self.keep_window(answer.at, answer.una, answer.field);
        }
        if self.pending.is_empty() && near.is_here() {
            self.learn(answer.at, &answer, rto);
        } else {
            self.answered_far_away(answer, near, rto);
        }
    }

    /// Whether a window up to `edge` reaches farther than the one before.
    #[cold]
    fn opens_further(&self, edge: Option<StreamOffset>) -> bool {
        let before = self.pending.back().map_or(self.known.edge, |answer| answer.edge);
        self.is_farther(edge, before)
    }

    /// Whether the window's edge moved from `before` on to `now`: less than a segment is rounding of the scaled window.
    fn is_farther(&self, now: Option<StreamOffset>, before: Option<StreamOffset>) -> bool {
        now > before.map(|before| before + self.mss)
    }

    #[inline(always)]
    fn learn(&mut self, at: Instant, answer: &Answer, rto: &LinuxRto) {
        self.told = answer.marks;
        let asked = || {
            // Far from the sender, it does not show how long an answer took to it.
            let is_whole = at == answer.at && !answer.alone;
            answer.round_trip.filter(|_| is_whole).map(|round_trip| at.plus_nanos(-round_trip))
        };
        // The answer itself is the first ACK of what it answers.
        let is_turn = answer.payload > 0 && answer.una == self.nxt && at == answer.at;
        self.overdue(at, asked, if is_turn { answer.delayed_ack } else { DELAYED_ACK_NS }, rto);
        if answer.payload > 0 {
            // The other end had not said all.
            self.spoken = None;
        }
        let hold = self.hold();
        // The window held something back.
        self.ended_short &= hold != Hold::Window;
        // The wait that ends here was for this payload. An end that waits for all that it was sent before it answers has all.
        if answer.payload > 0 && answer.una >= self.nxt && matches!(hold, Hold::Idle | Hold::Dry) {
            self.asked = true;
            // Whatever else passed meanwhile, such as the end of this direction, did not end it.
            self.log.mark(self.sent, at, Marks::PEER_SPOKE);
        }
        self.account(at, hold, rto);
        self.told = Marks::default();
        if hold == Hold::Open
            && !self.unstamped.is_needed
            && self.unanswered > (self.flight_sent / 2).max(3 * i64::from(self.mss))
        {
            // The outstanding data had fallen to half and nothing followed, as far as it is known when answers reach the
            // sender: there was nothing to send. What this answer makes of it does not count for the past.
            self.was_dry();
        }
        self.note_hole(at, answer);
        self.unanswered += answer.delivered;
        if answer.delivered > 0 {
            self.acks_unanswered += 1;
            let gap = at.nanos_since(self.learnt);
            if gap > rto.srtt_nanos().unwrap_or(0) / BURSTS_APART {
                self.burst_learnt = at;
            }
            self.note_ack_gap(gap, if hold == Hold::Recovery { 0 } else { answer.delivered });
            let gap = u32::try_from(gap / 1000).unwrap_or(u32::MAX);
            self.current.gap_max = self.current.gap_max.max(gap);
            self.current.note_read(answer.read_after);
            self.learnt = at;
        }
        // After a closed window, a window of unknown scale is open.
        let reach = answer.edge.and_then(|edge| Some(edge).max(self.known.reach));
        self.take_back(answer, reach);
        // The newest window counts (`tcp_may_update_window`, 6.18), not that of a reordered ACK.
        let edge = if answer.newest { answer.edge } else { self.known.edge };
        // Data above a hole cannot be read.
        let is_read = self.current.marks.has(Marks::READ);
        if !is_read && (answer.sacked > 0 || self.is_farther(reach, self.reach_before)) {
            self.current.marks.set(Marks::READ);
        }
        self.marked |= answer.echoes_mark;
        if answer.scale != self.known.scale {
            self.rescaled = Some(at);
        }
        self.known = Known {
            una: answer.una.max(self.known.una),
            edge,
            reach,
            window: answer.window,
            field_full: answer.field >= LARGE_FIELD,
            sacked: answer.sacked,
            taken_back: self.known.taken_back,
            scale: answer.scale,
        };
        self.nagle.learnt(at, self.known.una, hold);
        self.note_window(answer.window);
        self.nxt = self.nxt.max(self.known.una);
        self.flight = self.outstanding();
        if answer.payload > 0 {
            self.current.prompts = self.current.prompts.saturating_add(answer.payload);
            self.spoken = Some(at);
            self.asked |= self.hold() == Hold::Idle;
        } else {
            self.between_answers = at.nanos_since(self.acked);
            self.acked = at;
        }
        let current = &mut self.current;
        current.delivered += answer.delivered;
        current.acks += u32::from(answer.delivered > 0);
        current.marks.set(answer.marks);
        current.window_max = current.window_max.max(answer.window);
        current.window_min = current.window_min.min(answer.window);
        if let Some(tsval) = answer.tsval {
            current.note_ack(lateness::unplaced(tsval, answer.at));
        }
        // A delayed ACK shows nothing about a queue.
        if let Some(round_trip) = answer.round_trip.filter(|_| !answer.alone) {
            current.rtt_min = current.rtt_min.min(micros(round_trip));
        }
        self.episodes.reached(at, self.known.una);
        if self.known.una >= self.round_end {
            let enough = rto.srtt_nanos().map_or(5_000_000, |srtt| (srtt * 9 / 10).max(5_000_000));
            if self.last.nanos_since(self.current.from) >= enough {
                self.cut();
            } else {
                self.round_end = self.nxt;
            }
        }
    }

    /// The sender sent data; `oldest` returns when the oldest outstanding data was sent.
    #[inline(always)]
    pub fn on_data_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        placed: &Placed,
        near: &Distance,
        rto: &LinuxRto,
        oldest: impl FnOnce() -> Option<Instant>,
    ) {
        if !self.pending.is_empty() {
            if segment.timestamps.is_none() {
                self.date_reaction(at, placed, near);
                self.beyond_known(at, segment.end(), rto);
            }
            self.catch_up(at, segment.timestamps.map(|stamps| stamps.ecr), near, rto);
        }
        self.compare_least_scale(segment, near);
        let is_short = self.emptied_the_queue(segment);
        match placed.label {
            Label::Duplicate | Label::KeepAlive | Label::WindowProbe => return,
            Label::Retransmission | Label::Spurious => self.on_retransmission(at, segment, placed, near, rto),
            Label::New | Label::OutOfOrder => {
                self.note_reaction(at, near);
                self.overdue(at, || if near.is_here() { oldest() } else { None }, DELAYED_ACK_NS, rto);
                let mut hold = self.hold();
                if hold == Hold::Open && near.is_here() && self.is_let_in(at, near) {
                    self.was_dry();
                    self.current.let_in += 1;
                    hold = Hold::Dry;
                }
                let jumps = placed.left_hole
                    && at.nanos_since(self.last) >= 2 * rto.srtt_nanos().unwrap_or(0).max(SHORTEST_WAIT);
                if jumps {
                    self.jumped = Some((self.last, at));
                }
                if matches!(hold, Hold::Idle | Hold::Dry) && !near.is_here() {
                    self.note_unproven_silence(at, rto);
                }
                self.account(at, hold, rto);
                self.told = Marks::default();
                if jumps {
                    self.cut();
                }
                match hold {
                    Hold::Dry | Hold::Idle if self.has_waited(at, rto) => self.end_of_wait(at, segment, near),
                    Hold::Open if at.nanos_since(self.sent) > 1_000_000 => {
                        let clocked = self.is_soon_after(self.acked, at, near);
                        self.note_from_afar(clocked, near);
                        if clocked {
                            self.current.open_clocked += 1;
                        } else {
                            self.current.open_free += 1;
                        }
                    }
                    _ => {}
                }
                self.prompt = self.prompted_by(at, near, rto);
                if near.is_here() {
                    let is_pushed = segment.flags.has(Flags::PSH);
                    self.note_bunch(at, New { len: segment.len, is_short, is_pushed }, rto);
                    if is_short || !self.nagle.is_idle() {
                        self.note_nagle(at, segment, is_short, rto);
                    }
                }
                if self.prompt == Prompt::Payload && self.spoken.is_some() {
                    self.current.bursts_after_payload += 1;
                }
                let sent_after = &mut self.current.sent_after[self.prompt as usize];
                *sent_after = sent_after.saturating_add(segment.len);
                let since_sent = at.nanos_since(self.sent);
                if since_sent > SHORTEST_PAUSE && near.is_here() {
                    self.note_burst(at, since_sent, rto);
                }
                self.note_gap(since_sent);
                let gap = micros(since_sent);
                let waited_for = &mut self.current.waited_for[self.prompt as usize];
                *waited_for = waited_for.saturating_add(gap);
                self.current.send_gap_max = self.current.send_gap_max.max(gap);
                self.asked = false;
                self.spoken = None;
                if self.known.una >= self.nxt && self.current.to > self.current.from {
                    self.round_end = placed.end;
                }
            }
        }
        if let Some(stamps) = segment.timestamps {
            self.current.note_data(lateness::unplaced(stamps.val, at));
            self.current.rtt_beyond = self.current.rtt_beyond.max(micros(near.beyond()));
        }
        self.nxt = self.nxt.max(placed.end);
        self.sent = at;
        self.flight = self.outstanding();
        self.flight_max = self.flight_max.max(self.flight);
        let flight = u32::try_from(self.flight).unwrap_or(u32::MAX);
        self.current.flight_max = self.current.flight_max.max(flight);
        self.unanswered = 0;
        self.acks_unanswered = 0;
        self.open_since_sent = 0;
        self.flight_sent = i64::from(flight);
        if placed.label == Label::New {
            if !near.is_here() {
                self.note_train(at, segment, near);
            }
            self.dry = is_short || self.ended_a_write(segment, placed);
            self.ended_short = self.dry;
            if self.dry {
                self.current.emptied += 1;
            }
            if is_short {
                self.note_short_segment(at, placed.end, near);
            }
        }
    }

    /// The sender sent an ACK without data.
    pub fn on_pure_ack(&mut self, at: Instant) {
        self.ticks.on_pure_ack(at);
    }

    /// These retransmissions turned out to be spurious.
    pub fn on_spurious(&mut self, found: &[SpuriousRetransmission]) {
        self.episodes.on_spurious(found);
    }

    /// The receiver reneged on data it had SACKed.
    pub const fn reneged(&mut self) {
        self.episodes.reneged();
    }

    /// Marks the current stretch.
    pub const fn mark(&mut self, marks: Marks) {
        self.current.marks.set(marks);
    }

    /// Whether the last new data left nothing to send, by its size.
    pub const fn has_sent_all(&self) -> bool {
        self.ended_short
    }

    /// What holds the sender now, for a stall that ends.
    pub fn holding(&self) -> Hold {
        self.hold()
    }

    /// Whether the other end spoke last.
    pub const fn was_asked(&self) -> bool {
        self.spoken.is_some()
    }

    /// The window the sender knows of; unknown before the first.
    pub fn window(&self) -> Option<u32> {
        self.known.edge.map(|_| self.known.window)
    }
}

/// The smallest window that a sender with more to send still uses: a full segment, or half of the largest window, which
/// a segment on a loopback device may exceed (RFC 9293, section 3.8.6.2.1; `tcp_bound_to_half_wnd`, 6.18).
pub fn least_sent(mss: u32, window_most: u32) -> u32 {
    mss.min(window_most / 2).max(1)
}
