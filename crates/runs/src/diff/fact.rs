//! What two captures can differ in, besides their time: facts with a unit and a resolution.

use slowpath_model::Vantage;

/// One fact of a flow's main direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// The shortest RTT of the path.
    Rtt,
    /// The mean RTT over ACKs.
    LoadedRtt,
    /// From SYN to the handshake's last ACK.
    Handshake,
    /// The largest payload of a segment.
    Mss,
    /// Both SYNs offered window scaling.
    WindowScaling,
    /// The shift of the receiver's window.
    WindowScale,
    /// Both SYNs permitted SACK.
    Sack,
    /// Both SYNs had timestamps.
    Timestamps,
    /// ECN was agreed on.
    Ecn,
    /// The receiver's window at its largest.
    Window,
    /// The part of the time in which that window was closed.
    WindowClosed,
    /// The most data in flight.
    InFlight,
    /// Segments that were lost.
    Lost,
    /// Episodes of loss recovery.
    Recoveries,
    /// Retransmission timeouts.
    Timeouts,
    /// Segments that were retransmitted though they had arrived.
    Spurious,
    /// Segments that were reordered.
    Reordered,
    /// Segments with the congestion mark.
    Marked,
    /// SYNs and SYN-ACKs that were retransmitted.
    SynRetransmitted,
    /// Payload of a segment as it was captured: TSO and GRO join several.
    CapturedSegment,
    /// The highest rate of delivery that was held.
    PeakRate,
    /// The rate that a policer lets through.
    PolicedRate,
    /// The rate to which the sending host holds itself.
    PacedRate,
    /// The rate while the receiving application read.
    ReadRate,
    /// The longest time without data.
    LongestPause,
    /// Payload of a flow.
    FlowData,
}

/// What a fact's number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits a second.
    Rate,
    /// A part of a whole, 0 to 1.
    Share,
    /// Events in all segments.
    Events,
    /// Whether, by flow.
    Flag,
    /// A number.
    Number,
}

/// Which taps show a fact alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// All.
    Anywhere,
    /// Those at one place: the sender's, the receiver's, or in between.
    AtOnePlace,
    /// Those next to the sender.
    AtSender,
}

/// Where a tap was, by what the end next to it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Next to the sender of the data.
    Sender,
    /// Next to the receiver.
    Receiver,
    /// Between both.
    Between,
    /// Not known.
    Unknown,
}

impl Place {
    /// Of a flow whose data `sender` sent.
    pub fn of(vantage: Vantage, sender: slowpath_model::End) -> Self {
        match vantage {
            Vantage::At(end) if end == sender => Self::Sender,
            Vantage::At(_) => Self::Receiver,
            Vantage::Between => Self::Between,
            Vantage::Unknown => Self::Unknown,
        }
    }

    /// Its name in JSON.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Between => "between",
            Self::Unknown => "unknown",
        }
    }
}

impl Fact {
    /// All, in the order of the tables.
    pub const ALL: [Self; 26] = [
        Self::Rtt,
        Self::LoadedRtt,
        Self::Handshake,
        Self::Mss,
        Self::WindowScaling,
        Self::WindowScale,
        Self::Sack,
        Self::Timestamps,
        Self::Ecn,
        Self::Window,
        Self::WindowClosed,
        Self::InFlight,
        Self::Lost,
        Self::Recoveries,
        Self::Timeouts,
        Self::Spurious,
        Self::Reordered,
        Self::Marked,
        Self::SynRetransmitted,
        Self::CapturedSegment,
        Self::PeakRate,
        Self::PolicedRate,
        Self::PacedRate,
        Self::ReadRate,
        Self::LongestPause,
        Self::FlowData,
    ];

    /// Its name in JSON.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Rtt => "shortest-rtt",
            Self::LoadedRtt => "mean-rtt",
            Self::Handshake => "handshake",
            Self::Mss => "segment-payload",
            Self::WindowScaling => "window-scaling",
            Self::WindowScale => "window-scale",
            Self::Sack => "sack",
            Self::Timestamps => "timestamps",
            Self::Ecn => "ecn",
            Self::Window => "receive-window",
            Self::WindowClosed => "window-closed",
            Self::InFlight => "in-flight",
            Self::Lost => "lost",
            Self::Recoveries => "recoveries",
            Self::Timeouts => "timeouts",
            Self::Spurious => "spurious-retransmissions",
            Self::Reordered => "reordered",
            Self::Marked => "ecn-marked",
            Self::SynRetransmitted => "syn-retransmitted",
            Self::CapturedSegment => "captured-segment",
            Self::PeakRate => "peak-rate",
            Self::PolicedRate => "policed-rate",
            Self::PacedRate => "paced-rate",
            Self::ReadRate => "read-rate",
            Self::LongestPause => "longest-pause",
            Self::FlowData => "data-of-a-flow",
        }
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Rtt | Self::LoadedRtt | Self::Handshake | Self::LongestPause => Unit::Time,
            Self::Mss | Self::Window | Self::InFlight | Self::CapturedSegment | Self::FlowData => Unit::Bytes,
            Self::PeakRate | Self::PolicedRate | Self::PacedRate | Self::ReadRate => Unit::Rate,
            Self::WindowClosed => Unit::Share,
            Self::Lost
            | Self::Recoveries
            | Self::Timeouts
            | Self::Spurious
            | Self::Reordered
            | Self::Marked
            | Self::SynRetransmitted => Unit::Events,
            Self::WindowScaling | Self::Sack | Self::Timestamps | Self::Ecn => Unit::Flag,
            Self::WindowScale => Unit::Number,
        }
    }

    const fn shown(self) -> Shown {
        match self {
            Self::LoadedRtt | Self::InFlight => Shown::AtSender,
            Self::Reordered | Self::Marked | Self::CapturedSegment | Self::PacedRate => Shown::AtOnePlace,
            _ => Shown::Anywhere,
        }
    }

    /// Whether taps at these places show it alike.
    pub fn compares_at(self, places: [Option<Place>; 2]) -> bool {
        match self.shown() {
            Shown::Anywhere => true,
            Shown::AtOnePlace => places[0] == places[1] && !matches!(places[0], None | Some(Place::Unknown)),
            Shown::AtSender => places == [Some(Place::Sender); 2],
        }
    }

    /// The smallest difference that counts: a part of the larger value, and an amount in the fact's unit.
    ///
    /// Times and rates vary by this much between captures of one path that did not change: the shortest RTT by what the
    /// hosts' timers and interrupts add, the mean RTT and what is in flight with the queue of the moment.
    const fn resolution(self) -> (f64, f64) {
        match self {
            Self::Rtt => (0.1, 200e-6),
            Self::LoadedRtt | Self::Handshake => (0.2, 1e-3),
            Self::LongestPause => (0.3, 20e-3),
            Self::Mss => (0.01, 1.0),
            Self::Window => (0.1, 1460.0),
            Self::InFlight => (0.25, 2920.0),
            Self::CapturedSegment => (0.25, 100.0),
            Self::FlowData => (0.3, 1460.0),
            Self::PeakRate | Self::ReadRate => (0.15, 0.0),
            Self::PolicedRate | Self::PacedRate => (0.1, 0.0),
            Self::WindowClosed => (0.2, 0.02),
            // Shares of events and of flows, whose chance is computed.
            _ => (0.2, 0.0),
        }
    }
}

/// A fact of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sample {
    /// A number in the fact's unit.
    Value(f64),
    /// Events.
    Events(Events),
    /// Whether.
    Flag(bool),
}

/// How many events there were, and among how many chances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// How many.
    pub count: u64,
    /// Among so many segments, or flows.
    pub of: u64,
    /// In so many bursts: events of one burst do not come by chance each.
    pub bursts: u64,
}

impl Events {
    /// Events that come one by one.
    pub const fn single(count: u64, of: u64) -> Self {
        Self { count, of, bursts: count }
    }

    /// Their part of all, 0 to 1, or more where one segment can have several.
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// The variance of the count, as bursts that come by chance. One more than were seen, since none seen is not none
    /// possible. What is more than one event in each burst may all be one burst, as when a queue overflows.
    fn variance(self) -> f64 {
        let (count, bursts) = (self.count as f64, self.bursts as f64);
        count + 1.0 + (count - bursts).max(0.0).powi(2)
    }
}

/// A fact of one flow or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// A typical value in the fact's unit: of several flows, the median.
    Typical {
        /// The value.
        value: f64,
        /// By how much it may be off by chance; 0 for a single flow.
        off: f64,
        /// Of so many flows.
        flows: u64,
    },
    /// Events of all flows.
    Events(Events),
    /// How many flows have it, of how many of which it is known.
    Flag(Events),
}

/// How many standard deviations are no chance. A dozen of facts are compared, so it is more than the usual two.
const SIGMAS: f64 = 3.0;

impl Measured {
    /// Its number; of events and flags, their share.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Typical { value, .. } => Some(value),
            Self::Events(events) | Self::Flag(events) => events.share(),
        }
    }

    /// By how much `b` is more than `a`, if that is more than the fact's own resolution.
    pub fn difference(fact: Fact, a: Self, b: Self) -> Option<f64> {
        let (part, least) = fact.resolution();
        let (one, other) = (a.number()?, b.number()?);
        let by = other - one;
        let is_large = |part: f64| by.abs() > (part * one.abs().max(other.abs())).max(least);
        let chance = match (a, b) {
            (Self::Typical { off: a, .. }, Self::Typical { off: b, .. }) => a.hypot(b),
            (Self::Flag(a), Self::Flag(b)) if a.of == 1 && b.of == 1 => 0.0,
            (Self::Events(a) | Self::Flag(a), Self::Events(b) | Self::Flag(b)) => {
                let of = |events: Events| events.variance() / (events.of as f64).powi(2);
                (of(a) + of(b)).sqrt()
            }
            _ => return None,
        };
        (is_large(part) && by.abs() > SIGMAS * chance).then_some(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(count: u64, of: u64) -> Measured {
        Measured::Events(Events::single(count, of))
    }

    #[test]
    fn few_events_differ_by_chance() {
        let differs = |a, b| Measured::difference(Fact::Lost, a, b).is_some();
        assert!(!differs(lost(30, 30_000), lost(38, 30_000)));
        assert!(!differs(lost(0, 1_000), lost(3, 1_000)), "three losses come by chance");
        assert!(differs(lost(30, 30_000), lost(300, 30_000)));
        assert!(differs(lost(0, 30_000), lost(40, 30_000)));
        let burst = Measured::Events(Events { count: 40, of: 30_000, bursts: 1 });
        assert!(!differs(lost(0, 30_000), burst), "one burst is one event");
        let with_burst = Measured::Events(Events { count: 213, of: 10_000, bursts: 40 });
        assert!(!differs(lost(41, 10_000), with_burst), "a queue that overflowed once");
    }

    #[test]
    fn values_differ_by_more_than_their_resolution() {
        let rtt = |seconds| Measured::Typical { value: seconds, off: 0.0, flows: 1 };
        let differs = |a, b| Measured::difference(Fact::Rtt, rtt(a), rtt(b));
        assert_eq!(differs(0.040, 0.042), None);
        assert_eq!(differs(0.0001, 0.0002), None, "below what hosts add");
        assert!(differs(0.040, 0.020).is_some_and(|by| by < 0.0));
        let sack = |yes| Measured::Flag(Events::single(u64::from(yes), 1));
        assert!(Measured::difference(Fact::Sack, sack(true), sack(false)).is_some());
        assert!(Measured::difference(Fact::Sack, sack(true), sack(true)).is_none());
    }

    #[test]
    fn taps_at_different_places_show_some_facts_differently() {
        let (at_sender, at_receiver) = (Some(Place::Sender), Some(Place::Receiver));
        assert!(Fact::Rtt.compares_at([at_sender, at_receiver]));
        assert!(!Fact::LoadedRtt.compares_at([at_sender, at_receiver]));
        assert!(!Fact::LoadedRtt.compares_at([at_receiver; 2]));
        assert!(Fact::Reordered.compares_at([at_receiver; 2]));
        assert!(!Fact::Reordered.compares_at([Some(Place::Unknown); 2]));
    }
}
