//! A plan for this host: doctor's findings, with the values of the settings that they are about.

use crate::access::Access;
use crate::error::Error;
use crate::plan::{Made, Plan, propose};
use crate::{clock, namespace, who};
use slowpath_doctor::{Aim, Asked, Files, Host, ReadError, judge, read};
use slowpath_model::units::duration_text;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] Error),
    /// The host cannot be examined.
    #[error(transparent)]
    Read(#[from] ReadError),
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
        let (name, kernel) = who::host_name();
        let made = Made {
            at: clock::utc_text(clock::now()),
            host: name,
            kernel,
            goal: format!("{} over {}{streams}", goal.rate, duration_text(goal.rtt)),
        };
        let access = Access::reading();
        let read = |setting: &_| access.read(setting).map_err(|error| error.to_string());
        Ok(propose(&judge(&host, &goal), with_hints).plan(made, read))
    })?
}
