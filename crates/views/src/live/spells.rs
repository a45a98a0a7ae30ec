//! What limited a sender, over time.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, Spell, What};
use slowpath_model::{Instant, nanos};

/// What held a sender for a while. The spells of a flow follow each other from its first instant to its last, with no time
/// left out and none counted twice. Within a tenth of a second, the order of what was reported of it is not known.
#[derive(Serialize, JsonSchema)]
pub struct SpellResult {
    /// Since when, in nanoseconds after the flow was first seen.
    from_ns: u64,
    /// Until when.
    to_ns: u64,
    /// `held`: something held the sender. `after-last-data`: everything was acknowledged, and nothing more was written before
    /// the connection ended or the watch did, so nothing was held back. `not-seen`: the sender's host did not report on this
    /// time. `not-kept`: there were more spells than are kept of a flow.
    state: &'static str,
    /// The limit, as `slowpath causes` has it; `null` if the state is not `held`.
    limit: Option<&'static str>,
    /// The cause, as `slowpath causes` has it; `null` if the state is not `held`.
    cause: Option<String>,
    #[serde(skip)]
    held_by: Option<Cause>,
}

impl SpellResult {
    /// All spells of a flow; adjacent ones with the same cause are merged.
    pub fn all(account: &Account) -> Vec<Self> {
        let Some([first, _]) = account.told else { return Vec::new() };
        let mut results: Vec<Self> = Vec::new();
        for spell in account.spells() {
            let result = Self::of(account, first, spell);
            match results.last_mut().filter(|last| (last.state, &last.cause) == (result.state, &result.cause))
            {
                Some(last) => last.to_ns = result.to_ns,
                None => results.push(result),
            }
        }
        results
    }

    fn of(account: &Account, first: Instant, spell: Spell) -> Self {
        let since = |at: Instant| at.since(first).map_or(0, nanos);
        let (state, cause) = match spell.what {
            What::Held(why) => ("held", Some(account.cause(why))),
            What::Over => ("after-last-data", None),
            What::NotSeen => ("not-seen", None),
            What::NotKept => ("not-kept", None),
        };
        Self {
            from_ns: since(spell.from),
            to_ns: since(spell.to),
            state,
            limit: cause.map(|cause| cause.limit().slug()),
            cause: cause.map(|cause| cause.to_string()),
            held_by: cause,
        }
    }

    /// What held the sender; `None` if the state is not `held`.
    pub const fn held_by(&self) -> Option<Cause> {
        self.held_by
    }

    /// How long it lasted, in nanoseconds.
    pub const fn lasted_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::hosts::Hosts;
    use slowpath_model::{Endpoint, FlowEnd, FlowId, FlowKey, Sink};

    /// The spells of a flow with these events: state or cause, and milliseconds.
    fn spells(lines: &[&str], end: Option<FlowEnd>) -> Vec<(String, u64)> {
        let mut hosts = Hosts::default();
        let endpoint = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        hosts.open(FlowId(1), &FlowKey { a: endpoint(1, 40_000), b: endpoint(2, 80), occurrence: 0 });
        for line in lines {
            hosts.accept(FlowId(1), &line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        if let Some(end) = end {
            hosts.close(FlowId(1), end);
        }
        let account = hosts.finish().0.remove(0);
        let results = SpellResult::all(&account);
        assert!(results.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
        assert_eq!(results[0].from_ns, 0);
        assert_eq!(results.last().map(|last| last.to_ns), Some(nanos(account.lasted())), "to the end");
        let named = |one: &SpellResult| one.cause.clone().unwrap_or_else(|| one.state.to_owned());
        results.iter().map(|one| (named(one), (one.to_ns - one.from_ns) / 1_000_000)).collect()
    }

    const SENT: [&str; 6] = [
        "0.1 A wrote 100000",
        "0.1 A held slow-start 0.080",
        "0.1 A sampled srtt 20100 min_rtt 20000",
        "0.2 A held paced 0.100",
        "0.2 A sampled srtt 20100 min_rtt 20000 max_pacing_rate 2500000",
        "0.25 B sampled rcv_wnd 65536",
    ];

    #[test]
    fn spells_cover_the_whole_watched_time() {
        let of = |cause: &str, ms| (cause.to_owned(), ms);
        let (slow_start, paced) = ("congestion-window/slow-start", "sending-host/rate-limit");
        let expected = [of(slow_start, 80), of(paced, 100), of("not-seen", 50)];
        assert_eq!(spells(&SENT, None), expected);
        let idle = [&SENT[..], &["0.3 A held idle 0.100", "0.3 A sampled srtt 20100"]].concat();
        let expected = [of(slow_start, 80), of(paced, 100), of("after-last-data", 100)];
        assert_eq!(spells(&idle, Some(FlowEnd::Gone)), expected);
        let expected = [of(slow_start, 80), of(paced, 100), of("application/sender-idle", 100)];
        assert_eq!(spells(&idle, None), expected, "it may write again");
    }

    #[test]
    fn time_of_a_remote_sender_is_not_seen() {
        let lines = ["0.1 B read 5000", "0.4 B read 5000"];
        assert_eq!(spells(&lines, Some(FlowEnd::Gone)), [("not-seen".to_owned(), 300)]);
    }
}
