//! Linux 2.4.23 (November 2003), as leith measured it, and with Leith's changes.

use crate::linux_2_4_17;
use crate::profile::KernelProfile;
use crate::receive::{BacklogThrottle, ReceivePath};
use slowpath_tcp::choices::Choices;

/// The table. Of what is modelled nothing changed since 2.4.17; the card's driver uses the CPU's backlog, whose throttle the
/// paper is about, though NAPI was there.
pub fn profile() -> KernelProfile {
    KernelProfile { name: "linux-2.4.23".to_owned(), ..linux_2_4_17::profile() }
}

/// With what section 1 of the paper changes, and H-TCP.
pub fn leith() -> KernelProfile {
    let base = profile();
    KernelProfile {
        name: "linux-2.4.23-leith".to_owned(),
        receive: ReceivePath { throttle: BacklogThrottle::Absent, ..base.receive },
        tcp: Choices::LINUX_2_4_23_LEITH,
        ..base
    }
}
