//! slowpath's results for people and for programs.
//!
//! Every view is given the same [`Diagnosis`] and shows the same sentences and numbers of it.
//!
//! - [`terminal`]: text that fits the terminal it is written to.
//! - [`json`]: a stable, documented contract for programs, apart from the structs of the analyses.
//! - [`live`]: what this host's connections did while they were watched.
//! - [`papers`]: published experiments compared with what was measured here.
//! - [`profile`]: where the CPU went.
//! - [`probe`]: measurements of a path.
//! - [`explain`]: the arithmetic behind a cause.
//! - [`doctor`]: which settings of a host would limit a transfer.
//! - [`chart`]: lines over numbers, as an SVG file.
//! - [`flame`]: boxes upon boxes, as wide as what they stand for, as an SVG file.
//! - [`layers`]: call graphs in layers, as an SVG file.
//! - [`page`]: the data of the HTML page, and the page itself: one file that needs no network.
//! - [`events`]: events, one a line.
//! - [`run`], [`sweep`], [`lab`], [`tunings`], [`drill`], [`scenario`], [`kernels`]: the JSON and text of these commands.
//! - [`transfers`], [`waits`]: the flows and waits of a run, which several commands show.
//! - [`table`]: tables within the width of a terminal.
//! - [`recording`]: what was read, for people.
//! - [`schemas`]: the schemas of all JSON documents.
//! - [`words`]: the sentences of the verdict, which all views share.
//! - [`headline`]: what a flow's headline names.
//! - [`rank`]: flows ranked by lost time, and groups of those that are not shown one by one.
//!
//! Nothing here reads a clock or does I/O but to the writer it is given.
//!
//! # Decisions
//!
//! **Every document is made of types of this crate.** What other crates return can change its fields without changing what
//! programs read. So no other crate derives a schema, except for files that it reads back (`xtask/tests/house/json.rs`).

pub mod chart;
mod counts;
pub mod diagnosis;
pub mod doctor;
pub mod drill;
pub mod events;
pub mod explain;
pub mod flame;
pub mod headline;
pub mod json;
pub mod kernels;
pub mod lab;
pub mod layers;
pub mod live;
mod mirror;
pub mod page;
pub mod papers;
pub mod probe;
pub mod profile;
pub mod quantity;
pub mod rank;
pub mod recording;
pub mod run;
pub mod scenario;
pub mod schemas;
pub mod sweep;
pub mod table;
pub mod terminal;
pub mod transfers;
pub mod tunings;
pub mod waits;
pub mod words;

pub use diagnosis::{Advise, Diagnosis, Paired};
pub use recording::{Recording, Skipped};
