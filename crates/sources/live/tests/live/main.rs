//! The probe and the sources next to it, on this kernel.

mod attached;
mod drops;
mod fault;
mod hosts;
mod kernel;
mod own;
mod raw;
mod seeds;
mod shipped;
mod spurious_timeout;
