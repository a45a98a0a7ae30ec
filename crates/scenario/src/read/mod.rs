//! From a file's text to a checked scenario: the keys of each table next to the code that reads it.
//!
//! - `run`: the keys before the first heading, and the whole.
//! - `host`, `kernel`, `costs`, `nic`, `load`: `[hosts.NAME]`.
//! - `path`, `elements`, `middleboxes`: `[path]` and its directions.
//! - `flow`, `sequence`, `workload`, `process`: `[flows]`.
//! - `sweep`: `[[vary]]` and `[[try]]`.
//!
//! A key is declared once, with its type, range, default and source, next to the code that reads it. The error
//! messages, `scenario explain` and the handbook's reference page are generated from that declaration. Reading
//! continues after an error: the wrong value is replaced by its default so that the rest is checked too, and no
//! scenario is returned.

mod costs;
mod cpu;
mod elements;
mod flow;
mod host;
mod kernel;
mod load;
mod middleboxes;
mod nic;
mod path;
mod priority;
mod process;
mod run;
mod sequence;
mod sweep;
mod workload;

use crate::file::{Diagnostic, Override, Place, Rejected, Sources, tree};
use crate::scenario::Scenario;
use crate::schema::{Context, Section, Setting};

/// A file that holds a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The scenario.
    pub scenario: Scenario,
    /// Every value in effect, and where it comes from.
    pub settings: Vec<Setting>,
}

/// All kinds of tables, in the order of the reference page.
pub const SECTIONS: &[&Section] = &[
    &run::RUN,
    &host::HOST,
    &kernel::KERNEL,
    &nic::NIC,
    &nic::BUS_SECTION,
    &load::LOAD,
    &path::PATH,
    &elements::DIRECTION,
    &elements::BURSTS,
    &elements::NAMED,
    &middleboxes::MIDDLEBOX,
    &elements::POLICER,
    &elements::STALL,
    &elements::CROSS,
    &flow::FLOW,
    &workload::MESSAGES,
    &workload::REQUESTS,
    &workload::DATAGRAMS,
    &process::PROCESS,
    &process::PAUSE,
    &process::SOCKET,
    &run::RECORD,
    &sweep::VARY,
    &sweep::TRY,
];

/// The maximum length of a scenario's text; the longest written by hand is some kilobytes.
const MOST_BYTES: usize = 1 << 20;

/// Reads and checks a scenario. `name` is the file's name in errors; `seed` replaces the file's, if given.
///
/// # Errors
///
/// All its errors, with line, caret and hint.
pub fn check(name: &str, text: &str, overrides: &[Override], seed: Option<u64>) -> Result<Checked, Rejected> {
    let sources = Sources::new(name, text, overrides.iter().map(|with| with.text().to_owned()));
    if text.len() > MOST_BYTES {
        let too_long = Diagnostic {
            message: format!("this file has {} bytes; a scenario has at most {MOST_BYTES}", text.len()),
            place: Place::in_file(0..0),
            hint: String::new(),
        };
        return Err(Rejected::new(sources, vec![too_long]));
    }
    let (mut table, mut diagnostics) = tree::parse(text);
    for (with, number) in overrides.iter().zip(1..) {
        diagnostics.extend(with.apply(&mut table, number).err());
    }
    let context = Context::default();
    let scenario = run::read(&context, &table, seed);
    let (found, settings) = context.into_parts();
    diagnostics.extend(found);
    match scenario {
        Some(scenario) if diagnostics.is_empty() => Ok(Checked { scenario, settings }),
        _ => Err(Rejected::new(sources, diagnostics)),
    }
}
