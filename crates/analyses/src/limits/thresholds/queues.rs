//! Those of RTTs: when they are long by a queue, and when for other reasons.

/// An RTT includes a queue if it exceeds the shortest by an eighth, and by 0.3 ms at least: less is scheduling jitter.
pub const QUEUE_RTT_PART: u32 = 8;

/// See [`QUEUE_RTT_PART`]; in microseconds.
pub const QUEUE_LEAST_US: u32 = 300;

/// A queue of more than 10 ms is one that a user notices; if it is longer than the path itself on average, it stands
/// ([`STANDING_RTTS`]). In microseconds.
pub const STANDING_LEAST_US: u32 = 10_000;

/// A standing queue holds more than this many base RTTs: one that is as long as the path varies by as much.
pub const STANDING_RTTS: f64 = 1.2;

/// The flight grows as in slow start if it grows by a fifth or more per stretch: slow start doubles it per RTT,
/// congestion avoidance adds a segment.
pub const GROWS: (u32, u32) = (6, 5);

/// The initial window (RFC 6928). A flight that stays below it was never limited by a congestion window that grew.
pub const INITIAL_WINDOW_SEGMENTS: u32 = 10;

/// The data in flight has to grow by this part, from one half of the time between losses to the other, before it means
/// anything that no more was delivered.
pub const GROWN: f64 = 0.08;

/// With room on the path, the rate grows with the data in flight; on a full path, not at all.
pub const BROUGHT: f64 = 0.35;

/// It has to show in one part in so many of the time that a congestion window seems to hold the sender.
pub const GROWTH_TELLING_PART: f64 = 3.0;

/// RTTs needed between two losses: halves of fewer consist of a few bursts each.
pub const GROWTH_RTTS: f64 = 8.0;

/// Full segments in flight on average whose growth shows: of fewer, one more is a tenth or more.
pub const GROWTH_SEGMENTS: f64 = 10.0;

/// A flight of slow start is this much larger than the one before: each ACK lets out what it acknowledges and a segment for
/// each one or two.
pub const DOUBLED: (f64, f64) = (1.4, 2.2);

/// Where a stretch has more RTTs than this, as in a local network, its largest flight is not that of each.
pub const STRETCH_RTTS: f64 = 4.0;

/// From this part of the rate in the time with a reader, one who does not read holds nobody up.
pub const AS_IF_READ: f64 = 0.9;

/// A reader that reads for less than this part of the time does not show at what rate the path delivers to one.
pub const READ_PART: i64 = 5;

/// A queue delivers without a pause of a third of an RTT, unless it holds more packets of other flows.
pub const QUEUE_GAP_PART: u32 = 3;

/// Segments in flight from which on a pause of a third of an RTT is longer than those between segments.
pub const TELLING_FLIGHT: u32 = 16;

/// A path becomes longer at once, and a queue grows: in one of this many stretches before, an RTT was no longer ...
pub const ABRUPT_STRETCHES: usize = 3;

/// ... than this part of the new one.
pub const ABRUPT_PART: (u32, u32) = (3, 4);

/// On a path that has become longer, pauses become shorter as more is in flight: a sixth of an RTT. Of several flows in one
/// queue, each has shorter ones.
pub const STILL_GAP_PART: u32 = 6;

/// Stretches needed to tell jitter from a queue: with fewer, chance alone correlates them by [`LASTING`].
pub const JITTER_STRETCHES: usize = 16;

/// What a queue adds to one RTT and to the next correlates by more than this: at most a few RTTs fill or drain it.
pub const LASTING: f64 = 0.3;

/// So many RTTs that are correlated by less than this have nothing to do with each other.
pub const JITTER_SURE_STRETCHES: usize = 200;
pub const LASTING_SURELY: f64 = 0.1;

/// Rates within this part are one, and that of a link ...
pub const ONE_RATE_SPREAD: f64 = 0.06;

/// ... if so many are.
pub const ONE_RATE_PART: f64 = 0.4;

/// Jitter of batches shows in pauses of at least this part of the RTTs.
pub const PAUSED: f64 = 0.4;

/// Segments in flight that are few: a congestion window as small as it gets, and one more (RFC 3168, 6.1.2).
pub const FEW_IN_FLIGHT: u32 = 3;

/// Their ACKs are uneven if one pause between them is longer than the mean by this much, for this part of the time.
pub const UNEVEN_PART: (i64, i64) = (4, 3);
pub const UNEVEN_SHARE_PART: i64 = 4;

/// The RTT of few segments has to be known for this part of the time with few in flight.
pub const FEW_MEASURED_PART: i64 = 3;

/// One ACK for so many segments is not that of a queue ...
pub const ANSWERED_SEGMENTS: i64 = 8;

/// ... that would let them out so far apart, in microseconds: no receiver waits that long to take several for one
/// (`gro_flush_timeout`, some tens of µs where it is set) ...
pub const APART_US: i64 = 1_000;

/// ... if it happened so often ...
pub const ANSWERED_TIMES: usize = 5;

/// ... and for this part of the time with such RTTs. Where most ACKs are lost, a few RTTs look like that.
pub const ANSWERED_SHARE: f64 = 0.8;

/// A transfer of so many segments, all full but the last, in which ...
pub const NEVER_SHORT_SEGMENTS: i64 = 100;

/// ... so many RTTs or more had retransmissions, and ...
pub const NEVER_SHORT_REPAIRS: usize = 5;

/// ... which paused for this part of the time, did not pause for its program.
pub const NEVER_SHORT_PAUSED_PART: i64 = 5;

/// RTTs are constant if they stay within this part of one: a queue's other contents change them by more.
pub const STILL_PART: u32 = 32;

/// They do not depend on what is in flight if that varies by this much ...
pub const FLIGHT_VARIES: (u32, u32) = (6, 5);

/// ... and they by no more than this part, but for one stretch in so many.
pub const RTT_VARIES_PART: u32 = 100;
pub const FLIGHTS_PART: usize = 8;

/// Nor if that varies by this much, and they by no more than [`STILL_PART`].
pub const FLIGHT_VARIES_MUCH: (u32, u32) = (2, 1);

/// Next to the receiver, an echo that waited for the sender's next data came behind a pause of this part of the wait at least.
pub const PAUSE_OF_WAIT: (u32, u32) = (3, 4);

/// Why RTTs were longer is asked of so many stretches or more: fewer do not tell.
pub const LONGER_STRETCHES: usize = 5;

/// A path has a new shortest RTT if RTTs come back to it in sixteen stretches at least, of which two may be left out at either
/// end.
pub const FLOOR_FEW: usize = 2;

/// For this part of the time from the first long one to the last ...
pub const STILL_SHARE: f64 = 0.7;

/// ... and for so many of its RTTs.
pub const STILL_RTTS: i64 = 8;

/// What RTTs are longer by is constant if it varies by no more than this part. In a full queue that several flows share, that is
/// so for less than half of the time.
pub const EXCESS_VARIES_PART: u32 = 24;

/// It is this long at least, in microseconds: hosts answer as much later by themselves.
pub const EXCESS_LEAST_US: u32 = 1_000;

/// It is seen in this part of the time with longer RTTs, with so many segments in flight that a pause of a quarter of the RTT is
/// longer than those between them.
pub const PAUSED_SHARE: f64 = 0.55;
pub const PAUSED_FLIGHT: u32 = 8;

/// Data is late by more than this, in microseconds, where the clocks that show it tick in milliseconds and drift apart.
pub const LATE_LEAST_US: u32 = 20_000;

/// A tick of such a clock, in microseconds (`TCP_TS_HZ`, 6.18).
pub const LATE_TICK_US: u32 = 1_000;

/// What more is in flight would have made a queue longer by so many times what lateness varied by.
pub const QUEUED_BY_FLIGHT: f64 = 2.0;
