//! The program on this machine's kernel, in a control group and network namespaces of the test's own.

mod connection;
mod cost;
mod emulated;
mod group;
mod killed;

use connection::{Connection, congestion, connect, option, receive_buffer, send_buffer, set_option, socket};
use group::Group;
use slowpath_lab::namespaces::{Namespaces, Place};
use slowpath_model::statistics::median;
use slowpath_model::{Bytes, Rate};
use slowpath_sockops::{Config, Counts, Fate, Most, Prefix, Setting, Target, Targets, Tuner};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

const MIB: u64 = 1 << 20;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// `net.core.wmem_max` or `rmem_max`: of the whole machine, so tests take it as it is.
fn most(name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/sys/net/core/{name}")).expect("a sysctl");
    text.trim().parse().expect("a number")
}

fn config() -> Config {
    Config {
        memory_bytes: 1 << 30,
        connections: 1000,
        wmem_max: most("wmem_max") as u32,
        rmem_max: most("rmem_max") as u32,
        is_pressed: 0,
    }
}

fn prefix(text: &str) -> Prefix {
    text.parse().expect(text)
}

fn targets(text: &str, target: Target) -> Targets {
    Targets::of(&[(prefix(text), target)], &[])
}

fn buffers(send: u64, receive: u64) -> Target {
    Target { send: Some(Bytes::new(send)), receive: Some(Bytes::new(receive)), ..Target::default() }
}

fn congestion_control(name: &str) -> Target {
    Target { congestion: Some(name.to_owned()), ..Target::default() }
}

fn paced(mbit: u64) -> Target {
    Target { pacing: Some(Rate::mbit(mbit)), ..Target::default() }
}

/// In Mbit/s.
fn pacing(socket: &impl std::os::fd::AsRawFd) -> i32 {
    match option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE) {
        -1 => -1,
        bytes => bytes / 125_000,
    }
}

/// A congestion control that a namespace may have, other than Reno, which all have at first.
fn other() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").expect("a sysctl");
    let other = text.split_whitespace().find(|name| *name != "reno");
    other.expect("this kernel has one besides reno").to_owned()
}

/// Runs in a namespace whose hosts have small buffers, in a group that is tuned.
fn tuned<T: Send>(
    name: &str,
    config: &Config,
    targets: &Targets,
    what: impl FnOnce(&mut Tuner, &Namespaces) -> T + Send,
) -> T {
    let group = Group::enter(name);
    let namespaces = Namespaces::create().expect("as root");
    namespaces.sysctl(Place::Sender, "net.ipv4.tcp_wmem", "4096 16384 131072").expect("a sysctl");
    namespaces.sysctl(Place::Sender, "net.ipv4.tcp_rmem", "4096 65536 131072").expect("a sysctl");
    namespaces.sysctl(Place::Sender, "net.ipv4.tcp_congestion_control", "reno").expect("a sysctl");
    namespaces.ip(Place::Sender, "link set lo up").expect("ip");
    let mut tuner =
        Tuner::attach(group.path(), Most { prefixes: 16 }, config, targets).expect("it is attached");
    let (tuner, spaces) = (&mut Moved(&mut tuner), &namespaces);
    namespaces.inside(Place::Sender, move || Ok(what(tuner.get(), spaces))).expect("it runs")
}

/// The tuner is used by one thread at a time: that of the test, which waits for the one in the namespace.
struct Moved<'a>(&'a mut Tuner);

// SAFETY: see above; libbpf's objects belong to no thread.
unsafe impl Send for Moved<'_> {}

impl Moved<'_> {
    fn get(&mut self) -> &mut Tuner {
        self.0
    }
}

fn counts(tuner: &Tuner) -> Counts {
    tuner.counts().expect("the kernel answers")
}

/// What a buffer of this size becomes here.
fn granted(wanted: u64, name: &str) -> u64 {
    wanted.min(2 * most(name))
}

#[test]
#[ignore = "needs root"]
fn buffers_are_set_where_the_kernels_own_tuning_is_limited() {
    tuned("buffers", &config(), &targets("127.0.0.0/8", buffers(3 * MIB, 2 * MIB)), |tuner, _| {
        let connection = Connection::to(HERE, |_| ());
        for end in [&connection.opened, &connection.accepted] {
            assert_eq!(send_buffer(end), granted(3 * MIB, "wmem_max"));
            assert_eq!(receive_buffer(end), granted(2 * MIB, "rmem_max"));
        }
        let now = tuner.granted().expect("the kernel answers");
        assert_eq!(
            (now.connections, now.memory_bytes),
            (2, 2 * (granted(3 * MIB, "wmem_max") + granted(2 * MIB, "rmem_max")))
        );
        connection.close();
        let after = tuner.granted().expect("the kernel answers");
        assert_eq!((after.connections, after.memory_bytes), (0, 0), "what is closed is free again");
        let counts = counts(tuner);
        assert_eq!((counts.seen, counts.known, counts.tuned), (2, 2, 2));
        assert_eq!((counts.set(Setting::Send), counts.set(Setting::Receive)), (2, 2));
        assert_eq!(counts.refusals().count(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn a_buffer_that_would_be_smaller_than_the_kernels_own_is_not_set() {
    let target = targets("127.0.0.0/8", buffers(1 << 30, MIB));
    tuned("slower", &config(), &target, |tuner, namespaces| {
        // More than SO_SNDBUF can get, and as much as SO_RCVBUF would.
        let more = (2 * most("wmem_max")).to_string();
        namespaces
            .sysctl(Place::Sender, "net.ipv4.tcp_wmem", &format!("4096 16384 {more}"))
            .expect("a sysctl");
        namespaces.sysctl(Place::Sender, "net.ipv4.tcp_rmem", "4096 65536 1048576").expect("a sysctl");
        let connection = Connection::to(HERE, |_| ());
        let counts = counts(tuner);
        assert_eq!(counts.of(Setting::Send, Fate::Short), 2);
        assert_eq!(counts.of(Setting::Receive, Fate::Suffices), 2);
        assert_eq!(counts.tuned, 0);
        assert!(send_buffer(&connection.opened) < MIB * 4, "as the kernel tunes it");
    });
}

#[test]
#[ignore = "needs root"]
fn what_the_program_has_set_is_left_alone() {
    let target = Target {
        pacing: Some(Rate::mbit(100)),
        clamp: Some(Bytes::new(65_536)),
        ..Target { congestion: Some(other()), ..buffers(MIB, MIB) }
    };
    tuned("own", &config(), &targets("127.0.0.0/8", target), |tuner, _| {
        let number = |value: i32| value.to_ne_bytes();
        let connection = Connection::to(HERE, |socket| {
            set_option(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &number(100_000));
            set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &number(110_000));
            set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &number(1_000_000));
            set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &number(50_000));
            set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, b"reno");
        });
        assert_eq!(send_buffer(&connection.opened), 200_000);
        assert_eq!(receive_buffer(&connection.opened), 220_000);
        assert_eq!(congestion(&connection.opened), "reno");
        assert_eq!(pacing(&connection.opened), 8);
        let counts = counts(tuner);
        for setting in Setting::ALL {
            assert_eq!(counts.of(setting, Fate::Own), 1, "{setting:?} of the end that set it");
            assert_eq!(counts.set(setting), 1, "{setting:?} of the end that did not");
        }
        assert_eq!(congestion(&connection.accepted), other());
        assert_eq!(pacing(&connection.accepted), 100);
    });
}

#[test]
#[ignore = "needs root"]
fn what_a_program_sets_later_replaces_what_was_tuned() {
    tuned("later", &config(), &targets("127.0.0.1", buffers(MIB, MIB)), |_, _| {
        let connection = Connection::to(HERE, |_| ());
        set_option(&connection.opened, libc::SOL_SOCKET, libc::SO_SNDBUF, &50_000_i32.to_ne_bytes());
        assert_eq!(send_buffer(&connection.opened), 100_000);
    });
}

#[test]
#[ignore = "needs root"]
fn a_sysctl_that_is_changed_meanwhile_is_the_administrators() {
    let target = Target { congestion: Some("reno".to_owned()), ..buffers(MIB, MIB) };
    let other = other();
    tuned("changed", &config(), &targets("127.0.0.0/8", target), |tuner, namespaces| {
        Connection::to(HERE, |_| ()).close();
        let before = counts(tuner);
        assert_eq!(before.tuned, 2);
        let set = |name, value| namespaces.sysctl(Place::Sender, name, value).expect("a sysctl");
        set("net.ipv4.tcp_wmem", "4096 16384 262144");
        let connection = Connection::to(HERE, |_| ());
        assert_eq!(counts(tuner).of(Setting::Send, Fate::Changed), 2);
        assert_eq!(receive_buffer(&connection.opened), granted(MIB, "rmem_max"), "the others still are");
        set("net.ipv4.tcp_congestion_control", &other);
        let connection = Connection::to(HERE, |_| ());
        assert_eq!(counts(tuner).of(Setting::Congestion, Fate::Changed), 2);
        assert_eq!(congestion(&connection.opened), other);
    });
}

#[test]
#[ignore = "needs root"]
fn refusals_of_the_kernel_are_counted_by_errno() {
    tuned("refused", &config(), &targets("127.0.0.1", congestion_control("no-such-one")), |tuner, _| {
        let connection = Connection::to(HERE, |_| ());
        let counts = counts(tuner);
        assert_eq!(counts.of(Setting::Congestion, Fate::Refused), 2);
        assert_eq!(counts.refusals().collect::<Vec<_>>(), [(libc::ENOENT, 2)]);
        assert_eq!(counts.tuned, 0);
        connection.close();
    });
}

#[test]
#[ignore = "needs root"]
fn limits_of_memory_and_connections_hold() {
    let both = granted(MIB, "wmem_max") + granted(MIB, "rmem_max");
    let small = Config { memory_bytes: 3 * both, ..config() };
    tuned("limits", &small, &targets("127.0.0.0/8", buffers(MIB, MIB)), |tuner, _| {
        let first = Connection::to(HERE, |_| ());
        let second = Connection::to(HERE, |_| ());
        let now = tuner.granted().expect("the kernel answers");
        assert_eq!((now.connections, now.memory_bytes), (3, 3 * both));
        assert_eq!(counts(tuner).over_memory, 1);
        first.close();
        second.close();
        tuner.limit(&Config { connections: 1, ..config() }).expect("limits");
        let _third = Connection::to(HERE, |_| ());
        assert_eq!(counts(tuner).over_connections, 1);
        tuner.limit(&Config { is_pressed: 1, ..config() }).expect("limits");
        let _fourth = Connection::to(HERE, |_| ());
        assert_eq!(counts(tuner).pressed, 2);
        assert_eq!(tuner.granted().expect("the kernel answers").connections, 1);
    });
}

#[test]
#[ignore = "needs root"]
fn the_longest_prefix_counts_in_both_families() {
    let asked =
        [(prefix("0.0.0.0/0"), paced(10)), (prefix("127.0.0.2"), paced(20)), (prefix("::1"), paced(30))];
    tuned("prefixes", &config(), &Targets::of(&asked, &[]), |tuner, _| {
        let of = |address: &str| pacing(&Connection::to(address.parse().expect("an address"), |_| ()).opened);
        assert_eq!([of("127.0.0.1"), of("127.0.0.2"), of("::1")], [10, 20, 30]);
        let listener = TcpListener::bind("127.0.0.2:0").expect("a listener");
        let socket = socket(libc::AF_INET6);
        let at: SocketAddr = listener.local_addr().expect("its address");
        connect(&socket, at).expect("it connects");
        assert_eq!(pacing(&socket), 20, "an IPv4 address on a socket for IPv6");
        tuner.aim(&targets("127.0.0.2", paced(40))).expect("targets");
        assert_eq!([of("127.0.0.1"), of("127.0.0.2"), of("::1")], [-1, 40, -1]);
    });
}

#[test]
#[ignore = "needs root"]
fn a_connection_that_is_not_accepted_frees_what_it_was_granted() {
    tuned("unaccepted", &config(), &targets("127.0.0.0/8", buffers(MIB, MIB)), |tuner, _| {
        let socket = socket(libc::AF_INET);
        let nobody = SocketAddr::new(HERE, 9);
        assert!(connect(&socket, nobody).is_err());
        assert_eq!(counts(tuner).tuned, 1);
        assert_eq!(tuner.granted().expect("the kernel answers").connections, 0);
    });
}

#[test]
#[ignore = "needs root"]
fn a_program_that_knows_nothing_of_it_gets_the_rate_of_a_tuned_host() {
    let cell = emulated::Cell { rate_mbit: 100, rtt: Duration::from_millis(40), amount: 128 << 20 };
    let [untuned, sockops, by_hand] = cell.rates(1);
    let text = format!("untuned {untuned:.1}, sockops {sockops:.1}, by hand {by_hand:.1} Mbit/s");
    assert!(sockops > 0.9 * by_hand && sockops > 2.0 * untuned, "{text}");
}

/// The tables of the handbook's page. `SLOWPATH_SOCKOPS` is the number of runs of each; without it, nothing is run.
#[test]
#[ignore = "needs root"]
fn tables_of_the_handbook() {
    let Some(runs) = std::env::var("SLOWPATH_SOCKOPS").ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    println!("| path | untuned | sockops | by hand | sockops / by hand |\n| --- | --- | --- | --- | --- |");
    for (rate_mbit, rtt) in [(1000, 10), (500, 50), (1000, 50), (300, 100), (1000, 100)] {
        let cell = emulated::Cell { rate_mbit, rtt: Duration::from_millis(rtt), amount: 512 << 20 };
        let [untuned, sockops, by_hand] = cell.rates(runs);
        let share = sockops / by_hand * 100.0;
        println!(
            "| {rate_mbit} Mbit/s, {rtt} ms | {untuned:.1} | {sockops:.0} | {by_hand:.0} | {share:.0} % |"
        );
    }
    println!(
        "| destination | program, each end | connection | core at 1,000 a second |\n| --- | --- | --- | --- |"
    );
    for (name, is_known) in [("known", true), ("unknown", false)] {
        let costs: Vec<_> = (0..runs).map(|_| cost::of(10_000, is_known)).collect();
        let micros = |of: fn(&cost::Cost) -> Duration| {
            median(costs.iter().map(|cost| of(cost).as_secs_f64() * 1e6)).expect("runs")
        };
        let (program, connection) = (micros(|cost| cost.program), micros(|cost| cost.connection));
        println!("| {name} | {program:.2} µs | {connection:.0} µs | {:.2} % |", program / 10.0);
    }
}

#[test]
#[ignore = "needs root"]
fn the_program_takes_less_than_a_hundredth_of_a_core() {
    let cost = cost::of(2000, true);
    // At 1,000 connections a second.
    assert!(cost.program < Duration::from_micros(10), "{:?} for each", cost.program);
}
