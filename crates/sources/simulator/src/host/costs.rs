//! CPU costs of the host's work, from the machine's table and the NIC's offloads.

use slowpath_kernels::PacketIntake;
use slowpath_scenario::{Cost, CostTable, Nic};
use slowpath_tcp::{Packet, Work};
use std::ops::Deref;

/// A machine's costs, except for what its NIC offloads.
#[derive(Clone, Debug)]
pub struct Costs {
    table: CostTable,
    checksum_offload: bool,
    tso: bool,
}

impl Deref for Costs {
    type Target = CostTable;
    fn deref(&self) -> &CostTable {
        &self.table
    }
}

impl Costs {
    /// The costs of a machine with this NIC.
    pub fn new(table: &CostTable, nic: &Nic) -> Self {
        Self { table: table.clone(), checksum_offload: nic.checksum_offload, tso: nic.tso }
    }

    /// Whether nothing costs anything.
    pub fn are_zero(&self) -> bool {
        let t = &self.table;
        [
            t.interrupt,
            t.tick,
            t.softirq,
            t.poll,
            t.driver_receive,
            t.merge,
            t.ip_receive,
            t.tcp_receive,
            t.tcp_slow_path,
            t.ack_receive,
            t.sack_step,
            t.clean,
            t.tcp_send,
            t.ack_send,
            t.ip_send,
            t.driver_send,
            t.cut,
            t.copy_byte,
            t.checksum_byte,
            t.system_call,
            t.context_switch,
            t.wake_up,
            t.schedule_step,
        ]
        .iter()
        .all(|cost| *cost == Cost::ZERO)
    }

    /// Taking a packet off the ring, if the softirq does that.
    pub fn driver_receive_if(&self, intake: PacketIntake) -> Cost {
        match intake {
            PacketIntake::Napi => self.table.driver_receive,
            PacketIntake::CpuBacklog => Cost::ZERO,
        }
    }

    fn checksum(&self, bytes: u32) -> Cost {
        if self.checksum_offload { Cost::ZERO } else { self.table.checksum_byte.times(u64::from(bytes)) }
    }

    /// IP's part of receiving a packet or merged packet.
    pub fn ip_receive_of(&self, packet: &Packet) -> Cost {
        self.table.ip_receive.plus(self.checksum(packet.len))
    }

    /// TCP's part of receiving a packet.
    pub fn receive(&self, packet: &Packet) -> Cost {
        if packet.len > 0 { self.table.tcp_receive } else { self.table.ack_receive }
    }

    /// TCP's other work.
    pub fn work(&self, work: Work) -> Cost {
        let t = &self.table;
        t.sack_step
            .times(work.queue_steps)
            .plus(t.clean.times(work.freed))
            .plus(t.tcp_slow_path.times(work.out_of_order))
    }

    /// Building a packet or super-packet and passing it to the qdisc.
    pub fn send(&self, packet: &Packet) -> Cost {
        let make = if packet.len > 0 { self.table.tcp_send } else { self.table.ack_send };
        let cuts = if self.tso { 0 } else { u64::from(packet.segments().saturating_sub(1)) };
        make.plus(self.table.ip_send)
            .plus(self.table.driver_send)
            .plus(self.table.cut.times(cuts))
            .plus(self.checksum(packet.len))
    }

    /// Copying between process and kernel.
    pub fn copy(&self, bytes: u64) -> Cost {
        self.table.copy_byte.times(bytes)
    }
}
