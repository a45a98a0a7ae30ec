//! Kernels as tables of choices: nothing compares versions.
//!
//! A choice is declared once, next to the others of its part of the kernel; `declare.rs` says how. The declaration has its
//! name, type, source in the kernel, sysctl if there is one, and the value of each kernel. What a scenario may write, the
//! listing of `slowpath kernels` and the reference page are derived from it.
//!
//! From the bottom up:
//!
//! - [`value`]: values as text; [`release`]: the kernels there are; [`choice`]: what a choice and a sysctl are.
//! - `declare`: the macro that declares them.
//! - [`receive`], [`transmit`], `tcp`, `sysctls`: the declarations, one file for each part of a kernel.
//! - [`profile`]: a kernel with all its parts, and the declarations of scheduling and locks.
//! - [`registry`]: kernels by name, and all choices and sysctls; how a kernel of one's own is made.
//! - [`buffers`]: what a kernel makes of the size of a buffer, step by step.

#[macro_use]
pub mod value;
#[macro_use]
mod declare;

pub mod buffers;
pub mod choice;
pub mod profile;
pub mod receive;
pub mod registry;
pub mod release;
pub mod schedule;
mod sysctls;
mod tcp;
pub mod transmit;

pub use profile::KernelProfile;
pub use receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
pub use registry::{Choice, Sysctl, choices, sysctls};
pub use release::Release;
pub use schedule::{Preemption, Scheduler};
pub use transmit::{QueueDiscipline, TransmitPath};
