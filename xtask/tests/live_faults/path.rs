//! Paths that carry no large packets, or nothing for a while.

use crate::net::{drain, routed, share, watched};
use slowpath_analyses::hosts::Account;
use slowpath_analyses::{Cause, Evidence};
use slowpath_lab::namespaces::{Namespaces, Place};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

const WATCHED: Duration = Duration::from_secs(6);

/// A path whose second link has an MTU of 1300.
fn narrow() -> Namespaces {
    let hosts = routed();
    hosts.ip(Place::Path, "link set right mtu 1300").expect("a device");
    hosts
}

/// The router's own errors do not reach the sender; forwarded packets do.
fn without_errors(hosts: &Namespaces) {
    hosts.ip(Place::Path, "rule add iif lo to 10.9.1.2 pref 1 prohibit").expect("a rule");
}

/// Some short messages, then more than a segment holds.
fn login_and_output(mut to: TcpStream) {
    for _ in 0..5 {
        to.write_all(&[1; 100]).expect("it is read");
        thread::sleep(Duration::from_millis(50));
    }
    to.set_write_timeout(Some(WATCHED)).expect("an option");
    let began = Instant::now();
    while began.elapsed() < WATCHED && to.write_all(&[2; 30_000]).is_ok() {
        thread::sleep(Duration::from_millis(100));
    }
}

/// Reads everything, and sends something ten times a second.
fn talk(mut peer: TcpStream) {
    peer.set_read_timeout(Some(Duration::from_millis(100))).expect("an option");
    let mut buffer = vec![0; 1 << 18];
    let began = Instant::now();
    while began.elapsed() < WATCHED + Duration::from_secs(1) {
        match peer.read(&mut buffer) {
            Ok(0) => return,
            _ if peer.write_all(&[3; 20]).is_err() => return,
            _ => {}
        }
    }
}

/// The router's errors do not come back.
fn silent() -> Account {
    let hosts = narrow();
    without_errors(&hosts);
    watched(&hosts, login_and_output, talk)
}

/// Nor here, and TCP finds the size by itself.
fn probing() -> Account {
    let hosts = narrow();
    without_errors(&hosts);
    hosts.sysctl(Place::Sender, "net.ipv4.tcp_mtu_probing", "1").expect("a setting");
    watched(&hosts, login_and_output, talk)
}

fn told() -> Account {
    watched(&narrow(), login_and_output, talk)
}

/// Everything is lost for two seconds, and the router sends errors.
fn cut() -> Account {
    let hosts = routed();
    let cut = |mut to: TcpStream| {
        let data = [1; 10_000];
        let began = Instant::now();
        let mut is_cut = false;
        to.set_write_timeout(Some(Duration::from_millis(100))).expect("an option");
        while began.elapsed() < Duration::from_secs(4) {
            // There is no room while nothing passes.
            let _ = to.write(&data);
            thread::sleep(Duration::from_millis(20));
            if !is_cut && began.elapsed() > Duration::from_secs(1) {
                is_cut = true;
                hosts.ip(Place::Path, "route add unreachable 10.9.2.2/32").expect("a route");
            }
        }
        hosts.ip(Place::Path, "route del unreachable 10.9.2.2/32").expect("it is there");
        thread::sleep(Duration::from_secs(2));
    };
    watched(&hosts, cut, drain)
}

/// All four at the same time: they wait most of it, in namespaces of their own.
static ACCOUNTS: LazyLock<[Option<Account>; 4]> = LazyLock::new(|| {
    let all: [fn() -> Account; 4] = [silent, probing, told, cut];
    thread::scope(|scope| all.map(|one| scope.spawn(one)).map(|one| one.join().ok()))
});

/// One of them, in their order. Why it failed is printed before.
fn account(nth: usize) -> &'static Account {
    ACCOUNTS[nth].as_ref().expect("an account")
}

#[test]
#[ignore = "needs root"]
fn large_packets_lost_without_icmp_errors_are_an_mtu_black_hole() {
    let account = account(0);
    assert!(share(account, Cause::MtuBlackHole) > 0.6);
    let evidence = account.evidence(Cause::MtuBlackHole);
    let is_it = |one: &Evidence| {
        matches!(one, Evidence::LostAboveSize { smallest, largest_delivered, .. }
            if smallest.get() == 1448 && largest_delivered.get() <= 1300)
    };
    assert!(evidence.iter().any(is_it), "{evidence:?}");
}

/// TCP finds the size by itself; the data lost before was of the size that does not pass.
#[test]
#[ignore = "needs root"]
fn mtu_black_hole_solved_by_mtu_probing_is_still_reported() {
    assert!(share(account(1), Cause::MtuBlackHole) > 0.2);
}

/// With the errors, TCP sends smaller segments at once.
#[test]
#[ignore = "needs root"]
fn path_with_icmp_errors_is_not_an_mtu_black_hole() {
    assert_eq!(share(account(2), Cause::MtuBlackHole), 0.0);
}

#[test]
#[ignore = "needs root"]
fn outage_is_not_an_mtu_black_hole_and_its_icmp_errors_are_reported() {
    let account = account(3);
    assert_eq!(share(account, Cause::MtuBlackHole), 0.0);
    assert!(share(account, Cause::Timeout) > 0.3);
    let evidence = account.evidence(Cause::Timeout);
    assert!(matches!(evidence[..], [Evidence::SoftError { errno: 113 }]), "{evidence:?}");
}
