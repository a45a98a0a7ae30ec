//! The text of `slowpath what-if`: the fit, its check, and a row for each remedy.

use super::upgrade;
use super::words::{gain, limited_by, record, refusal, rows};
use crate::quantity::{counted, duration_or_dash, share};
use crate::table::Table;
use crate::terminal::Look;
use slowpath_model::Rate;
use slowpath_model::units::range;
use slowpath_remedies::percent;
use slowpath_runs::what_if::{Answer, Predictions};
use slowpath_whatif::{Predicted, Remedy, Seen};
use std::io::{self, Write};

/// Prints what came of a transfer.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(answer: &Answer, look: &Look, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        look.strong(&format!("flow {}: {} → {}", answer.flow.0, from(answer).0, from(answer).1))
    )?;
    if let Some(captured) = &answer.captured {
        look.paragraph(out, "", &transfer(captured))?;
    }
    writeln!(out)?;
    match (&answer.result, &answer.captured) {
        (Ok(found), Some(captured)) => predictions(found, captured, look, out),
        (Err(why), _) => {
            look.paragraph(
                out,
                "",
                &format!("Cannot be predicted from this capture, because {}.", refusal(why)),
            )?;
            record(why).map_or(Ok(()), |record| look.paragraph(out, "", record))
        }
        (Ok(_), None) => Ok(()),
    }
}

/// Source and destination.
fn from(answer: &Answer) -> (String, String) {
    let sender = answer.captured.as_ref().map_or(slowpath_model::End::A, |seen| seen.sender);
    (answer.key.endpoint(sender).to_string(), answer.key.endpoint(!sender).to_string())
}

fn transfer(captured: &Seen) -> String {
    let limit = captured.main_limit().map_or(String::new(), |(_, cause, _)| {
        format!(" {} of that time: {}.", share(captured.of_cause(cause)), cause.title())
    });
    format!("{} at {}.{limit}", captured.amount, captured.rate)
}

fn predictions(found: &Predictions, captured: &Seen, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let model = &found.found.models[0];
    let rows = rows(&model.fitted);
    let width = rows.iter().map(|(_, what, ..)| what.len()).max().unwrap_or(0);
    for (_, what, value, from) in rows {
        look.paragraph(out, &format!("{what:width$}  "), &format!("{value}; {from}"))?;
    }
    writeln!(out)?;
    let simulated = &model.simulated;
    let text = format!(
        "the simulated transfer has {} ({:.1} % off), a mean RTT of {} ({} captured) and {} retransmitted ({} captured); its \
         time by limit is within 5 points.",
        simulated.rate,
        model.off * 100.0,
        duration_or_dash(simulated.mean_rtt),
        duration_or_dash(captured.mean_rtt),
        percent(simulated.retransmitted),
        percent(captured.retransmitted),
    );
    look.paragraph(out, "Checked: ", &text)?;
    writeln!(out)?;
    match upgrade::tried(found) {
        Some(tried) => upgrade::print(found, tried, look, out)?,
        None => tried(found, captured.rate, look, out)?,
    }
    let runs: usize = found.tried.iter().chain(&found.unchanged).map(|predicted| predicted.runs).sum();
    let text = format!(
        "From {}: ranges cover what the capture leaves open and what the check was off by.",
        counted(runs as u64, "run")
    );
    writeln!(out)?;
    look.faint_paragraph(out, "", &text)
}

/// The number of each single remedy, by which pairs name it.
fn numbered(found: &Predictions) -> Vec<Remedy> {
    found
        .tried
        .iter()
        .filter(|predicted| predicted.remedies.len() == 1)
        .flat_map(|one| one.remedies.clone())
        .collect()
}

fn tried(found: &Predictions, captured: Rate, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let singles = numbered(found);
    if singles.is_empty() {
        return look.paragraph(
            out,
            "",
            "The verdict suggests no setting that could be tried; --try names one.",
        );
    }
    for (number, remedy) in (1..).zip(&singles) {
        writeln!(out, "{number}  {remedy}")?;
    }
    writeln!(out)?;
    let mut table = Table::new(1, ["with", "rate", "gain", "RTT", "then limited by, of the time"]);
    let mut row = |name: String, predicted: &Predicted| {
        let [low, _, high] = predicted.rates;
        table.row(vec![
            name,
            range(&low, &high),
            if predicted.remedies.is_empty() { "-".to_owned() } else { gain(captured, predicted.rates) },
            duration_or_dash(predicted.mean_rtt),
            predicted.next.map_or_else(|| "-".to_owned(), limited_by),
        ]);
    };
    for predicted in &found.tried {
        let number =
            |remedy: &Remedy| singles.iter().position(|single| single == remedy).map_or(0, |place| place + 1);
        let numbers: Vec<String> =
            predicted.remedies.iter().map(|remedy| number(remedy).to_string()).collect();
        row(numbers.join(" + "), predicted);
    }
    if let Some(unchanged) = &found.unchanged {
        row("none".to_owned(), unchanged);
    }
    table.print(look, out)
}
