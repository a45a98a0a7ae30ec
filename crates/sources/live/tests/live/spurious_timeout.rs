//! `wu`'s chain of causes: a process that has locked its socket stalls, nothing is acknowledged, the sender times out,
//! and its retransmissions had arrived.

use crate::fault::Missing;
use crate::hosts::{Reports, connect, in_own_namespace, start};
use slowpath_model::{CaState, Hold, Mark, Wait};
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

/// As many timeouts are reported as spurious as the kernel undid, and the packets waited for a process off the CPU.
#[test]
#[ignore = "needs root"]
fn long_locked_socket_causes_spurious_timeouts() {
    // The time of three timeouts: 200 ms, 400 ms, and lateness.
    const LOCKED: Duration = Duration::from_millis(900);
    const SENT: usize = 8 << 10;
    in_own_namespace(|| {
        let (mut client, mut server) = connect();
        let mut reports = Reports::default();
        let live = start();
        let page = Missing::page();
        let (locked, read) = thread::scope(|scope| {
            let reader = scope.spawn(|| page.receive(&server));
            client.write_all(&[1]).expect("there is room");
            page.is_wanted();
            let since = Instant::now();
            client.write_all(&[1; SENT]).expect("there is room");
            thread::sleep(LOCKED);
            let locked = since.elapsed();
            page.give();
            (locked, reader.join().expect("it reads"))
        });
        server.read_exact(&mut vec![0; SENT + 1 - read]).expect("all came");
        // The ACKs arrive at the sender.
        thread::sleep(Duration::from_millis(100));
        drop((client, server));
        thread::sleep(Duration::from_millis(50));
        let check = live.finish(&mut reports).expect("it reports").check;
        let undone = check.undone.expect("all of this namespace is watched");
        let marked = |mark: Mark| reports.marks().iter().filter(|one| **one == mark).count() as u64;
        assert!(undone.kernel > 0 && undone.agrees(), "{check:?}");
        assert_eq!(marked(Mark::SpuriousTimeout), undone.kernel, "{:?}", reports.marks());
        assert!(marked(Mark::Timeout) >= undone.kernel && marked(Mark::State(CaState::Loss)) > 0);
        let [sender, receiver] = reports.both();
        assert!(receiver.longest(Wait::HolderOffCpu) >= locked * 9 / 10, "{:?}", receiver.packets().max());
        let held = sender.held_by(Hold::Loss);
        assert!(held >= locked / 4, "{held:?} of {locked:?} after a timeout: {:?}", sender.held);
    });
}
