//! Kernels as tables of choices: nothing compares versions.
//!
//! A choice is declared once, next to the others of its part of the kernel (see `declare.rs`), with its name, type,
//! source in the kernel, sysctl if there is one, and each kernel's value. The keys of a scenario, the listing of
//! `slowpath kernels` and the reference page are derived from that.
//!
//! From the bottom up:
//!
//! - [`value`]: values as text; [`release`]: the known kernels; [`choice`]: choices and sysctls as data.
//! - `declare`: the macro that declares them.
//! - [`receive`], [`transmit`], `tcp`, `sysctls`: the declarations, one file for each part of a kernel.
//! - [`profile`]: a kernel with all its parts, and the declarations of scheduling and locks.
//! - [`registry`]: kernels by name, all choices and sysctls, and custom kernels.
//! - [`changes`]: which commit made a kernel differ from its predecessor.
//! - [`buffers`]: from a buffer's size to its window, step by step.

#[macro_use]
pub mod value;
#[macro_use]
mod declare;

pub mod buffers;
pub mod changes;
pub mod choice;
pub mod profile;
pub mod receive;
pub mod registry;
pub mod release;
pub mod schedule;
mod sysctls;
mod tcp;
pub mod transmit;

pub use changes::{Change, Origin};
pub use profile::KernelProfile;
pub use receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, LockedSocket, PacketIntake, ReceivePath, SocketBacklogLimit,
};
pub use registry::{Choice, Sysctl, choices, sysctls};
pub use release::Release;
pub use schedule::{ExtraRun, Preemption, Scheduler};
pub use transmit::{QueueDiscipline, TransmitPath};
