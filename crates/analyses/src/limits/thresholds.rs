//! The thresholds that separate one cause from another, each with its reason or source.
//!
//! Facts come from [`super::track`] without thresholds but the MSS and an RTT; every number that decides between two
//! causes is here.

mod clocks;
mod losses;
mod queues;

pub use clocks::*;
pub use losses::*;
pub use queues::*;
use std::ops::Range;
use std::time::Duration;

/// A window that opens this long after the last data, in nanoseconds, opens because data had waited to be read: a reader that
/// waits for data reads at once, and no delayed ACK is later (`TCP_DELACK_MIN`).
pub const READ_LATE_NS: i64 = 50_000_000;

/// An ACK of several segments that leaves the receiver this late, in nanoseconds, is no delayed ACK: a delayed ACK answers
/// every second full segment at once (RFC 5681, section 4.2), and a scheduler's latency is below it.
pub const LATE_ACK_NS: i64 = 10_000_000;

/// No ACK is delayed by more, in nanoseconds (`TCP_DELACK_MAX`, 6.18).
pub const LATEST_DELAYED_ACK_NS: i64 = 200_000_000;

/// From this on, and from an RTT on, a connection lasts longer in one of two recordings than in the other: the way between
/// them takes less, a retransmission timer more (`TCP_RTO_MIN`, 6.18).
pub const LONGER_LIFE: Duration = Duration::from_millis(200);

/// After this many RTTs without any answer, a sender that retransmits its oldest segment does so by a timer, though one that is
/// shorter than Linux's: ACKs, and the reordering window of RACK (RFC 8985, section 6.2), come within one.
pub const SHORT_TIMER_RTTS: (i64, i64) = (3, 2);

/// A retransmission within this part of an RTT after an answer is by no timer.
pub const ANSWERED_RTT_PART: i64 = 2;

/// A second wait this many times as long as the first shows that the first timer was backed off: it doubles (RFC 6298, section
/// 5.5), and the timer after a tail loss probe does not (RFC 8985, section 7.3).
pub const BACKED_OFF: (i64, i64) = (3, 2);

/// An ACK that comes in less than this part of the shortest time in which one ever came is not of what passed then: a part,
/// since stamps of a capture are a little late at times.
pub const TOO_SOON: (i64, i64) = (7, 8);

/// So many of the shortest RTTs, and at least so many microseconds, after its window was full a receiver answers when its
/// application reads: a round trip more or less is the path's.
pub const READ_LATE_RTTS: u32 = 4;

/// See [`READ_LATE_RTTS`]: a scheduler's latency is mostly below it.
pub const READ_LATE_LEAST_US: u32 = 4_000;

/// ... and an ACK covers so many segments, on average: one comes for every second of them (RFC 5681, section 4.2) or, where
/// the card merges them, for every few.
pub const READ_LATE_SEGMENTS: i64 = 16;

/// An ACK of more segments than these leaves the receiver so many nanoseconds after the last of them when its program reads: a
/// receiver answers every second full segment as it arrives (RFC 5681, section 4.2), its card merges those of a fraction of
/// a millisecond (GRO), and the timers of delayed ACKs are longer (`TCP_DELACK_MIN`, less what it may be early by).
pub const READ_AFTER_NS: Range<i64> = 500_000..30_000_000;

/// See [`READ_AFTER_NS`].
pub const READ_AFTER_SEGMENTS: i64 = 2;

/// One such ACK may be chance, so many are not.
pub const READS_TELL: u64 = 10;

/// Segments of an ACK by which a reader's pace shows: a receiver acknowledges every second one, and its card merges a few.
pub const READ_SEGMENTS: i64 = 4;

/// And the least time to it, in nanoseconds: a program that reads more often has no pace that shows.
pub const READ_GAP_NS: i64 = 500_000;

/// Two amounts differ by this part or more, and one of them explains a time so many times as well as the other.
pub const READ_DIFFERS: f64 = 0.03;

/// See [`READ_DIFFERS`].
pub const READ_EXPLAINS: f64 = 4.0;

/// So often a time shows a reader, and at most once in so many another reason.
pub const READ_TIMES: u16 = 12;

/// See [`READ_TIMES`].
pub const READ_EXCEPTIONS: u16 = 4;

/// The part of the time in which all had arrived and waited to be read, from which on the reader is what limits.
pub const READ_AFTER_PART: i64 = 5;

/// The longest that an ACK may be delayed, in nanoseconds (RFC 1122, section 4.2.3.2).
pub const DELAYED_ACK_NS: i64 = 500_000_000;

/// The longest that Linux, BSD and macOS delay one, in nanoseconds: Linux by 40 ms or an RTT (`tcp_send_delayed_ack`, 6.18),
/// FreeBSD by 40 ms, macOS by 100 ms.
pub const DELAYED_ACK_OF_UNIX_NS: i64 = 100_000_000;

/// Segments that an ACK has to cover to count as late: an ACK of fewer may be a delayed one.
pub const LATE_ACK_SEGMENTS: i64 = 4;

/// If a receiver sends no ACK for this long, in microseconds, its ACKs are delayed (`TCP_DELACK_MIN`, 40 ms, less what
/// its timer may be early by).
pub const DELAYED_ACKS_US: u32 = 30_000;

/// A receiver that is not known to be right behind the tap was silent for this part of the time by which its ACKs are late.
pub const HELD_SILENCE_PART: i64 = 2;

/// A zero window for less than this, in nanoseconds, means a slow reader, not one that stopped: twice Linux's least
/// interval between window probes (`TCP_RTO_MIN`, 200 ms).
pub const STOPPED_NS: i64 = 400_000_000;

/// The part of a stretch that a closed window has to fill for the reader to have stopped.
pub const STOPPED_SHARE: f64 = 0.9;

/// From this part of the time that a queue adds to RTTs, ACKs waited in it alone: if data waits too, its own link is full.
pub const ACKS_WAY_PART: (u32, u32) = (4, 5);

/// Below this part of the time that a queue adds to RTTs, data was punctual: it did not wait in that queue.
pub const PUNCTUAL_PART: u32 = 4;

/// Below this part, only the way of the ACKs is left.
pub const PUNCTUAL_SURELY_PART: u32 = 8;

/// A window below this part of the largest one before has shrunk; below this part of the largest one after, it will
/// grow.
pub const SHRUNK: f64 = 0.75;

/// One that had grown by half before has no reason to shrink at all but data that waits to be read.
pub const SHRUNK_AFTER_GROWTH: f64 = 0.9;

/// A window that closes below this part of its largest is being filled by unread data.
pub const CLOSING: f64 = 0.25;

/// A window that grew by half since the stretch before was small then because it was young.
pub const YOUNG: f64 = 2.0 / 3.0;

/// Below this part of the peak rate, a queue and a used-up window together mean that the reader sets the pace.
pub const BELOW_PEAK: f64 = 0.8;

/// A window larger than this, in bytes, may be one that ran into the 65,535 of an unscaled field.
pub const LARGE_UNSCALED: u32 = 32_000;

/// From this part of the waits that an ACK ended, a full send buffer lets the writer continue. An application's own
/// writes are not tied to ACKs.
pub const CLOCKED_BY_ACKS: f64 = 0.7;

/// The most payload that a grant of credit takes: a WINDOW_UPDATE of HTTP/2 has 13 bytes (RFC 9113, section 6.9), two of them
/// in a TLS record about 50, SSH's window adjust (RFC 4254, section 5.2) in its packet up to 84.
pub const CREDIT_BYTES: u32 = 90;

/// The least that a grant of credit lets out, in full segments, of Ethernet at most: less may be an answer.
pub const CREDIT_SEGMENTS: u32 = 8;

/// If all that was sent had arrived before, a few bytes that let out less than this may be a request: the smallest window in
/// wide use is Dropbear's, of 24,576 bytes (`DEFAULT_RECV_WINDOW`).
pub const CREDIT_ALONE_BYTES: i64 = 20_000;

/// And so may more bytes than SSH's window adjust usually has: 32 in blocks of AES, and a MAC of 32 (hmac-sha2-256).
pub const CREDIT_ALONE_MESSAGE: u32 = 64;

/// No more than this many windows are delivered in an RTT: one, and a part of the next where ACKs come in bursts.
pub const BEYOND_WINDOW: f64 = 1.5;

/// A window closes again and again if it does in one of so many stretches, ...
pub const CLOSED_PART: usize = 5;

/// ... so often at least.
pub const CLOSED_TIMES: usize = 3;

/// Data waits for the reader if less than this part of what the window lets through in each RTT is delivered.
pub const FAR_BELOW_WINDOW: f64 = 0.5;

/// A window is the same for many RTTs if it is in three quarters of this many before and after. A reader that sets the pace
/// makes it vary.
pub const SAME_WINDOW_REACH: usize = 8;

/// ... and differs by a segment at most, or by this part: a kernel offers whole units of the window's scale.
pub const SAME_WINDOW_PART: u32 = 8;

/// Far from the sender, a window counts as nearly used up within so many segments of its end, of which an ACK answers
/// two ...
pub const EDGE_SEGMENTS: u32 = 4;

/// ... or within this part of it, as some ACKs answer more.
pub const EDGE_PART: u32 = 32;

/// A program that had everything for this part of the RTT before its payload came, and for so many microseconds, answers what it
/// got. Credit is given as data is read: two reads of a busy program are milliseconds apart.
pub const ANSWER_PART: u32 = 8;
pub const ANSWER_LEAST_US: u32 = 5_000;

/// A window of the application slides if a grant lets out no more than this part of what is in flight.
pub const SLIDING_PART: i64 = 2;

/// No send buffer holds less than two segments (`SOCK_MIN_SNDBUF`, 6.18).
pub const LEAST_BUFFERED_SEGMENTS: u32 = 2;

/// Deliveries without a pause of a quarter of an RTT are paced evenly.
pub const EVEN_GAP_PART: u32 = 4;

/// Segments that leave one by one have no longer gap than this many of the mean one.
pub const LATEST_GAP: f64 = 1.5;

/// The gap between two bursts of full segments is less than this part of the shortest RTT, if a shaper lets them out: with
/// longer ones, a program may write when all is acknowledged.
pub const STEP_PART: (u32, u32) = (2, 3);

/// From this part of the new data, its trigger counts as the sender's trigger. Measured next to the sender: 0.86 and
/// more for true triggers, 0.15 and less for others.
pub const SET_OFF: f64 = 0.5;

/// If this part of the new data leaves within a quarter of the time between ACKs, or in a burst behind such data, ACKs
/// trigger it; by chance, a quarter would, and of two segments for each ACK that leave evenly at most one does. Measured next to stacks in processes and on a slow CPU: 0.79 to 0.99; next to programs that write by
/// themselves: 0.06 to 0.44.
pub const REACTS: f64 = 0.7;

/// From this part of the new data, payload of the other end triggered the sender. The first part of an answer longer
/// than the congestion window is triggered by the request, the rest by ACKs.
pub const SET_OFF_BY_PAYLOAD: f64 = 0.8;

/// Payload of the other end that lets out this many bursts within an RTT is credit, and no request ...
pub const GRANTS: u32 = 2;

/// ... if the sender waited for it for this part of the time, and for ACKs alone hardly ever.
pub const GRANTED_TIME: f64 = 0.4;

/// A flow runs on credit if payload of the other end ended so many waits or more.
pub const TELLING_GRANTS: u64 = 10;

/// Payload has to have ended this part of the waits that payload or an ACK ended, where some ACK is near by chance: from afar, or
/// in pieces of a window of the application that is known to the byte.
pub const GRANTED_MOSTLY: f64 = 0.7;

/// From so many times the shortest RTT on, the RTT in the time of a cause is another one than the path's: its way became
/// longer, or others' queues stand on it.
pub const FAR_LONGER_RTT: f64 = 1.5;

/// What is in flight has a ceiling if it is seldom more than this part of what it usually is: seen from afar, a grant or
/// an ACK more or less is under way.
pub const CEILING_SPREAD: (u32, u32) = (5, 4);

/// Or the same amount is in flight, to the byte, in one RTT of so many.
pub const EXACT_CEILING_PART: usize = 16;

/// If there is one such burst in an RTT, the sender waited for it for this part of the time.
pub const GRANTED_MOST: f64 = 0.6;

/// A fact that holds for this part of a cause's time excludes what it contradicts.
pub const EXCLUDES: f64 = 0.9;

/// Requests and credit are this many times shorter than what they let out; otherwise data goes both ways at once.
pub const ANSWERED_PART: u32 = 4;

/// Seen from afar, an ACK is near by chance: above this probability, nothing can be said.
pub const TELLING_CHANCE: f64 = 0.8;

/// Waits needed to tell whether ACKs end them.
pub const TELLING_WAITS: u32 = 20;

/// ACKs do not trigger the sender if they end no more than this part of the waits beyond those that chance explains.
pub const NO_CLOCK: f64 = 0.4;

/// From this part of the waits on, beyond chance, ACKs trigger a sender that is far from the tap.
pub const CLOCKED_FROM_AFAR: f64 = 0.8;

/// Programs whose writes leave the same amount in flight, to the byte, have up to 0.55.
pub const MOSTLY_CLOCKED_FROM_AFAR: f64 = 0.65;

/// How often in an RTT a sender's queue has to run empty before its application holds it: a full send buffer empties it
/// once or a few times, when its writer continues.
pub const OFTEN_EMPTIED: u32 = 5;

/// Segments of this part of the MSS may be full ones of a smaller path MTU: tunnels leave 0.85 and more, path MTU discovery
/// without ICMP begins at 0.7 (RFC 4821, section 7.2: 1024 bytes).
pub const NEARLY_FULL: f64 = 0.65;

/// Segments of the largest size seen, each without a push flag, that show this size to be a full segment's.
pub const LEAST_UNPUSHED: u8 = 8;

/// Those that show it of any size, from an end that does set push flags: the MSS was lowered behind the tap.
pub const MANY_UNPUSHED: u8 = 64;

/// A sender with a clock of its own keeps rate and flight within this part of their median. A stretch begins and ends with a
/// segment, of which an RTT has some tens.
pub const STEADY_SPREAD: f64 = 0.1;

/// Next to the sender, the rate at which data leaves shows a clock within this part. Of full segments, those of one
/// super-packet more or less.
pub const STEADY_DEPARTURES: f64 = 0.05;

/// For this part of its sending time at least. BBR probes for more in one RTT of eight, and drains in the next. A rate
/// learnt from a policer is tried again after 48 RTTs, which takes six or so (`bbr_lt_bw_max_rtts`, 6.18).
pub const STEADY_SHARE: f64 = 0.85;

/// Its path has no queue: for a fiftieth of its sending time at most, which is slow start's.
pub const STEADY_QUEUED_PART: i64 = 50;

/// It waited for ACKs with nothing to send for a tenth of that time at most.
pub const STEADY_WAITED_PART: i64 = 10;

/// A sender that repaired losses for longer than a fiftieth of its sending time learnt its rate from a policer
/// (`bbr_lt_bw_sampling`, 6.18).
pub const STEADY_REPAIRED_PART: i64 = 50;

/// A bunch that comes after an ACK within this part of the time since the bunch before was triggered by it.
pub const LET_IN_PART: i64 = 32;

/// Bunches are at one pace within this part: timers of a host are late by some tens of microseconds.
pub const PACE_SPREAD: f64 = 0.03;

/// Again and again ...
pub const PACE_BUNCHES: u32 = 16;

/// ... with so few in a row that are not, and this part of all that are ...
pub const PACE_MISSES: u32 = 3;
pub const PACE_SHARE: f64 = 0.8;

/// ... for so many RTTs: BBR probes for more in one of eight.
pub const PACE_ROUND_TRIPS: i64 = 16;

/// Of many bunches, nearly all at one pace, fewer RTTs are enough: BBR's cycle has eight (`CYCLE_LEN`, 6.18).
pub const PACE_MANY_BUNCHES: u32 = 100;
pub const PACE_FEW_ROUND_TRIPS: i64 = 10;

/// A clock of the host changes its pace for less than this part of them: BBR's does so for a quarter.
pub const PACE_CHANGED_PART: u32 = 16;

/// The mean rate of that time is at least this part of the pace: a sender that something else holds pauses.
pub const PACE_KEPT: f64 = 0.8;

/// The largest of them is this much larger than the smallest: more than [`PACE_SPREAD`] explains.
pub const PACE_SIZES: (u64, u64) = (8, 9);

/// Bunches in a block whose rate is compared with that of other blocks.
pub const BLOCK_BUNCHES: u32 = 16;

/// The blocks that a clock sends are alike within this part: one timer late by 50 us in ten milliseconds. Of those that ACKs
/// or a congestion control let out, few are.
pub const BLOCK_SPREAD: f64 = 0.005;

/// A block at less than this part of the rate before has a pause in it, in which nothing was there to send.
pub const BLOCK_PAUSED: f64 = 0.5;

/// So many blocks of one rate are no chance ...
pub const BLOCKS: u32 = 6;

/// ... with so few in a row, and no more than one in so many, that are not.
pub const BLOCKS_OFF: u32 = 2;
pub const BLOCKS_MISSED_PART: u32 = 5;

/// A sender with a clock of its own may send into a queue of others that is no longer than this part of the shortest RTT.
pub const CLOCK_QUEUE_PART: u32 = 4;

/// With data in flight all the time, BBR's own pace looks the same. It is about as fast as the path.
pub const PACE_BELOW_PEAK: f64 = 0.8;

/// By less than this part, the RTTs of a flow of few segments vary without a queue.
pub const DISTURBING_PART: u32 = 4;

/// A program that writes at a rate of its own keeps rate and flight within this part of their median, far from the tap,
/// where few segments belong to one RTT or the next.
pub const WRITTEN_SPREAD: f64 = 0.25;

/// It is seen for this many RTTs at least: Reno's window grows by as many segments.
pub const WRITTEN_RTTS: i64 = 16;

/// A queue stands for a tenth of its time at most.
pub const WRITTEN_QUEUED_PART: i64 = 10;

/// In every second RTT, a short segment ends a write: behind it, the sender's queue is empty. (Nagle's algorithm joins the
/// ends of most short writes.)
pub const WRITTEN_ENDS_PART: i64 = 2;

/// It has to be seen for this many RTTs, more than a congestion window takes to grow by [`STEADY_SPREAD`] ...
pub const STEADY_ROUND_TRIPS: i64 = 10;

/// ... and for this long, in nanoseconds.
pub const STEADY_LEAST_NS: i64 = 300_000_000;

/// A pause of the sender outlasts each of the path by this factor at least: what the path delivers meanwhile had queued.
pub const OUTLASTED: u32 = 3;

/// By this factor, the path had a queue even if it was empty for a moment.
pub const OUTLASTED_BY_FAR: u32 = 10;

/// From this part of the peak rate on, an evenly paced flow keeps the bottleneck busy, as BBR intends.
pub const AT_PEAK: f64 = 0.85;

/// From this part of the peak rate on, no time is lost to the repair of losses.
pub const REPAIRED_AT_FULL_RATE: f64 = 0.8;

/// The peak rate is exceeded for this part of the sending time: one burst of ACKs is no rate.
pub const PEAK_TIME_PART: i64 = 20;

/// Rates are means over so many RTTs if the sender sends all the time.
pub const RATE_STRETCHES: usize = 3;

/// A window is beyond what fills the path if this much more was in flight than with the same rate before.
pub const BEYOND_FULL_PART: (u32, u32) = (5, 4);

/// RTTs with the same data in flight, to the byte, that show a ceiling: a congestion window grows by a segment or more
/// in so many (RFC 5681, section 3.1).
pub const CEILING_RTTS: usize = 8;

/// What is in flight is at its ceiling from this part of it on.
pub const AT_CEILING_PART: (u32, u32) = (7, 8);

/// From afar, it is in flight to the byte for this part of the time with deliveries ...
pub const CEILING_SHARE: f64 = 0.7;

/// ... and all was acknowledged for no more than one part in so many: a program that writes as much each time pauses.
pub const CEILING_IDLE_PART: i64 = 16;

/// A window field from this on, in bytes, may be full: 65,535 but for a segment of Ethernet.
pub const LEAST_FULL_FIELD: u32 = 64_000;

/// A sender that waits for ACKs sends nothing after this part of a long pause between them, nor when a writer that the last one
/// woke has run.
pub const KEPT_STILL_PART: i64 = 4;

/// It is still for no more than so many times as long as ACKs are, in most RTTs.
pub const STILL_LONGER: (u32, u32) = (5, 4);

/// Long pauses between ACKs that show whether the sender waits for them, ...
pub const TELLING_PAUSES: u32 = 8;

/// ... if it is still in so many times as many as it is not: by chance, a program would be in a quarter of them at most.
pub const STILL_TIMES: u32 = 8;

/// The segments of the shortest super-packet (`tcp_min_tso_segs`, 6.18).
pub const CEILING_SEGMENTS: u32 = 2;

/// A buffer takes no more than this many times what has filled it: less are other sizes of segments, whose overhead counts.
pub const EXCEEDED_PART: (u32, u32) = (3, 2);

/// A queue makes the RTT this many times as long while losses are repaired: the link is busy, whatever rate it had before.
pub const LONG_QUEUE_RTTS: u32 = 3;

/// RTTs in a row with about the same in flight, to one part in [`EXCEEDED_ALIKE_PART`]: more than slow start has.
pub const EXCEEDED_RTTS: u32 = 3;

/// See [`EXCEEDED_RTTS`].
pub const EXCEEDED_ALIKE_PART: u32 = 10;

/// Nagle's algorithm counts if it held the sender for one part in so many of the time: less may be writes that happened to
/// follow ACKs.
pub const NAGLED_PART: i64 = 10;

/// So many short segments beside another one in flight ...
pub const NAGLE_OFF: u32 = 3;

/// ... and this part of all, show that Nagle's algorithm is off: after ACKs that the capture missed, it seems so now and then.
pub const NAGLE_OFF_PART: u32 = 10;

/// Stretches before and after one that show whether a buffer is refilled again and again.
pub const REFILL_REACH: usize = 4;

/// Fewer waits for ACKs show no full send buffer.
pub const LEAST_REFILLS: u32 = 3;

/// A sender with a clock of its own, such as pacing, pauses for less than this part of an RTT.
pub const DRY_PART: i64 = 8;

/// Bursts that show what begins them.
pub const TELLING_BURSTS: u32 = 4;

/// So many times as many bursts began with a burst of ACKs as at other times: those fall within an eighth of an RTT after its
/// first ACK by chance, once in eight.
pub const BEGUN_BY_ACKS_TIMES: u32 = 4;

/// Refills that are no coincidence.
pub const REFILLS: usize = 4;

/// After a wait for the buffer, no more than this part of what was in flight is left, with the first new segment: a writer
/// wakes when a third is free.
pub const REFILLED_PART: (u32, u32) = (3, 4);

/// Or it is the same after each wait but for this part: one of the segments of an ACK more or less ...
pub const ONE_LEVEL_PART: f64 = 40.0;

/// ... after this many of the waits.
pub const REFILLS_TO_ONE_LEVEL: usize = 6;

/// ... and hardly one in so many ended otherwise.
pub const SELDOM_OTHERWISE: u32 = 8;

/// The part of the waits that an ACK ended.
pub const REFILLED_BY_ACKS: f64 = 0.85;

/// The sender waited for at least one in so many of the time: what it sent in between was held by other limits for less
/// than that.
pub const REFILL_WAITED_PART: i64 = 4;

/// What arrives at a rate between these parts of the capacity fills the path: ACKs delimit a stretch, and few segments
/// more or less belong to it.
pub const AT_CAPACITY: (f64, f64) = (0.85, 1.1);

/// Segments of a write so long that it says nothing of the rate at which a program writes.
pub const LONG_WRITE_SEGMENTS: u32 = 16;

/// A rate over less time than this, in nanoseconds, is a burst.
pub const LEAST_RATE_NS: i64 = 1_000_000;

/// A rate over no more than this many segments is a burst.
pub const LEAST_RATE_SEGMENTS: i64 = 4;

/// The time between two stretches of a full send buffer that are no more than this many apart belongs to the buffer:
/// the ACKs of a burst come after an RTT, which is a stretch.
pub const SEND_BUFFER_REACH: usize = 2;

/// A first window smaller than this part of the one in the SYN was scaled by another factor than the sender knows: by
/// three bits or more, of which Linux's window has grown by two of the first segments (`tcp_grow_window`, 6.18). Of two
/// windows of one host none differs by as much.
pub const SAME_SCALE: u32 = 6;

/// Steps from stretch to stretch, segments that each may rise, and segments that all have to rise: a series that chance
/// puts in order once in 5,040 times.
pub const CLIMBING_STEPS: usize = 6;
/// Steps looked at, either way.
pub const CLIMBING_MOST: usize = 16;
/// See [`CLIMBING_STEPS`]. A stretch lasts one or two RTTs.
pub const CLIMBING_STEP: u32 = 2;
/// See [`CLIMBING_STEPS`].
pub const CLIMBED: u32 = 3;
/// The RTT grows by less than this meanwhile.
pub const CLIMBING_RTT: (u32, u32) = (9, 8);

/// Bursts are equal if the smaller has three quarters of the larger at least: a congestion window that is halved, or grows as
/// in slow start, differs by more.
pub const EQUAL_BURSTS_PART: (u32, u32) = (3, 4);

/// Segments that have to end at the same part of the window before the sender is taken to scale it by another factor.
pub const OTHER_SCALE_SEGMENTS: u32 = 4;

/// And this part of the short segments: the last one of a write may end elsewhere.
pub const OTHER_SCALE_PART: (u32, u32) = (4, 5);

/// A window of this many segments is not filled by chance; one of one or two may be.
pub const CHANCE_SEGMENTS: u32 = 4;

/// Losses that have to follow a rule before it counts.
pub const RULE_LOSSES: u32 = 3;

/// If four of five retransmissions were of arrived segments that the host did not accept, that explains all of them:
/// the rest were lost on the path.
pub const NOT_ACCEPTED_PART: (u64, u64) = (4, 5);

/// One loss behind the tap for so many before it, at most: those before it are then two thirds or more.
pub const LOST_BEFORE_TAP: u32 = 2;

/// No more than this part of the losses may be spurious retransmissions: the data had arrived.
pub const RULE_SPURIOUS: u32 = 4;

/// How improbable it has to be that chance struck only beyond the bare window field.
pub const RULE_CHANCE: f64 = 1e-4;

/// A firewall has seen later ACKs than the sender, so it passes some segments that seem to be beyond the window: up to
/// this many for each that it drops.
pub const RULE_LET_THROUGH: u32 = 3;

/// Segments that the tail of a flight has at most: where more are retransmitted behind a probe of the last one, much more than
/// the tail was lost.
pub const TAIL_SEGMENTS: u32 = INITIAL_WINDOW_SEGMENTS;

/// The MSS that every host and path takes (RFC 9293, section 3.7.1): what is smaller fits every MTU.
pub const DEFAULT_MSS: u32 = 536;

/// Retransmissions after which an end counts as gone: an answer may be late, and the recording may end, but not after
/// so many.
pub const LEAST_TRIES: u32 = 3;

/// Data that had no effect for so long was not accepted: three retransmissions of an unanswered segment take 1.4 s
/// with the shortest timeout (200 ms, `TCP_RTO_MIN`, 6.18, doubled each time).
pub const NO_EFFECT_NS: i64 = 1_000_000_000;

/// Once data is outstanding for so many initial timeouts, the timer has expired three times (1 + 2 + 4; RFC 6298, section
/// 5.5), and the data was retransmitted as often.
pub const TIMEOUTS_UNTIL_THIRD: i64 = 7;

/// A pause before the other end fell silent is worth a statement from here on: no middlebox forgets a connection sooner.
pub const PAUSE: Duration = Duration::from_secs(1);

/// An end that sent data less than this before, in nanoseconds, was still sending.
pub const STILL_SENDING_NS: i64 = 1_000_000_000;

/// RTTs needed to tell that a window is stuck below the path's rate: the first few belong to slow start.
pub const STUCK_AFTER: usize = 3;

/// Without any growth for so many RTTs, the window does not grow back from a loss ...
pub const UNGROWN_RTTS: i64 = 32;

/// ... if the data in flight differs by no more than this part, or a segment, ...
pub const UNGROWN_PART: u32 = 32;

/// ... for longer than CUBIC takes to cross that much around the window of the loss, by this factor.
pub const UNGROWN_PLATEAUS: f64 = 1.25;

/// CUBIC's constant C, in segments per cubic second (RFC 9438, section 5).
pub const CUBIC_C: f64 = 0.4;

/// Losses repaired in less than this part of the time may be those of a full queue.
pub const SELDOM_PART: i64 = 20;

/// New segments that are not ECN-capable needed to show that the field is cleared on the path.
pub const ECN_SEGMENTS: u64 = 10;

/// Routes of one path differ by fewer hops than this.
pub const ROUTES_DIFFER_BY: u8 = 5;

/// A packet whose TTL differs by this much from that of so many others, all alike, took another route. One hop is what a
/// router on the way to a second address of the host takes.
pub const OTHER_ROUTE_BY: u8 = 2;
pub const CONSTANT_TTL_PACKETS: u64 = 16;

/// An end that answers in less, in nanoseconds, is too near for anything to be nearer: hosts and wireless links are late by
/// some milliseconds.
pub const LEAST_DISTANCE_NS: i64 = 10_000_000;

/// A host answers a packet that passes its own tap in tens of microseconds, once at least; from the next switch on, it takes longer.
pub const OWN_TAP_NS: i64 = 100_000;

/// What answers in less than this part of an end's shortest answer is nearer than that end.
pub const FAR_SOONER: i64 = 4;

/// A silence shorter than this is not worth a statement: it is below what a report's times resolve.
pub const SHORTEST_SILENCE: Duration = Duration::from_millis(1);

/// A capture that misses this part of the data shows nothing for certain but how a connection opened and ended.
pub const MISSES_MUCH: f64 = 0.05;

/// What held the sender for this part of the time made the transfer as fast as it was.
pub const NEARLY_ALL_TIME: f64 = 0.9;

/// A window explains a rate that is lower by no more than this factor; a higher bound explains nothing.
pub const EXPLAINS_WITHIN: f64 = 4.0;

/// In a longer silence at the end, a sender that was cut off would have retransmitted, in vain: the first timeout without an RTT
/// sample (RFC 6298, section 2.1).
pub const CUT_OFF_SILENCE: Duration = Duration::from_secs(1);

/// Until how long after a capture began amid a transfer, in nanoseconds, data that was acknowledged may have been sent before: an RTT,
/// of a long path.
pub const BEGAN_AMID_NS: i64 = 1_000_000_000;
