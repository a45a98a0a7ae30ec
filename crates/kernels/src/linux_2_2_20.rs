//! Linux 2.2.20 (November 2001), as weigle measured it: the last kernel whose buffers stay as they are.

use crate::linux_2_4_17;
use crate::profile::KernelProfile;
use crate::transmit::TransmitPath;
use slowpath_tcp::choices::Choices;
use slowpath_tcp::sysctl::Sysctls;

/// The table. That one CPU at a time could see to packets (`NET_BH`) is not in it, nor is 2.2's own loss recovery: both
/// are as in 2.4.
pub fn profile() -> KernelProfile {
    let newer = linux_2_4_17::profile();
    KernelProfile {
        name: "linux-2.2.20".to_owned(),
        transmit: TransmitPath { local_drop_notified: false, ..newer.transmit },
        tcp: Choices::LINUX_2_2_20,
        sysctls: Sysctls::LINUX_2_2_20,
        ..newer
    }
}
