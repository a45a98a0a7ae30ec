//! What the kernel dropped, by its own drop reasons.

use crate::record::Account;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Enum;
use slowpath_model::{End, FlowId};
use std::collections::{BTreeMap, HashMap};
use std::iter::zip;

/// Ends of flows with drops that are kept: further drops count as the host's.
const MOST_ENDS: usize = 100_000;

/// "Packet don't belong to current host (interface is in promisc mode)" (include/net/dropreason-core.h).
const OTHERHOST: &str = "OTHERHOST";

/// Packets that were dropped for a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The kernel's name of it, without the `SKB_DROP_REASON_` before it.
    pub reason: String,
    /// How many, as the kernel counts them: one that GRO made of several is one.
    pub packets: u64,
}

/// Packets of TCP that the kernel dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    flows: HashMap<(FlowId, End), Vec<Dropped>>,
    /// Drops without a known, watched socket.
    pub host: Vec<Dropped>,
}

impl Drops {
    /// Those that an end would have received or was about to send, by number.
    pub fn of(&self, flow: FlowId, end: End) -> &[Dropped] {
        self.flows.get(&(flow, end)).map_or(&[], Vec::as_slice)
    }
}

/// The reasons' numbers, as this kernel has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(pub BTreeMap<u32, String>);

/// Whether this can be the name of a reason, a constant of the kernel's.
pub(crate) fn is_reason(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

impl Reasons {
    /// From the kernel's types.
    pub fn of_kernel(btf: &Btf<'_>) -> Self {
        const PREFIX: &str = "SKB_DROP_REASON_";
        let Some(reasons) = btf.type_by_name::<Enum<'_>>("skb_drop_reason") else { return Self::default() };
        let named = reasons.iter().filter_map(|one| {
            let name = one.name?.to_str()?.strip_prefix(PREFIX)?;
            Some((u32::try_from(one.value).ok()?, name.to_owned()))
        });
        Self(named.collect())
    }

    fn name(&self, reason: u32) -> String {
        self.0.get(&reason).cloned().unwrap_or_else(|| format!("number {reason}"))
    }

    /// But for copies that a device took in which listens to all there is (promiscuous mode), for whomever they were.
    fn named(&self, counts: impl IntoIterator<Item = (u32, u64)>) -> Vec<Dropped> {
        let named = counts.into_iter().filter(|(_, packets)| *packets > 0);
        let named = named.map(|(reason, packets)| Dropped { reason: self.name(reason), packets });
        let mut named: Vec<Dropped> = named.filter(|dropped| dropped.reason != OTHERHOST).collect();
        named.sort_by(|one, other| other.packets.cmp(&one.packets).then(one.reason.cmp(&other.reason)));
        named
    }
}

/// Adds up the drops that the probe reports.
#[derive(Debug, Default)]
pub struct Counts {
    flows: HashMap<(FlowId, End), BTreeMap<u32, u64>>,
    /// By reason.
    host: BTreeMap<u32, u64>,
    /// By reason, those of flows and of the host.
    all: BTreeMap<u32, u64>,
}

impl Counts {
    /// What came since `before`.
    pub fn add(&mut self, (flow, end): (FlowId, End), now: &Account, before: &Account) {
        for (now, before) in zip(now.flow.drops, before.flow.drops) {
            let packets = now.packets.wrapping_sub(before.packets);
            if packets == 0 {
                continue;
            }
            let has_room = self.flows.len() < MOST_ENDS || self.flows.contains_key(&(flow, end));
            let into = if has_room { self.flows.entry((flow, end)).or_default() } else { &mut self.host };
            *into.entry(now.reason).or_default() += u64::from(packets);
            *self.all.entry(now.reason).or_default() += u64::from(packets);
        }
    }

    /// Those of an end so far.
    pub fn of(&self, flow: FlowId, end: End, reasons: &Reasons) -> Vec<Dropped> {
        let counts = self.flows.get(&(flow, end)).into_iter().flatten();
        reasons.named(counts.map(|(reason, packets)| (*reason, *packets)))
    }

    /// All of them so far, with the host's by reason.
    pub fn all(&self, host: &[u64], reasons: &Reasons) -> Vec<Dropped> {
        let mut all = self.all.clone();
        for (reason, packets) in (0..).zip(host) {
            let sum: &mut u64 = all.entry(reason).or_default();
            *sum = sum.saturating_add(*packets);
        }
        reasons.named(all)
    }

    /// All of them, and the host's, by reason.
    pub fn finish(mut self, host: &[u64], reasons: &Reasons) -> Drops {
        for (reason, packets) in (0..).zip(host) {
            let all: &mut u64 = self.host.entry(reason).or_default();
            *all = all.saturating_add(*packets);
        }
        let flows = self.flows.into_iter().map(|(end, counts)| (end, reasons.named(counts)));
        Drops { flows: flows.collect(), host: reasons.named(self.host) }
    }
}
