//! Where a process yields the CPU.

use crate::run::Run;

/// Bytes that a process reads in three seconds next to `hogs` computing tasks, and the sender's timeouts. The kernel
/// does not preempt within a system call, and the process makes one after the other, since there is always something to
/// read.
fn read_next_to(hogs: u32) -> (f64, u64) {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"33 s\"\n[hosts.receiver]\n\
         kernel = {{ base = \"2.6.14\", preemption = \"none\", drain-softirqs = \"off\" }}\n\
         machine = \"wu-receiver\"\ncpus = 1\nload = {{ hogs = {hogs} }}\n\
         [hosts.receiver.sysctl]\n\"net.core.rmem_max\" = 67108864\n\
         [hosts.sender]\nkernel = \"2.6.14\"\nnic = {{ tso = false }}\n\
         [path]\nrate = \"1 Gbit/s\"\ndelay = \"50 us\"\njitter = \"20 us\"\n\
         [flows]\nstart = \"30 s\"\nlasts = \"3 s\"\n\
         [flows.receiver]\ncall-size = \"8 KiB\"\n[flows.receiver.socket]\nSO_RCVBUF = \"32 MiB\"\n"
    ));
    let transfers = run.simulation.transfers();
    let info = transfers.iter().filter_map(|transfer| transfer.info);
    (run.bytes().get() as f64, info.map(|info| u64::from(info.timeouts)).sum())
}

/// In every kernel a task yields when its call returns, though the next call follows immediately; the socket is
/// unlocked then, so packets are processed while others compute.
#[test]
fn reader_yields_on_return_to_user_space_without_preemption() {
    let ((alone, _), (beside, timeouts)) = (read_next_to(0), read_next_to(3));
    let share = beside / alone;
    assert!((0.2..0.6).contains(&share), "{share}");
    assert_eq!(timeouts, 0);
}
