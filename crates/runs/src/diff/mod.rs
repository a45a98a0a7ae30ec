//! Two captures next to each other: where the difference in time went, and what changed that explains it.
//!
//! - [`seen`]: a flow, as far as it is compared. [`side`]: flows of one capture, summed up.
//! - [`pairing`]: which flows are compared with which.
//! - [`time`]: the time for one amount of data, by cause.
//! - [`fact`]: facts with a resolution. [`mod@explain`]: those that have a mechanism.
//! - [`caution`]: what makes two captures less alike than their numbers look.

pub mod caution;
pub mod explain;
pub mod fact;
pub mod pairing;
pub mod seen;
pub mod side;
pub mod time;

use crate::Error;
use crate::bars::{Bar, Bars};
use crate::filter::Filter;
use crate::input::{self, Input, Progress, Stamps};
use crate::parallel;
use caution::{Caution, cautions};
use explain::{Changed, Reason, changed, explain};
use fact::Fact;
use pairing::{Collected, PairedBy, Sides};
use side::Side;
use slowpath_analyses::{Analysis, VantageOverride};
use slowpath_model::{Bytes, Endpoint, FlowId};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use time::Difference;

/// Two sides, compared.
#[derive(Debug)]
pub struct Pair {
    /// The servers.
    pub servers: [Endpoint; 2],
    /// What they were paired by.
    pub by: PairedBy,
    /// The flows of A, and of B.
    pub sides: [Side; 2],
    /// Where the difference in time went; `None` if one side moved no data.
    pub difference: Option<Difference>,
    /// The facts that differ.
    pub changed: Vec<Changed>,
    /// The parts of the difference, the largest first, with the facts that explain them. Empty if it may be chance.
    pub reasons: Vec<Reason>,
    /// What to keep in mind.
    pub cautions: Vec<Caution>,
}

/// Two captures, compared.
#[derive(Debug)]
pub struct Compared {
    /// The pairs: what cost B most time first, or saved it.
    pub pairs: Vec<Pair>,
    /// Services that only one has, the most data first.
    pub only: [Vec<(Endpoint, Side)>; 2],
    /// Flows next to the one that is compared, and their data.
    pub left_out: [(u64, Bytes); 2],
    /// All flows that could be compared.
    pub flows: [u64; 2],
}

impl Pair {
    fn of(Sides { servers, by, sides }: Sides) -> Self {
        let both = sides.each_ref();
        let difference = Difference::of(both);
        let changed = changed(both);
        let reasons = difference.as_ref().map(|found| explain(both, found, &changed)).unwrap_or_default();
        let cautions = cautions(both, difference.as_ref());
        Self { servers, by, difference, changed, reasons, cautions, sides }
    }

    /// Whether a fact explains a part of the difference.
    pub fn explains(&self, fact: Fact) -> bool {
        let mut mechanisms = self.reasons.iter().flat_map(|reason| &reason.mechanisms);
        mechanisms.any(|mechanism| mechanism.facts.iter().any(|changed| changed.fact == fact))
    }

    /// How much longer B took for its data than A would have at its pace, in nanoseconds.
    pub fn cost_ns(&self) -> f64 {
        let of = |difference: &Difference| {
            difference.total_ns() as f64 * self.sides[1].bytes.get() as f64 / difference.per.get() as f64
        };
        self.difference.as_ref().map_or(0.0, of)
    }
}

/// Compares what was collected of A and of B.
pub fn compare(collected: [Collected; 2], is_chosen: bool) -> Compared {
    let flows = collected.each_ref().map(Collected::flows);
    let paired = pairing::pair(collected, is_chosen);
    let mut pairs: Vec<Pair> = paired.pairs.into_iter().map(Pair::of).collect();
    // A service whose connections failed is worth more than any that became slower.
    let failed = |pair: &Pair| pair.difference.is_none();
    pairs.sort_by_key(|pair| (!failed(pair), Reverse(pair.cost_ns().abs() as u64), pair.servers));
    let mut only = paired.only;
    only.iter_mut().for_each(|only| only.sort_by_key(|(server, side)| (Reverse(side.bytes), *server)));
    Compared { pairs, only, left_out: paired.left_out, flows }
}

/// Two captures, to be read.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The files of A and of B.
    pub files: &'a [PathBuf; 2],
    /// The only flow of interest of each.
    pub flows: [Option<FlowId>; 2],
    /// Where they were made, if the user says so.
    pub vantage: Option<VantageOverride>,
    /// Which flows are compared; all without one.
    pub filter: Option<&'a Filter>,
}

/// One capture that was read.
pub struct Read {
    /// What was read.
    pub input: Input,
    /// Its timestamp problems.
    pub stamps: Stamps,
    /// Its flows.
    pub collected: Collected,
    /// Flows that were not kept, to save memory.
    pub not_kept: u64,
}

/// Reads two captures at the same time.
///
/// # Errors
///
/// If nothing of one can be read.
pub fn read(asked: Asked<'_>, bars: &Bars) -> Result<[Read; 2], Error> {
    let bar = Arc::new(Both { bar: bars.reading(Path::new("A and B")), read: Mutex::default() });
    let one = |side: &usize| read_one(asked, *side, &bar).map(Some);
    let read = parallel::each(&[0, 1], None, &AtomicBool::new(false), &|| (), one)?;
    let mut read = read.into_iter().flatten();
    match (read.next(), read.next()) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ => unreachable!("nothing stops them"),
    }
}

fn read_one(asked: Asked<'_>, side: usize, bar: &Arc<Both>) -> Result<Read, Error> {
    let (file, flow) = (&asked.files[side], asked.flows[side]);
    let options = input::options(asked.vantage, file);
    let progress = || -> Progress {
        let bar = Arc::clone(bar);
        Box::new(move |done, total| bar.at(side, done, total))
    };
    let (input, stamps, analysis) = input::analyse(file, None, &progress, || Analysis::new(options))?;
    let mut collected = Collected::default();
    let (not_kept, ()) = analysis.finish_each(|report| {
        let is_wanted = asked.filter.is_none_or(|filter| filter.takes(&report.key));
        if is_wanted && flow.is_none_or(|flow| flow == report.id) {
            collected.add(&report);
        }
    });
    Ok(Read { input, stamps, collected, not_kept: not_kept.flows })
}

/// One bar for both files.
struct Both {
    bar: Bar,
    /// Of each file, the bytes that were read, and all of them.
    read: Mutex<[(u64, Option<u64>); 2]>,
}

impl Both {
    fn at(&self, side: usize, done: u64, total: Option<u64>) {
        let Ok(mut read) = self.read.lock() else { return };
        read[side] = (done, total);
        let [one, other] = *read;
        // The length of a bar is set once, so both have to be known.
        let total = one.1.zip(other.1).map(|(one, other)| one + other);
        self.bar.at_bytes(one.0 + other.0, total);
    }
}
