//! Bytes sent from the sender's host to the receiver's.

use slowpath_lab::namespaces::{Namespaces, Place};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Sends them to that address of the receiver's host, and returns what arrived, and the sender's socket.
pub fn transfer(namespaces: &Namespaces, to: IpAddr, sent: &[u8]) -> (Vec<u8>, TcpStream) {
    // The socket's namespace is that of the thread that creates it.
    let listener = namespaces.inside(Place::Receiver, || Ok(TcpListener::bind((to, 5001)).unwrap())).unwrap();
    thread::scope(|scope| {
        let received = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let connect = || Ok(TcpStream::connect((to, 5001)).unwrap());
        let mut stream = namespaces.inside(Place::Sender, connect).unwrap();
        stream.write_all(sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        (received.join().unwrap(), stream)
    })
}
