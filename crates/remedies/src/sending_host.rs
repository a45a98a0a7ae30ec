//! Limits of the sending host.

use crate::facts::Facts;
use crate::fix::socket;
use crate::{Advice, Fix, Host};
use slowpath_analyses::Evidence;

/// Shows what limits a rate on the sending host.
pub(crate) fn shapers() -> Fix {
    Fix::look(
        Host::Sender,
        "tc -s -d qdisc show dev IFACE; tc -s class show dev IFACE",
        "shows shapers with their rates, and fq's maxrate; a container or a virtual machine may be shaped by its host",
    )
}

pub(crate) fn rate_limit(facts: &Facts<'_>) -> Vec<Advice> {
    let steady = |evidence: &Evidence| match evidence {
        Evidence::SteadyRate { rate, .. } | Evidence::PacedBunches { rate } => Some(*rate),
        _ => None,
    };
    let at = facts.evidence(steady).map_or_else(|| "one rate".to_owned(), |rate| rate.to_string());
    let peer = facts.receiver().address;
    vec![
        Advice::new(format!(
            "Data left evenly, at {at}, though both windows allowed more and nothing queued behind the sender. \
             The sending host sets this rate: by a shaper (tbf, htb, cake), by fq's maxrate, by a pacing rate \
             that the application asked for, or by the speed of its link. If the rate is meant, this is what it \
             gives."
        ))
        .with(Fix::look(
            Host::Sender,
            format!("ip route get {peer}"),
            "shows the interface (dev) to put in place of IFACE",
        ))
        .with(shapers())
        .with(socket(
            Host::Sender,
            facts.receiver(),
            "shows pacing_rate: the number behind a slash is a limit that the application set \
             (SO_MAX_PACING_RATE; --fq-rate of iperf3)",
        ))
        .with(Fix::look(Host::Sender, "ethtool IFACE", "shows the speed that the NIC agreed on")),
        Advice::new(
            "A shaper that was left behind can be removed: tc qdisc del dev IFACE root. Save what it is before; to \
             undo, add that again.",
        )
        .with(Fix::look(
            Host::Sender,
            "tc qdisc show dev IFACE | tee qdisc.before; tc class show dev IFACE | tee class.before",
            "saves what to put back",
        ))
        .caution("Without a shaper the queue moves to the next bottleneck, which may hold more."),
    ]
}
