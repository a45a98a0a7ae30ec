//! A path by the kernel alone: a bridge with rate limits, for long traffic that is only captured. It delays packets
//! only by its queues.

use crate::error::LabError;
use crate::host::PATH_DEVICES;
use crate::namespaces::{Namespaces, Place};

/// The bottleneck of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The host that the limited packets go to.
    pub towards: Place,
    /// Their TCP destination port.
    pub port: u16,
    /// The rate, in bits of Ethernet frame per second.
    pub rate_bit_per_s: u64,
    /// Packets that may wait; more are dropped.
    pub queue_packets: u32,
}

/// Joins the two sides of the path's namespace and limits the flows.
///
/// # Errors
/// If the kernel has no bridge, HTB or u32.
pub fn join(namespaces: &Namespaces, limits: &[Limit]) -> Result<(), LabError> {
    bridge(namespaces)?;
    let (left, right) = PATH_DEVICES;
    for (device, towards) in [(left, Place::Sender), (right, Place::Receiver)] {
        let tc = |line: String| namespaces.execute(Place::Path, &format!("tc {line}"));
        tc(format!("qdisc add dev {device} root handle 1: htb default 1"))?;
        tc(format!("class add dev {device} parent 1: classid 1:1 htb rate 10gbit burst 1m quantum 60000"))?;
        for (n, limit) in limits.iter().filter(|l| l.towards == towards).enumerate() {
            let (class, rate, port) = (n + 16, limit.rate_bit_per_s, limit.port);
            tc(format!(
                "class add dev {device} parent 1: classid 1:{class:x} htb rate {rate}bit burst 4k quantum 3000"
            ))?;
            tc(format!("qdisc add dev {device} parent 1:{class:x} pfifo limit {}", limit.queue_packets))?;
            tc(format!(
                "filter add dev {device} parent 1: protocol ip u32 match ip dport {port} 0xffff flowid 1:{class:x}"
            ))?;
        }
    }
    Ok(())
}

/// Joins the two sides of the path's namespace.
///
/// # Errors
/// If the kernel has no bridge.
pub fn bridge(namespaces: &Namespaces) -> Result<(), LabError> {
    namespaces.ip(Place::Path, "link add bridge type bridge stp_state 0 mcast_snooping 0")?;
    let (left, right) = PATH_DEVICES;
    for device in [left, right] {
        namespaces.ip(Place::Path, &format!("link set {device} master bridge"))?;
    }
    namespaces.ip(Place::Path, "link set bridge up")
}
