//! `slowpath profile`: CPU profiles, as JSON, text and pictures.

pub mod attribute;
pub mod calltree;
pub mod compare;
pub mod costs;
pub mod descendants;
pub mod flame;
pub mod graph;
pub mod help;
pub mod record;
pub mod top;

use crate::quantity::{count, counted};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_cost::{Function, Image};
use slowpath_model::shown;
use slowpath_profile::Loaded;
use std::io::{self, Write};

/// The profile that a document is about.
#[derive(Serialize, JsonSchema)]
pub struct About<'a> {
    /// Its file.
    file: &'a str,
    /// The event that was looked at; null where the profile does not say.
    event: Option<&'a str>,
    /// What weights count.
    unit: &'a str,
    /// Samples of this event.
    samples: u64,
    /// The sum of their weights.
    weight: u64,
    /// Whether it has whole stacks, not only a call graph.
    has_stacks: bool,
    /// Samples that the profiler says it lost.
    lost_samples: u64,
    /// Samples of which only the function is known.
    without_stack: u64,
    /// Samples with a truncated stack.
    truncated: u64,
    /// Records that could not be read.
    unreadable: u64,
    /// What else was odd, and how to fix it.
    notes: Vec<String>,
}

/// A function as documents have it.
#[derive(Serialize, JsonSchema)]
pub struct Named<'a> {
    /// Its name; an address in brackets where it has none.
    name: &'a str,
    /// What it is part of: `kernel`, a module, a program or a library; null where the profiler does not say.
    image: Option<&'a str>,
}

/// The description of a profile in a document.
pub fn about(loaded: &Loaded) -> About<'_> {
    let lost = loaded.lost();
    About {
        file: loaded.name(),
        event: loaded.event().map(|event| event.name.as_str()),
        unit: loaded.event().map_or("samples", |event| event.unit),
        samples: loaded.samples(),
        weight: loaded.edges.total(),
        has_stacks: loaded.stacks().is_some(),
        lost_samples: lost.samples,
        without_stack: lost.without_stack,
        truncated: lost.truncated,
        unreadable: lost.unreadable,
        notes: loaded.notes().iter().map(ToString::to_string).collect(),
    }
}

/// A function in a document.
pub fn named(loaded: &Loaded, function: Function) -> Named<'_> {
    let image = match loaded.functions().image(function) {
        Image::Kernel(None) => Some("kernel"),
        Image::Kernel(Some(name)) | Image::User(name) => Some(name.as_str()),
        Image::Unknown => None,
    };
    Named { name: loaded.functions().name(function), image }
}

/// A function's name in a table: a very long one loses its middle; JSON has it whole.
pub fn in_table(loaded: &Loaded, function: Function) -> String {
    shortened(&spelt_in(loaded, function))
}

/// A function's name in text.
pub fn spelt_in(loaded: &Loaded, function: Function) -> String {
    spelt(loaded.functions().name(function), loaded.functions().image(function))
}

/// Prints the profile that was read, and what is missing in it.
///
/// # Errors
/// The errors of `out`.
pub fn head(loaded: &Loaded, out: &mut impl Write) -> io::Result<()> {
    // Formats without events call their event "samples".
    let event = loaded.event().map(|event| event.name.as_str()).filter(|name| *name != "samples");
    let of = event.map_or_else(String::new, |event| format!(" of {}", shown::line(event)));
    writeln!(out, "{}: {}{of}", shown::line(loaded.name()), counted(loaded.samples(), "sample"))?;
    let lost = loaded.lost();
    let part = |samples: u64| percent(samples as f64 / (loaded.samples() as f64).max(1.0));
    if lost.samples > 0 {
        let all = (loaded.samples() + lost.samples) as f64;
        writeln!(out, "  {} more were lost, {}", count(lost.samples), percent(lost.samples as f64 / all))?;
    }
    if lost.without_stack > 0 {
        writeln!(out, "  {} of them have no stack", part(lost.without_stack))?;
    }
    if lost.truncated > 0 {
        writeln!(out, "  {} of them have a stack that was cut off", part(lost.truncated))?;
    }
    writeln!(out)
}

/// A function's name on one line, with its image unless that is the kernel itself.
pub fn spelt(name: &str, image: &Image) -> String {
    let spelt = full_name(name, image);
    shown::line(&spelt).into_owned()
}

/// A function's unmodified name, with its image.
fn full_name(name: &str, image: &Image) -> String {
    match image {
        Image::Kernel(Some(part)) | Image::User(part) => format!("{name} ({part})"),
        Image::Kernel(None) | Image::Unknown => name.to_owned(),
    }
}

/// The limit of columns, which leaves room for numbers.
const NAME_COLUMNS: usize = 64;

/// A name without its middle if it is too long: its beginning and its image distinguish it from others.
pub fn shortened(name: &str) -> String {
    shown::shortened(&shown::line(name), NAME_COLUMNS).into_owned()
}

/// A share in tenths of a percent, since small parts of a profile matter.
pub fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", part * 100.0) }
}
