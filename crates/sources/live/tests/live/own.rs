//! What the kernel says when it is asked, without privilege.

use crate::hosts::Told;
use slowpath_live::Own;
use slowpath_model::{Bytes, Hold, Wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A reader that sleeps holds the sender by its window, before and after which every byte is accounted for.
#[test]
fn a_reader_that_sleeps_closes_the_window() {
    const AMOUNT: usize = 32 << 20;
    const ASLEEP: Duration = Duration::from_millis(700);
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut own = Own::start(Some(address.port())).expect("it answers");
    let mut told = Told::default();
    own.tell(&mut told).expect("it answers");
    let mut client = TcpStream::connect(address).expect("a connection");
    let mut server = listener.accept().expect("its other end").0;
    let writer = thread::spawn(move || client.write_all(&vec![0; AMOUNT]).map(|()| client));
    let slept = ASLEEP / 10;
    for _ in 0..10 {
        thread::sleep(slept);
        own.tell(&mut told).expect("it answers");
    }
    server.read_exact(&mut vec![0; AMOUNT]).expect("all is written");
    let client = writer.join().expect("it ends").expect("all is read");
    own.tell(&mut told).expect("it answers");
    drop((client, server));
    own.finish(&mut told);
    let [client, server] = told.both();
    let all = Bytes::new(AMOUNT as u64);
    assert_eq!((told.keys().len(), client.written, server.read), (1, all, all));
    // The time until it was first seen is nobody's, and the kernel counts in ticks of up to 10 ms.
    let held = client.held_by(Hold::ReceiveWindow);
    assert!(held >= ASLEEP - 2 * slept, "{held:?} of {:?}", client.held);
    assert_eq!(server.waited(Wait::ReceiveQueue), 0, "that cannot be seen");
}
