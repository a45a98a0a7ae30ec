//! The probe on this kernel, against what the kernel itself counts and against waits that were put there.

use crate::hosts::{Told, in_own_namespace};
use slowpath_live::{Filter, Live};
use slowpath_model::{Bytes, End, Hold, Mark, Wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

/// A connection over loopback, its client's end first.
fn connect() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    (client, listener.accept().expect("its other end").0)
}

/// The number of this thread's network namespace: others on this machine may be busy.
fn netns() -> u32 {
    let file = std::fs::metadata("/proc/thread-self/ns/net").expect("it has one");
    u32::try_from(file.ino()).expect("a small number")
}

fn start() -> Live {
    Live::start(Filter { port: None, netns: Some(netns()) }).unwrap_or_else(|error| panic!("{error}"))
}

/// Every segment and every byte is accounted for, however it came: in super-packets, in small ones, over the backlog.
#[test]
#[ignore = "needs root"]
fn every_segment_and_every_byte_is_accounted_for() {
    in_own_namespace(|| {
        let mut told = Told::default();
        let mut live = start();
        const AMOUNT: usize = 64 << 20;
        let (mut client, mut server) = connect();
        let writer = thread::spawn(move || {
            let buffer = vec![0; 1 << 16];
            for n in 0..AMOUNT >> 16 {
                client.write_all(&buffer).expect("it is read");
                // Now and then in many small ones.
                if n % 64 == 0 {
                    client.set_nodelay(true).expect("an option");
                    buffer[..1000].iter().for_each(|byte| client.write_all(&[*byte]).expect("it is read"));
                }
            }
            client
        });
        let small = (AMOUNT >> 22) * 1000;
        let mut buffer = vec![0; 1 << 17];
        let mut read = 0;
        while read < AMOUNT + small {
            read += server.read(&mut buffer).expect("it is written");
            if read % 7 == 0 {
                live.tell(&mut told).expect("it tells");
            }
        }
        drop((writer.join().expect("it ends"), server));
        thread::sleep(Duration::from_millis(50));
        let check = live.finish(&mut told).expect("it tells");
        assert_eq!((check.sockets, check.untold, check.unwatched, check.unstamped), (2, 0, 0, 0));
        assert_eq!(check.segments, check.kernel_segments);
        assert!(check.segments > 20_000, "{check:?}");
        let [client, server] = told.both();
        let all = Bytes::new((AMOUNT + small) as u64);
        assert_eq!(
            (client.written, client.read, server.written, server.read),
            (all, Bytes::ZERO, Bytes::ZERO, all)
        );
        assert_eq!(server.waited(Wait::ReceiveQueue), all.get(), "each byte waited once to be read");
        let packets = [Wait::CpuBacklog, Wait::SocketBacklog, Wait::HolderOffCpu].map(|on| server.waited(on));
        assert_eq!(packets.iter().sum::<u64>(), check.segments, "each segment waited once for TCP");
    });
}

/// A reader that sleeps lets data wait and the window close; both ends say so.
#[test]
#[ignore = "needs root"]
fn a_reader_that_sleeps_is_seen_at_both_ends() {
    in_own_namespace(|| {
        let mut told = Told::default();
        let mut live = start();
        const ASLEEP: Duration = Duration::from_millis(400);
        let (mut client, mut server) = connect();
        let writer = thread::spawn(move || {
            client.write_all(&vec![0; 32 << 20]).expect("it is read");
            client
        });
        let mut buffer = vec![0; 1 << 16];
        server.read_exact(&mut buffer).expect("it is written");
        thread::sleep(ASLEEP);
        live.tell(&mut told).expect("it tells");
        for _ in 1..(32 << 20) >> 16 {
            server.read_exact(&mut buffer).expect("it is written");
        }
        drop((writer.join().expect("it ends"), server));
        thread::sleep(Duration::from_millis(50));
        live.finish(&mut told).expect("it tells");
        let [client, server] = told.both();
        let (most, longest) = (client.held_most(), server.longest(Wait::ReceiveQueue));
        assert_eq!(most.0, Hold::ReceiveWindow, "{:?}", client.held);
        assert!(most.1 >= ASLEEP * 9 / 10, "held for {:?}", most.1);
        assert!(longest >= ASLEEP * 9 / 10, "data waited for {longest:?} at most");
        assert_eq!(server.held_by(Hold::ReceiveWindow), Duration::ZERO, "it sent nothing");
    });
}

/// A writer that pauses is idle; one that has written all waits for nothing but the path.
#[test]
#[ignore = "needs root"]
fn a_writer_that_pauses_is_idle() {
    in_own_namespace(|| {
        let mut told = Told::default();
        let live = start();
        let (mut client, mut server) = connect();
        let reader = thread::spawn(move || std::io::copy(&mut server, &mut std::io::sink()));
        const PAUSES: u32 = 5;
        for _ in 0..PAUSES {
            client.write_all(&[1; 1000]).expect("it is read");
            thread::sleep(Duration::from_millis(100));
        }
        drop(client);
        let read = reader.join().expect("it ends").expect("it reads");
        thread::sleep(Duration::from_millis(50));
        live.finish(&mut told).expect("it tells");
        let [client, _] = told.both();
        let application = client.held_by(Hold::Idle) + client.held_by(Hold::Drained);
        assert_eq!((read, client.written), (5000, Bytes::new(5000)));
        assert!(application >= Duration::from_millis(100) * (PAUSES - 1) * 9 / 10, "{:?}", client.held);
        assert_eq!(client.held.iter().map(|(_, time)| *time).sum::<Duration>(), application);
    });
}

/// Only what was asked for is watched, and nothing of the probe stays in the kernel.
#[test]
#[ignore = "needs root"]
fn what_is_not_asked_for_is_left_alone_and_nothing_stays_behind() {
    in_own_namespace(|| {
        let mut told = Told::default();
        let (mut one, mut other) = (connect(), connect());
        let port = one.0.local_addr().expect("an address").port();
        let live = Live::start(Filter { port: Some(port), netns: Some(netns()) }).expect("it starts");
        assert!(programs() >= 3, "they are there while it lives");
        for (client, server) in [&mut one, &mut other] {
            client.write_all(&[7; 100]).expect("it is read");
            server.read_exact(&mut [0; 100]).expect("it is written");
        }
        let check = live.finish(&mut told).expect("it tells");
        assert_eq!((check.sockets, told.keys().len()), (2, 1));
        assert!(End::BOTH.iter().any(|end| told.keys()[0].endpoint(*end).port == port));
        // The kernel lets go of them when no CPU can be inside any more.
        let gone = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(50));
            programs() == 0
        });
        assert!(gone, "{} are left", programs());
        let elsewhere = Live::start(Filter { port: None, netns: Some(1) }).expect("it starts");
        one.0.write_all(&[7; 100]).expect("it is read");
        assert_eq!(elsewhere.finish(&mut told).expect("it tells").sockets, 0);
        assert!(told.marks().iter().all(|mark| !matches!(mark, Mark::Timeout)));
    });
}

fn programs() -> usize {
    let all = libbpf_rs::query::ProgInfoIter::default();
    all.filter(|program| program.name.to_string_lossy().starts_with("slowpath_")).count()
}
