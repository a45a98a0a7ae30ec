//! slowpath's results, for people and for programs.
//!
//! Every view gets the same [`Diagnosis`] and shows the same sentences and numbers.
//!
//! - [`terminal`]: text that fits the terminal it is written to.
//! - [`json`]: a stable, documented contract for programs, separate from the structs of the analyses.
//! - [`mod@anonymize`]: copies without names.
//! - [`both_ends`]: two recordings of one transfer, made one.
//! - [`live`]: this host's connections while they were watched.
//! - [`papers`]: published experiments compared with measurements made here.
//! - [`profile`]: where the CPU went.
//! - [`probe`]: measurements of a path. [`copy`]: a copy between two hosts. [`ftp`]: an FTP transfer.
//! - [`paths`]: what is known of paths.
//! - [`explain`]: the arithmetic behind a cause.
//! - [`doctor`]: which settings of a host would limit a transfer.
//! - [`chart`]: line charts, as SVG.
//! - [`flame`]: flame graphs, as SVG.
//! - [`layers`]: call graphs in layers, as SVG.
//! - [`page`]: the data of the HTML page, and the page itself, a self-contained file.
//! - [`events`]: events, one per line. [`flow_list`]: flows, one per line.
//!   [`flow_line`]: what a list says of each. [`summary`]: many flows on a screen.
//! - [`run`], [`sweep`], [`lab`], [`tunings`], [`drill`], [`scenario`], [`kernels`]: the JSON and text of these commands.
//! - [`what_if`]: a transfer with other settings. [`diff`]: two captures next to each other.
//! - [`transfers`], [`waits`]: the flows and waits of a run, for several commands.
//! - [`table`]: tables within the width of a terminal.
//! - [`recording`]: the recordings that were read, for people. [`wall_clock`]: dates and times of day.
//! - [`schemas`]: the schemas of all JSON documents.
//! - [`words`]: the sentences of the verdict, which all views share.
//! - [`headline`]: the finding in a flow's headline.
//! - [`rank`]: ranks flows by lost time. [`services`]: sums up flows that have something in common.
//!
//! Nothing here reads a clock or does I/O, except for writing to the given writer.
//!
//! # Decisions
//!
//! **Every document consists of types of this crate.** Types of other crates can therefore change without changing the
//! documents, and no other crate derives a schema, except for files that it reads back (`xtask/tests/house/json.rs`).

pub mod anonymize;
pub mod both_ends;
pub mod chart;
pub mod cookbook;
pub mod copy;
mod counts;
pub mod diagnosis;
pub mod diff;
pub mod doctor;
pub mod drill;
pub mod events;
pub mod explain;
pub mod flame;
pub mod flow_line;
pub mod flow_list;
pub mod ftp;
pub mod headline;
pub mod help;
pub mod json;
pub mod kernels;
pub mod lab;
pub mod layers;
pub mod live;
mod mirror;
pub mod page;
pub mod papers;
pub mod paths;
pub mod probe;
pub mod profile;
pub mod quantity;
pub mod rank;
pub mod recording;
pub mod run;
pub mod scenario;
pub mod schemas;
pub mod services;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod terminal;
pub mod transfers;
pub mod tune;
pub mod tunings;
pub mod waits;
pub mod wall_clock;
pub mod what_if;
pub mod words;

pub use diagnosis::{Advise, Diagnosis, Paired};
pub use recording::{Recording, Skipped};
