//! The probe and the sources beside it, on this kernel.

mod hosts;
mod kernel;
mod own;
mod shipped;
