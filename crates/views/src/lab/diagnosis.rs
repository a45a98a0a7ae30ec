//! The diagnosis of a run on the kernel.

use crate::rank::Ranking;
use crate::terminal::{self, Look};
use crate::{Diagnosis, Recording};
use slowpath_analyses::report::FlowReport;
use slowpath_runs::kernel::Live;
use slowpath_scenario::Scenario;
use std::io::{self, Write};

/// What limited the flows of a run. A capture that is not kept has the name of its host.
pub fn diagnosis(
    scenario: &Scenario,
    live: &Live,
    mut ranking: Ranking,
    is_kept: bool,
) -> Diagnosis<'static> {
    ranking.full.iter_mut().for_each(FlowReport::explain);
    let mut recording = Recording::of_capture(&live.capture);
    if !is_kept {
        let name = format!("{}, at the sending host", scenario.heading());
        recording = Recording { name, gone: true, ..recording };
    }
    let (recordings, advise) = (vec![recording], &slowpath_remedies::advise);
    Diagnosis { recordings, ranking, flows_not_kept: live.not_kept, paired: None, advise }
}

/// Prints it, and how to keep the captures if they are not.
///
/// # Errors
/// The errors of `out`.
pub fn print_run(
    diagnosis: &Diagnosis<'_>,
    is_kept: bool,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    terminal::diagnosis(diagnosis, look, out)?;
    if is_kept { Ok(()) } else { writeln!(out, "\nThe captures were not kept; --out DIR keeps them.") }
}
