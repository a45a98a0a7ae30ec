//! What triggered the sender's new data: an ACK, payload of the other end, or neither.

use super::{BURSTS_APART, SHORTEST_WAIT, Track};
use crate::limits::bunches::{New, Trigger};
use crate::limits::stretch::{Hold, Marks, Prompt, Stretch};
use crate::limits::thresholds;
use crate::outstanding::Placed;
use crate::rtt::{Distance, LinuxRto};
use slowpath_model::{Flags, Instant, Segment, StreamOffset};

/// A writer that an ACK lets continue needs to be woken and to run: in nanoseconds.
const WAKE_UP: i64 = 1_500_000;

/// A kernel with data waiting sends it in the softirq of the ACK: after some 10 µs, or 60 if a CPU had to wake up. At
/// most a sixteenth of the time between two ACKs, so that chance is seldom the reason. In nanoseconds.
const AT_ONCE: (i64, i64) = (50_000, 200_000);

impl Track {
    /// Whether nothing was left to send behind `segment`: it is no multiple of the MSS, which Nagle's algorithm allows
    /// at the end of a queue only. A push flag shows that too (RFC 9293, section 3.9.1), but Linux sets it on every
    /// super-packet (`__tcp_transmit_skb`, since 5.5), and after segmentation those look the same.
    pub(super) const fn emptied_the_queue(&self, segment: &Segment) -> bool {
        // Most are of one MSS, and a division costs as much as all else that is done for a segment here.
        segment.len > 0 && segment.len != self.mss && !segment.len.is_multiple_of(self.mss)
    }

    /// Whether `segment` and the one before were full segments and each pushed: a program wrote one at a time. Of
    /// waiting data, Linux pushes the last segment of a super-packet, of two segments or more (`tcp_min_tso_segs`,
    /// 6.18).
    #[inline(always)]
    pub(super) fn ended_a_write(&mut self, segment: &Segment, placed: &Placed) -> bool {
        // Behind a hole, the segment before it may be the one that was not pushed.
        let pushes = segment.flags.has(Flags::PSH) && segment.len == self.mss && !placed.left_hole;
        // With nothing in flight, it may have waited for the ACK of all.
        let pushes = pushes && self.known.una < segment.seq;
        let ends = std::mem::replace(&mut self.pushed, pushes) && pushes;
        // A stack that pushes all it sends shows nothing, and what an ACK triggers had waited.
        ends && !self.reactions.are_to_acks() && !self.trains.are_pushed()
    }

    /// New data up to `end` emptied the sender's queue with a segment that is not a full one.
    pub(super) fn note_short_segment(&mut self, at: Instant, end: StreamOffset, near: &Distance) {
        self.current.emptied_short += 1;
        if !self.known.scale.is_known() {
            self.look_for_window(at, end, near.is_here());
        }
        if !near.is_here() {
            self.other_scale.short_segment(self.learnt, self.flight, self.known.window);
        }
    }

    /// A new segment arrived far from its sender.
    pub(super) fn note_train(&mut self, at: Instant, segment: &Segment, near: &Distance) {
        if let Some(rtt) = near.min().filter(|rtt| *rtt > 0) {
            self.trains.on_segment(at, segment.len, segment.flags.has(Flags::PSH), self.mss, rtt);
        }
    }

    /// New data was sent so many nanoseconds after the last: keeps how long the sender usually pauses between two bursts.
    #[inline]
    pub(super) const fn note_gap(&mut self, gap: i64) {
        const IN_A_BURST: i64 = 50_000;
        if gap > IN_A_BURST {
            self.usual_gap += (gap - self.usual_gap) / 8;
        }
    }

    /// An ACK delivered so much, or nothing that counts while losses are repaired, so many nanoseconds after the last. If that is long, notes whether the sender kept still
    /// in between: by itself, a program or a clock of the host does not.
    #[inline]
    pub(super) fn note_ack_gap(&mut self, gap: i64, delivered: i64) {
        self.reads.acknowledged(delivered, gap, self.mss);
        if gap > 2 * self.usual_ack_gap {
            let sent_after = self.sent.nanos_since(self.learnt);
            if sent_after <= (gap / thresholds::KEPT_STILL_PART).min(WAKE_UP) {
                self.current.still = self.current.still.saturating_add(1);
            } else {
                self.current.not_still = self.current.not_still.saturating_add(1);
            }
        }
        self.usual_ack_gap += (gap - self.usual_ack_gap) / 8;
    }

    /// A burst of new data begins at `at`, after a pause of `paused` nanoseconds. Where that is half an RTT, notes what began
    /// it.
    #[inline(never)]
    pub(super) fn note_burst(&mut self, at: Instant, paused: i64, rto: &LinuxRto) {
        let srtt = rto.srtt_nanos().unwrap_or(0);
        if paused * 2 < srtt {
            return;
        }
        if self.burst_learnt > self.sent && at.nanos_since(self.burst_learnt) <= srtt / BURSTS_APART {
            self.current.begun_by_acks += 1;
        } else if self.burst_learnt > self.sent || at.nanos_since(self.learnt) > srtt / BURSTS_APART {
            self.current.begun_alone += 1;
        }
    }

    /// Whether a writer that polls may continue at `at`: its buffer accepts more when a third is free
    /// (`sk_stream_is_writeable`, 6.18). Several ACKs let nothing out, so no window held it, and it writes just after
    /// the last of them; a kernel with data waiting would have sent it in the softirq of each.
    #[inline]
    pub(super) fn is_let_in(&mut self, at: Instant, near: &Distance) -> bool {
        const LET_NOTHING_OUT: u32 = 3;
        self.acks_unanswered >= LET_NOTHING_OUT
            && self.is_soon_after(self.acked, at, near)
            && self.has_room(at)
    }

    /// Whether the ACKs that let nothing out made enough room for the writer.
    fn has_room(&mut self, at: Instant) -> bool {
        // Linux lets ACKs pass to send more at once: what leaves in a millisecond (`tcp_tso_autosize`, 6.18). A paced
        // sender pauses between two of its bursts.
        const LONGER_THAN_SAVING: i64 = 2_000_000;
        // As much is free each time. How much of that the ACKs of this pause freed depends on how much a paced sender had
        // not sent yet when the buffer was full. The pauses of its pace are shorter.
        let is_long = at.nanos_since(self.sent) > LONGER_THAN_SAVING.max(3 * self.usual_gap);
        let left = self.outstanding();
        let at_one_level =
            is_long && self.woken_at.is_some_and(|level| (left - level).abs() <= i64::from(self.mss));
        if is_long {
            self.woken_at = Some(left);
        }
        let a_third = self.unanswered * 10 >= self.flight_sent * 3;
        at_one_level || a_third && at.nanos_since(self.acked) > AT_ONCE.0
    }

    /// The other end had sent all of `payload` at `at`, before this end sent anything: until then it waited for that, and there was
    /// nothing to answer.
    pub fn was_asked_first(&mut self, at: Instant, payload: u64, rto: &LinuxRto) {
        self.asked = true;
        self.account(at, Hold::Idle, rto);
        self.cut();
        self.asked = true;
        self.spoken = Some(at);
        self.current.prompts = u32::try_from(payload).unwrap_or(u32::MAX);
    }

    /// There was nothing to send since data was last sent.
    pub(super) fn was_dry(&mut self) {
        self.dry = true;
        let [open, dry] = [Hold::Open as usize, Hold::Dry as usize];
        let since = self.open_since_sent.min(self.current.held[open]);
        self.current.held[open] -= since;
        self.current.held[dry] += since;
        self.open_since_sent = 0;
    }

    /// Whether the pause since the last data is long enough to count as a wait: not one between two writes.
    pub(super) fn has_waited(&self, at: Instant, rto: &LinuxRto) -> bool {
        let part = rto.srtt_nanos().map_or(1_000_000, |srtt| (srtt / 8).min(1_000_000));
        at.nanos_since(self.sent) > part
    }

    /// The application wrote, or was let continue, after the queue had run dry.
    #[inline(never)]
    pub(super) fn end_of_wait(&mut self, at: Instant, segment: &Segment, near: &Distance) {
        let acked = self.known.una >= self.nxt;
        let at_once = at.nanos_since(self.acked) <= AT_ONCE.0;
        let prompted = self.spoken.is_some_and(|since| self.is_soon_after(since, at, near))
            || near.is_here() && !at_once && self.woke_for_payload(at);
        let clocked = self.is_soon_after(self.acked, at, near);
        let alone = clocked && acked && (1..=i64::from(self.mss)).contains(&self.flight_sent);
        // From afar, some ACK is always near while data is in flight.
        let explained = if near.is_here() { prompted || clocked } else { !acked };
        // The one of all that was sent lets out what Nagle's algorithm held back, or is near by chance.
        let heard = self.spoken.map_or(self.acked, |spoken| spoken.max(self.acked));
        let heard = (!near.is_here() && (prompted || clocked)).then_some(heard);
        let wait = self.wait();
        if prompted {
            wait.prompted += 1;
        } else if clocked {
            wait.one_at_a_time += u32::from(alone);
            wait.dry_clocked += 1;
        } else {
            wait.dry_free += 1;
        }
        if !prompted && !acked {
            self.note_from_afar(clocked, near);
        }
        let flight = (segment.end().distance_from(self.known.una) - self.known.sacked)
            .clamp(0, i64::from(u32::MAX)) as u32;
        self.current.peak_max = self.current.peak_max.max(flight);
        if let Some(since) = self.ticks.on_write(at, [self.spoken, heard], near.is_here(), explained) {
            self.mark_paced(Some(since), at, Marks::TICKING);
        }
    }

    /// The stretch of the wait that ended now: what ended it belongs to it, even if it is a stretch of its own.
    fn wait(&mut self) -> &mut Stretch {
        let just_cut = self.current.lasted() < SHORTEST_WAIT;
        self.log.last_mut().filter(|_| just_cut).unwrap_or(&mut self.current)
    }

    /// New data was sent next to the tap.
    #[inline]
    pub(super) fn note_bunch(&mut self, at: Instant, new: New, rto: &LinuxRto) {
        let begins =
            self.bunches.on_segment(at, new, self.mss, Trigger { prompt: self.prompt, acked: self.acked });
        if !begins {
            return;
        }
        let rtt = rto.srtt_nanos().unwrap_or(0);
        if self.bunches.have_one_pace(self.mss, rtt) {
            let since = self.bunches.take_since();
            self.mark_paced(since, at, Marks::PACED);
            if self.bunches.keep_pace() {
                self.mark_paced(since, at, Marks::CLOCKED);
            }
        }
        if self.bunches.blocks().have_one_rate(self.mss, rtt) {
            let since = self.bunches.blocks().take_since();
            self.mark_paced(since, at, Marks::CLOCKED);
        }
    }

    /// Marks the current stretch, and those back to `since`.
    fn mark_paced(&mut self, since: Option<Instant>, at: Instant, marks: Marks) {
        self.wait().marks.set(marks);
        self.current.marks.set(marks);
        if let Some(since) = since {
            self.log.mark(since, at, marks);
        }
    }

    /// What triggered new data at `at`.
    #[inline]
    pub(super) fn prompted_by(&mut self, at: Instant, near: &Distance, rto: &LinuxRto) -> Prompt {
        // Segments of a burst leave back to back, as fast as the kernel makes them.
        const IN_A_BURST: (i64, i64) = (25_000, 200_000);
        if !near.is_here() {
            return self.prompted_far_away(at, near, rto);
        }
        if self.spoken.is_some_and(|since| self.is_soon_after(since, at, near)) {
            return Prompt::Payload;
        }
        let acked = self.acked >= self.sent;
        let (since, (surely, at_most), part, prompt) = if acked {
            // An ACK of all that was in flight is less often near by chance than one of many.
            let at_most = if self.known.una >= self.nxt { WAKE_UP } else { AT_ONCE.1 };
            (self.acked, (AT_ONCE.0, at_most), 16, Prompt::Ack)
        } else {
            (self.sent, IN_A_BURST, 4, self.prompt)
        };
        let passed = at.nanos_since(since);
        let is_soon = passed <= surely || passed <= at_most && passed * part <= self.between_answers;
        let prompt = match is_soon {
            true => prompt,
            false if self.woke_for_payload(at) => Prompt::Payload,
            false if acked && passed <= self.between_answers / 4 => Prompt::Soon,
            false => Prompt::Nothing,
        };
        self.reactions.note(prompt != Prompt::Nothing);
        prompt
    }

    /// Whether payload of the other end woke the program, which now writes: that takes longer than what the kernel sends by
    /// itself, and ACKs may come in between.
    fn woke_for_payload(&self, at: Instant) -> bool {
        self.spoken.is_some_and(|since| at.nanos_since(since) <= WAKE_UP)
    }

    /// The trigger as far as a bottleneck in between preserves it: that of the first segment after a pause is that of
    /// the segments behind it.
    #[inline(never)]
    fn prompted_far_away(&self, at: Instant, near: &Distance, rto: &LinuxRto) -> Prompt {
        if !self.has_waited(at, rto) {
            self.prompt
        } else if self.spoken.is_some_and(|since| self.is_soon_after(since, at, near)) {
            Prompt::Payload
        } else if self.is_soon_after(self.acked, at, near) {
            Prompt::Ack
        } else {
            Prompt::Nothing
        }
    }

    /// A wait ended, seen from afar, soon after an ACK reached the sender or not.
    pub(super) fn note_from_afar(&mut self, clocked: bool, near: &Distance) {
        if !near.is_here() {
            let chance = self.soon(near) as f64 / self.between_answers.max(1) as f64;
            self.from_afar.note(clocked, chance);
        }
    }

    /// Whether what the sender learnt at `since` may have triggered data at `at`.
    pub(super) fn is_soon_after(&self, since: Instant, at: Instant, near: &Distance) -> bool {
        at.nanos_since(since) <= self.soon(near)
    }

    /// How long after its trigger a reaction may pass the tap, in nanoseconds.
    fn soon(&self, near: &Distance) -> i64 {
        // If answers are frequent, one is always near; from afar, no finer distinction is possible.
        const LEAST: i64 = 200_000;
        let soon = if near.is_here() { (self.between_answers / 4).clamp(LEAST, WAKE_UP) } else { WAKE_UP };
        // If they are rare, a slow host is still soon.
        soon.max((self.between_answers / 100).min(4 * WAKE_UP)) + self.lag(near)
    }

    /// How much later than its trigger was taken to be known a reaction may pass the tap.
    fn lag(&self, near: &Distance) -> i64 {
        if near.is_here() { 0 } else { (near.recent() - near.min().unwrap_or(0)).clamp(0, 5_000_000) }
    }
}
