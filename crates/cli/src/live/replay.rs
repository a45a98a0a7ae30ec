//! What the probe told before, from the file to which `--raw` wrote it.

use super::{present, ring};
use crate::Outcome;
use anyhow::Context;
use slowpath_analyses::hosts::Hosts;
use slowpath_live::Replayed;
use slowpath_model::{Bytes, FlowId};
use slowpath_views::live::Watched;
use std::io::Read;
use std::path::Path;

/// What a file does not have in which no process was found.
const NO_OWNERS: &str = "whose the sockets were";

/// Prints what is made of it.
pub fn replay(
    path: &Path,
    raw: impl Read,
    only: (Option<FlowId>, Bytes),
    shown: (usize, bool),
) -> anyhow::Result<Outcome> {
    let named = || path.display().to_string();
    let mut hosts = Hosts::default();
    let Replayed { rest, lasted, mut unseen, processes, incomplete, .. } =
        slowpath_live::replay(raw, &mut hosts).with_context(named)?;
    if processes.is_none() {
        unseen.push(NO_OWNERS.to_owned());
    }
    let (accounts, not_kept) = hosts.finish();
    let watched = Watched {
        lasted,
        accounts,
        not_kept,
        processes: processes.unwrap_or_default(),
        check: Some(rest.check),
        drops: rest.drops,
        devices: rest.devices,
        softirqs: ring(&rest.softirqs),
        unseen,
        incomplete: incomplete.map(|error| format!("{}: {error}", named())),
    };
    present(watched, only, shown)
}
