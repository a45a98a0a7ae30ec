//! One number of the model next to the kernel's.

use slowpath_model::statistics;
use std::fmt::Write;

/// How far from the model the kernel may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// This share of the model's number, to either side.
    Share(f64),
    /// This much of the unit, to either side.
    Within(f64),
    /// This much of the unit earlier, and this much later: a busy machine is late, and never early.
    Late { early: f64, late: f64 },
}

/// A number of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub what: String,
    pub unit: &'static str,
    pub model: f64,
    pub live: f64,
    pub tolerance: Tolerance,
}

impl Row {
    /// Whether the two agree within the tolerance.
    pub fn agrees(&self) -> bool {
        let off = self.live - self.model;
        match self.tolerance {
            Tolerance::Share(share) => off.abs() <= share * self.model.abs(),
            Tolerance::Within(most) => off.abs() <= most,
            Tolerance::Late { early, late } => (-early..=late).contains(&off),
        }
    }

    fn error(&self) -> String {
        match self.tolerance {
            Tolerance::Share(_) => format!("{:+.1} %", (self.live / self.model - 1.0) * 100.0),
            Tolerance::Within(_) | Tolerance::Late { .. } => format!("{:+.1}", self.live - self.model),
        }
    }

    fn tolerated(&self) -> String {
        match self.tolerance {
            Tolerance::Share(share) => format!("±{:.0} %", share * 100.0),
            Tolerance::Within(most) => format!("±{most:.1}"),
            Tolerance::Late { early, late } => format!("−{early:.0} +{late:.0}"),
        }
    }
}

/// The rows as a table. The error is the kernel's number less the model's.
pub fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
    let mut text = format!(
        "  {:<width$} {:>8} {:>10} {:>10} {:>9} {:>9}\n",
        "", "unit", "model", "kernel", "error", "tolerated"
    );
    for row in rows {
        let mark = if row.agrees() { "" } else { "  APART" };
        let _ = writeln!(
            text,
            "  {:<width$} {:>8} {:>10.1} {:>10.1} {:>9} {:>9}{mark}",
            row.what,
            row.unit,
            row.model,
            row.live,
            row.error(),
            row.tolerated(),
        );
    }
    text
}

/// The median; NaN for no numbers.
pub fn median(numbers: Vec<f64>) -> f64 {
    statistics::median(numbers).unwrap_or(f64::NAN)
}

/// The minimum; infinite for no numbers.
pub fn least(numbers: Vec<f64>) -> f64 {
    numbers.into_iter().fold(f64::INFINITY, f64::min)
}
