//! What the crates with a BPF object share: how it is built, loaded and read, and why the kernel refuses it.
//!
//! An object is compiled from the C sources in the folder `bpf` of its crate, and checked in next to them, so that a build
//! needs no clang. It contains a hash of its sources. The crate's `build.rs` names its file, and `compile.rs`, which all of
//! them include, compares the hash and compiles when it differs. A test of each crate updates the object with
//! `SLOWPATH_UPDATE=1`.

mod error;
mod log;
mod object;

pub use error::BpfError;
pub use log::keep as keep_messages;
pub use object::{Aligned, Cost, costs, map, measure_programs, misses, of_cpus, open, program};
