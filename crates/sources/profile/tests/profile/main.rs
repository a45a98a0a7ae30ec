//! Profiles in all formats: recorded here, and made by hand.

mod build;
mod formats;
mod hostile;
mod perf_data;
mod recorded;
mod seeds;
mod told;
