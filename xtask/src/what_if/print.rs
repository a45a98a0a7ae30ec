//! The fits and predictions as text.

use super::{Prediction, Row};
use slowpath_model::statistics::quantile;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Every capture in a line, then the sums.
pub fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let what = match &row.refused {
            Some((_, why)) => format!("refused: {why}"),
            None => format!("fitted, off by {:.1} %", row.off.unwrap_or_default() * 100.0),
        };
        let bulk = if row.bulk { "" } else { " (not plain bulk)" };
        let _ = writeln!(text, "{}{bulk}: {what}, {:.2} s", row.name, row.took_s);
        row.wrong.iter().for_each(|wrong| {
            let _ = writeln!(text, "    WRONG: {wrong}");
        });
        row.predictions.iter().for_each(|prediction| text.push_str(&line(prediction)));
    }
    text.push('\n');
    sums(rows, &mut text);
    text
}

fn mbit(rate: f64) -> String {
    format!("{:.2}", rate / 1e6)
}

fn line(one: &Prediction) -> String {
    let [low, middle, high] = one.predicted;
    let mut text = format!(
        "    {:<28} {} captured, {} to {} ({}) predicted",
        one.remedy,
        mbit(one.captured),
        mbit(low),
        mbit(high),
        mbit(middle)
    );
    for (name, measured) in [("model", one.simulated), ("kernel", one.kernel)] {
        if let Some(measured) = measured {
            let is_in = if (low..=high).contains(&measured) { "" } else { ", OUTSIDE" };
            let error = (middle / measured - 1.0) * 100.0;
            let _ = write!(text, "; {name} {} ({error:+.1} %{is_in})", mbit(measured));
        }
    }
    if let Some(why) = &one.not_measured {
        let _ = write!(text, "; not measured: {why}");
    }
    text + "\n"
}

fn sums(rows: &[Row], text: &mut String) {
    let fitted = |rows: &[&Row]| rows.iter().filter(|row| row.refused.is_none()).count();
    let (bulk, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.bulk);
    let _ = writeln!(text, "plain bulk: {} of {} fitted", fitted(&bulk), bulk.len());
    let _ = writeln!(text, "others: {} of {} fitted", fitted(&others), others.len());
    let wrong = rows.iter().filter(|row| !row.wrong.is_empty()).count();
    let _ = writeln!(text, "fitted with a value that contradicts the truth: {wrong}");
    let mut refused: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for row in rows {
        if let Some((why, _)) = &row.refused {
            *refused.entry((why, row.bulk)).or_default() += 1;
        }
    }
    for ((why, is_bulk), count) in refused {
        let _ = writeln!(text, "refused, {}: {why} {count}", if is_bulk { "bulk" } else { "others" });
    }
    let all: Vec<&Prediction> = rows.iter().flat_map(|row| &row.predictions).collect();
    measured("model", &all, |one| one.simulated, text);
    measured("kernel", &all, |one| one.kernel, text);
}

fn measured(name: &str, all: &[&Prediction], of: impl Fn(&Prediction) -> Option<f64>, text: &mut String) {
    let pairs: Vec<(&Prediction, f64)> = all.iter().filter_map(|one| Some((*one, of(one)?))).collect();
    let errors = || pairs.iter().map(|(one, measured)| (one.predicted[1] / measured - 1.0).abs() * 100.0);
    let inside =
        pairs.iter().filter(|(one, rate)| (one.predicted[0]..=one.predicted[2]).contains(rate)).count();
    let part = |permille| quantile(errors(), permille).unwrap_or_default();
    let _ = writeln!(
        text,
        "{name}: {} predictions, median error {:.1} %, 95th percentile {:.1} %, worst {:.1} %, {inside} inside their range",
        pairs.len(),
        part(500),
        part(950),
        part(1000),
    );
}
