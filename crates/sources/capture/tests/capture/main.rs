//! Captures made by hand, and what is read of them.

mod build;
mod flows;
mod formats;
mod headers;
mod seeds;
