//! Reports in intervals: what flows did since the last one, while their hosts go on reporting.

use super::{Account, EndAccount, Hosts};
use slowpath_model::{Bytes, FlowId};

impl Hosts {
    /// Begins the next interval. Flows that have ended are forgotten, and returned. Of the others, [`Account::bounds`],
    /// [`Account::spells`] and the waits begin anew; bytes, counts and what distinguishes causes are kept.
    pub fn next_interval(&mut self) -> Vec<FlowId> {
        let ended: Vec<FlowId> =
            self.flows().filter(|account| account.ended.is_some()).map(|account| account.id).collect();
        for id in &ended {
            self.flows.remove(id);
        }
        self.flows.values_mut().for_each(Account::next_interval);
        ended
    }
}

impl Account {
    fn next_interval(&mut self) {
        self.carried_before = self.carried();
        self.ends.iter_mut().flatten().for_each(|own| own.next_interval());
    }

    /// What it carried in this interval, in the direction that carried more since it was first seen.
    pub fn carried_now(&self) -> Bytes {
        Bytes::new(self.carried().get().saturating_sub(self.carried_before.get()))
    }

    /// The sender's retransmissions in this interval; `None` if its host does not report them.
    pub fn retransmitted_now(&self) -> Option<u64> {
        let [first, last] = self.ends[self.sender().index()].as_ref()?.samples?;
        let (first, last) = first.total_retrans.zip(last.total_retrans)?;
        Some(last.saturating_sub(first).into())
    }
}

impl EndAccount {
    fn next_interval(&mut self) {
        self.waits = Default::default();
        self.sending.next_interval();
        self.receiving.next_interval();
        self.receive_buffer.clear();
        self.samples = self.samples.map(|[_, last]| [last; 2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;
    use slowpath_model::{Endpoint, FlowEnd, FlowKey, Sink};

    const FLOW: FlowId = FlowId(1);

    fn hosts() -> Hosts {
        let mut hosts = Hosts::default();
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FLOW, &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
        hosts
    }

    fn tell(hosts: &mut Hosts, lines: &[&str]) {
        for line in lines {
            hosts.accept(FLOW, &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        }
    }

    fn bounds(hosts: &Hosts) -> Vec<(Cause, u64)> {
        let bounds = hosts.flow(FLOW).expect("it is known").bounds();
        bounds.iter().map(|bound| (bound.cause, bound.lasted.as_millis() as u64)).collect()
    }

    /// Time counts for one interval only; which end sends, and which causes there were, stays known.
    #[test]
    fn an_interval_has_only_its_own_time() {
        let mut hosts = hosts();
        tell(
            &mut hosts,
            &["1 A wrote 5000000", "1 A held slow-start 1.000000", "1 A sampled srtt 100 total_retrans 7"],
        );
        assert_eq!(bounds(&hosts), [(Cause::SlowStart, 1000)]);
        assert_eq!(hosts.next_interval(), []);
        let account = hosts.flow(FLOW).expect("it lives");
        assert_eq!((account.carried_now(), account.carried()), (Bytes::ZERO, Bytes::new(5_000_000)));
        assert_eq!((bounds(&hosts), account.retransmitted_now()), (vec![], Some(0)));
        tell(
            &mut hosts,
            &["2 B read 1000", "2 A held idle 0.400000", "2 A sampled srtt 100 total_retrans 9"],
        );
        let account = hosts.flow(FLOW).expect("it lives");
        assert_eq!((bounds(&hosts), account.retransmitted_now()), (vec![(Cause::SenderIdle, 400)], Some(2)));
    }

    #[test]
    fn ended_flows_are_forgotten() {
        let mut hosts = hosts();
        hosts.close(FLOW, FlowEnd::Gone);
        assert!(hosts.flow(FLOW).is_some(), "its last interval is not over");
        assert_eq!((hosts.next_interval(), hosts.flows().count()), (vec![FLOW], 0));
    }
}
