//! Advice for hosts that do not run Linux, as far as their packets tell.
//!
//! Advice is written for Linux. Where a host's packets start with the TTL of another system, advice has the commands of that
//! system instead, or none, and says so.

use crate::{Advice, Fix, Host, windows};
use slowpath_analyses::report::FlowReport;
use slowpath_model::End;

/// What an end runs, by the TTL that its packets start with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    /// Linux, or one that its TTL does not tell from it.
    Linux,
    Windows,
    Other,
}

impl System {
    fn of(end: End, report: &FlowReport) -> Self {
        match report.directions[end.index()].measures.initial_ttl {
            Some(128) => Self::Windows,
            Some(255) => Self::Other,
            _ => Self::Linux,
        }
    }
}

/// Puts the commands of each end's system in place of those of Linux. `from` sent the data that the advice is about.
pub(crate) fn fit(mut advice: Vec<Advice>, from: End, report: &FlowReport) -> Vec<Advice> {
    let is_linux = |end: &End| System::of(*end, report) == System::Linux;
    if End::BOTH.iter().all(is_linux) {
        return advice;
    }
    let mut told = [false; 2];
    for one in &mut advice {
        let mut fits: Vec<Fix> = Vec::new();
        let mut is_other = [false; 2];
        for fix in std::mem::take(&mut one.fixes) {
            let ends = ends(fix.host, from);
            if ends.is_empty() {
                fits.push(fix);
                continue;
            }
            for (end, host) in ends {
                let system = System::of(end, report);
                is_other[end.index()] |= system != System::Linux;
                let own = match system {
                    System::Linux => Some(fix.clone()),
                    System::Windows => windows::instead_of(&fix, &report.key.endpoint(!end)),
                    System::Other => None,
                };
                fits.extend(own.map(|own| Fix { host, ..own }).filter(|own| !fits.contains(own)));
            }
        }
        one.fixes = fits;
        for end in End::BOTH {
            if is_other[end.index()] && !std::mem::replace(&mut told[end.index()], true) {
                let caution = one.caution.take().map_or_else(String::new, |caution| caution + " ");
                one.caution = Some(caution + &said(end, from, report));
            }
        }
    }
    advice
}

/// The ends that `host` is, each with its name: none for a device on the path.
fn ends(host: Host, from: End) -> Vec<(End, Host)> {
    let both = [(from, Host::Sender), (!from, Host::Receiver)];
    let is_one = |(_, name): &(End, Host)| host == Host::Either || host == *name;
    both.into_iter().filter(is_one).collect()
}

fn said(end: End, from: End, report: &FlowReport) -> String {
    let who = if end == from { "sender" } else { "receiver" };
    let (ttl, commands) = match System::of(end, report) {
        System::Windows => ("128, as those of Windows do", "its commands are those of Windows"),
        _ => ("255", "commands for it are left out"),
    };
    format!(
        "The {who} does not seem to run Linux: its packets start with a TTL of {ttl}. What is said of Linux here need not \
         hold for it; {commands}."
    )
}
