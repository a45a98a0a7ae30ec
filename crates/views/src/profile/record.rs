//! `slowpath profile record`: a recorded profile.

use crate::quantity::{count, counted};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::Work;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, shown};
use slowpath_profile::Recorded;
use slowpath_profile::record::Counted;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

/// A recording that was made (schema slowpath/profile-record/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/profile-record/1")]
pub struct ProfileRecordDocument<'a> {
    /// `slowpath/profile-record/1`.
    schema: &'static str,
    /// The profile.
    file: String,
    /// What the host did meanwhile (schema slowpath/work/1); null if it could not be written.
    work_file: Option<String>,
    /// The profile's size.
    bytes: u64,
    /// The duration of sampling.
    seconds: f64,
    /// The event.
    event: &'a str,
    /// Why this event was chosen.
    why: String,
    /// Samples; null where the file cannot be read here.
    samples: Option<u64>,
    /// Samples that were lost.
    lost_samples: Option<u64>,
    /// Whether it was stopped before its time was over or its command ended.
    ended_early: bool,
    /// The exit code of the command; null without one, or if a signal ended it.
    exit_code: Option<i32>,
    /// The signal that ended the command.
    signal: Option<i32>,
    /// What is missing in it, and how to fix that.
    notes: &'a [String],
}

/// The document of a recording.
pub fn document<'a>(
    recorded: &'a Recorded,
    work_file: Option<&Path>,
    counted: Option<&Counted>,
    ended_early: bool,
) -> ProfileRecordDocument<'a> {
    ProfileRecordDocument {
        schema: "slowpath/profile-record/1",
        file: recorded.out.display().to_string(),
        work_file: work_file.map(|file| file.display().to_string()),
        bytes: recorded.bytes,
        seconds: recorded.lasted.as_secs_f64(),
        event: &recorded.event.name,
        why: recorded.event.to_string(),
        samples: counted.map(|counted| counted.samples),
        lost_samples: counted.map(|counted| counted.lost),
        ended_early,
        exit_code: recorded.command.and_then(|status| status.code()),
        signal: recorded.command.and_then(|status| status.signal()),
        notes: &recorded.warnings,
    }
}

/// Prints what was recorded, and the next commands.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    recorded: &Recorded,
    document: &ProfileRecordDocument<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let samples =
        document.samples.map_or_else(|| "no samples".to_owned(), |samples| counted(samples, "sample"));
    let lasted = Duration::from_millis(u64::try_from(recorded.lasted.as_millis()).unwrap_or(u64::MAX));
    writeln!(
        out,
        "{}: {samples}, {}, in {}",
        shown::line(&document.file),
        Bytes::new(recorded.bytes),
        duration_text(lasted)
    )?;
    writeln!(out, "  {}", document.why)?;
    if let Some(lost) = document.lost_samples.filter(|lost| *lost > 0) {
        writeln!(out, "  {} more were lost; a lower --frequency loses fewer", count(lost))?;
    }
    if document.ended_early {
        writeln!(out, "  it was ended early")?;
    }
    if let Some(file) = &document.work_file {
        writeln!(out, "{}: {}", shown::line(file), did(&recorded.work))?;
    }
    if document.samples == Some(0) {
        return writeln!(out, "\nNo samples: record for longer, or with a higher --frequency.");
    }
    writeln!(out, "\nNext, what cost most, and for whom it was done:")?;
    writeln!(out, "  slowpath profile top {0}\n  slowpath profile attribute {0}", shown::word(&document.file))
}

/// A host's work in one line.
fn did(work: &Work) -> String {
    let part = |name: &str, what: &str| Some(format!("{} {what}", count(work.counter(name)?)));
    let parts = [
        part("Tcp.InSegs", "TCP segments in"),
        part("Tcp.OutSegs", "out"),
        part("Tcp.RetransSegs", "retransmitted"),
    ];
    if [work.counter("Tcp.InSegs"), work.counter("Tcp.OutSegs")] == [Some(0); 2] {
        return "meanwhile no TCP in this network namespace".to_owned();
    }
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() {
        "what the host did meanwhile".to_owned()
    } else {
        format!("meanwhile {}", known.join(", "))
    }
}
