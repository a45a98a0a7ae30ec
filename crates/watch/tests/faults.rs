//! A known fault on this host: the screen's state names the right limit within three seconds.

use slowpath_analyses::{Cause, Limit};
use slowpath_live::EVERY;
use slowpath_runs::watch::{Wanted, Watching};
use slowpath_watch::{Flows, Focus, HostNow, Interval, Row};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// A transfer over loopback that goes on until it is dropped.
struct Transfer {
    port: u16,
    over: Arc<AtomicBool>,
    ends: Vec<JoinHandle<()>>,
}

impl Transfer {
    /// `read` takes data from the socket; `write` gives it some.
    fn start(
        mut write: impl FnMut(&mut TcpStream) + Send + 'static,
        mut read: impl FnMut(&mut TcpStream) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let mut server = listener.accept().expect("its other end").0;
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(SECOND / 4)).expect("a socket takes it");
            stream.set_write_timeout(Some(SECOND / 4)).expect("a socket takes it");
        }
        let over = Arc::new(AtomicBool::new(false));
        let (reader, writer) = (Arc::clone(&over), Arc::clone(&over));
        let ends = vec![
            thread::spawn(move || {
                while !writer.load(Ordering::Relaxed) {
                    write(&mut client)
                }
            }),
            thread::spawn(move || {
                while !reader.load(Ordering::Relaxed) {
                    read(&mut server)
                }
            }),
        ];
        Self { port: address.port(), over, ends }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.ends.drain(..).for_each(|end| end.join().expect("it ends"));
    }
}

/// What the watch names within three seconds of the beginning: the row of the transfer after each of them.
fn watched(transfer: &Transfer, without_probe: bool) -> Vec<Row> {
    let wanted = Wanted { port: Some(transfer.port), without_probe, ..Wanted::default() };
    let mut watching = Watching::start(&wanted).expect("it is permitted");
    let (mut flows, began, mut rows) = (Flows::new(None), Instant::now(), Vec::new());
    for nth in 1..=3 {
        let from = Instant::now();
        while began.elapsed() < SECOND * nth {
            thread::sleep(EVERY.min((SECOND * nth).saturating_sub(began.elapsed())));
            watching.look().expect("the kernel answers");
        }
        let interval = Interval {
            at: began.elapsed(),
            lasted: from.elapsed(),
            flows: watching.seen().map(Into::into).collect(),
            not_kept: watching.not_kept(),
            host: HostNow::default(),
        };
        flows.take(interval, &Focus::default(), false);
        watching.next_interval();
        let moment = flows.back(0).expect("an interval is over");
        assert!(
            moment.all.causes.iter().map(|(_, lasted)| *lasted).sum::<Duration>() <= moment.window * 11 / 10
        );
        rows.extend(moment.rows.first().cloned());
    }
    rows
}

fn write_much(stream: &mut TcpStream) {
    // It may time out: the window is closed.
    let _ = stream.write(&[1; 1 << 16]);
}

/// A reader that takes 64 KiB at a time and does something else in between.
fn slow_reader() -> Transfer {
    Transfer::start(write_much, |stream| {
        thread::sleep(Duration::from_millis(50));
        let _ = stream.read(&mut [0; 1 << 16]);
    })
}

/// A reader that does not read at all: hardly a segment shows it.
fn stopped_reader() -> Transfer {
    Transfer::start(write_much, |_| thread::sleep(Duration::from_millis(100)))
}

/// A writer that rarely has something to send.
fn idle_writer() -> Transfer {
    let write = |stream: &mut TcpStream| {
        thread::sleep(Duration::from_millis(200));
        let _ = stream.write(&[1; 100]);
    };
    Transfer::start(write, |stream| drop(stream.read(&mut [0; 1 << 16])))
}

fn causes(rows: &[Row]) -> Vec<Option<Cause>> {
    rows.iter().map(|row| row.figures.main()).collect()
}

#[test]
#[ignore = "needs root"]
fn probe_shows_a_slow_reader_within_three_seconds() {
    let rows = watched(&slow_reader(), false);
    let last = rows.last().expect("the transfer is seen");
    assert_eq!(last.figures.main(), Some(Cause::SlowReader), "{:?}", causes(&rows));
    assert!(last.figures.lost() >= SECOND * 2, "{:?}", last.figures);
    assert!(last.process.as_ref().is_some_and(|process| process.pid == std::process::id()));
}

/// The sender waits, and only window probes come: its time is shown while it waits.
#[test]
#[ignore = "needs root"]
fn probe_shows_a_stopped_reader_within_three_seconds() {
    let rows = watched(&stopped_reader(), false);
    let last = rows.last().expect("the transfer is seen");
    assert_eq!(last.figures.main().map(Cause::limit), Some(Limit::ReceiveWindow), "{:?}", causes(&rows));
    assert!(last.figures.lost() >= SECOND * 2, "{:?}", last.figures);
}

#[test]
#[ignore = "needs root"]
fn probe_shows_an_idle_sender_as_lost_time_of_nobody() {
    let rows = watched(&idle_writer(), false);
    let last = rows.last().expect("the transfer is seen");
    assert_eq!(last.figures.main(), Some(Cause::SenderIdle), "{:?}", causes(&rows));
    assert!(last.figures.lost() < SECOND / 4, "{:?}", last.figures);
}

#[test]
fn tcp_info_shows_a_slow_reader_within_three_seconds() {
    let rows = watched(&slow_reader(), true);
    let last = rows.last().expect("the transfer is seen");
    assert_eq!(last.figures.main().map(Cause::limit), Some(Limit::ReceiveWindow), "{:?}", causes(&rows));
    assert!(last.figures.lost() >= SECOND * 2, "{:?}", last.figures);
}
