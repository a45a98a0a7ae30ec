//! Those of policers: what the losses of a token bucket look like.

/// Intervals between losses needed to tell whether their rates are the same.
pub const POLICER_CYCLES: usize = 3;

/// How similar the rates between losses are: mean deviation by mean. Policers have up to 0.05, random losses 0.06 and more.
pub const POLICER_CYCLE_SPREAD: f64 = 0.06;

/// If a sender leaves no pauses, all of the time looks like the time between losses, and has to be more alike.
pub const POLICER_EVEN_SPREAD: f64 = 0.03;

/// From this part of the losses, what was in flight before each arrived with a pause, so that the link had room.
pub const POLICER_PAUSED: f64 = 0.75;

/// Intervals between losses needed if nothing else shows that the link has room, or that it is full: a radio link leaves pauses
/// too, and its rate varies.
pub const POLICER_ROOM_CYCLES: usize = 5;

/// Losses less than this many RTTs apart are of one flight, and of its repair.
pub const POLICER_ONE_FLIGHT: (i64, i64) = (7, 2);

/// Of fewer intervals, the rates are the same by chance more often, and must be more similar: by the square root of how many.
pub const POLICER_MANY_CYCLES: f64 = 12.0;

/// The peak rate exceeds that rate by this factor at least: 1.2 and more measured at policers, up to 1.11 on full
/// links.
pub const POLICER_ABOVE_RATE: f64 = 1.15;

/// With a queue for more than a fifth of the flow's life, a full queue explains the losses, not a policer.
pub const POLICER_QUEUED_PART: i64 = 5;

/// Losses needed to tell whether a token bucket explains them.
pub const BUCKET_LOSSES: usize = 5;

/// How improbable it has to be that losses were by chance where the bucket was emptiest, as a negative logarithm: once in
/// 3 million, since some hundred rates and depths are tried. Random losses have up to 11.
pub const BUCKET_EVIDENCE: f64 = 15.0;

/// From which evidence on one of the rates between those tried first may explain the losses better. Half of what is asked of it.
pub const BUCKET_WORTH: f64 = 7.5;

/// A rate that explains the losses worse by no more than this is as good: the best by a factor of 2.7 in probability.
pub const BUCKET_AS_GOOD: f64 = 1.0;

/// A sender with more to send goes on within so many RTTs, and does not wait for a probe (2 RTTs, RFC 8985, section 7.2).
pub const BUCKET_GOES_ON: f64 = 1.5;

/// Segments late in a burst find this part of the bucket used, or more.
pub const BUCKET_LATE_PART: f64 = 0.6;

/// Those early in a burst find no more than this part of it used.
pub const BUCKET_EARLY_PART: f64 = 0.2;

/// By stamps of a clock of 1 ms, one that delays by less than this, in microseconds, does not.
pub const BUCKET_STAMPED_US: f64 = 2_000.0;

/// Segments that a bucket seen from behind holds at least.
pub const BUCKET_SEGMENTS: u32 = 3;

/// Segments of a burst pass within this part of an RTT of each other.
pub const BUCKET_BURST_PART: u32 = 8;

/// A bucket fills within so many RTTs. Larger ones show in the rate between losses ([`POLICER_CYCLES`]), but on short paths: ...
pub const BUCKET_RTTS: f64 = 2.0;

/// ... there the evidence has to be this strong, and no more than two in three of those that it would drop delivered.
pub const BUCKET_SURE: f64 = 30.0;

/// A policer's rate is not one at which losses depend so clearly on a bucket that fills this much faster.
pub const BUCKET_REFUTES: f64 = 1.5;

/// A queue that delays by less than this, in microseconds, does not show.
pub const BUCKET_QUEUE_US: f64 = 500.0;

/// Segments late in a burst are delayed by less than the queue would delay them, by this factor at least: 4.5 and more
/// measured at policers, at most 1.3 in queues.
pub const BUCKET_DELAYS_LESS: f64 = 3.0;

/// Where a bucket is taken that was not full at first, they are delayed by less than this part of the RTT.
pub const BUCKET_FLAT_PART: f64 = 8.0;

/// By no less than the queue would delay them, but for this factor, if it is a queue.
pub const BUCKET_DELAYS_AS_MUCH: f64 = 1.5;
