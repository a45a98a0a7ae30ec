//! Events on disk, as Parquet: schema, writer and reader together.
//!
//! A recording is a folder with a folder for each *segment*, `000001` and so on; in each there is one Parquet file for
//! every [table](schema::TABLES). What belongs to the same event is in one row, and every event has a number, by which
//! the tables can be put together again in the order of what happened.
//!
//! A Parquet file can be read only when its end is there. So a segment is written under another name,
//! `000001.part`, and gets its own when all of its files are complete: whatever ends the program, the segments that have
//! their names can be read, and the reader says what is missing behind them. Memory is bounded by the rows that
//! are put together into a [row group](table::ROWS), and what can be lost by the events of a [segment](writer::EVENTS).
//!
//! - [`schema`]: the tables and their columns, with units and meanings.
//! - [`writer`]: a [`Sink`](slowpath_model::Sink) that writes a recording.
//! - [`reader`]: a recording, pushed into a sink.
//! - [`about`]: what a recording says of itself.
//! - [`results`]: tables of another kind, of what came of runs, with columns that a program decides when it runs.
//! - `guard`: panics of the library over damaged files.
//! - `pages`: what a row group unpacks to, before it is.
//! - `table`, `column`: rows to Parquet and back.
//! - `rows`: events to rows and back.
//!
//! # Decisions
//!
//! A table per kind of event is dense; one table for all would be mostly empty. Renaming complete segments needs no
//! signal handler and no repair.

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
