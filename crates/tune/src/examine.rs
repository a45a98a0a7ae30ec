//! A plan for this host: advice, with the values that the settings have here.

use crate::access::Access;
use crate::advice::{Known, READ};
use crate::error::{AccessError, Error};
use crate::plan::{Advised, Here, Made, Plan, Proposed, UnknownHost, propose, propose_advised};
use crate::{clock, namespace, who};
use slowpath_doctor::{Aim, Asked, Files, Host, ReadError, judge, read};
use slowpath_model::units::{counted, duration_text};
use slowpath_remedies::setting::NO_ROUTE;
use slowpath_remedies::{Change, Setting, Target};
use std::net::IpAddr;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] Error),
    /// The host cannot be examined.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no such process.
    #[error(transparent)]
    Process(#[from] AccessError),
    /// It is not known which advice is for this host.
    #[error(transparent)]
    Unknown(#[from] UnknownHost),
}

/// Examines the host, in a network namespace if one is named, for the transfer that `aim` makes of it. `with_hints` also plans
/// what may be harmless.
///
/// # Errors
/// If there is no such namespace, route or interface.
pub fn examine(
    netns: Option<&str>,
    asked: &Asked,
    with_hints: bool,
    aim: impl FnOnce(&Host) -> Aim + Send,
) -> Result<Plan, ExamineError> {
    namespace::inside(netns, || {
        let host = read(&Files::default(), asked)?;
        let goal = aim(&host).goal;
        let streams =
            if goal.streams == 1 { String::new() } else { format!(" in {} connections", goal.streams) };
        let text = format!("{} over {}{streams}", goal.rate, duration_text(goal.rtt));
        Ok(plan(propose(&judge(&host, &goal), with_hints), text))
    })?
}

/// The plan for the advice of a diagnosis, for the end of its flows that this host is. `name` is the file of the diagnosis, `pid`
/// the process of this host that owns the sockets. `with_hints` also plans what cures minor and uncertain findings, and
/// alternatives.
///
/// # Errors
/// If it is not clear which end this host is, or there is no such namespace or process.
pub fn examine_advised(
    netns: Option<&str>,
    name: &str,
    flows: &[Advised],
    here: Here,
    pid: Option<u32>,
    with_hints: bool,
) -> Result<Plan, ExamineError> {
    let mut of = propose_advised(flows, here, with_hints)?;
    if let Some(pid) = pid {
        of.proposed.know(Access::reading().process(pid)?);
    }
    let others = match of.others {
        0 => String::new(),
        others => format!(", without {} of others", counted(others as u64, "flow")),
    };
    let text = format!("{} of {} in {name}{others}", counted(of.flows as u64, "flow"), of.address);
    Ok(namespace::inside(netns, || plan(of.proposed, text))?)
}

/// What this host's kernel says of itself and of its buffers, to anyone.
pub fn known() -> Known {
    let access = Access::reading();
    let value = |name: &'static str| Some((name, access.read(&Setting::Sysctl(name.to_owned())).ok()?));
    // SAFETY: a plain value.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let (_, release) = who::host_name();
    Known { release, page: page.unsigned_abs(), sysctls: READ.into_iter().filter_map(value).collect() }
}

/// A plan with the values that the settings have in the namespace of the calling thread.
fn plan(proposed: Proposed, goal: String) -> Plan {
    let (host, kernel) = who::host_name();
    let made = Made { at: clock::utc_text(clock::now()), host, kernel, goal };
    proposed.plan(made, |change| state(&Access::reading(), change))
}

/// The value of a setting, and the one that a change applies to.
fn state(access: &Access<'_>, change: &Change) -> Result<(String, String), String> {
    if change.setting.is_of_unknown() {
        return Err("the process is not known: `ss -tnp` shows it, and --pid names it".to_owned());
    }
    let now = access.read(&change.setting).map_err(|error| error.to_string())?;
    let now = change.setting.brief(&now);
    let peer = match &change.setting {
        Setting::Route { to, .. } if change.target == Target::Added && now == NO_ROUTE => {
            to.split('/').next().and_then(|address| address.parse::<IpAddr>().ok())
        }
        _ => None,
    };
    let found = match peer {
        // A route of its own begins as the one that packets take now.
        Some(peer) => access.way_to(peer).map_err(|error| error.to_string())?,
        None => now.clone(),
    };
    Ok((now, found))
}
