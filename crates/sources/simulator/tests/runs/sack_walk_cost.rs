//! The CPU time that SACK takes.

use crate::run::Run;
use std::time::Duration;

/// The busy time of the sender's CPU in a transfer with one packet lost, if each buffer visited takes `step`.
fn busy(kernel: &str, step: &str) -> Duration {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"20 s\"\n\
         [hosts.sender]\nkernel = \"{kernel}\"\nmachine = \"pc-2002\"\ncosts = {{ sack-step = \"{step}\" }}\n\
         sysctl = {{ tcp_wmem = \"4096 4194304 4194304\" }}\n\
         [hosts.receiver]\nmachine = \"free\"\nsysctl = {{ tcp_rmem = \"4096 8388608 8388608\" }}\n\
         [path]\nrate = \"200 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"5000 packets\"\n\
         [[path.forward.lose]]\npackets = [2000]\n[flows]\namount = \"8 MiB\"\n"
    ));
    run.simulation.host_reports()[0].cpus.iter().flat_map(|busy| busy.levels).sum()
}

/// A walk from the head of the queue visits the whole window per ACK (leith, section 1.1); today's index does not.
#[test]
fn sack_walk_from_the_queue_head_costs_cpu_per_step() {
    let charged = |kernel| busy(kernel, "1 us").saturating_sub(busy(kernel, "0 ns"));
    let (walked, found) = (charged("linux-2.4.17"), charged("linux-6.18"));
    assert!(walked > Duration::from_millis(50), "{walked:?}");
    assert!(found > Duration::ZERO && found < walked / 10, "{found:?} compared with {walked:?}");
}
