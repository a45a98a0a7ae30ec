//! What limited a sender, the evidence, and fixes on its own host.

use crate::json::{Advice, Evidence};
use crate::quantity::share;
use crate::words;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses as analyses;
use slowpath_analyses::hosts::{Account, Bound};
use slowpath_live::Device;
use slowpath_model::shown;
use slowpath_remedies::advise_sending;
use slowpath_runs::watch::Watched;
use std::io::{self, Write};

/// What limited a sender.
#[derive(Serialize, JsonSchema)]
pub struct BoundResult {
    /// The cause, as `slowpath causes` has it.
    cause: String,
    /// For how long, in seconds.
    seconds: f64,
    /// As a share of the time in which it was watched, from 0 to 1.
    share: f64,
    /// Its evidence, if there is more than the socket's state.
    evidence: Vec<Evidence>,
    /// The fix, if the sending host itself is the limit; otherwise `null`.
    advice: Option<Advice>,
}

impl BoundResult {
    pub fn all(watched: &Watched, account: &Account) -> Vec<Self> {
        let bounds = account.bounds().into_iter();
        let result = bounds.map(|bound| {
            let evidence = account.evidence(bound.cause);
            Self {
                cause: bound.cause.to_string(),
                seconds: bound.lasted.as_secs_f64(),
                share: bound.share,
                evidence: evidence.iter().map(Evidence::of).collect(),
                advice: advice(&bound, &evidence, device(watched, account)).map(Advice::of),
            }
        });
        result.collect()
    }
}

/// The device that sends the sender's packets.
pub fn device<'a>(watched: &'a Watched, account: &Account) -> Option<&'a Device> {
    watched.devices.get(&(account.id, account.sender()))
}

/// The fix on the sending host, if it is the limit itself.
pub fn advice(
    bound: &Bound,
    evidence: &[analyses::Evidence],
    device: Option<&Device>,
) -> Option<slowpath_remedies::Advice> {
    advise_sending(bound.cause, evidence, device.map(|device| device.name.as_str()))
}

/// Prints a line for each significant cause, with its evidence.
pub fn print(watched: &Watched, account: &Account, least: f64, out: &mut impl Write) -> io::Result<()> {
    let (bounds, device) = (account.bounds(), device(watched, account));
    let worth = || bounds.iter().filter(|bound| bound.share >= least);
    for bound in worth() {
        writeln!(out, "{:>10}  {}: {}", share(bound.share), bound.cause, bound.cause.title())?;
        let evidence = account.evidence(bound.cause);
        for fact in &evidence {
            writeln!(out, "            {}", words::sentence(&words::evidence(fact)))?;
        }
        let is_queued = evidence.iter().any(|fact| matches!(fact, analyses::Evidence::OwnQueue { .. }));
        if let Some(Device { name, qdisc: Some(qdisc) }) = device.filter(|_| is_queued) {
            let [name, qdisc] = [name, qdisc].map(|name| shown::line(name));
            writeln!(out, "            The device is {name}, its queueing discipline {qdisc}.")?;
        }
        let Some(advice) = advice(bound, &evidence, device) else { continue };
        writeln!(out, "            {}", advice.text)?;
        for fix in &advice.fixes {
            writeln!(out, "              {}", fix.command)?;
        }
    }
    worth().next().map_or(Ok(()), |most| writeln!(out, "            more: slowpath causes {}", most.cause))
}
