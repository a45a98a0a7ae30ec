//! Nothing is allocated per packet: a run has all its memory once its queues have reached their sizes.

use slowpath_simulator::{Nobody, Simulation};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts allocations. This file has only one test, because the count is for the whole process.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two machines of 2002 whose CPUs take interrupts round-robin.
const IN_TURN: &str = "title = \"t\"\nduration = \"5 s\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n\
    [hosts.sender]\nkernel = \"2.4.17\"\nmachine = \"pc-2002\"\ncpus = 2\nnic = { interrupt-affinity = \"in-turn\" }\n\
    [hosts.receiver]\nkernel = \"2.4.17\"\nmachine = \"pc-2002\"\ncpus = 2\nnic = { interrupt-affinity = \"in-turn\" }\n\
    [flows.receiver.socket]\nSO_RCVBUF = \"64 KiB\"\n";

/// Allocations, and packets delivered by the forward wire, in two seconds after the first three.
fn cost(scenario: &str) -> (u64, u64) {
    let scenario = slowpath_scenario::check("test", scenario, &[], None).expect("a scenario").scenario;
    let mut simulation = Simulation::new(&scenario);
    simulation.run_until(simulation.now() + Duration::from_secs(3), &mut Nobody);
    let before = (CALLS.load(Ordering::Relaxed), simulation.wires()[0].delivered());
    simulation.run_until(simulation.now() + Duration::from_secs(2), &mut Nobody);
    (CALLS.load(Ordering::Relaxed) - before.0, simulation.wires()[0].delivered() - before.1)
}

#[test]
fn packets_do_not_allocate() {
    let (calls, packets) = cost(IN_TURN);
    assert!(packets > 3_000, "in turn: {packets} packets");
    assert_eq!(calls, 0, "round-robin: allocations with {packets} packets");
    for machine in ["free", "server-2020"] {
        let scenario = |rest: &str| {
            format!(
                "title = \"t\"\nduration = \"5 s\"\n[hosts.sender]\nmachine = \"{machine}\"\n[hosts.receiver]\n\
                 machine = \"{machine}\"\n[path]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n{rest}"
            )
        };
        // A window that limits: nothing is lost.
        let (calls, packets) = cost(&scenario("[flows.receiver.socket]\nSO_RCVBUF = \"128 KiB\"\n"));
        assert!(packets > 5_000, "{machine}: {packets} packets");
        assert_eq!(calls, 0, "{machine}: allocations with {packets} packets");
        // A queue that overflows: the first SACK lookup builds an index of the window, which is dropped later.
        let (calls, packets) = cost(&scenario("[flows]\nstreams = 4\n"));
        assert!(packets > 15_000, "{machine}: {packets} packets");
        assert!(calls * 20 < packets, "{machine}: {calls} allocations with {packets} packets");
    }
}
