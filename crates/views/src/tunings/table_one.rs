//! The text of `slowpath compare-tunings --lab`: weigle's table I, with what was measured and simulated of each technique.

use crate::quantity::counted;
use crate::table::Table;
use crate::terminal::Look;
use slowpath_model::Rate;
use slowpath_model::units::duration_text;
use slowpath_papers::tunings::{Path, Technique};
use slowpath_runs::papers::table_one::{Measured, median};
use std::io::{self, Write};

/// Prints a row for each technique.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(
    path: &Path,
    simulated: &[super::Result],
    measured: &Measured,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let runs = measured.iter().filter_map(|(_, runs)| Some(runs.as_ref()?.len())).max().unwrap_or(0);
    let text = format!(
        "weigle's table I, on {} with an RTT of {}, {} by FTP. Measured on this kernel: {}.",
        path.rate,
        duration_text(path.delay),
        path.amount,
        match runs {
            1 => "one transfer each".to_owned(),
            runs => format!("the median of {} each", counted(runs as u64, "transfer")),
        }
    );
    look.paragraph(out, "", &text)?;
    writeln!(out)?;
    let rate_of = |wanted: Technique| {
        let runs = measured.iter().find(|(technique, _)| *technique == wanted)?.1.as_ref()?;
        median(runs)
    };
    let simulated_of = |wanted: Technique| {
        simulated.iter().find(|(technique, _)| *technique == wanted).map(|(_, outcome)| outcome.rate)
    };
    let untuned = rate_of(Technique::None).map(Rate::get);
    let simulated_untuned = simulated_of(Technique::None);
    let mut table = Table::new(1, ["technique", "measured", "× untuned", "simulated", "paper"]);
    for (technique, _) in measured {
        let rate = rate_of(*technique);
        let is_untuned = *technique == Technique::None;
        let over = |rate: Option<u64>, untuned| match is_untuned {
            true => "1".to_owned(),
            false => factor(rate, untuned).unwrap_or_else(none),
        };
        table.row(vec![
            technique.name().to_owned(),
            rate.map_or_else(none, |rate| rate.to_string()),
            over(rate.map(Rate::get), untuned),
            over(simulated_of(*technique), simulated_untuned),
            technique.published().map_or_else(none, str::to_owned),
        ]);
    }
    table.print(look, out)?;
    writeln!(out)?;
    let mut table = Table::new(1, ["technique", "level", "changes", "band", "visibility"]);
    for (technique, _) in measured {
        if let Some(kind) = technique.kind() {
            let cells = [technique.name(), kind.level, kind.changes, kind.band, kind.visibility];
            table.row(cells.map(str::to_owned).to_vec());
        }
    }
    table.print(look, out)?;
    writeln!(out)?;
    for text in [
        "× untuned is the measured rate over that without tuning. The next column is that of the simulation (`slowpath \
         compare-tunings`), and the last what the paper cites: PSC and Enable for paths that it does not name, DRS FTP and \
         manual for 100 ms.",
        "The time of a transfer is from the command to its last byte: login and what a technique measures are in it. Untuned \
         hosts have buffers of 64 KiB at both ends. Programs run on such hosts; their FTP server takes SBUF. This kernel has \
         neither Linux 2.4's autotuning nor LANL's patch.",
    ] {
        look.paragraph(out, "", text)?;
    }
    Ok(())
}

/// Not known.
fn none() -> String {
    "–".to_owned()
}

/// A rate over the untuned one, with two significant digits.
fn factor(rate: Option<u64>, untuned: Option<u64>) -> Option<String> {
    let factor = rate? as f64 / untuned.filter(|untuned| *untuned > 0)? as f64;
    Some(if factor < 10.0 { format!("{factor:.1}") } else { format!("{factor:.0}") })
}
