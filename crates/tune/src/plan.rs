//! A plan: which settings change, from which value to which, and why. It is a TOML file for people to read and edit.
//!
//! A plan names the value that it expects to find, so that it is never applied to another state than the one that it was
//! made for. Pure: who makes a plan says when and where.

mod advised;
mod findings;
mod predicted;
mod propose;
mod read;
mod write;

pub use advised::{Advised, Here, UnknownHost, propose_advised};
pub use findings::{BadFindings, MOST_FINDINGS_BYTES, findings};
pub use predicted::{Forecast, Prediction};
pub use propose::{Proposed, propose};
pub use read::{BadPlan, Fault};

use slowpath_remedies::{Change, Setting, Target};

/// The version of the file's layout.
pub const SCHEMA: &str = "slowpath/plan/1";
/// More changes than doctor has checks.
const MOST_CHANGES: usize = 200;

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// When, where and for what it was made.
    pub made: Made,
    /// The changes, in the order in which they are made.
    pub changes: Vec<Planned>,
    /// What a person has to do, since slowpath could not take it back.
    pub by_hand: Vec<ByHand>,
    /// What is predicted of each change, and of all together; empty for a plan that is not from a capture.
    pub predictions: Vec<Prediction>,
}

/// Where a plan is from: for its reader only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// When: `2026-03-01 12:00:00 UTC`.
    pub at: String,
    /// The host's name.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// The transfer that it is for.
    pub goal: String,
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What is changed.
    pub setting: Setting,
    /// The value that it has to have before.
    pub now: String,
    /// Its new value.
    pub then: String,
    /// The finding that it fixes, `receive-buffer`, or several with commas.
    pub finding: String,
    /// Why.
    pub why: String,
    /// Where that is documented.
    pub source: String,
}

impl Planned {
    /// The shell line that takes it back.
    pub fn undo(&self) -> String {
        let (now, then) = (Some(self.now.clone()), self.then.clone());
        let change = Change { setting: self.setting.clone(), now, then, target: Target::Exactly };
        change.undo().unwrap_or_default()
    }
}

/// Advice that is not applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByHand {
    /// The shell line; empty where no command changes anything.
    pub command: String,
    /// The finding that it fixes.
    pub finding: String,
    /// Why.
    pub why: String,
    /// Why it is not applied.
    pub not_applied: String,
}
