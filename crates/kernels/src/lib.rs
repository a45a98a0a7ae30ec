//! Kernels as tables of choices: nothing compares versions.
//!
//! - [`profile`]: one kernel's choices, by subject.
//! - [`registry`]: the kernels there are, by name.
//! - [`buffers`]: what a kernel makes of the size of a buffer, step by step.
//! - [`choice`]: the choices one by one, with their sources; how a kernel of one's own is made.
//! - [`sysctls`]: the sysctls by their kernel names.
//! - [`table`]: kernels side by side.
//! - [`receive`], [`transmit`], [`schedule`]: the subjects. TCP's own choices are [`slowpath_tcp::choices`].

pub mod buffers;
pub mod choice;
mod linux_2_2_20;
mod linux_2_4_17;
mod linux_2_4_23;
mod linux_2_6_14;
mod linux_6_18;
pub mod profile;
pub mod receive;
pub mod registry;
pub mod schedule;
pub mod sysctls;
pub mod table;
pub mod transmit;
pub mod value;

pub use choice::{CHOICES, Choice};
pub use profile::KernelProfile;
pub use receive::{
    BacklogThrottle, BottomHalves, DrainSoftirqs, PacketIntake, ReceivePath, SocketBacklogLimit,
};
pub use schedule::{Preemption, Scheduler};
pub use sysctls::{SYSCTLS, Sysctl};
pub use transmit::{QueueDiscipline, TransmitPath};
