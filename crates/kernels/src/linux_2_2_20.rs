//! Linux 2.2.20 (November 2001), as weigle measured it: the last kernel whose buffers stay as they are.

use crate::linux_2_4_17;
use crate::profile::KernelProfile;
use crate::receive::{BottomHalves, ReceivePath};
use crate::transmit::TransmitPath;
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;

/// The table. 2.2's own loss recovery is not in it, nor that a process which sends waits until no other CPU runs bottom halves
/// (`start_bh_atomic`).
pub fn profile() -> KernelProfile {
    let newer = linux_2_4_17::profile();
    KernelProfile {
        name: "linux-2.2.20".to_owned(),
        receive: ReceivePath { bottom_halves: BottomHalves::OneAtATime, ..newer.receive },
        transmit: TransmitPath { local_drop_notified: false, ..newer.transmit },
        big_kernel_lock: true,
        tcp: Choices::LINUX_2_2_20,
        sysctls: Sysctls::LINUX_2_2_20,
        ..newer
    }
}
