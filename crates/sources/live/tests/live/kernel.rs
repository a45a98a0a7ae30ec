//! The probe on this kernel, compared with the kernel's own counters and with imposed waits.

use crate::hosts::{Reports, connect, in_own_namespace, netns, start};
use slowpath_live::record::{Exact, Waits};
use slowpath_live::{Filter, Live};
use slowpath_model::{Bytes, End, Hold, Mark, Wait};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Every segment and every byte is accounted for, however it arrives: in super-packets, in small packets, over the
/// backlog.
#[test]
#[ignore = "needs root"]
fn every_segment_and_every_byte_is_accounted_for() {
    in_own_namespace(|| {
        assert!((0..5).any(|_| transfer_is_accounted_for()), "something is missing each time")
    });
}

/// A connection that is still busy when the probe stops: what the kernel counts while it stops is not missing.
#[test]
#[ignore = "needs root"]
fn what_comes_while_the_probe_stops_is_not_missing() {
    in_own_namespace(|| {
        let live = start();
        let (mut client, server) = connect();
        client.set_nodelay(true).expect("an option");
        let writer = thread::spawn(move || while client.write_all(&[7]).is_ok() {});
        let reader = server.try_clone().expect("it is open");
        let reader =
            thread::spawn(move || while { &reader }.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {});
        thread::sleep(Duration::from_millis(500));
        let check = live.finish(&mut Reports::default()).expect("it reports").check;
        server.shutdown(std::net::Shutdown::Both).expect("it is open");
        drop(server);
        reader.join().expect("it ends");
        // By a reset.
        writer.join().expect("it ends");
        assert!(check.segments > 1_000, "{check:?}");
        // While one is being read, a few may come.
        assert!(check.segments.abs_diff(check.kernel_segments) < 10, "{check:?}");
    });
}

/// Whether every segment was seen; then all else has to be right. (If a kernel runs no program in the context of some
/// task, softirqs in that context are not seen either.)
fn transfer_is_accounted_for() -> bool {
    let mut reports = Reports::default();
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
            live.tell(&mut reports).expect("it reports");
        }
    }
    drop((writer.join().expect("it ends"), server));
    thread::sleep(Duration::from_millis(50));
    let check = live.finish(&mut reports).expect("it reports").check;
    assert_eq!((check.sockets, check.untold, check.unwatched, check.unstamped), (2, 0, 0, 0));
    assert!(
        check.undone.is_some_and(|undone| undone.agrees()),
        "all of this namespace is watched: {check:?}"
    );
    if check.segments != check.kernel_segments {
        assert!(check.kernel_segments - check.segments < check.segments / 100, "{check:?}");
        return false;
    }
    assert!(check.segments > 20_000, "{check:?}");
    let [client, server] = reports.both();
    let all = Bytes::new((AMOUNT + small) as u64);
    assert_eq!(
        (client.written, client.read, server.written, server.read),
        (all, Bytes::ZERO, Bytes::ZERO, all),
        "{check:?}"
    );
    assert_eq!(server.waited(Wait::ReceiveQueue), all.get(), "each byte waited once to be read");
    let packets = [Wait::CpuBacklog, Wait::SocketBacklog, Wait::HolderOffCpu].map(|on| server.waited(on));
    assert_eq!(packets.iter().sum::<u64>(), check.segments, "each segment waited once for TCP");
    true
}

/// The timestamps compared with the oracle, on a CPU that ten other tasks want: every segment is found, and those that
/// waited for longer than a millisecond are the same, to a hundredth. (A kernel that runs no program in the context of
/// some task does not show softirqs in that context either.)
#[test]
#[ignore = "needs root"]
fn arrival_timestamps_match_the_oracle() {
    in_own_namespace(|| {
        // Packets of their own size: a super-packet is taken in one go.
        let alone = ["-K", "lo", "tso", "off", "gso", "off", "gro", "off"];
        let status = std::process::Command::new("ethtool").args(alone).status();
        assert!(status.is_ok_and(|status| status.success()), "loopback without offloads");
        softirqs_on_cpu_0();
        let late = (0..5).map(|_| compare_with_oracle()).find(|late| *late > 0);
        assert!(late.is_some(), "nothing waited");
    });
}

/// Loopback's receive softirqs, on the reader's CPU, by receive packet steering. The namespace's own /sys is needed.
fn softirqs_on_cpu_0() {
    let mount = |kind: &std::ffi::CStr, on: &std::ffi::CStr, flags| {
        // SAFETY: the names are live; the mount namespace is this thread's own.
        unsafe { libc::mount(c"none".as_ptr(), on.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) }
    };
    // SAFETY: it concerns the calling thread only.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0, "{}", std::io::Error::last_os_error());
    assert_eq!(
        mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE),
        0,
        "{}",
        std::io::Error::last_os_error()
    );
    assert_eq!(mount(c"sysfs", c"/sys", 0), 0, "{}", std::io::Error::last_os_error());
    std::fs::write("/sys/class/net/lo/queues/rx-0/rps_cpus", "1").expect("CONFIG_RPS");
}

/// How many segments waited for longer than 50 us.
fn compare_with_oracle() -> u64 {
    const LASTS: Duration = Duration::from_secs(4);
    let mut reports = Reports::default();
    let mut live = Live::start(Filter { exact: true, ..Filter::of_netns(&[netns()]) })
        .unwrap_or_else(|error| panic!("{error}"));
    let until = Instant::now() + LASTS;
    let spin = move || {
        bind_to_cpu(0);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    let hogs: Vec<_> = (0..10).map(|_| thread::spawn(spin)).collect();
    let (mut client, mut server) = connect();
    let writer = thread::spawn(move || {
        bind_to_cpu(1);
        while Instant::now() < until {
            client.write_all(&[7; 1 << 16]).expect("it is read");
            thread::sleep(Duration::from_micros(800));
        }
    });
    let reader = thread::spawn(move || {
        bind_to_cpu(0);
        let mut buffer = vec![0; 4 << 20];
        while server.read(&mut buffer).expect("it is written") > 0 {}
    });
    writer.join().expect("it ends");
    reader.join().expect("it ends");
    hogs.into_iter().for_each(|hog| hog.join().expect("it ends"));
    thread::sleep(Duration::from_millis(50));
    live.tell(&mut reports).expect("it reports");
    let exact = live.exact().expect("it reports");
    let check = live.finish(&mut reports).expect("it reports").check;
    let sum = |of: fn(&Exact) -> u64| exact.iter().map(of).sum::<u64>();
    let unseen = check.kernel_segments - check.segments;
    assert!(unseen <= check.segments / 100, "{check:?}");
    assert!(sum(|cpu| cpu.unknown_bytes) <= check.segments / 100 * 1448 && sum(|cpu| cpu.evicted) == 0);
    let nothing: Waits = bytemuck::Zeroable::zeroed();
    let waits = exact.iter().flat_map(|cpu| cpu.waits);
    let oracle = waits.flat_map(|waits| waits.since(&nothing).collect::<Vec<_>>());
    let oracle: Vec<(Duration, u64)> = oracle.map(|(time, count)| (time, count.into())).collect();
    let [_, server] = reports.both();
    let stamps: Vec<(Duration, u64)> = server.packets().collect();
    let over = |waits: &[(Duration, u64)], micros| {
        let late = waits.iter().filter(|(time, _)| *time >= Duration::from_micros(micros));
        late.map(|(_, count)| count).sum::<u64>()
    };
    // Segments merged on the backlog have the last one's timestamp: they arrived microseconds apart, and those of one
    // merged packet, of 64 KiB at most, may be on both sides of a limit.
    const MERGED: u64 = (64 << 10) / 1448;
    for (micros, short_by) in [(50, 2), (1000, 100), (10_000, 100)] {
        let (by_stamp, by_oracle) = (over(&stamps, micros), over(&oracle, micros));
        println!(
            "of {}, {by_stamp} waited over {micros} us by their stamps, {by_oracle} by the oracle",
            check.segments
        );
        let missing = by_oracle.saturating_sub(by_stamp);
        let surplus = by_stamp.saturating_sub(by_oracle);
        assert!(missing <= by_oracle / short_by + unseen + MERGED, "{missing} too few over {micros} us");
        assert!(surplus <= by_oracle / 100 + unseen + 1, "{surplus} too many over {micros} us");
    }
    over(&oracle, 50)
}

/// The calling thread, from now on.
fn bind_to_cpu(cpu: usize) {
    // SAFETY: the set is live, and its true size is passed with it; a machine with one CPU refuses the other.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Waits until a window closes in this namespace: on a busy machine the writer takes a while to fill it.
fn wait_for_zero_window() {
    let closed = || {
        let counters = slowpath_live::counters().expect("they are there");
        counters.get("TcpExtTCPToZeroWindowAdv").is_some_and(|count| *count > 0)
    };
    let began = Instant::now();
    while !closed() {
        assert!(began.elapsed() < Duration::from_secs(10), "the window stays open");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A reader that sleeps lets data wait and the window close; both ends show it.
#[test]
#[ignore = "needs root"]
fn sleeping_reader_is_seen_at_both_ends() {
    in_own_namespace(|| {
        let mut reports = Reports::default();
        let mut live = start();
        const ASLEEP: Duration = Duration::from_millis(400);
        let (mut client, mut server) = connect();
        let writer = thread::spawn(move || {
            client.write_all(&vec![0; 32 << 20]).expect("it is read");
            client
        });
        let mut buffer = vec![0; 1 << 16];
        server.read_exact(&mut buffer).expect("it is written");
        wait_for_zero_window();
        thread::sleep(ASLEEP);
        live.tell(&mut reports).expect("it reports");
        for _ in 1..(32 << 20) >> 16 {
            server.read_exact(&mut buffer).expect("it is written");
        }
        drop((writer.join().expect("it ends"), server));
        thread::sleep(Duration::from_millis(50));
        let check = live.finish(&mut reports).expect("it reports").check;
        let zero = check.zero_windows.expect("all of this namespace is watched");
        assert!(zero.kernel > 0 && zero.agrees(), "{check:?}");
        let marked =
            |is_it: fn(&Mark) -> bool| reports.marks().iter().filter(|mark| is_it(mark)).count() as u64;
        assert_eq!(marked(|mark| *mark == Mark::ZeroWindow), zero.kernel);
        assert_eq!(marked(|mark| *mark == Mark::WindowOpened), zero.kernel, "it was read to the end");
        let [client, server] = reports.both();
        let (most, longest) = (client.held_most(), server.longest(Wait::ReceiveQueue));
        assert_eq!(most.0, Hold::ReceiveWindow, "{:?}", client.held);
        assert!(most.1 >= ASLEEP * 9 / 10, "held for {:?}", most.1);
        assert!(longest >= ASLEEP * 9 / 10, "data waited for {longest:?} at most");
        assert_eq!(server.held_by(Hold::ReceiveWindow), Duration::ZERO, "it sent nothing");
    });
}

/// A reader that reads everything makes the kernel grow its buffer: each size is reported, in order, up to the current
/// one.
#[test]
#[ignore = "needs root"]
fn receive_buffer_growth_is_reported() {
    in_own_namespace(|| {
        let mut reports = Reports::default();
        let live = start();
        let (mut client, mut server) = connect();
        let first = received_buffer(&server);
        let writer = thread::spawn(move || client.write_all(&vec![0; 256 << 20]).map(|()| client));
        let mut buffer = vec![0; 1 << 20];
        (0..256).for_each(|_| server.read_exact(&mut buffer).expect("it is written"));
        // The last report may be one step behind: nothing has arrived since.
        let last = received_buffer(&server);
        let client = writer.join().expect("it ends").expect("it is read");
        live.finish(&mut reports).expect("it reports");
        drop(client);
        let size = |mark: &Mark| mark.size().map(Bytes::get).filter(|_| mark.name() == "rcvbuf");
        let sizes: Vec<u64> = reports.marks().iter().filter_map(size).collect();
        let grown: Vec<u64> = sizes.iter().copied().filter(|size| *size != first).collect();
        assert!(last > first && sizes.contains(&first), "from {first} to {last}: {sizes:?}");
        assert!(grown.is_sorted() && !grown.is_empty(), "{sizes:?}");
        assert!(grown.iter().all(|size| (first..=last).contains(size)), "{first} to {last}: {sizes:?}");
    });
}

/// `sk_rcvbuf`, from getsockopt(2).
fn received_buffer(socket: &impl AsRawFd) -> u64 {
    let mut bytes: libc::c_int = 0;
    let mut size = size_of_val(&bytes) as u32;
    // SAFETY: both are live, and the size is the value's.
    let result = unsafe {
        let value = (&raw mut bytes).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value, &raw mut size)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    bytes.cast_unsigned().into()
}

/// A writer that pauses is idle; one that has written everything waits only for the path.
#[test]
#[ignore = "needs root"]
fn pausing_writer_is_idle() {
    in_own_namespace(|| {
        let mut reports = Reports::default();
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
        live.finish(&mut reports).expect("it reports");
        let [client, _] = reports.both();
        let application = client.held_by(Hold::Idle) + client.held_by(Hold::Drained);
        assert_eq!((read, client.written), (5000, Bytes::new(5000)));
        assert!(application >= Duration::from_millis(100) * (PAUSES - 1) * 9 / 10, "{:?}", client.held);
        assert_eq!(client.held.iter().map(|(_, time)| *time).sum::<Duration>(), application);
    });
}

/// Only selected connections are watched.
#[test]
#[ignore = "needs root"]
fn unselected_connections_are_not_watched() {
    in_own_namespace(|| {
        let mut reports = Reports::default();
        let (mut one, mut other) = (connect(), connect());
        let port = one.0.local_addr().expect("an address").port();
        let live =
            Live::start(Filter { port: Some(port), ..Filter::of_netns(&[1, netns()]) }).expect("it starts");
        for (client, server) in [&mut one, &mut other] {
            client.write_all(&[7; 100]).expect("it is read");
            server.read_exact(&mut [0; 100]).expect("it is written");
        }
        let check = live.finish(&mut reports).expect("it reports").check;
        assert_eq!((check.sockets, reports.keys().len()), (2, 1));
        assert!(End::BOTH.iter().any(|end| reports.keys()[0].endpoint(*end).port == port));
        let elsewhere = Live::start(Filter::of_netns(&[1])).expect("it starts");
        one.0.write_all(&[7; 100]).expect("it is read");
        assert_eq!(elsewhere.finish(&mut reports).expect("it reports").check.sockets, 0);
        assert!(reports.marks().iter().all(|mark| !matches!(mark, Mark::Timeout)));
    });
}
