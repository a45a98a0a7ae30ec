//! CPU costs of the kernel's work, by machine.

use std::time::Duration;

/// CPU time of one piece of work, in picoseconds: copying a byte takes less than a nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u64);

// Inlined, since the simulator adds costs at every step.
impl Cost {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `picos` picoseconds.
    #[inline]
    pub const fn picos(picos: u64) -> Self {
        Self(picos)
    }

    /// `nanos` nanoseconds.
    #[inline]
    pub const fn nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1000))
    }

    /// The number of picoseconds.
    #[inline]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// The cost of `pieces` pieces of this work; saturates.
    #[inline]
    pub const fn times(self, pieces: u64) -> Self {
        Self(self.0.saturating_mul(pieces))
    }

    /// The sum of two costs; saturates.
    #[inline]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Nanoseconds, rounded up.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// The time, rounded up to a nanosecond.
    #[inline]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.as_nanos())
    }
}

/// One of the costs of a table, by name.
#[derive(Clone, Copy, Debug)]
pub struct CostKind {
    /// Its key in `[hosts.NAME.costs]`.
    pub name: &'static str,
    meaning: &'static str,
    get: fn(&CostTable) -> Cost,
    set: fn(&mut CostTable, Cost),
}

impl CostKind {
    /// The work that it is the cost of.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim()
    }

    /// The cost on a machine.
    pub fn of(&self, table: &CostTable) -> Cost {
        (self.get)(table)
    }

    /// Changes the cost.
    pub fn put(&self, table: &mut CostTable, cost: Cost) {
        (self.set)(table, cost);
    }
}

/// Declares the table and, next to it, the list of its costs by name.
macro_rules! costs {
    ($(#[doc = $doc:literal] $name:literal $field:ident,)+) => {
        /// CPU costs of the kernel's work on one machine. A cost is charged where the host does the work, in interrupt,
        /// softirq or process context.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct CostTable {
            /// The machine's name, followed by a plus sign if the scenario changed a cost.
            pub machine: String,
            $(#[doc = $doc] pub $field: Cost,)+
        }

        /// All costs, in the order in which a packet meets them.
        pub const COSTS: &[CostKind] = &[
            $(CostKind {
                name: $name,
                meaning: $doc,
                get: |table| table.$field,
                set: |table, cost| table.$field = cost,
            },)+
        ];
    };
}

costs! {
    /// A hardware interrupt: entry, the driver's handler, exit.
    "interrupt" interrupt,
    /// The timer's interrupt on every tick.
    "tick" tick,
    /// Entering and leaving softirq context.
    "softirq" softirq,
    /// One call of a device's poll function, without its packets.
    "poll" poll,
    /// Taking one packet off the receive ring: descriptor, buffer, refill.
    "driver-receive" driver_receive,
    /// Merging one packet into the one before it (GRO).
    "merge" merge,
    /// IP's receive path and finding the socket, for each packet or merged packet.
    "ip-receive" ip_receive,
    /// TCP's receive path, for each packet or merged packet with data in order.
    "tcp-receive" tcp_receive,
    /// The extra cost of the slow path, for each packet that is not in order.
    "tcp-slow-path" tcp_slow_path,
    /// Processing one ACK in the sender, without SACK.
    "ack-receive" ack_receive,
    /// Visiting one element of a queue while processing SACK.
    "sack-step" sack_step,
    /// Freeing one acknowledged packet.
    "clean" clean,
    /// Building one packet or super-packet from written data: allocation and TCP's send path.
    "tcp-send" tcp_send,
    /// Building one ACK, window update or other packet without data.
    "ack-send" ack_send,
    /// IP's send path and the queue discipline, for each packet or super-packet.
    "ip-send" ip_send,
    /// Passing one packet or super-packet to the device, and its completion.
    "driver-send" driver_send,
    /// Splitting one packet off a super-packet in software (GSO).
    "cut" cut,
    /// Copying one byte between process and kernel.
    "copy-byte" copy_byte,
    /// Adding one byte to a checksum, if the NIC does not.
    "checksum-byte" checksum_byte,
    /// One system call, without its work.
    "system-call" system_call,
    /// Switching from one task to another, including cold caches.
    "context-switch" context_switch,
    /// Waking a task.
    "wake-up" wake_up,
    /// Choosing the next task, for each task considered (only 2.4's scheduler considers all).
    "schedule-step" schedule_step,
}
