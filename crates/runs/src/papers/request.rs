//! The report of a paper, with the options that fit it: simulated or measured.

use super::{Error, lavoie, ubik};
use crate::interrupt::Interrupt;
use slowpath_papers::{Paper, Report};
use std::path::Path;

/// How long a case is profiled, unless that is asked for.
const SECONDS: u64 = 5;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The paper; `None` is that of LaVoie, Nahum and Flynn, which is always measured.
    pub paper: Option<Paper>,
    /// Its copies are measured on this machine's kernel.
    pub in_lab: bool,
    /// Runs per experiment.
    pub seeds: Option<u64>,
    /// Words in the names of the cases; empty for all cases.
    pub only: &'a [String],
    /// Seconds for which each case is profiled.
    pub seconds: Option<u64>,
    /// The folder that keeps what is measured.
    pub keep: Option<&'a Path>,
    /// A folder of kept measurements, used instead of runs.
    pub from: Option<&'a Path>,
    /// A folder of kept measurements to compare with.
    pub compare: Option<&'a Path>,
}

impl Request<'_> {
    /// Runs what is asked for. `begin` is called with what a step is and the number of steps, and the function that it
    /// returns after each.
    ///
    /// # Errors
    ///
    /// If options do not fit the paper, or as [`super::report`], [`lavoie::report`] and [`ubik::copies`].
    pub fn report<D: Fn() + Sync>(&self, begin: impl Fn(&'static str, usize) -> D) -> Result<Report, Error> {
        let Self { paper, in_lab, seeds, only, seconds, keep, from, compare } = *self;
        match paper {
            Some(Paper::Ubik) if in_lab => ubik::copies(only, keep, |all| begin("copy", all)),
            Some(_) if in_lab => Err(Error::Misfit("--lab is for ubik")),
            // --compare requires --from.
            Some(_) if !only.is_empty() || seconds.is_some() || keep.is_some() || from.is_some() => {
                Err(Error::Misfit(
                    "--only, --seconds, --keep, --from and --compare are for lavoie, which is measured (or ubik --lab); this paper is simulated",
                ))
            }
            Some(paper) => {
                let interrupt = Interrupt::listen()?;
                let seeds = seeds.unwrap_or(paper.seeds());
                let found = super::report(paper, seeds, interrupt.flag(), |all| begin("experiment", all))?;
                found.ok_or(Error::Interrupted)
            }
            None if in_lab => Err(Error::Misfit("--lab is for ubik; lavoie is always measured")),
            None if seeds.is_some() => {
                Err(Error::Misfit("--seeds is for simulated papers; lavoie is measured"))
            }
            None => {
                let seconds = seconds.unwrap_or(SECONDS);
                let asked = lavoie::Asked { only, seconds, keep, from, compare };
                lavoie::report(&asked, |all| begin("case", all))
            }
        }
    }
}
