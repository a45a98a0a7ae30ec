//! A program that writes at a rate of its own, far from the tap: what is in flight stays the same for far longer than any
//! congestion window does, no queue stands, and short segments show the ends of its writes again and again. In a single
//! RTT, the same looks like a congestion window that stopped growing, or like a path that is just busy.

use super::context::Context;
use super::pace;
use super::queue;
use super::stretch::{Hold, Marks, Part, Stretch};
use super::thresholds;
use crate::cause::Cause;
use crate::report::Overview;
use slowpath_model::statistics::median;

/// Names it where the flow as a whole shows it and nothing else is certain.
pub fn take_over(stretches: &[Stretch], overview: &Overview, context: &Context, parts: &mut [Part]) {
    // Without RTTs, a full path looks the same.
    if context.at_sender || !context.queue_shows {
        return;
    }
    let Some(written) = Written::of(stretches, overview) else { return };
    for part in parts {
        let may_be = match part.cause {
            Cause::EarlyExit
            | Cause::AfterLoss
            | Cause::Undetermined
            | Cause::BottleneckFull
            | Cause::StandingQueue => true,
            Cause::SlowStart => part.stretch >= thresholds::STUCK_AFTER,
            _ => false,
        };
        if may_be && written.is_of(&stretches[part.stretch]) {
            part.cause = Cause::SenderIdle;
        }
    }
}

/// The rate of a program, and what is in flight with it, in bit/s and bytes.
struct Written {
    rate: f64,
    flight: f64,
}

impl Written {
    fn of(stretches: &[Stretch], overview: &Overview) -> Option<Self> {
        let grown = stretches.get(thresholds::STUCK_AFTER..).unwrap_or_default();
        let sends = |stretch: &&Stretch| {
            matches!(stretch.held_most(), Hold::Open | Hold::Dry | Hold::Idle)
                && stretch.delivered > 0
                && !stretch.marks.has(Marks::RETRANSMITTED)
        };
        let sending: Vec<&Stretch> = grown.iter().filter(sends).collect();
        let this = Self {
            rate: median(sending.iter().filter_map(|stretch| stretch.rate()))?,
            flight: median(sending.iter().map(|stretch| f64::from(stretch.flight_max)))?,
        };
        let of_it: Vec<&Stretch> = sending.iter().copied().filter(|stretch| this.is_of(stretch)).collect();
        let lasted = |of: &[&Stretch]| of.iter().map(|stretch| stretch.lasted()).sum::<i64>();
        let queued: Vec<&Stretch> =
            of_it.iter().copied().filter(|stretch| queue::stood_throughout(overview, stretch)).collect();
        let (all, alike) = (lasted(&sending), lasted(&of_it));
        let ends: i64 = of_it.iter().map(|stretch| i64::from(stretch.emptied_short)).sum();
        let rtts = alike / (i64::from(overview.base_rtt?.max(1)) * 1000);
        let is_one = alike as f64 >= thresholds::STEADY_SHARE * all as f64
            && alike >= thresholds::STEADY_LEAST_NS
            && rtts >= thresholds::WRITTEN_RTTS
            && lasted(&queued) <= alike / thresholds::WRITTEN_QUEUED_PART
            && ends >= rtts / thresholds::WRITTEN_ENDS_PART;
        is_one.then_some(this)
    }

    /// Whether `stretch` is as the others.
    fn is_of(&self, stretch: &Stretch) -> bool {
        let near = |value, of| pace::near(value, of, thresholds::WRITTEN_SPREAD);
        near(f64::from(stretch.flight_max), self.flight)
            && stretch.rate().is_some_and(|rate| near(rate, self.rate))
    }
}
