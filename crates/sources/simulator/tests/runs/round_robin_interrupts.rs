//! Hosts whose CPUs take the NIC's interrupts round-robin, as two Pentium III did.

use crate::run::Run;
use slowpath_model::End;
use slowpath_simulator::report::HostReport;
use std::time::Duration;

const RECEIVER: usize = 1;
const SOFT: usize = 1;
const HARD: usize = 2;
const LASTS: Duration = Duration::from_secs(1);

/// A second of `streams` streams to a receiver of 2002 with two CPUs, whose NIC and kernel are configurable. The sender
/// takes no time, and no packet is lost: windows are smaller than any queue.
fn receive(streams: u32, kernel: &str, nic: &str, costs: &str) -> Run {
    Run::of(&format!(
        "duration = \"1 s\"\n[path]\nrate = \"1 Gbit/s\"\ndelay = \"100 us\"\n\
         [hosts.sender]\nkernel = \"2.4.17\"\nmachine = \"free\"\n\
         [hosts.receiver]\nkernel = {kernel}\nmachine = \"ubik-pc\"\ncpus = 2\nnic = {{ {nic} }}\n\
         costs = {{ {costs} }}\n\
         [flows]\nstreams = {streams}\n[flows.receiver.socket]\nSO_RCVBUF = \"48 KiB\"\n"
    ))
}

const OLD: &str = "\"2.4.17\"";
const ONE: &str = "interrupt-delay = \"100 us\"";
const TURN: &str = "interrupt-delay = \"100 us\", interrupt-affinity = \"in-turn\"";

fn receiver(run: &Run) -> HostReport {
    run.simulation.host_reports().swap_remove(RECEIVER)
}

/// Softirqs do most of the work: 40 µs of 50 per packet, compared with some 13 for a process.
const SLOW_IP: &str = "ip-receive = \"40 us\", copy-byte = \"0 ns\"";

/// The time that all CPUs together spent at a level.
fn spent(report: &HostReport, level: usize) -> Duration {
    report.cpus.iter().map(|cpu| cpu.levels[level]).sum()
}

#[test]
fn two_cpus_take_interrupts_round_robin() {
    for kernel in [OLD, "\"2.6.14\"", "\"6.18\""] {
        let report = receiver(&receive(2, kernel, TURN, ""));
        let [first, second] = [0, 1].map(|cpu| report.cpus[cpu].interrupts);
        assert!(first > 500 && (first == second || first == second + 1), "{kernel}: {first} and {second}");
        let report = receiver(&receive(2, kernel, ONE, ""));
        assert!(report.cpus[0].interrupts > 500 && report.cpus[1].interrupts == 0, "{kernel}");
    }
}

/// The handler takes ten times the interval between packets. Entered on both CPUs it would take two CPU seconds.
#[test]
fn interrupt_handler_runs_on_one_cpu_at_a_time() {
    let costs = "interrupt = \"100 us\", tick = \"0 ns\"";
    let report =
        receiver(&receive(4, OLD, "interrupt-delay = \"0 s\", interrupt-affinity = \"in-turn\"", costs));
    let hard = spent(&report, HARD);
    assert!((LASTS * 6 / 10..=LASTS).contains(&hard), "{hard:?}");
    assert!(report.cpus.iter().all(|cpu| cpu.interrupts > 1000), "{:?}", report.cpus);
}

/// Packets cost more than the CPUs have. In 2.2 the CPUs together spend no more than the elapsed time on softirqs.
#[test]
fn bottom_halves_run_one_at_a_time_in_2_2() {
    let old = receiver(&receive(4, "\"2.2.20\"", TURN, SLOW_IP));
    let soft = spent(&old, SOFT);
    assert!((LASTS * 8 / 10..=LASTS).contains(&soft), "{soft:?}");
    assert!(old.cpus.iter().all(|cpu| cpu.levels[SOFT] > LASTS / 100), "both process some: {:?}", old.cpus);
    assert_eq!(old.spins, 0, "no contention");
    let each = receiver(&receive(4, "{ base = \"2.2.20\", bottom-halves = \"each-cpu\" }", TURN, SLOW_IP));
    assert!(spent(&each, SOFT) > LASTS * 12 / 10, "{:?}", spent(&each, SOFT));
}

#[test]
fn flows_limited_by_one_cpu_are_faster_on_two() {
    let packets = |nic: &str| receive(2, OLD, nic, SLOW_IP).bytes().get() as f64 / 1448.0;
    let (one, two) = (packets(ONE), packets(TURN));
    // The first CPU takes some 50 µs for each; both together have two seconds for 63.
    assert!((19_000.0..21_000.0).contains(&one), "{one} packets");
    assert!((1.4 * one..2e6 / 63.0).contains(&two), "{two} instead of {one} packets");
}

/// Two CPUs each process some packets of one connection. The second to reach the socket spins, and the one that
/// finishes IP's part first comes first: packets received in order are acknowledged as if some were missing. One CPU is
/// still busy with its packets when the other is interrupted, as IP's part takes longer than the machine's 2.3 µs. None of
/// that happens with one CPU, or with one bottom half at a time.
#[test]
fn interrupts_on_two_cpus_reorder_packets_of_one_connection() {
    let sacks_and_spins = |kernel: &str, nic: &str| {
        let run = receive(1, kernel, nic, "ip-receive = \"9 us\"");
        let sacks = run.segments.iter().filter(|(_, _, s)| s.from == End::B && !s.sack.is_empty()).count();
        (sacks, receiver(&run).spins)
    };
    let (sacks, spins) = sacks_and_spins(OLD, TURN);
    assert!(sacks > 20 && spins > 20, "{sacks} and {spins}");
    assert_eq!(sacks_and_spins(OLD, ONE), (0, 0));
    assert_eq!(sacks_and_spins("{ base = \"2.4.17\", bottom-halves = \"one-at-a-time\" }", TURN), (0, 0));
}

#[test]
fn round_robin_interrupt_runs_are_deterministic() {
    let [one, other] = [(); 2].map(|()| receive(3, OLD, TURN, ""));
    assert!(one.segments == other.segments);
    assert_eq!(receiver(&one), receiver(&other));
}

/// A zero-cost host has no CPUs to choose from.
#[test]
fn interrupt_affinity_changes_nothing_on_a_zero_cost_host() {
    let run = |nic: &str| {
        Run::of(&format!(
            "duration = \"1 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n[hosts.sender]\nmachine = \"free\"\n\
             [hosts.receiver]\nmachine = \"free\"\nnic = {{ {nic} }}\n"
        ))
    };
    assert!(run(ONE).segments == run(TURN).segments);
}

/// Two processes, and copying is the only work. In 2.2 one of them copies while the other spins: the second CPU is as
/// busy but gains nothing.
#[test]
fn big_kernel_lock_serializes_system_calls_in_2_2() {
    let costs = "copy-byte = \"40 ns\"";
    let sacks_and_spins = |kernel: &str| {
        let run = receive(2, kernel, TURN, costs);
        (run.bytes().get(), receiver(&run).cpus)
    };
    let (locked, cpus) = sacks_and_spins("\"2.2.20\"");
    let (free, _) = sacks_and_spins("{ base = \"2.2.20\", big-kernel-lock = \"no\" }");
    // One copies 25 MB per second, two 50; packets take some of that.
    assert!((15_000_000..25_000_000).contains(&locked), "{locked} bytes");
    assert!(free * 10 > locked * 16, "{free} instead of {locked} bytes");
    assert!(cpus.iter().all(|cpu| cpu.levels.iter().sum::<Duration>() > LASTS * 9 / 10), "{cpus:?}");
}
