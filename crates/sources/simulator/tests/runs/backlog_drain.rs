//! Packets that a process handles because they waited for its socket's lock, and those that arrive meanwhile.

use crate::run::Run;

/// Packets at the receiver, those of them that went through the backlog, and bytes read: a receiver kept busy by its
/// packets, with a kernel of which one choice is configurable.
fn receiver(choice: &str) -> (u64, u64, u64) {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"1 s\"\n[hosts.receiver]\nkernel = {{ base = \"2.6.14\", {choice} \
         }}\nmachine = \"pc-2002\"\ncpus = 1\nnic = {{ interrupt-delay = \"0 s\" }}\n[hosts.receiver.costs]\n\
         tcp-receive = \"8 us\"\n[hosts.receiver.sysctl]\n\"net.core.rmem_max\" = 67108864\n\
         [hosts.sender]\nkernel = \"2.6.14\"\nnic = {{ tso = false }}\n\
         [path]\nrate = \"1 Gbit/s\"\ndelay = \"50 us\"\njitter = \"20 us\"\n\
         [flows.receiver]\ncall-size = \"8 KiB\"\n[flows.receiver.socket]\nSO_RCVBUF = \"32 MiB\"\n"
    ));
    let sockets = run.simulation.host_reports()[1].sockets;
    (sockets.arrived, sockets.backlogged, run.bytes().get())
}

#[test]
fn packets_wait_on_the_ring_while_the_backlog_is_drained_with_softirqs_off() {
    let on = receiver("drain-softirqs = \"on\"");
    for drain in ["off", "off-between-offers"] {
        let off = receiver(&format!("drain-softirqs = \"{drain}\""));
        let shares = [on, off].map(|(arrived, backlogged, _)| backlogged as f64 / arrived as f64);
        assert!(shares[0] > 0.98 && shares[1] < 0.8, "on and {drain}: {shares:?}");
        // Nothing gets stuck.
        assert!(off.2 * 10 > on.2 * 8, "on and {drain}: {} and {} bytes", on.2, off.2);
    }
}

/// TCP in softirqs only (wu, section 5): no packet waits for a process.
#[test]
fn backlog_stays_empty_where_no_process_locks_a_socket() {
    let [backlog, process] =
        ["backlog", "process"].map(|choice| receiver(&format!("locked-socket = \"{choice}\"")));
    assert!(backlog.1 > 1000 && process.1 == 0, "{backlog:?} and {process:?}");
    assert!(process.0 > 1000 && process.2 * 10 > backlog.2 * 9, "{backlog:?} and {process:?}");
}
