//! What another kernel makes of a transfer: itself, and each of its changes that matters alone.

use super::words::limited_by;
use crate::kernels::Change;
use crate::quantity::{counted, duration_or_dash};
use crate::table::Table;
use crate::terminal::Look;
use slowpath_kernels::Release;
use slowpath_model::units::range;
use slowpath_runs::what_if::Predictions;
use slowpath_whatif::predict::LEAST_MARGIN;
use slowpath_whatif::{Changed, Predicted, Remedy};
use std::io::{self, Write};

/// The kernel that was tried, with what it predicts; `None` if other things were.
pub(super) fn tried(found: &Predictions) -> Option<(Release, &Predicted)> {
    found.tried.iter().find_map(|predicted| match predicted.remedies[..] {
        [Remedy::Kernel(to)] if changes(found).next().is_some() => Some((to, predicted)),
        _ => None,
    })
}

/// Each change of the new kernel, with what it alone predicts.
fn changes(found: &Predictions) -> impl Iterator<Item = (Changed, &Predicted)> {
    found.tried.iter().filter_map(|predicted| match predicted.remedies[..] {
        [Remedy::Changed(changed)] => Some((changed, predicted)),
        _ => None,
    })
}

/// By which parts the low, the middle and the high end of the rate change.
fn parts(before: &Predicted, after: &Predicted) -> [f64; 3] {
    [0, 1, 2].map(|nth| after.rates[nth].get() as f64 / before.rates[nth].get().max(1) as f64 - 1.0)
}

/// The largest of them.
fn most(before: &Predicted, after: &Predicted) -> f64 {
    parts(before, after).into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// These parts, as text: the middle, or both ends where these do not agree on the direction.
fn change(before: &Predicted, after: &Predicted) -> String {
    let parts = parts(before, after);
    let (low, high) = (parts[0].min(parts[2]), parts[0].max(parts[2]));
    if most(before, after) < LEAST_MARGIN {
        "none".to_owned()
    } else if low <= -LEAST_MARGIN && high >= LEAST_MARGIN {
        format!("{:+.0} to {:+.0} %", low * 100.0, high * 100.0)
    } else {
        format!("{:+.0} %", parts[1] * 100.0)
    }
}

pub(super) fn print(
    found: &Predictions,
    (to, upgraded): (Release, &Predicted),
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let from = found.found.models[0].fitted.kernel;
    let before = found.unchanged.as_ref().unwrap_or(upgraded);
    let mut table = Table::new(1, ["kernel", "rate", "change", "RTT", "limited by, of the time"]);
    for (kernel, predicted) in [(from, before), (to, upgraded)] {
        let [low, _, high] = predicted.rates;
        table.row(vec![
            kernel.name().to_owned(),
            range(&low, &high),
            if kernel == from { "-".to_owned() } else { change(before, predicted) },
            duration_or_dash(predicted.mean_rtt),
            predicted.next.map_or_else(|| "-".to_owned(), limited_by),
        ]);
    }
    table.print(look, out)?;
    writeln!(out)?;
    let (mut matter, others): (Vec<_>, Vec<_>) =
        changes(found).partition(|(_, alone)| most(before, alone) >= LEAST_MARGIN);
    matter.sort_by(|(_, a), (_, b)| most(before, b).total_cmp(&most(before, a)));
    for (changed, alone) in &matter {
        let [was, is] = changed.values();
        let text = format!("{}: {was} → {is}, alone {}", changed.name, change(before, alone));
        look.paragraph(out, "", &text)?;
        for why in changed.changes() {
            look.paragraph(out, "  ", &format!("{}", Change::of(why)))?;
        }
    }
    let names: Vec<&str> = others.iter().map(|(changed, _)| changed.name).collect();
    if !names.is_empty() {
        let text = format!(
            "{}, alone less than {:.0} %: {}.",
            counted(names.len() as u64, if matter.is_empty() { "change" } else { "other change" }),
            LEAST_MARGIN * 100.0,
            names.join(", ")
        );
        look.paragraph(out, "", &text)?;
    }
    if matter.is_empty() && most(before, upgraded) >= LEAST_MARGIN {
        look.paragraph(out, "", "No change explains it alone: they act together.")?;
    }
    Ok(())
}
