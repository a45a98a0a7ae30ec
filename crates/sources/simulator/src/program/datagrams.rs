//! Datagrams at a rate: a generator, and a counter of received ones (RUDE and CRUDE).

use super::{Done, Op, Pace};
use slowpath_model::Instant;
use slowpath_scenario::{Datagrams, Process};
use std::time::Duration;

/// How long the generator stays after its last datagram, so that datagrams in flight are read.
const LINGERS: Duration = Duration::from_secs(1);

/// Sends a datagram when one is due, and reads the clock until the next one is.
#[derive(Debug)]
pub struct Generator {
    pace: Pace,
    plan: Datagrams,
    opened: Instant,
    begun: u64,
    is_through: bool,
}

impl Generator {
    /// A generator before its first datagram.
    pub fn new(process: &Process, plan: &Datagrams) -> Self {
        Self { pace: Pace::new(process), plan: *plan, opened: Instant::START, begun: 0, is_through: false }
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        match done {
            Done::Nothing if self.pace.opened.is_none() => return Op::Connect,
            Done::Connected => {
                self.pace.open(now);
                self.opened = now;
            }
            Done::Failed => return Op::Exit,
            Done::Nothing | Done::Wrote(_) | Done::Read(_) => {}
        }
        if self.is_through {
            return Op::Exit;
        }
        if let Some(until) = self.pace.sleeps(now) {
            return Op::Sleep(until);
        }
        let due = self.opened + self.after(self.begun);
        if self.plan.lasts.is_some_and(|lasts| due.max(now) >= self.opened + lasts) {
            self.is_through = true;
            return Op::Sleep(now + LINGERS);
        }
        if due > now {
            return Op::Watch(due);
        }
        self.begun += 1;
        Op::Write(self.plan.size.get())
    }

    /// When the next datagram is due after `datagrams`, relative to the first.
    fn after(&self, datagrams: u64) -> Duration {
        let nanos = self.plan.interval_picos() * u128::from(datagrams) / 1000;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Reads datagrams, endlessly.
#[derive(Debug)]
pub struct Counter(Pace);

impl Counter {
    /// A counter.
    pub fn new(process: &Process) -> Self {
        Self(Pace::new(process))
    }

    pub(super) fn next(&mut self, now: Instant, done: Done) -> Op {
        match done {
            Done::Nothing if self.0.opened.is_none() => return Op::Accept,
            Done::Connected => self.0.open(now),
            Done::Read(bytes) => self.0.moved(bytes),
            Done::Failed => return Op::Exit,
            Done::Nothing | Done::Wrote(_) => {}
        }
        match self.0.sleeps(now) {
            Some(until) => Op::Sleep(until),
            None => Op::Read(self.0.call_size()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_scenario::{Workload, check};

    #[test]
    fn generator_keeps_its_rate_catches_up_and_ends() {
        let text = "[flows.datagrams]\nsize = \"1472 B\"\nrate = \"12 Mbit/s\"\nlasts = \"10 ms\"";
        let scenario = check("x", text, &[], None).expect("a scenario").scenario;
        let Workload::Datagrams(plan) = &scenario.flows[0].workload else { panic!("datagrams") };
        let mut generator = Generator::new(&scenario.flows[0].sender, plan);
        let at = |micros: i64| Instant::from_nanos(micros * 1000);
        assert_eq!(generator.next(at(0), Done::Nothing), Op::Connect);
        assert_eq!(generator.next(at(5), Done::Connected), Op::Write(1472));
        assert_eq!(generator.next(at(6), Done::Wrote(1472)), Op::Watch(at(1005)));
        // Two were due while it could not run.
        assert_eq!(generator.next(at(2010), Done::Nothing), Op::Write(1472));
        assert_eq!(generator.next(at(2011), Done::Wrote(1472)), Op::Write(1472));
        assert_eq!(generator.next(at(2012), Done::Wrote(1472)), Op::Watch(at(3005)));
        let mut sent = 3;
        let mut now = at(3005);
        loop {
            match generator.next(now, Done::Nothing) {
                Op::Write(_) => sent += 1,
                Op::Watch(until) => now = until,
                Op::Sleep(until) => {
                    assert_eq!(until, now + LINGERS);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(sent, 10);
        assert_eq!(generator.next(now, Done::Nothing), Op::Exit);
    }
}
