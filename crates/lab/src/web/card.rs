//! Makes a veth device receive like a NIC of the paper's time: with a limited interrupt rate, all on one CPU.
//!
//! By default a veth device runs its peer's softirq on the CPU that transmits. Steering packets to another CPU takes an
//! interrupt between the two for nearly each packet, which cost the server more than half of its time here in a virtual
//! machine. With NAPI (`veth_enable_napi`, with GRO since 5.13), packets wait in a ring, as in a card's, until the
//! device is polled; and with `napi_defer_hard_irqs` (5.8), a timer triggers the next poll (`napi_watchdog`), on the
//! CPU of the last one, and not the sender of a packet (`rx_notify_masked`). The sender neither waits for the receiver
//! nor interrupts it.
//!
//! GRO merges nothing (`gro_max_size`), so each segment is received and acknowledged on its own.
//!
//! Packets of a device with TSO do not go through the ring (`veth_skb_is_eligible_for_gro`), whatever their contents.
//! If the server has TSO, super-packets are steered to the client's CPU.

use super::counters::received_by;
use super::hosts::HOSTS;
use crate::error::LabError;
use crate::host::DEVICE;
use crate::namespaces::{Namespaces, Place};
use crate::task;
use crate::testbed;
use crate::workload::programs::until;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// The time from one poll of a ring to the next. Intel's driver for the cards of the paper's server and clients, e1000
/// in Linux 2.6.14, allowed 8000 interrupts a second (`InterruptThrottleRate`). Less often, and the packets in flight
/// to the client exceed a ring; more often, and timers use up the client's CPU.
const POLLED_EVERY: Duration = Duration::from_micros(125);

/// Prepares a host's device before it is up.
///
/// # Errors
/// If ethtool, `ip` or the kernel refuses.
pub fn prepare(namespaces: &Namespaces, place: Place) -> Result<(), LabError> {
    namespaces.execute(place, &format!("ethtool -K {DEVICE} gro on tso off"))?;
    namespaces.ip(place, &format!("link set {DEVICE} gro_max_size 1"))?;
    let set = |file: &str, value: u128| {
        namespaces.write_sys(place, &format!("/sys/class/net/{DEVICE}/{file}"), &value.to_string())
    };
    // The timer ends after this many polls that find nothing.
    set("napi_defer_hard_irqs", i32::MAX as u128)?;
    set("gro_flush_timeout", POLLED_EVERY.as_nanos())
}

/// Starts polling the devices, each on its CPU, and checks that they receive there.
///
/// # Errors
/// If a packet cannot be sent, or packets from the other CPU are not received on a host's own.
pub fn start(namespaces: &Namespaces, cpus: [u32; 2]) -> Result<(), LabError> {
    for at in [0, 1] {
        // The first packet is received where it was sent; from then on, the timer is that CPU's.
        send(namespaces, HOSTS[1 - at], cpus[at], 1)?;
    }
    for at in [0, 1] {
        let before = received_by(cpus[at])?;
        send(namespaces, HOSTS[1 - at], cpus[1 - at], PROOF_PACKETS)?;
        let have_come = || received_by(cpus[at]).is_ok_and(|now| now >= before + u64::from(PROOF_PACKETS));
        if !until(PATIENCE, have_come) {
            return Err(LabError::Unfit(format!(
                "what comes to {} is not received on CPU {}: it takes NAPI without XDP for veth devices, of Linux 5.13",
                HOSTS[at].name(),
                cpus[at]
            )));
        }
    }
    Ok(())
}

/// Far longer than the time between two polls: the machine may be busy with something else.
const PATIENCE: Duration = Duration::from_secs(2);
/// Packets sent for the check, more than the machine's other devices may receive meanwhile.
const PROOF_PACKETS: u32 = 100;

/// Sends packets from a CPU that nobody waits for and nobody answers.
fn send(namespaces: &Namespaces, from: Place, cpu: u32, packets: u32) -> Result<(), LabError> {
    namespaces.inside(from, || {
        task::set_cpus(0, &[cpu])?;
        let sending = || LabError::system("send a datagram");
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(sending())?;
        socket.set_broadcast(true).map_err(sending())?;
        for _ in 0..packets {
            socket.send_to(b"x", (testbed::broadcast(), DISCARD_PORT)).map_err(sending())?;
        }
        Ok(())
    })
}

/// RFC 863.
const DISCARD_PORT: u16 = 9;
