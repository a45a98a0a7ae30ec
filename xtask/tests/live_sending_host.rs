//! What the live probe reports of a sending host that limits its own senders, and of hosts that do not: real sockets, shapers and
//! a path between them, in network namespaces.

use slowpath_analyses::hosts::{Account, Hosts, What};
use slowpath_analyses::{Cause, Evidence};
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_live::{EVERY, Filter, Live};
use slowpath_model::Instant;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

const SENDING: Duration = Duration::from_secs(3);
/// Of this much time at least the cause has to be the right one.
const MOST: f64 = 0.85;

/// `sender eth0 - left path right - eth0 receiver`: two wires, and a router between them.
fn routed() -> Namespaces {
    let hosts = Namespaces::create().expect("root may make namespaces");
    for (place, other, net) in [(Place::Sender, "left", 1), (Place::Receiver, "right", 2)] {
        let path = hosts.name(Place::Path);
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

/// Data for as long as it takes: how the sender makes it.
#[derive(Clone, Copy)]
struct Sender {
    /// `SO_MAX_PACING_RATE`, in bytes a second.
    paced_to: Option<u64>,
    /// How much it writes at once, and how long it pauses then.
    writes: (usize, Duration),
}

const BULK: Sender = Sender { paced_to: None, writes: (1 << 16, Duration::ZERO) };

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
            to.write_all(&data).expect("it is read");
            thread::sleep(pause);
        }
    }
}

/// Sends from one host to the other, and gives what the sender's host reported of it.
fn transfer(hosts: &Namespaces, sender: Sender) -> Account {
    let netns = hosts.number(Place::Sender).expect("it is there");
    let mut live = Live::start(Filter::of_netns(&[netns])).unwrap_or_else(|error| panic!("{error}"));
    let mut told = Hosts::default();
    thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        scope.spawn(move || {
            hosts.enter(Place::Receiver).expect("it is there");
            let listener = TcpListener::bind("10.9.2.2:5001").expect("nobody else is there");
            ready.send(()).expect("somebody waits");
            let mut from = listener.accept().expect("it connects").0;
            let mut buffer = vec![0; 1 << 18];
            while from.read(&mut buffer).is_ok_and(|read| read > 0) {}
        });
        is_ready.recv().expect("it listens");
        let sending = scope.spawn(move || {
            hosts.enter(Place::Sender).expect("it is there");
            sender.send(TcpStream::connect("10.9.2.2:5001").expect("it listens"));
        });
        while !sending.is_finished() {
            thread::sleep(EVERY);
            live.tell(&mut told).expect("it tells");
        }
    });
    live.finish(&mut told).expect("it tells");
    let (mut accounts, _) = told.finish();
    assert_eq!(accounts.len(), 1, "{accounts:?}");
    let account = accounts.remove(0);
    assert_whole(&account);
    account
}

/// Each instant from the first to the last is in one spell, and the spells say what the sums do.
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

fn share(account: &Account, cause: Cause) -> f64 {
    let bounds = account.bounds();
    println!(
        "{}",
        bounds.iter().map(|b| format!("{} {:.3}", b.cause, b.share)).collect::<Vec<_>>().join(", ")
    );
    bounds.iter().find(|bound| bound.cause == cause).map_or(0.0, |bound| bound.share)
}

/// The shapers that this kernel has. With a short path the queue is all there is to wait for.
#[test]
#[ignore = "needs root"]
fn a_shaper_on_the_senders_own_device_is_reported_with_its_queue() {
    let hosts = routed();
    let shapers: [&[&str]; 2] = [
        &["tc qdisc add dev eth0 root tbf rate 20mbit burst 10kb limit 200kb"],
        &[
            "tc qdisc replace dev eth0 root handle 1: htb default 10",
            "tc class add dev eth0 parent 1: classid 1:10 htb rate 20mbit quantum 1514",
        ],
    ];
    for commands in shapers {
        for command in commands {
            hosts.execute(Place::Sender, command).expect("this kernel has it");
        }
        let account = transfer(&hosts, BULK);
        assert!(share(&account, Cause::LocalRateLimit) >= MOST, "{commands:?}");
        let evidence = account.evidence(Cause::LocalRateLimit);
        let has_waited =
            |one: &Evidence| matches!(one, Evidence::OwnQueue { backlog, .. } if backlog.get() > 1500);
        assert!(evidence.iter().any(has_waited), "{evidence:?}");
        assert!(!evidence.iter().any(|one| matches!(one, Evidence::PacingLimit { .. })), "{evidence:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_pacing_rate_of_the_application_is_reported_with_its_number() {
    let account = transfer(&routed(), Sender { paced_to: Some(2_500_000), ..BULK });
    assert!(share(&account, Cause::LocalRateLimit) >= MOST);
    let evidence = account.evidence(Cause::LocalRateLimit);
    let is_it = matches!(evidence[..], [Evidence::PacingLimit { rate }] if rate.get() == 20_000_000);
    assert!(is_it, "{evidence:?}");
}

/// The same shapers, and nothing of theirs: on the path, behind a higher limit, or on a device that has less to send.
#[test]
#[ignore = "needs root"]
fn a_shaper_elsewhere_and_limits_that_nothing_reaches_are_not_the_sending_hosts() {
    const TBF: &str = "root tbf rate 20mbit burst 10kb limit 100kb";
    let hosts = routed();
    let nothing = share(&transfer(&hosts, BULK), Cause::LocalRateLimit);
    assert!(nothing < 0.01, "no shaper at all: {nothing}");
    hosts.execute(Place::Path, &format!("tc qdisc add dev right {TBF}")).expect("this kernel has it");
    let on_path = transfer(&hosts, BULK);
    assert!(share(&on_path, Cause::LocalRateLimit) < 0.01, "on the path");
    let above = transfer(&hosts, Sender { paced_to: Some(125_000_000), ..BULK });
    assert!(share(&above, Cause::LocalRateLimit) < 0.01, "paced to more than the path carries");
    // More than the path carries.
    hosts
        .execute(Place::Sender, "tc qdisc add dev eth0 root tbf rate 200mbit burst 64kb limit 1mb")
        .expect("this kernel has it");
    let faster = share(&transfer(&hosts, BULK), Cause::LocalRateLimit);
    assert!(faster < 0.1, "a shaper that lets ten times as much through: {faster}");
    hosts.execute(Place::Path, "tc qdisc del dev right root").expect("it is there");
    let idle = Sender { writes: (10_000, Duration::from_millis(20)), ..BULK };
    let idle = share(&transfer(&hosts, idle), Cause::LocalRateLimit);
    assert!(idle < 0.05, "an application that writes less: {idle}");
}
