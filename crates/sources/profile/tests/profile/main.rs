//! Profiles in all formats, recorded on this machine and built by hand.

mod build;
mod formats;
mod hostile;
mod inlined;
mod perf_data;
mod recorded;
mod recording;
mod seeds;
mod stacks;
mod works;
