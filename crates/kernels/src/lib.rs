//! Kernels as tables of choices: nothing compares versions.
//!
//! A choice is declared once, next to the others of its part of the kernel; `declare.rs` says how. The declaration has its
//! name, type, source in the kernel, sysctl if there is one, and the value of each kernel. What a scenario may write, the
//! listing of `slowpath kernels` and the reference page are derived from it.
//!
//! - [`receive`], [`transmit`], [`profile`] (scheduling and locks), `tcp`, [`mod@sysctls`]: the declarations.
//! - [`registry`]: the kernels there are, by name.
//! - [`choice`]: the choices one by one; how a kernel of one's own is made.
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
pub mod schedule;
pub mod sysctls;
mod tcp;
pub mod transmit;

pub use choice::{Choice, choices};
pub use profile::KernelProfile;
pub use receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
pub use registry::Release;
pub use schedule::{Preemption, Scheduler};
pub use sysctls::{Sysctl, sysctls};
pub use transmit::{QueueDiscipline, TransmitPath};
