//! Views of reports that were built by hand.

mod json;
mod layers;
mod page;
mod sample;
mod services;
mod terminal;
