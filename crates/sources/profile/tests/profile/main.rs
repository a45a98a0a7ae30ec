//! Profiles in all formats: recorded here, and made by hand.

mod build;
mod formats;
mod hostile;
mod inlined;
mod perf_data;
mod recorded;
mod recording;
mod seeds;
mod told;
mod works;
