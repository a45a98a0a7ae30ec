//! `slowpath cookbook`: cases as text, as the description in their folder, and as JSON.

use crate::headline::main_finding;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_analyses::Cause;
use slowpath_analyses::report::FlowReport;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate, shown};
use slowpath_runs::cookbook::{Case, Checked, README, RECORDINGS, VERDICT, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// What `--help` teaches about the command.
pub const HELP: &str = "\
A case is a folder with an anonymised recording of a transfer, its verdict, and what helped. Addresses become documentation \
addresses; MAC addresses, payload, names and comments are left out; times, ports, sequence numbers and TCP options stay, so that the \
verdict is the same, which is checked. A case below captures/cookbook of slowpath's repository is checked by its tests.

Exit codes: 0 the case is written, or no verdict changed; 1 a verdict changed; 2 no case: no such capture, no flow in it, the folder exists.

Examples:
  slowpath cookbook add transfer.pcap --title 'scp stays at 10 Mbit/s' --what-helped 'dropbear -W 2097152' --out scp-window
  slowpath cookbook check captures/cookbook";

/// The main cause of a flow, as its headline names it.
pub fn main_cause(flow: &FlowReport) -> Option<Cause> {
    main_finding(flow).map(|finding| finding.cause)
}

/// The text of a case's description, in Markdown.
pub fn readme(case: &Case) -> String {
    let mut text = format!("# {}\n\n## Symptom\n\n", shown::line(&case.title));
    // Writing to a String never fails.
    for recorded in &case.recordings {
        for flow in &recorded.flows {
            let _ = writeln!(text, "- `{}`, flow {}: {}.", recorded.file, flow.flow, symptom(flow));
        }
    }
    text.push_str("\n## Verdict\n\n| recording | flow | main cause | shares |\n| --- | --- | --- | --- |\n");
    for recorded in &case.recordings {
        for flow in &recorded.flows {
            let main = flow.main_cause.as_deref().unwrap_or("none");
            let _ = writeln!(text, "| `{}` | {} | {main} | {} |", recorded.file, flow.flow, shares(flow));
        }
    }
    let _ = write!(text, "\n## What helped\n\n{}\n", case.what_helped);
    let _ = write!(
        text,
        "\n## Files\n\nThe recordings have documentation addresses and no payload; times, ports, sequence numbers and TCP \
         options are those of the transfer. `{VERDICT}` is what `slowpath cookbook check` compares. Look at them with\n\n\
         ```sh\nslowpath diagnose {}\n```\n",
        case.recordings.first().map_or(RECORDINGS[0], |recorded| recorded.file.as_str())
    );
    text
}

fn symptom(flow: &Verdict) -> String {
    let (moved, lasted) = (Bytes::new(flow.moved_bytes), Duration::from_nanos(flow.lasted_ns));
    match Rate::of(moved, lasted) {
        Some(rate) => format!("moved {moved} in {} ({rate})", duration_text(lasted)),
        None => format!("moved {moved}"),
    }
}

/// The causes of a twentieth of the time or more, the largest first.
fn shares(flow: &Verdict) -> String {
    let mut all: Vec<_> = flow.shares.iter().filter(|(_, share)| **share >= 0.05).collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1));
    all.iter().map(|(cause, share)| format!("{cause} {:.0} %", *share * 100.0)).collect::<Vec<_>>().join(", ")
}

/// Prints a new case.
///
/// # Errors
///
/// The errors of `out`.
pub fn print_added(case: &Case, folder: &Path, out: &mut impl Write) -> io::Result<()> {
    let folder = folder.display();
    writeln!(out, "{folder}: {}", case.title)?;
    for recorded in &case.recordings {
        for flow in &recorded.flows {
            let main = flow.main_cause.as_deref().unwrap_or("none");
            writeln!(out, "  {}, flow {}: {}; {main}", recorded.file, flow.flow, symptom(flow))?;
        }
    }
    writeln!(
        out,
        "\nRead {folder}/{README} before you pass the folder on: title and text are yours. To have it scored, put it below \
         captures/cookbook in a clone of slowpath, and open a pull request."
    )
}

/// Prints checked cases.
///
/// # Errors
///
/// The errors of `out`.
pub fn print_checked(cases: &[Checked], out: &mut impl Write) -> io::Result<()> {
    for one in cases {
        let state = if one.changes.is_empty() { "as it was" } else { "CHANGED" };
        writeln!(out, "{}: {state}: {}", one.folder.display(), one.case.title)?;
        for change in &one.changes {
            let named = |cause: &Option<String>| cause.clone().unwrap_or_else(|| "none".to_owned());
            let (before, now) = (named(&change.before), named(&change.now));
            writeln!(out, "  {}, flow {}: {before} became {now}", change.file, change.flow)?;
        }
    }
    Ok(())
}

/// What `slowpath cookbook --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/cookbook/1")]
pub struct CookbookDocument<'a> {
    /// `slowpath/cookbook/1`.
    schema: &'static str,
    /// The cases.
    cases: Vec<CookbookCase<'a>>,
}

/// A case of the cookbook.
#[derive(Serialize, JsonSchema)]
struct CookbookCase<'a> {
    /// Its folder.
    folder: String,
    /// What it is.
    title: &'a str,
    /// What helped.
    what_helped: &'a str,
    /// The flows of its recordings.
    flows: Vec<CookbookFlow<'a>>,
    /// The verdicts that are not the stored ones any more.
    changes: Vec<CookbookChange<'a>>,
}

/// A flow of a case, with the stored verdict.
#[derive(Serialize, JsonSchema)]
struct CookbookFlow<'a> {
    /// The recording, in the case's folder.
    file: &'a str,
    /// Its number there.
    flow: u32,
    /// Payload moved in its main direction.
    moved_bytes: u64,
    /// Its duration.
    lasted_ns: u64,
    /// The main cause; `null` if nothing is known.
    main_cause: Option<&'a str>,
    /// The part of the time that every cause limited it, 0 to 1.
    shares: &'a BTreeMap<String, f64>,
}

/// A changed verdict.
#[derive(Serialize, JsonSchema)]
struct CookbookChange<'a> {
    /// The recording, in the case's folder.
    file: &'a str,
    /// The flow.
    flow: u32,
    /// The stored main cause; `null` if there was none.
    before: Option<&'a str>,
    /// The main cause now; `null` if there is none.
    now: Option<&'a str>,
}

impl<'a> CookbookDocument<'a> {
    /// A document of checked cases.
    pub fn of_checked(cases: &'a [Checked]) -> Self {
        let case = |one: &'a Checked| {
            let changes = one.changes.iter().map(|change| CookbookChange {
                file: &change.file,
                flow: change.flow,
                before: change.before.as_deref(),
                now: change.now.as_deref(),
            });
            CookbookCase { changes: changes.collect(), ..CookbookCase::of(&one.case, &one.folder) }
        };
        Self { schema: "slowpath/cookbook/1", cases: cases.iter().map(case).collect() }
    }

    /// A document of a new case.
    pub fn of_added(case: &'a Case, folder: &Path) -> Self {
        Self { schema: "slowpath/cookbook/1", cases: vec![CookbookCase::of(case, folder)] }
    }
}

impl<'a> CookbookCase<'a> {
    fn of(case: &'a Case, folder: &Path) -> Self {
        let flows = case.recordings.iter().flat_map(|recorded| {
            recorded.flows.iter().map(|flow| CookbookFlow {
                file: &recorded.file,
                flow: flow.flow,
                moved_bytes: flow.moved_bytes,
                lasted_ns: flow.lasted_ns,
                main_cause: flow.main_cause.as_deref(),
                shares: &flow.shares,
            })
        });
        Self {
            folder: folder.display().to_string(),
            title: &case.title,
            what_helped: &case.what_helped,
            flows: flows.collect(),
            changes: Vec::new(),
        }
    }
}
