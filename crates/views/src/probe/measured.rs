//! The results of each procedure, as JSON.

use crate::mirror::{each, mirrored};
use slowpath_probe::measure::{self, available};
use slowpath_probe::real::bulk;

mirrored! {
    /// The direction of a train.
    enum Direction of measure::Direction {
        /// From here to the far end.
        There,
        /// From the far end to here.
        Back,
    }

    /// The result of the echoes.
    struct RoundTrip of measure::RoundTrip {
        /// Echoes sent.
        echoes: u32,
        /// Of these, those that did not come back.
        lost: u32,
        /// The shortest, in nanoseconds: the path without its queues. The far end's turnaround is taken off. Null if none came back.
        min_ns: Option<u64>,
        /// The median, in nanoseconds.
        median_ns: Option<u64>,
        /// The median difference between consecutive RTTs, in nanoseconds.
        jitter_ns: Option<u64>,
    }

    /// The result of pairs and trains.
    struct Capacity of measure::Capacity {
        /// The capacity of the bottleneck link, in bit/s of IP packets; null if too little arrived to say. The sender's own rate is a
        /// link of the path too.
        rate: Option<u64>,
        /// The method of measurement.
        method: Method,
        /// The mode of pairs at or above the result of trains, in bit/s; null if they have none, or were handed over
        /// together.
        pairs: Option<u64>,
        /// The asymptotic dispersion rate: the median of trains, in bit/s. It lies between the available bandwidth and
        /// the capacity.
        trains: Option<u64>,
        /// Packets in a train.
        train_packets: u32,
        /// Whether packets were handed over several at a time, so that pairs say nothing.
        handed_over_together: bool,
    }

    /// What the capacity was measured by.
    enum Method of measure::Method {
        /// Pairs and trains, which agree; trains are more precise.
        Both,
        /// The mode of pairs, above the result of trains: cross traffic lay between their packets.
        Pairs,
        /// Trains, since pairs were handed over together, do not agree with each other, or are too close together.
        Trains,
    }

    /// The available bandwidth.
    struct Available of available::Available {
        /// The lower end of the range, in bit/s.
        low: u64,
        /// The upper end of the range, in bit/s; `bound` says what set it.
        high: u64,
        /// What the upper end is.
        bound: Bound,
        /// Rates that were available at some times and not at others, in bit/s; null if there are none.
        grey: Option<[u64; 2]>,
        /// The loss at a low rate, in thousandths.
        lost_anyway_permille: u32,
        /// The fleets, in the order in which they were sent.
        fleets: Vec<Fleet> => each,
    }

    /// What the upper end of the range is.
    enum Bound of available::Bound {
        /// Above it, streams made their delays grow: the path's.
        Path,
        /// The sender could send no faster, and what it sent passed: there may be more.
        Sender,
        /// No faster was allowed, and what was sent passed: there may be more.
        Cap,
        /// The receiver's socket had no room for faster streams: there may be more.
        Receiver,
    }

    /// Streams of one rate.
    struct Fleet of available::Fleet {
        /// The median rate that its sender reached, in bit/s.
        rate: u64,
        /// Streams whose delays grew, or that lost too much.
        growing: u32,
        /// Streams whose delays did not grow.
        staying: u32,
        /// Streams without a clear trend.
        unclear: u32,
        /// The result.
        verdict: Verdict,
    }

    /// The result of a fleet.
    enum Verdict of available::Verdict {
        /// More is available.
        Below,
        /// Less is available.
        Above,
        /// At times more is available, at times less.
        Grey,
        /// The receiver's socket lost so many of its packets that they say nothing.
        Overflowed,
    }

    /// All rates.
    struct Ramp of measure::Ramp {
        /// The steps, from the slowest to the fastest.
        steps: Vec<Step> => each,
        /// The lowest rate at which packets were lost, in bit/s, beyond what is lost at the slowest; null if at none.
        loss_begins: Option<u64>,
        /// The highest received rate, in bit/s.
        most_received: Option<u64>,
    }

    /// One rate.
    struct Step of measure::Step {
        /// The target rate, in bit/s of IP packets.
        asked: u64,
        /// The sent rate, in bit/s; null where that is not known.
        sent: Option<u64>,
        /// The received rate, in bit/s.
        received: Option<u64>,
        /// Packets that were sent.
        packets: u32,
        /// Packets that the sender's own queue refused.
        refused: u32,
        /// Packets that were sent and did not arrive.
        lost: u32,
        /// Of these, those that the receiver's socket had no room for; null where that is unknown.
        overflowed: Option<u32>,
        /// Packets that arrived after later ones.
        overtaken: u32,
        /// The limit.
        weakest: Weakest,
    }

    /// The limit of a step.
    enum Weakest of measure::Weakest {
        /// None: packets were sent at the target rate, and arrived at it.
        None,
        /// The sender: it could not send that fast, or its own queue refused packets.
        Sender,
        /// The receiver: its socket had no room for packets that had come.
        Receiver,
        /// The path: packets were lost between the ends, or came more slowly than they were sent.
        Path,
    }

    /// A transfer by TCP.
    struct Transfer of bulk::Transfer {
        /// The direction of its data.
        direction: Direction,
        /// Bytes that the receiver read.
        bytes: u64,
        /// From the receiver's first read to its last, in nanoseconds.
        lasted_ns: u64,
        /// Bytes over that time, in bit/s; null if no time passed.
        rate: Option<u64>,
        /// The sender's smoothed RTT at the end, in nanoseconds.
        rtt_ns: u64,
        /// The shortest that the sender has seen, in nanoseconds.
        min_rtt_ns: u64,
        /// Retransmitted segments.
        retransmitted: u64,
        /// The sender's congestion window at the end, in bytes.
        cwnd_bytes: u64,
        /// For how long it had something to send, in nanoseconds (`tcpi_busy_time`).
        busy_ns: u64,
        /// Of that, how long the receive window held it (`tcpi_rwnd_limited`).
        rwnd_limited_ns: u64,
        /// Of that, how long its send buffer held it (`tcpi_sndbuf_limited`).
        sndbuf_limited_ns: u64,
    }
}
