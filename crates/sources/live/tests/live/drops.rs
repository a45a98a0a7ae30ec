//! The kernel's drops, compared with its own counters.

use crate::fault::Missing;
use crate::hosts::{Reports, in_own_namespace, start};
use slowpath_live::counters;
use slowpath_model::{End, FlowId, Wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// A reader has locked its socket and is stalled: arriving packets wait on the backlog until that is full. The drops
/// belong to the connection, as many as the kernel counts, and packets on the backlog waited for a process off the CPU.
#[test]
#[ignore = "needs root"]
fn backlog_drops_of_a_locked_socket_are_reported() {
    in_own_namespace(|| {
        let (mut client, mut server) = connect_with_small_buffers();
        let mut reports = Reports::default();
        let before = counted();
        let live = start();
        let page = Missing::page();
        let (held, read) = thread::scope(|scope| {
            let reader = scope.spawn(|| page.receive(&server));
            client.write_all(&[1]).expect("there is room");
            page.is_wanted();
            let locked = Instant::now();
            for _ in 0..SENT {
                client.write_all(&[1]).expect("there is room");
                // In another millisecond, so with other options: the backlog merges packets with the same ones.
                thread::sleep(Duration::from_micros(1200));
            }
            let held = locked.elapsed();
            page.give();
            // It also reads what was on the backlog.
            (held, reader.join().expect("it reads"))
        });
        server.read_exact(&mut vec![0; SENT + 1 - read]).expect("everything is retransmitted");
        drop((client, server));
        thread::sleep(Duration::from_millis(50));
        let rest = live.finish(&mut reports).expect("it reports");
        let kernel = counted().iter().zip(before).map(|(now, before)| now - before).collect::<Vec<_>>();
        let ends = End::BOTH.map(|end| rest.drops.of(FlowId(1), end));
        let of = |reason: &str| {
            let all = ends.iter().flat_map(|end| end.iter());
            all.filter(|one| one.reason == reason).map(|one| one.packets).sum::<u64>()
        };
        println!("{kernel:?} counted, {:?} reported", rest.drops);
        assert!(kernel[0] > 0, "the backlog was never full");
        assert_eq!(of("SOCKET_BACKLOG"), kernel[0], "{:?}", rest.drops);
        assert_eq!(of("PROTO_MEM"), kernel[1] + kernel[2], "{:?}", rest.drops);
        assert!(ends.iter().any(|end| end.is_empty()), "the sender received all: {:?}", rest.drops);
        let [_, reader] = reports.both();
        assert!(reader.longest(Wait::HolderOffCpu) >= held * 9 / 10, "{:?}", rest.check);
    });
}

/// A connection that is first seen while packets lie on its backlog, of which the kernel has counted all: the probe
/// counts as many as the kernel.
#[test]
#[ignore = "needs root"]
fn a_backlog_from_before_is_not_counted() {
    in_own_namespace(|| {
        let (mut client, server) = connect_with_small_buffers();
        let page = Missing::page();
        let live = thread::scope(|scope| {
            let reader = scope.spawn(|| page.receive(&server));
            for _ in 0..10 {
                client.write_all(&[1]).expect("there is room");
                thread::sleep(Duration::from_micros(1200));
            }
            page.is_wanted();
            let live = std::panic::catch_unwind(start);
            // The reader waits for its page even if the probe does not start.
            page.give();
            reader.join().expect("it reads");
            live.unwrap_or_else(|why| std::panic::resume_unwind(why))
        });
        for _ in 0..10 {
            client.write_all(&[1]).expect("there is room");
            thread::sleep(Duration::from_micros(1200));
        }
        // Until the delayed ACK: a loss probe counts as well, and comes before.
        thread::sleep(Duration::from_millis(100));
        let check = live.finish(&mut Reports::default()).expect("it reports").check;
        assert_eq!(check.segments, check.kernel_segments, "{check:?}");
        assert!(check.segments >= 10, "{check:?}");
    });
}

/// A packet to a port on which nobody listens counts as the host's.
#[test]
#[ignore = "needs root"]
fn drops_without_a_socket_are_the_hosts() {
    in_own_namespace(|| {
        let live = start();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        assert!(TcpStream::connect(address).is_err(), "nobody listens");
        let rest = live.finish(&mut Reports::default()).expect("it reports");
        let reports: Vec<_> = rest.drops.host.iter().map(|one| (one.reason.as_str(), one.packets)).collect();
        assert!(reports.contains(&("NO_SOCKET", 1)), "{reports:?}");
    });
}

const SENT: usize = 300;

fn counted() -> [u64; 3] {
    let counters = counters().expect("/proc can be read");
    ["TcpExtTCPBacklogDrop", "TcpExtTCPRcvQDrop", "TcpExtTCPOFODrop"].map(|name| counters[name])
}

/// A client that sends everything at once, and a server with little room, soon full of small packets.
fn connect_with_small_buffers() -> (TcpStream, TcpStream) {
    let route = "ip route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 initcwnd 1000";
    let mut words = route.split(' ');
    let status = Command::new(words.next().expect("a word")).args(words).status();
    assert!(status.is_ok_and(|status| status.success()), "{route}");
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
        let bytes: libc::c_int = 4096;
        // SAFETY: the value is live, and its true size is passed with it.
        let result = unsafe {
            let (value, size) = ((&raw const bytes).cast(), size_of_val(&bytes) as u32);
            libc::setsockopt(listener.as_raw_fd(), libc::SOL_SOCKET, option, value, size)
        };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    client.set_nodelay(true).expect("an option");
    (client, listener.accept().expect("its other end").0)
}
