//! Kernels as tables of choices: nothing compares versions.
//!
//! - [`profile`]: one kernel's choices, by subject.
//! - [`registry`]: the kernels there are, by name.
//! - [`receive`], [`transmit`], [`schedule`]: the subjects. TCP's own choices are [`slowpath_tcp::choices`].

mod linux_2_4_17;
mod linux_2_6_14;
mod linux_6_18;
pub mod profile;
pub mod receive;
pub mod registry;
pub mod schedule;
pub mod transmit;

pub use profile::KernelProfile;
pub use receive::{BacklogThrottle, PacketIntake, ReceivePath, SocketBacklogLimit};
pub use schedule::{Preemption, Scheduler};
pub use transmit::{QueueDiscipline, TransmitPath};
