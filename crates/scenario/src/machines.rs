//! Machines with known costs, by name.
//!
//! These figures are only right in their order of magnitude. A testbed with known throughput has its own fitted table,
//! which says so.

use crate::costs::{COSTS, Cost, CostTable};

/// The names of all machines.
pub const MACHINES: &[&str] = &["free", "server-2020", "pc-2002", "wu-receiver", "ubik-pc"];

/// The costs of the machine with this name; `None` if there is none.
pub fn machine(name: &str) -> Option<CostTable> {
    match name {
        "free" => Some(free()),
        "server-2020" => Some(server_2020()),
        "pc-2002" => Some(pc_2002()),
        "wu-receiver" => Some(slower_pc("wu-receiver", WU_RECEIVER_PERCENT)),
        "ubik-pc" => Some(slower_pc("ubik-pc", UBIK_PC_PERCENT)),
        _ => None,
    }
}

/// A machine on which nothing takes time: only network, NICs and protocol matter.
fn free() -> CostTable {
    CostTable {
        machine: "free".to_owned(),
        interrupt: Cost::ZERO,
        tick: Cost::ZERO,
        softirq: Cost::ZERO,
        poll: Cost::ZERO,
        driver_receive: Cost::ZERO,
        merge: Cost::ZERO,
        ip_receive: Cost::ZERO,
        tcp_receive: Cost::ZERO,
        tcp_slow_path: Cost::ZERO,
        ack_receive: Cost::ZERO,
        sack_step: Cost::ZERO,
        clean: Cost::ZERO,
        tcp_send: Cost::ZERO,
        ack_send: Cost::ZERO,
        ip_send: Cost::ZERO,
        driver_send: Cost::ZERO,
        cut: Cost::ZERO,
        copy_byte: Cost::ZERO,
        checksum_byte: Cost::ZERO,
        system_call: Cost::ZERO,
        context_switch: Cost::ZERO,
        wake_up: Cost::ZERO,
        schedule_step: Cost::ZERO,
    }
}

/// A server of about 2020 at 3 GHz. One CPU receives 30 to 40 Gbit/s of one flow in merged packets of 64 KiB, as in Cai
/// et al., Understanding Host Network Stack Overheads (SIGCOMM 2021), figure 3.
fn server_2020() -> CostTable {
    CostTable {
        machine: "server-2020".to_owned(),
        interrupt: Cost::nanos(1000),
        tick: Cost::nanos(1000),
        softirq: Cost::nanos(150),
        poll: Cost::nanos(200),
        driver_receive: Cost::nanos(120),
        merge: Cost::nanos(60),
        ip_receive: Cost::nanos(150),
        tcp_receive: Cost::nanos(250),
        tcp_slow_path: Cost::nanos(200),
        ack_receive: Cost::nanos(350),
        sack_step: Cost::nanos(10),
        clean: Cost::nanos(60),
        tcp_send: Cost::nanos(400),
        ack_send: Cost::nanos(350),
        ip_send: Cost::nanos(200),
        driver_send: Cost::nanos(250),
        cut: Cost::nanos(80),
        copy_byte: Cost::picos(100),
        checksum_byte: Cost::picos(50),
        system_call: Cost::nanos(200),
        context_switch: Cost::nanos(1500),
        wake_up: Cost::nanos(800),
        schedule_step: Cost::nanos(20),
    }
}

/// A PC of about 2002, such as wu's receiver (Pentium III, 1 GHz): some 20 µs for a packet of 1500 bytes from interrupt
/// to copy, so about half a gigabit per second (wu, table III, BL0: 504 Mbit/s; ubik, section V: 531 Mbit/s).
fn pc_2002() -> CostTable {
    CostTable {
        machine: "pc-2002".to_owned(),
        interrupt: Cost::nanos(4000),
        tick: Cost::nanos(4000),
        softirq: Cost::nanos(800),
        poll: Cost::nanos(1000),
        driver_receive: Cost::nanos(2500),
        merge: Cost::nanos(500),
        ip_receive: Cost::nanos(1500),
        tcp_receive: Cost::nanos(2500),
        tcp_slow_path: Cost::nanos(1500),
        ack_receive: Cost::nanos(3000),
        sack_step: Cost::nanos(60),
        clean: Cost::nanos(700),
        tcp_send: Cost::nanos(3500),
        ack_send: Cost::nanos(3500),
        ip_send: Cost::nanos(1800),
        driver_send: Cost::nanos(2000),
        cut: Cost::nanos(800),
        copy_byte: Cost::picos(2500),
        checksum_byte: Cost::picos(1500),
        system_call: Cost::nanos(700),
        context_switch: Cost::nanos(5000),
        wake_up: Cost::nanos(2500),
        schedule_step: Cost::nanos(120),
    }
}

/// The cost of wu's receiver relative to `pc_2002`, in percent: a Pentium III of 1 GHz (table II). Fitted:
/// `scenarios/wu/receiver.toml` without load receives as much as wu's receiver (table III, BL0, 504 Mbit/s). A test in
/// `slowpath-papers` checks that it still does.
pub const WU_RECEIVER_PERCENT: u64 = 137;

/// The costs of ubik's PCs when receiving: Pentium III of 850 MHz with a NIC on a 64-bit bus of 66 MHz (section V).
/// Fitted: `scenarios/ubik/geant.toml` back to back carries the same, 531 Mbit/s; the test is in `slowpath-papers`.
/// When sending they are a `pc_2002`: they sent 1000 Mbit/s of UDP, and data just written is in the cache.
pub const UBIK_PC_PERCENT: u64 = 156;

/// `pc_2002`, with every cost at `percent` percent.
fn slower_pc(name: &str, percent: u64) -> CostTable {
    let mut table = pc_2002();
    for kind in COSTS {
        let picos = kind.of(&table).as_picos() * percent / 100;
        kind.put(&mut table, Cost::picos(picos));
    }
    CostTable { machine: name.to_owned(), ..table }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_name_has_a_table() {
        for name in MACHINES {
            assert_eq!(machine(name).unwrap().machine, *name);
        }
        assert_eq!(machine("cray-1"), None);
    }

    #[test]
    fn packet_costs_match_the_sources_of_the_tables() {
        let nanos = |table: &CostTable, work: &[(Cost, u64)]| {
            let sum = work.iter().fold(table.softirq, |sum, (cost, times)| sum.plus(cost.times(*times)));
            sum.duration().as_nanos() as u64
        };
        let new = machine("server-2020").unwrap();
        // 45 packets of 1448 bytes, merged into one and copied.
        let merged = [
            (new.driver_receive, 45),
            (new.merge, 44),
            (new.ip_receive, 1),
            (new.tcp_receive, 1),
            (new.copy_byte, 65_160),
        ];
        let gbit_per_s = 65_160 * 8 / nanos(&new, &merged);
        assert!((30..=40).contains(&gbit_per_s), "{gbit_per_s} Gbit/s");
        let old = machine("pc-2002").unwrap();
        let single = [
            (old.interrupt, 1),
            (old.driver_receive, 1),
            (old.ip_receive, 1),
            (old.tcp_receive, 1),
            (old.copy_byte, 1448),
            (old.ack_send, 1),
            (old.ip_send, 1),
            (old.driver_send, 1),
        ];
        assert!((15_000..25_000).contains(&nanos(&old, &single)), "{}", nanos(&old, &single));
    }

    #[test]
    fn every_cost_can_be_changed_by_name() {
        let mut table = machine("free").unwrap();
        for (kind, picos) in COSTS.iter().zip(1..) {
            kind.put(&mut table, Cost::picos(picos));
        }
        for (kind, picos) in COSTS.iter().zip(1..) {
            assert_eq!(kind.of(&table), Cost::picos(picos), "{}", kind.name);
            assert!(!kind.meaning().is_empty());
        }
    }
}
