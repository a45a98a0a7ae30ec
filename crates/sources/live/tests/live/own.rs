//! The source without privilege.

use crate::hosts::Reports;
use slowpath_live::Own;
use slowpath_model::{Bytes, Hold, Wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A reader that sleeps holds the sender by its window; before and after that, every byte is accounted for.
#[test]
fn sleeping_reader_closes_the_window() {
    const AMOUNT: usize = 32 << 20;
    const ASLEEP: Duration = Duration::from_millis(700);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut own = Own::start(Some(address.port())).expect("it answers");
    let mut reports = Reports::default();
    own.tell(&mut reports).expect("it answers");
    let mut client = TcpStream::connect(address).expect("a connection");
    let mut server = listener.accept().expect("its other end").0;
    let writer = thread::spawn(move || client.write_all(&vec![0; AMOUNT]).map(|()| client));
    let slept = ASLEEP / 10;
    for _ in 0..10 {
        thread::sleep(slept);
        own.tell(&mut reports).expect("it answers");
    }
    server.read_exact(&mut vec![0; AMOUNT]).expect("all is written");
    let client = writer.join().expect("it ends").expect("all is read");
    own.tell(&mut reports).expect("it answers");
    drop((client, server));
    own.finish(&mut reports);
    let [client, server] = reports.both();
    let all = Bytes::new(AMOUNT as u64);
    assert_eq!((reports.keys().len(), client.written, server.read), (1, all, all));
    // The time until the first sample has no owner, and the kernel counts in ticks of up to 10 ms.
    let held = client.held_by(Hold::ReceiveWindow);
    assert!(held >= ASLEEP - 2 * slept, "{held:?} of {:?}", client.held);
    assert_eq!(server.waited(Wait::ReceiveQueue), 0, "this source cannot see it");
}
