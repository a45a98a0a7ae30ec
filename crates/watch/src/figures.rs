//! What a connection, or several together, did in some seconds.

use slowpath_analyses::{Cause, Limit};
use slowpath_views::terminal::parts;
use std::cmp::Reverse;
use std::time::Duration;

/// Intervals that are shown together as "now": one of a second would change too fast to be read.
pub const WINDOW: usize = 3;

/// A smaller share of the time is not the main cause.
const LEAST_LOST: u32 = 20;

/// Bytes, retransmissions, and the time under each cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// In the direction that carries more.
    pub bytes: u64,
    /// By the senders of this host; `None` if it has none.
    pub retransmitted: Option<u64>,
    /// Time under each cause, of all connections together.
    pub causes: Vec<(Cause, Duration)>,
}

impl Figures {
    /// Adds what others did, or what was done at another time.
    pub fn add(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        if let Some(more) = other.retransmitted {
            self.retransmitted = Some(self.retransmitted.unwrap_or(0).saturating_add(more));
        }
        other.causes.iter().for_each(|(cause, lasted)| self.held(*cause, *lasted));
    }

    /// Adds time under a cause.
    pub fn held(&mut self, cause: Cause, lasted: Duration) {
        if lasted.is_zero() {
            return;
        }
        match self.causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum = sum.saturating_add(lasted),
            None => self.causes.push((cause, lasted)),
        }
    }

    /// The time that could be recovered.
    pub fn lost(&self) -> Duration {
        self.causes.iter().filter(|(cause, _)| cause.is_loss()).map(|(_, lasted)| *lasted).sum()
    }

    /// What limits: what loses most time, if that is a twentieth of the time or more, otherwise the longest.
    pub fn main(&self) -> Option<Cause> {
        let longest = |is_loss: bool| {
            let causes = self.causes.iter().filter(|(cause, _)| !is_loss || cause.is_loss());
            causes.max_by_key(|(cause, lasted)| (*lasted, Reverse(*cause)))
        };
        let all: Duration = self.causes.iter().map(|(_, lasted)| *lasted).sum();
        let lost = longest(true).filter(|(_, lasted)| *lasted * LEAST_LOST >= all);
        lost.or_else(|| longest(false)).map(|(cause, _)| *cause)
    }

    /// The longest first.
    pub fn sorted(&self) -> Vec<(Cause, Duration)> {
        let mut causes = self.causes.clone();
        causes.sort_by_key(|(cause, lasted)| (Reverse(*lasted), *cause));
        causes
    }

    /// The limit of each of `tenths` equal parts of `time`, the longest first; the rest of the time is not in any report
    /// and stays empty.
    pub fn tenths(&self, time: Duration, tenths: usize) -> Vec<Limit> {
        let mut limits = Limit::ALL.map(|limit| (limit, Duration::ZERO));
        for (cause, lasted) in &self.causes {
            limits[cause.limit() as usize].1 += *lasted;
        }
        limits.sort_by_key(|(limit, lasted)| (Reverse(*lasted), *limit));
        // The kernel may report a little more time than passed.
        let reported: Duration = limits.iter().map(|(_, lasted)| *lasted).sum();
        let all = reported.max(time).as_secs_f64();
        let held = limits.into_iter().filter(|(_, lasted)| !lasted.is_zero());
        parts(held.map(|(limit, lasted)| (limit, lasted.as_secs_f64() / all)), tenths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(causes: &[(Cause, u64)]) -> Figures {
        let mut figures = Figures::default();
        for (cause, ms) in causes {
            figures.held(*cause, Duration::from_millis(*ms));
        }
        figures
    }

    #[test]
    fn lost_time_names_the_main_cause() {
        let mostly_idle = figures(&[(Cause::SenderIdle, 2000), (Cause::SlowReader, 1000)]);
        assert_eq!(mostly_idle.main(), Some(Cause::SlowReader));
        assert_eq!(mostly_idle.lost(), Duration::from_secs(1));
        let idle = figures(&[(Cause::SenderIdle, 2950), (Cause::SlowStart, 50)]);
        assert_eq!(idle.main(), Some(Cause::SenderIdle));
        assert_eq!(Figures::default().main(), None);
    }

    #[test]
    fn a_bar_has_the_unreported_time_as_a_gap() {
        let some = figures(&[(Cause::SenderIdle, 600), (Cause::SlowReader, 900)]);
        let bar = some.tenths(Duration::from_secs(3), 10);
        assert_eq!(bar, [[Limit::ReceiveWindow; 3].as_slice(), &[Limit::Application; 2]].concat());
        assert_eq!(some.tenths(Duration::from_secs(1), 10).len(), 10, "more was reported than passed");
        assert_eq!(Figures::default().tenths(Duration::ZERO, 10), []);
    }

    #[test]
    fn sums_saturate() {
        let most = Figures {
            bytes: u64::MAX,
            retransmitted: Some(u64::MAX),
            causes: vec![(Cause::SlowReader, Duration::MAX)],
        };
        let mut sum = most.clone();
        sum.add(&most);
        assert_eq!(sum, most);
    }
}
