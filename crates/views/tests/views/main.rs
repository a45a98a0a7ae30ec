//! The views of reports built by hand.

mod json;
mod layers;
mod page;
mod sample;
mod terminal;
