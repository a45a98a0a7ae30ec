//! What the kernel's work costs: CPU time, by machine.

use std::time::Duration;

/// CPU time of one piece of work, in picoseconds: copying a byte takes less than a nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

impl Cost {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// So many picoseconds.
    pub const fn picos(picos: u64) -> Self {
        Self(picos)
    }

    /// So many nanoseconds.
    pub const fn nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1000))
    }

    /// The number of picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// So many pieces of this work; saturates.
    pub const fn times(self, pieces: u64) -> Self {
        Self(self.0.saturating_mul(pieces))
    }

    /// This work and that; saturates.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The time, rounded up to a nanosecond.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0.div_ceil(1000))
    }
}

/// What the kernel's work costs on one machine. Work of a kind is charged where the host does it, in interrupt, softirq
/// or process context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostTable {
    /// The machine's name, with a plus sign behind it if the scenario changed a cost.
    pub machine: String,
    /// A hardware interrupt: entry, the driver's handler, exit.
    pub interrupt: Cost,
    /// The timer's interrupt on every tick.
    pub tick: Cost,
    /// Entering and leaving softirq context.
    pub softirq: Cost,
    /// One call of a device's poll function, without its packets.
    pub poll: Cost,
    /// Taking one packet off the receive ring: descriptor, buffer, refill.
    pub driver_receive: Cost,
    /// Merging one packet into the one before it (GRO).
    pub merge: Cost,
    /// IP's receive path and finding the socket, for each packet or merged packet.
    pub ip_receive: Cost,
    /// TCP's receive path, for each packet or merged packet with data in order.
    pub tcp_receive: Cost,
    /// What the slow path adds for each packet that is not in order.
    pub tcp_slow_path: Cost,
    /// Handling one ACK in the sender, without SACK.
    pub ack_receive: Cost,
    /// Looking at one element of a queue while handling SACK.
    pub sack_step: Cost,
    /// Freeing one packet that is acknowledged.
    pub clean: Cost,
    /// Making one packet or super-packet from written data: allocation and TCP's send path.
    pub tcp_send: Cost,
    /// Making one ACK, window update or other packet without data.
    pub ack_send: Cost,
    /// IP's send path and the queue discipline, for each packet or super-packet.
    pub ip_send: Cost,
    /// Handing one packet or super-packet to the device, and its completion.
    pub driver_send: Cost,
    /// Cutting one packet off a super-packet in software (GSO).
    pub cut: Cost,
    /// Copying one byte between process and kernel.
    pub copy_byte: Cost,
    /// Adding one byte to a checksum, where the network card does not.
    pub checksum_byte: Cost,
    /// One system call, without its work.
    pub system_call: Cost,
    /// From one task to another, cold caches included.
    pub context_switch: Cost,
    /// Waking a task.
    pub wake_up: Cost,
    /// Choosing the next task, for each task looked at (only 2.4's scheduler looks at all).
    pub schedule_step: Cost,
}
