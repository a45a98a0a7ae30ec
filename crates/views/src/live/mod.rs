//! `slowpath diagnose --live`: this host's connections, as JSON and as text.

mod drops;
mod json;
mod receiver;
mod sender;
mod spells;
mod text;

pub use json::Document;
pub use text::print;

use slowpath_analyses::hosts::Account;
use slowpath_analyses::waits::Waits;
use slowpath_live::{Check, Device, Drops, Process};
use slowpath_model::{End, FlowId};
use std::collections::HashMap;
use std::time::Duration;

/// What was seen of this host's connections.
#[derive(Default)]
pub struct Watched {
    /// For how long they were watched.
    pub lasted: Duration,
    /// The connections, in the order in which they are shown.
    pub accounts: Vec<Account>,
    /// Connections that were too many to be kept.
    pub not_kept: u64,
    /// The processes that have the sockets open.
    pub processes: HashMap<(FlowId, End), Process>,
    /// The devices by which their packets leave.
    pub devices: HashMap<(FlowId, End), Device>,
    /// What the kernel counted, compared with what the probe saw; `None` without the probe.
    pub check: Option<Check>,
    /// Packets that the kernel dropped.
    pub drops: Drops,
    /// How long this host's receive softirqs waited to run; empty without the probe.
    pub softirqs: Waits,
    /// What cannot be seen on this kernel, or without the probe.
    pub unseen: Vec<String>,
    /// Why a file was not read to its end.
    pub incomplete: Option<String>,
}
