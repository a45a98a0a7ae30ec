//! Two hosts, a router between them, and a transfer from one to the other that the probe watches at the sender.

use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, Hosts, What};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_live::{EVERY, Filter, Live};
use slowpath_model::Instant;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

pub const SENDING: Duration = Duration::from_secs(3);

/// `sender eth0 - left path right - eth0 receiver`: two links, and a router between them.
pub fn routed() -> Namespaces {
    let hosts = Namespaces::create().expect("root may create namespaces");
    for (place, other, net) in [(Place::Sender, "left", 1), (Place::Receiver, "right", 2)] {
        let path = hosts.path(Place::Path);
        hosts
            .ip(place, &format!("link add eth0 type veth peer name {other} netns {path}"))
            .and_then(|()| hosts.ip(place, &format!("addr add 10.9.{net}.2/24 dev eth0")))
            .and_then(|()| hosts.ip(Place::Path, &format!("addr add 10.9.{net}.1/24 dev {other}")))
            .and_then(|()| hosts.ip(place, "link set eth0 up"))
            .and_then(|()| hosts.ip(Place::Path, &format!("link set {other} up")))
            .and_then(|()| hosts.ip(place, &format!("route add default via 10.9.{net}.1")))
            .expect("two wires");
    }
    hosts.sysctl(Place::Path, "net.ipv4.ip_forward", "1").expect("a router");
    hosts
}

/// How the sender sends, for as long as the transfer lasts.
#[derive(Clone, Copy)]
pub struct Sender {
    /// `SO_MAX_PACING_RATE`, in bytes a second.
    pub paced_to: Option<u64>,
    /// How much it writes at once, and how long it then pauses.
    pub writes: (usize, Duration),
}

/// How long a receiver waits for data before it gives up.
const PATIENCE: Duration = Duration::from_secs(10);

pub const BULK: Sender = Sender { paced_to: None, writes: (1 << 16, Duration::ZERO) };

impl Sender {
    fn send(self, mut to: TcpStream) {
        if let Some(rate) = self.paced_to {
            // SAFETY: the number is live, and its size is passed with it.
            let result = unsafe {
                let size = size_of_val(&rate) as u32;
                let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
                libc::setsockopt(to.as_raw_fd(), level, name, (&raw const rate).cast(), size)
            };
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        }
        let began = std::time::Instant::now();
        let (amount, pause) = self.writes;
        let data = vec![0; amount];
        while began.elapsed() < SENDING {
            to.write_all(&data).expect("the receiver reads");
            thread::sleep(pause);
        }
    }
}

/// Sends from one host to the other, and returns what the sender's host reported of it.
pub fn transfer(hosts: &Namespaces, sender: Sender) -> Account {
    watched(hosts, |to| sender.send(to), drain)
}

/// Reads until the end.
pub fn drain(mut from: TcpStream) {
    let mut buffer = vec![0; 1 << 18];
    while from.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

/// Connects one host to the other, and returns what the sender's host reported while `send` ran and was read.
pub fn watched(
    hosts: &Namespaces,
    send: impl FnOnce(TcpStream) + Send,
    receive: impl FnOnce(TcpStream) + Send,
) -> Account {
    let netns = hosts.number(Place::Sender).expect("it is there");
    let mut live = Live::start(Filter::of_netns(&[netns])).unwrap_or_else(|error| panic!("{error}"));
    let mut told = Hosts::default();
    thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        scope.spawn(move || {
            hosts.enter(Place::Receiver).expect("it is there");
            let listener = TcpListener::bind("10.9.2.2:5001").expect("nobody else is there");
            ready.send(()).expect("somebody waits");
            let from = listener.accept().expect("it connects").0;
            // A sender that failed on a cut path sends nothing more.
            from.set_read_timeout(Some(PATIENCE)).expect("an option");
            receive(from);
        });
        is_ready.recv().expect("it listens");
        let sending = scope.spawn(move || {
            hosts.enter(Place::Sender).expect("it is there");
            send(TcpStream::connect("10.9.2.2:5001").expect("it listens"));
        });
        while !sending.is_finished() {
            thread::sleep(EVERY);
            live.tell(&mut told).expect("it reports");
        }
    });
    live.finish(&mut told).expect("it reports");
    let (mut accounts, _) = told.finish();
    assert_eq!(accounts.len(), 1, "{accounts:?}");
    let account = accounts.remove(0);
    assert_whole(&account);
    account
}

/// Each instant from the first to the last is in one spell, and the spells add up to the sums.
fn assert_whole(account: &Account) {
    let spells = account.spells();
    let [first, last]: [Instant; 2] = account.told.expect("something was told");
    assert_eq!((spells[0].from, spells[spells.len() - 1].to), (first, last));
    assert!(spells.windows(2).all(|pair| pair[0].to == pair[1].from), "{spells:?}");
    for bound in account.bounds() {
        let of_cause = |what: &What| matches!(what, What::Held(why) if account.cause(*why) == bound.cause);
        let sum: Duration = spells.iter().filter(|s| of_cause(&s.what)).map(|s| s.lasted()).sum();
        assert_eq!(sum, bound.lasted, "{}", bound.cause);
    }
}

pub fn share(account: &Account, cause: Cause) -> f64 {
    let bounds = account.bounds();
    println!(
        "{}",
        bounds.iter().map(|b| format!("{} {:.3}", b.cause, b.share)).collect::<Vec<_>>().join(", ")
    );
    bounds.iter().find(|bound| bound.cause == cause).map_or(0.0, |bound| bound.share)
}
