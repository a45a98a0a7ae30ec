//! What the views make of reports built by hand.

mod json;
mod page;
mod sample;
mod terminal;
