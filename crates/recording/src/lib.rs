//! Events on disk, as Parquet: schema, writer and reader together.
//!
//! A recording is a folder with a folder for each *segment*, `000001` and so on, each of which has one Parquet file per
//! [table](schema::TABLES). An event is one row. Events are numbered, so that the tables can be merged in the order of
//! the events.
//!
//! A Parquet file can be read only once its footer is written. A segment is therefore written under another name,
//! `000001.part`, and renamed when all of its files are complete: if the program is killed, the renamed segments can be
//! read, and the reader reports what is missing after them. Memory is bounded by the rows of a [row
//! group](table::ROWS), and the possible loss by the events of a [segment](writer::EVENTS).
//!
//! - [`schema`]: the tables and their columns, with units and meanings.
//! - [`writer`]: a [`Sink`](slowpath_model::Sink) that writes a recording.
//! - [`reader`]: reads a recording into a sink.
//! - [`about`]: a recording's description.
//! - [`results`]: tables of run results, with columns chosen at run time.
//! - `guard`: turns panics of the library on damaged files into errors.
//! - `pages`: checks the uncompressed size of a row group before it is read.
//! - `table`, `column`: rows to Parquet and back.
//! - `rows`: events to rows and back.
//!
//! # Decisions
//!
//! One table per kind of event is dense; a single table would be mostly empty. Renaming complete segments needs neither
//! a signal handler nor a repair.

pub mod about;
mod column;
mod error;
mod guard;
mod pages;
pub mod reader;
pub mod results;
mod rows;
pub mod schema;
pub mod table;
pub mod writer;

pub use about::{About, Ending};
pub use error::{Damage, ReadError, WriteError};
pub use reader::{Recording, RecordingSummary};
pub use writer::Writer;
