//! UDP at increasing rates, as RUDE sends it and CRUDE counts it (ubik, section V): what is sent, what arrives, and
//! whether one of the two ends or the path was the limit.

use super::channel::{Channel, Passed, Train, rate_of};
use super::{OnProgress, Progress, Setting};

/// The duration of a step. RUDE/CRUDE runs last as long as the user likes; at a tenth too much at 1 Gbit/s, a queue of
/// 1000 packets (`txqueuelen`) is full after 130 ms.
const STEP_NS: u64 = 200_000_000;
/// Loss begins where it is this much, in thousandths, above the loss of the slowest step; one packet alone does not
/// count.
const LOSS_PERMILLE: u32 = 1;
/// How much slower than asked a step may be, in thousandths, before the sender counts as the limit.
const LATE_PERMILLE: u64 = 20;
/// Maximum number of steps.
pub const MOST_STEPS: u32 = 60;

/// The limit of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakest {
    /// Nothing: the target rate was sent, and arrived.
    None,
    /// The sender: it could not send that fast, or its own queue refused packets.
    Sender,
    /// The receiver: its socket had no room for packets that had arrived.
    Receiver,
    /// The path: packets were lost between the ends, or arrived more slowly than they were sent.
    Path,
}

/// A step at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The target rate, in bit/s of IP packets.
    pub asked: u64,
    /// The sent rate, in bit/s; `None` if unknown.
    pub sent: Option<u64>,
    /// The received rate, in bit/s.
    pub received: Option<u64>,
    /// Packets that were sent.
    pub packets: u32,
    /// Packets that the sender's own queue refused.
    pub refused: u32,
    /// Packets that were sent and did not arrive.
    pub lost: u32,
    /// Of these, those that the receiver's socket had no room for; `None` if unknown.
    pub overflowed: Option<u32>,
    /// Reordered packets, which arrived after later ones.
    pub overtaken: u32,
    /// The limit.
    pub weakest: Weakest,
}

impl Step {
    fn loss_permille(&self) -> u32 {
        (u64::from(self.lost) * 1000 / u64::from(self.packets).max(1)) as u32
    }
}

/// All rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// The steps, from the slowest to the fastest.
    pub steps: Vec<Step>,
    /// The lowest rate at which packets were lost, in bit/s, beyond the loss at the slowest; `None` if there is none.
    pub loss_begins: Option<u64>,
    /// The highest received rate, in bit/s.
    pub most_received: Option<u64>,
}

/// The rates of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The first, in bit/s.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// How many, including both.
    pub steps: u32,
}

impl Rates {
    fn all(self) -> impl Iterator<Item = u64> {
        let steps = u64::from(self.steps.clamp(1, MOST_STEPS));
        let rise = self.to.saturating_sub(self.from);
        (0..steps).map(move |n| self.from + if steps == 1 { rise } else { rise / (steps - 1) * n })
    }
}

/// Steps through the rates.
///
/// # Errors
/// If the channel cannot continue.
pub fn measure<C: Channel>(
    channel: &mut C,
    setting: &Setting,
    rates: Rates,
    on_progress: OnProgress<'_>,
) -> Result<Ramp, C::Error> {
    let limits = channel.limits();
    let mut steps: Vec<Step> = Vec::new();
    for asked in rates.all() {
        let asked = asked.clamp(1, limits.rate_bit_per_s);
        if steps.last().is_some_and(|last| last.asked >= asked) {
            break;
        }
        on_progress(Progress::Ramp(asked));
        let train = Train::stream(setting.direction, limits.packets, setting.packet_bytes, asked);
        let lasting = STEP_NS.min(limits.duration_ns) / train.gap_ns.max(1);
        let packets = u32::try_from(lasting).unwrap_or(u32::MAX).clamp(2, limits.packets);
        let passed = channel.pass(&Train { packets, ..train })?;
        steps.push(step(asked, setting.packet_bytes, &passed));
        // Packets still in queues should not affect the next step.
        channel.rest(STEP_NS / 2 + setting.round_trip_ns)?;
    }
    let loss_begins = loss_begins(&steps);
    let most_received = steps.iter().filter_map(|step| step.received).max();
    Ok(Ramp { steps, loss_begins, most_received })
}

fn step(asked: u64, bytes: u32, passed: &Passed) -> Step {
    let mut step = Step {
        asked,
        sent: passed.sent_rate(bytes),
        received: passed.arrival_rate(bytes),
        packets: passed.left(),
        refused: passed.refused(),
        lost: passed.lost(),
        overflowed: passed.overflowed,
        overtaken: passed.overtaken,
        weakest: Weakest::None,
    };
    step.weakest = weakest(&step, spread_ns(passed), bytes);
    step
}

/// For how long packets were sent, the time base of the arrival rate.
fn spread_ns(passed: &Passed) -> u64 {
    let sent = || passed.flights.iter().filter_map(|flight| flight.sent_ns);
    sent().max().unwrap_or(0).saturating_sub(sent().min().unwrap_or(0))
}

fn weakest(step: &Step, lasted_ns: u64, bytes: u32) -> Weakest {
    let enough = |rate: u64| rate / 1000 * (1000 - LATE_PERMILLE);
    if is_some_loss(step) {
        let in_socket = step.overflowed.is_some_and(|count| count > step.lost / 2);
        return if in_socket { Weakest::Receiver } else { Weakest::Path };
    }
    if step.refused > 1 || step.sent.is_none_or(|sent| sent < enough(step.asked)) {
        return Weakest::Sender;
    }
    // A step of only a few packets has no rate of its own.
    let arrived = u64::from(step.packets - step.lost);
    let is_slower = rate_of(arrived.saturating_sub(1) * u64::from(bytes), lasted_ns)
        .zip(step.received)
        .is_some_and(|(as_sent, received)| received < enough(as_sent));
    if is_slower { Weakest::Path } else { Weakest::None }
}

fn is_some_loss(step: &Step) -> bool {
    step.lost > 1 && step.loss_permille() >= LOSS_PERMILLE
}

fn loss_begins(steps: &[Step]) -> Option<u64> {
    let anyway = steps.first()?.loss_permille();
    // A path with loss at its slowest rate has loss at any rate.
    if is_some_loss(&steps[0]) {
        let grows = |step: &&Step| step.loss_permille() >= anyway * 2 + LOSS_PERMILLE;
        return steps.iter().find(grows).map(|step| step.asked);
    }
    steps.iter().find(|step| is_some_loss(step)).map(|step| step.asked)
}

#[cfg(test)]
mod tests {
    use super::super::channel::Flight;
    use super::*;

    const MS: u64 = 1_000_000;

    /// 1500 bytes every millisecond, 12 Mbit/s, which arrive after the given delays.
    fn passed(delay: impl Fn(u64) -> Option<u64>) -> Passed {
        let flight =
            |n: u64| Flight { sent_ns: Some(n * MS), arrived_ns: delay(n).map(|delay| n * MS + delay) };
        Passed { flights: (0..100).map(flight).collect(), overtaken: 0, overflowed: Some(0) }
    }

    #[test]
    fn step_limit_is_sender_receiver_or_path() {
        let at = |asked: u64, passed: &Passed| step(asked, 1500, passed).weakest;
        assert_eq!(at(12 * MS, &passed(|_| Some(7))), Weakest::None);
        assert_eq!(at(13 * MS, &passed(|_| Some(7))), Weakest::Sender);
        assert_eq!(at(12 * MS, &passed(|n| Some(n * MS / 10))), Weakest::Path);
        assert_eq!(at(12 * MS, &passed(|n| (n % 10 > 0).then_some(7))), Weakest::Path);
        let full = Passed { overflowed: Some(10), ..passed(|n| (n % 10 > 0).then_some(7)) };
        assert_eq!(at(12 * MS, &full), Weakest::Receiver);
        let mut refused = passed(|_| Some(7));
        refused.flights[3] = Flight::default();
        refused.flights[4] = Flight::default();
        assert_eq!(at(12 * MS, &refused), Weakest::Sender);
    }

    #[test]
    fn ramp_rates_include_first_and_last() {
        let rates = Rates { from: 300, to: 1000, steps: 36 };
        assert_eq!(rates.all().collect::<Vec<_>>()[..3], [300, 320, 340]);
        assert_eq!(rates.all().last(), Some(1000));
        assert_eq!(Rates { from: 5, to: 9, steps: 1 }.all().collect::<Vec<_>>(), [9]);
    }
}
