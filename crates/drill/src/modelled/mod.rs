//! The model of Linux's TCP as a [`Kernel`]: sockets and files around [`slowpath_tcp`], in virtual time.

mod calls;
mod counters;
mod errors;
mod events;
mod header;
mod inert;
mod info;
mod levels;
mod numbers;
mod options;
mod route;
mod sockets;
mod transfer;
mod udp;

use crate::call::{Call, Fd, Returned};
use crate::config::{Config, IpVersion};
use crate::counters::Counters;
use crate::kernel::{Happening, Kernel, KernelError, Progress, Understood};
use crate::packet::{Body, Datagram, Echoed, Icmp, TcpOption};
use crate::shell::Command;
use header::Header;
use numbers::Numbers;
use route::Way;
use slowpath_kernels::{KernelProfile, Sysctl};
use slowpath_model::{End, Flags, Instant, StreamOffset};
use slowpath_tcp::choices::CongestionControl;
use slowpath_tcp::packet::Packet;
use slowpath_tcp::socket::cookie::{CookieCache, Key, Known};
use slowpath_tcp::socket::{Listener, Peer, Unreachable};
use slowpath_tcp::{Connection, Settings, State};
use slowpath_uapi::TcpInfo;
use sockets::{File, Ports, Stage};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The phase of the kernel's tick when a script begins: in the middle, away from both edges.
const START_IN_TICK: i64 = 2;
/// The first local port of active opens (`ip_local_port_range`).
const FIRST_LOCAL_PORT: u16 = 32_768;
/// How long a call takes that does not block. The real ones take tens of microseconds, so that what a script sends after
/// several calls has a longer RTT than what a timer sends.
const CALL_TIME: Duration = Duration::from_micros(1);
/// The maximum steps in one wait: a model that does not settle is wrong, and must not hang its caller.
const MOST_STEPS: u32 = 1_000_000;

/// A modelled kernel, with its sockets.
pub struct Modelled {
    profile: KernelProfile,
    settings: Arc<Settings>,
    family: i32,
    bind_port: u16,
    connect_port: u16,
    /// The time by the model's clock; the run's time is `offset` less.
    now: Instant,
    offset: Duration,
    files: BTreeMap<Fd, File>,
    /// Connections that no file has open, and remains of listeners.
    orphans: Vec<(Ports, Connection)>,
    /// Counters of closed connections.
    counted: Counters,
    flows: BTreeMap<Ports, Numbers>,
    sent: VecDeque<(Instant, Datagram)>,
    blocked: Option<Waiting>,
    next_port: u16,
    way: Way,
    /// The device's qdisc drops every packet (`pfifo limit 0`).
    queue_takes_nothing: bool,
    headers: BTreeMap<Ports, Header>,
    /// Cookies of servers, our own secret, and the addresses that they depend on, the client's first.
    cookies: CookieCache,
    fast_open_keys: (Key, Option<Key>),
    addresses: Vec<u8>,
}

/// A blocked call.
struct Waiting {
    call: Call,
    /// Bytes moved so far.
    moved: u32,
    /// A write that waits for the connection it opens.
    opens: bool,
    /// How often the writer had been woken when it was last tried.
    wakeups: Option<u64>,
    /// When it times out.
    until: Option<Instant>,
}

impl Modelled {
    /// A kernel with this profile, on the network that a script describes.
    pub fn new(profile: KernelProfile, config: &Config) -> Self {
        let settings = Arc::new(settings(&profile, config));
        let offset = start_after(&profile, 1_000);
        Self {
            profile,
            settings,
            family: if config.ip_version == IpVersion::V4 { 2 } else { 10 },
            bind_port: config.bind_port,
            connect_port: config.connect_port,
            now: Instant::START + offset,
            offset,
            files: BTreeMap::new(),
            orphans: Vec::new(),
            counted: Counters::new(),
            flows: BTreeMap::new(),
            sent: VecDeque::new(),
            blocked: None,
            next_port: FIRST_LOCAL_PORT,
            way: Way::new(u32::from(config.mtu)),
            queue_takes_nothing: false,
            headers: BTreeMap::new(),
            cookies: CookieCache::default(),
            fast_open_keys: (Key::default(), None),
            addresses: usual_addresses(config),
        }
    }

    fn script_time(&self, at: Instant) -> Instant {
        at - self.offset
    }

    /// Takes the output of every connection.
    fn flush(&mut self) {
        let mut out: Vec<(Ports, Packet)> = Vec::new();
        let known = self.way.metrics;
        let (now, pause) = (self.now, self.first_pause());
        let mut learn = |connection: &mut Connection| {
            if let Some(omen) = connection.poll_omen() {
                self.cookies.heed(omen, now, pause);
            }
            if let Some(learned) = connection.poll_cookie() {
                self.cookies.learn(transfer::SERVER, learned);
            }
            if let Some(metrics) = connection.poll_metrics(self.way.metrics) {
                self.way.metrics = metrics;
            }
        };
        for file in self.files.values_mut() {
            let File::Socket(socket) = file else { continue };
            if self.queue_takes_nothing
                && let Some(connection) = socket.connection()
            {
                drop_all(connection, self.now);
            }
            socket.collect(&mut out);
            socket.connection().map(&mut learn);
        }
        for (ports, connection) in &mut self.orphans {
            learn(connection);
            if self.queue_takes_nothing {
                drop_all(connection, self.now);
            }
            while let Some(packet) = connection.poll_transmit() {
                out.push((*ports, packet));
            }
        }
        for (_, connection) in self.orphans.extract_if(.., |(_, connection)| connection.is_gone()) {
            counters::add(&mut self.counted, &connection, self.now);
        }
        if self.way.metrics != known {
            self.apply_settings();
        }
        if self.queue_takes_nothing {
            out.clear();
        }
        for (ports, packet) in out {
            self.put_out(ports, &packet);
        }
        self.note_acknowledged();
    }

    /// How long Fast Open is paused at first (`tcp_fastopen_blackhole_timeout_sec`).
    fn first_pause(&self) -> Duration {
        self.settings.sysctls.tcp_fastopen_blackhole_timeout
    }

    /// What is known of the server.
    fn known_server(&self) -> Known {
        self.cookies.get(transfer::SERVER, self.now, self.first_pause())
    }

    /// Sends a packet to the network.
    fn put_out(&mut self, ports: Ports, packet: &Packet) {
        let at = self.script_time(self.now);
        self.note_left(ports, packet, at);
        let numbers = self.flows.entry(ports).or_default();
        for mut datagram in numbers.wire(ports, packet) {
            self.dress(ports, &mut datagram);
            self.sent.push_back((at, datagram));
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let files = self.files.values().filter_map(|file| match file {
            File::Socket(socket) => socket.next_timeout(),
            _ => None,
        });
        let orphans = self.orphans.iter().filter_map(|(_, connection)| connection.poll_timeout());
        let waiting = self.blocked.as_ref().and_then(|waiting| waiting.until);
        files.chain(orphans).chain(waiting).min()
    }

    fn handle_timeouts(&mut self) {
        let now = self.now;
        for file in self.files.values_mut() {
            if let File::Socket(socket) = file {
                socket.handle_timeout(now);
            }
        }
        for (_, connection) in &mut self.orphans {
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    /// Tries the blocked call again.
    fn resume(&mut self) -> Option<Returned> {
        let mut waiting = self.blocked.take()?;
        let wakeups = self.wakeups_of_writer(&waiting.call);
        if wakeups.is_some() && wakeups == waiting.wakeups && !self.over(&waiting) {
            self.blocked = Some(waiting);
            return None;
        }
        waiting.wakeups = wakeups;
        let returned = self.attempt(&mut waiting);
        if returned.is_none() {
            self.blocked = Some(waiting);
        }
        returned
    }

    /// How often a call's writer has been woken: room for a byte does not wake it (`sk_stream_wait_memory`).
    fn wakeups_of_writer(&mut self, call: &Call) -> Option<u64> {
        let Call::Send { fd, .. } = call else { return None };
        self.socket(*fd).ok().map(|socket| socket.generation)
    }

    fn deliver(&mut self, packet: &Datagram) {
        match &packet.body {
            Body::Tcp(segment) => {
                let ports = Ports { local: packet.destination_port, remote: packet.source_port };
                let numbers = self.flows.entry(ports).or_default();
                let model = numbers.model(packet.class, segment);
                // Digests without a key are refused (`tcp_inbound_hash`).
                if segment.options.iter().any(|option| matches!(option, TcpOption::Md5(_))) {
                    return;
                }
                self.deliver_segment(ports, packet.class, &model);
            }
            Body::Icmp(message) => {
                let ports = Ports { local: packet.source_port, remote: packet.destination_port };
                self.deliver_icmp(ports, message);
            }
            Body::Udp { len } => {
                let ports = Ports { local: packet.destination_port, remote: packet.source_port };
                self.deliver_udp(ports, *len);
            }
        }
    }

    fn deliver_segment(&mut self, ports: Ports, class: u8, packet: &Packet) {
        let now = self.now;
        if let Some(connection) = self.connection(ports) {
            connection.handle_packet(now, packet);
            return;
        }
        let listens = |file: &&mut File| match file {
            File::Socket(socket) => socket.port == ports.local && matches!(socket.stage, Stage::Listening(_)),
            _ => false,
        };
        let headers = self.files.values_mut().find(listens).map(|file| match file {
            File::Socket(socket) => socket.headers,
            _ => Default::default(),
        });
        if let Some(headers) = headers.filter(|_| packet.flags.has(Flags::SYN)) {
            self.reflect(ports, headers, class);
        }
        match self.listener(ports.local) {
            Some(listener) => listener.handle_packet(now, Peer(u64::from(ports.remote)), packet),
            None => {
                if let Some(reset) = numbers::reset_for(packet) {
                    let at = self.now - self.offset;
                    let numbers = self.flows.entry(ports).or_default();
                    self.sent.push_back((at, numbers.wire_reset(ports, &reset)));
                }
            }
        }
    }

    /// The connection between two ports, open or orphaned.
    fn connection(&mut self, ports: Ports) -> Option<&mut Connection> {
        let held = self.files.values_mut().find_map(|file| match file {
            File::Socket(socket) if socket.ports == Some(ports) => socket.connection(),
            _ => None,
        });
        let orphan = self.orphans.iter_mut().find(|(own, _)| *own == ports).map(|(_, connection)| connection);
        held.or(orphan).filter(|connection| connection.state() != State::Closed)
    }

    /// The listener on a port.
    fn listener(&mut self, port: u16) -> Option<&mut Listener> {
        self.files.values_mut().find_map(|file| match file {
            File::Socket(socket) if socket.port == port => match &mut socket.stage {
                Stage::Listening(listener) => Some(listener),
                Stage::Fresh(_) | Stage::Connected(_) => None,
            },
            _ => None,
        })
    }

    fn deliver_icmp(&mut self, ports: Ports, message: &Icmp) {
        let Echoed::Tcp { seq, .. } = message.echoed else { return };
        let seq: StreamOffset = self.flows.entry(ports).or_default().local_offset(seq);
        let Some(kind) = unreachable(message, self.settings.is_ipv6()) else { return };
        let now = self.now;
        if let Some(connection) = self.connection(ports) {
            connection.handle_icmp(now, kind, seq);
        } else if let Some(listener) = self.listener(ports.local) {
            listener.handle_icmp(now, Peer(u64::from(ports.remote)), kind, seq);
        }
    }

    /// Sets a sysctl.
    fn set(&mut self, name: &str, value: &str) -> Result<Understood, KernelError> {
        if name == "net.ipv4.tcp_fastopen_key" {
            let keys: Option<Vec<Key>> = value.split(',').map(key_of_words).collect();
            self.fast_open_keys = match keys.as_deref() {
                Some([key]) => (*key, None),
                Some([key, former]) => (*key, Some(*former)),
                _ => {
                    let form = "write four words in hexadecimal, and a former key after a comma";
                    return Err(KernelError::new(format!("{name}={value}: {form}")));
                }
            };
            return Ok(Understood::Yes);
        }
        if name == "net.ipv4.tcp_congestion_control" {
            let known = CongestionControl::ALL.iter().find(|control| control.name() == value);
            let Some(control) = known else { return Ok(Understood::No) };
            self.profile.tcp.congestion_control = *control;
        } else {
            let Some(sysctl) = Sysctl::named(name).filter(|sysctl| sysctl.name == name) else {
                return Ok(Understood::No);
            };
            let value = decimal(value);
            if sysctl.name == "net.ipv4.tcp_fastopen_blackhole_timeout_sec" {
                self.cookies.forget_failures();
            }
            sysctl
                .put(&mut self.profile, &value)
                .map_err(|error| KernelError::new(format!("{name}={value}: write {}", error.form)))?;
        }
        self.apply_settings();
        Ok(Understood::Yes)
    }
}

/// The qdisc drops all that a connection sends, which learns of it (`__tcp_transmit_skb`).
fn drop_all(connection: &mut Connection, now: Instant) {
    while let Some(packet) = connection.poll_transmit() {
        connection.handle_local_drop(now, &packet);
    }
}

/// Whether `tc` sets up a queue without any place. Others have no effect on a device that takes everything immediately.
fn takes_nothing(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    words.any(|word| word == "pfifo" || word == "bfifo") && words.eq(["limit", "0"])
}

/// The remote address, then the local one, in bytes: the run's, or the defaults.
fn usual_addresses(config: &Config) -> Vec<u8> {
    let (remote, local) = match config.ip_version {
        IpVersion::V6 => ("fd3d:fa7b:d17d::1", "fd3d:a0b:17d6::1"),
        IpVersion::V4 | IpVersion::V4MappedV6 => ("192.0.2.1", "192.168.0.1"),
    };
    let bytes = |given: Option<IpAddr>, usual: &str| match given.or_else(|| usual.parse().ok()) {
        Some(IpAddr::V4(address)) => address.octets().to_vec(),
        Some(IpAddr::V6(address)) => address.octets().to_vec(),
        None => Vec::new(),
    };
    [bytes(config.remote, remote), bytes(config.local, local)].concat()
}

/// A Fast Open key, such as `a1-b2-c3-d4`.
fn key_of_words(text: &str) -> Option<Key> {
    let words: Option<Vec<u32>> = text.split('-').map(|word| u32::from_str_radix(word, 16).ok()).collect();
    words.and_then(|words| <[u32; 4]>::try_from(words).ok()).map(Key::from_words)
}

/// sysctl(8) accepts hexadecimal numbers too.
fn decimal(value: &str) -> String {
    let number = value.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map_or_else(|| value.to_owned(), |number| number.to_string())
}

fn settings(profile: &KernelProfile, config: &Config) -> Settings {
    Settings {
        choices: profile.tcp.clone(),
        sysctls: profile.sysctls.clone(),
        mtu: u32::from(config.mtu),
        ip_header: if config.ip_version == IpVersion::V6 { 40 } else { 20 },
        gso_max: (65_535, 65_536),
        route: Default::default(),
    }
}

/// What an ICMP message reports about a packet (RFC 792, RFC 4443).
fn unreachable(message: &Icmp, v6: bool) -> Option<Unreachable> {
    Some(match (v6, message.kind, message.code) {
        (false, 3, 4) | (true, 2, _) => Unreachable::TooBig(message.mtu?),
        (false, 3, 0 | 6 | 11) | (true, 1, 0) => Unreachable::Network,
        (false, 3, 1 | 5 | 7 | 8 | 12) | (true, 1, 2 | 3) => Unreachable::Host,
        (false, 3, 2) | (true, 4, 1) => Unreachable::Protocol,
        (false, 3, 3) | (true, 1, 4) => Unreachable::Port,
        (false, 3, 9 | 10 | 13) | (true, 1, 1) => Unreachable::Prohibited,
        (false, 11, _) | (true, 3, _) => Unreachable::TimeExceeded,
        _ => return None,
    })
}

/// The middle of the tick with this number.
fn start_after(profile: &KernelProfile, ticks: i64) -> Duration {
    let tick = 1_000_000_000 / i64::from(profile.hz().max(1));
    Duration::from_nanos((ticks * tick + tick / START_IN_TICK).unsigned_abs())
}

impl Kernel for Modelled {
    fn now(&mut self) -> Instant {
        self.script_time(self.now)
    }

    fn begin(&mut self) {
        let ticks = self.profile.tcp.clock.jiffies(self.now).0;
        let middle = |ticks| Instant::START + start_after(&self.profile, ticks);
        self.now = if middle(ticks) < self.now { middle(ticks + 1) } else { middle(ticks) };
        self.offset = self.now.since(Instant::START).unwrap_or_default();
    }

    fn wait(&mut self, until: Instant) -> Result<Happening, KernelError> {
        let until = until + self.offset;
        for _ in 0..MOST_STEPS {
            self.flush();
            if let Some((at, packet)) = self.sent.pop_front() {
                return Ok(Happening::Sent(at, packet));
            }
            if let Some(returned) = self.resume() {
                self.flush();
                return Ok(Happening::Returned(self.script_time(self.now), returned));
            }
            match self.next_timeout().filter(|at| *at <= until) {
                Some(at) => self.now = self.now.max(at),
                None => {
                    self.now = self.now.max(until);
                    return Ok(Happening::Nothing);
                }
            }
            self.handle_timeouts();
        }
        Err(KernelError::new("the model does not come to rest"))
    }

    fn call(&mut self, call: Call) -> Result<Progress, KernelError> {
        let until = self.deadline(&call);
        let mut waiting = Waiting { call, moved: 0, opens: false, wakeups: None, until };
        let returned = self.attempt(&mut waiting);
        self.flush();
        Ok(match returned {
            Some(returned) => {
                self.now = self.now + CALL_TIME;
                Progress::Returned(returned)
            }
            None => {
                waiting.wakeups = self.wakeups_of_writer(&waiting.call);
                self.blocked = Some(waiting);
                Progress::Blocked
            }
        })
    }

    fn inject(&mut self, packet: &Datagram) -> Result<(), KernelError> {
        self.deliver(packet);
        self.flush();
        Ok(())
    }

    fn measures(&mut self, fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError> {
        let now = self.now;
        let Some(File::Socket(socket)) = self.files.get_mut(&fd) else {
            return Err(KernelError::new("this file is no socket, and measures nothing"));
        };
        let mut measures = socket.stage.info(now).measures(TcpInfo::LENGTH);
        if let Stage::Connected(connection) = &socket.stage {
            measures.extend(info::memory(&connection.sample(End::A, now)));
        }
        Ok(measures)
    }

    fn counters(&mut self, asked: &[String]) -> Result<Counters, KernelError> {
        self.counted(asked)
    }

    fn command(&mut self, command: &Command) -> Result<Understood, KernelError> {
        match command {
            Command::Sysctl { name, value } => self.set(name, value),
            Command::Tc(words) => {
                self.queue_takes_nothing = takes_nothing(words);
                Ok(Understood::Yes)
            }
            // Offloads of a device that takes everything immediately have no effect.
            Command::Ethtool(_) | Command::Nothing | Command::Sleep(_) => Ok(Understood::Yes),
            Command::Ip(words) => self.ip(words),
            Command::Counters(_) | Command::Include(_) | Command::Unknown(_) | Command::Either { .. } => {
                Ok(Understood::No)
            }
        }
    }
}

#[cfg(test)]
mod tests;
