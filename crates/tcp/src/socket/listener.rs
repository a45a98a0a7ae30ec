//! The listening socket (`tcp_conn_request`, `inet_csk_accept`, `reqsk_timer_handler`; net/ipv4/tcp_input.c and
//! inet_connection_sock.c, 6.18).

use super::child::listener_window;
use super::cookie::{Key, Peer};
use super::options::SocketOptions;
use super::request::{LONGEST_TIMEOUT, SynAck, Verdict};
use super::{Events, Unreachable, peer_mss};
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::packet::{Cookie, Packet};
use crate::receive::accurate_ecn::accepted_ecn;
use crate::receive::closing::reset_for;
use crate::receive::initial_window::MAX_WINDOW_SCALE;
use crate::settings::{Negotiated, Settings};
use slowpath_model::{Flags, Instant, StreamOffset};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The maximum number of handshakes in progress, whatever the backlog: bounds a listener's memory.
const MAX_REQUESTS: usize = 65_536;
/// `TFO_SERVER_ENABLE` (include/net/tcp.h), a bit of `tcp_fastopen`.
const SERVER_ENABLE: u32 = 2;
/// `TFO_SERVER_COOKIE_NOT_REQD`.
const SERVER_NO_COOKIE: u32 = 0x200;
/// `TFO_SERVER_WO_SOCKOPT1`: every listener accepts data in SYNs, without the option.
const SERVER_WITHOUT_OPTION: u32 = 0x400;

/// A listening socket.
///
/// Until [`accept`](Self::accept) returns a connection, its segments and timers are handled here.
#[derive(Debug)]
pub struct Listener {
    settings: Arc<Settings>,
    options: SocketOptions,
    /// Connections that may wait to be accepted (`sk_max_ack_backlog`); one more fits.
    backlog: u32,
    requests: BTreeMap<Peer, SynAck>,
    children: BTreeMap<Peer, Connection>,
    /// The children to accept, in order.
    ready: VecDeque<Peer>,
    out: VecDeque<(Peer, Packet)>,
    /// Secrets of the Fast Open cookies: the current one, and the one before it.
    keys: (Key, Option<Key>),
    /// The addresses that cookies are computed from, if not the peers' numbers.
    addresses: Option<Vec<u8>>,
    /// A connection has arrived since the last query.
    woken: bool,
    counters: ListenerCounters,
}

/// A listener's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerCounters {
    /// SYNs and connections dropped because a queue was full (`ListenOverflows`, `ListenDrops`).
    pub overflows: u32,
    /// Handshakes given up (SYN-ACK never acknowledged) or reset.
    pub failed: u32,
    /// Connections established.
    pub accepted: u32,
    /// SYNs whose data was accepted (`TCPFastOpenPassive`).
    pub fast_opens: u32,
    /// ICMP errors about segments that were not sent (`OutOfWindowIcmps`).
    pub icmp_out_of_window: u32,
    /// RSTs answered with a challenge ACK (`TCPChallengeACK`).
    pub challenge_acks: u32,
}

impl Listener {
    /// Creates a listening socket (`listen`). At most `backlog` or `somaxconn` connections wait.
    pub fn listen(settings: Arc<Settings>, options: SocketOptions, backlog: u32) -> Self {
        let backlog = backlog.min(settings.sysctls.somaxconn);
        Self {
            settings,
            options,
            backlog,
            requests: BTreeMap::new(),
            children: BTreeMap::new(),
            ready: VecDeque::new(),
            out: VecDeque::new(),
            keys: (Key::default(), None),
            addresses: None,
            woken: false,
            counters: ListenerCounters::default(),
        }
    }

    /// The options that children inherit, mutable.
    pub fn options_mut(&mut self) -> &mut SocketOptions {
        &mut self.options
    }

    /// The options that children inherit.
    pub fn options(&self) -> &SocketOptions {
        &self.options
    }

    /// The host's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The host's settings, shared with a child.
    pub(super) fn shared_settings(&self) -> Arc<Settings> {
        self.settings.clone()
    }

    /// The host's settings have changed.
    pub fn set_settings(&mut self, settings: &Arc<Settings>) {
        self.settings = settings.clone();
        self.children.values_mut().for_each(|child| child.set_settings(settings.clone()));
    }

    /// The counters.
    pub fn counters(&self) -> ListenerCounters {
        self.counters
    }

    /// Its connections that are not accepted yet.
    pub fn children(&self) -> impl Iterator<Item = &Connection> {
        self.children.values()
    }

    /// Processes an ICMP error about a segment to `peer` that began at `seq` (`tcp_v4_err`).
    pub fn handle_icmp(&mut self, now: Instant, peer: Peer, kind: Unreachable, seq: StreamOffset) {
        if let Some(child) = self.children.get_mut(&peer) {
            child.handle_icmp(now, kind, seq);
            self.tend(peer);
        } else if self.requests.contains_key(&peer) {
            if seq != StreamOffset(0) {
                self.counters.icmp_out_of_window += 1;
            } else if kind.ends_request(self.settings.is_ipv6()) {
                self.requests.remove(&peer);
                self.counters.failed += 1;
            }
        }
    }

    /// Processes a segment for this port that belongs to no accepted connection.
    pub fn handle_packet(&mut self, now: Instant, peer: Peer, packet: &Packet) {
        let child = self.children.get_mut(&peer).filter(|child| child.state() != State::Closed);
        if let Some(child) = child {
            child.handle_packet(now, packet);
            self.tend(peer);
        } else if self.requests.contains_key(&peer) {
            self.continue_handshake(now, peer, packet);
        } else {
            self.receive_listening(now, peer, packet);
        }
    }

    /// `tcp_rcv_state_process` in LISTEN.
    fn receive_listening(&mut self, now: Instant, peer: Peer, packet: &Packet) {
        if packet.flags.has(Flags::RST) {
            return;
        }
        if packet.flags.has(Flags::ACK) {
            self.answer_reset(peer, packet);
        } else if packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::FIN) {
            self.receive_syn(now, peer, packet);
        }
    }

    fn answer_reset(&mut self, peer: Peer, packet: &Packet) {
        if let Some(reset) = reset_for(packet) {
            self.out.push_back((peer, reset));
        }
    }

    /// `tcp_conn_request`.
    fn receive_syn(&mut self, now: Instant, peer: Peer, syn: &Packet) {
        let Some(cookie) = self.admits_syn() else {
            self.counters.overflows += 1;
            return;
        };
        let mut request = SynAck::new(now, syn, &self.settings, &self.options);
        match answer(self, peer, syn) {
            Answer::No => {}
            Answer::Cookie(cookie) => request.cookie = Some(cookie),
            Answer::Accept(renewed) => {
                request.cookie = renewed;
                self.open_fast(now, peer, syn, request);
                return;
            }
        }
        if cookie {
            request.put_into_sequence(now, &self.settings);
        } else {
            request.rearm(now, &self.settings, LONGEST_TIMEOUT);
        }
        self.out.push_back((peer, request.packet(self.timestamp(now), self.settings.sysctls.tcp_ecn_option)));
        self.requests.insert(peer, request);
    }

    /// Whether there is room for a handshake, and whether only as a SYN cookie.
    ///
    /// A SYN cookie stores the negotiated options in its sequence number. Sequence numbers count from zero here and
    /// have no room for that, so the request is kept, loses what a cookie would lose, and does not count against the
    /// queue.
    fn admits_syn(&self) -> Option<bool> {
        let sysctls = &self.settings.sysctls;
        let under_way = self.requests.values().filter(|request| !request.in_sequence).count();
        let under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        let full = under_way > self.backlog;
        let cookie = match sysctls.tcp_syncookies {
            0 => false,
            1 => full,
            _ => true,
        };
        // Without cookies, the last quarter is reserved for known peers; none is known here.
        let scarce = sysctls.tcp_syncookies == 0
            && sysctls.tcp_max_syn_backlog.saturating_sub(under_way) < sysctls.tcp_max_syn_backlog >> 2;
        let refused = self.is_full() || scarce || (full && !cookie) || self.requests.len() >= MAX_REQUESTS;
        (!refused).then_some(cookie)
    }

    /// The SYN's data is accepted before the handshake is complete (`tcp_fastopen_create_child`).
    fn open_fast(&mut self, now: Instant, peer: Peer, syn: &Packet, request: SynAck) {
        self.counters.fast_opens += 1;
        let mut child =
            Connection::from_request(self.settings.clone(), self.options.clone(), &request, syn, now);
        child.open_fast(now, syn, request);
        self.add_child(peer, child);
    }

    fn add_child(&mut self, peer: Peer, child: Connection) {
        self.counters.accepted += 1;
        self.children.insert(peer, child);
        self.ready.push_back(peer);
        self.woken = true;
        self.tend(peer);
    }

    fn timestamp(&self, at: Instant) -> u32 {
        self.settings.timestamp(at)
    }

    /// A segment for a handshake in progress.
    fn continue_handshake(&mut self, now: Instant, peer: Peer, packet: &Packet) {
        let Some(request) = self.requests.get(&peer) else { return };
        let echoes = (self.timestamp(request.first_sent), self.timestamp(request.last_sent));
        let timestamp = self.timestamp(now);
        let verdict = request.check(packet, Some(echoes), self.settings.choices.handshake_challenges);
        let Some(request) = self.requests.get_mut(&peer) else { return };
        match verdict {
            Verdict::Ignore => {}
            // The first SYN-ACK was not recorded.
            Verdict::Repeat if request.in_sequence => {
                self.requests.remove(&peer);
                self.receive_syn(now, peer, packet);
            }
            Verdict::Repeat => {
                if !request.is_rate_limited(now, &self.settings) {
                    request.note_repeated(packet);
                    request.last_sent = now;
                    request.rearm(now, &self.settings, LONGEST_TIMEOUT);
                    self.out.push_back((peer, request.packet_again(timestamp)));
                }
            }
            Verdict::Acknowledge => {
                let has_data = packet.seq != packet.end() && !packet.flags.has(Flags::SYN);
                if has_data || !request.is_rate_limited(now, &self.settings) {
                    self.out.push_back((peer, request.plain_ack(timestamp)));
                }
            }
            Verdict::Challenge => {
                if !request.is_rate_limited(now, &self.settings) {
                    self.counters.challenge_acks += 1;
                    self.out.push_back((peer, request.plain_ack(timestamp)));
                }
            }
            Verdict::WrongAck => self.answer_reset(peer, packet),
            Verdict::Abort => {
                self.requests.remove(&peer);
                self.counters.failed += 1;
                self.answer_reset(peer, packet);
            }
            Verdict::Complete => self.complete_handshake(now, peer, packet),
        }
    }

    /// The third segment (`tcp_v4_syn_recv_sock`, `tcp_child_process`).
    fn complete_handshake(&mut self, now: Instant, peer: Peer, packet: &Packet) {
        let full = self.is_full();
        let Some(request) = self.requests.get_mut(&peer) else { return };
        let bare = packet.end() == StreamOffset(1);
        if bare && !request.in_sequence && request.timeouts < self.options.defer_accept {
            // `TCP_DEFER_ACCEPT`: the application waits for data.
            request.acked = true;
            return;
        }
        if full {
            self.counters.overflows += 1;
            request.acked = true;
            if self.settings.sysctls.tcp_abort_on_overflow {
                self.requests.remove(&peer);
                self.answer_reset(peer, packet);
            }
            return;
        }
        let Some(request) = self.requests.remove(&peer) else { return };
        let mut child =
            Connection::from_request(self.settings.clone(), self.options.clone(), &request, packet, now);
        child.measure_syn_ack(now, &request);
        if let Some(stamps) = packet.timestamps.filter(|_| packet.seq <= request.rcv_nxt) {
            child.rcv.store_ts_recent(now, stamps);
        }
        child.handle_packet(now, packet);
        self.add_child(peer, child);
    }

    /// `sk_acceptq_is_full`.
    pub(super) fn is_full(&self) -> bool {
        u32::try_from(self.ready.len()).unwrap_or(u32::MAX) > self.backlog
    }

    /// Children of SYNs with data whose handshake is not complete.
    pub(super) fn fast_children(&self) -> usize {
        self.children.values().filter(|child| child.is_fast_open_child()).count()
    }

    /// Forwards what a child has to send.
    fn tend(&mut self, peer: Peer) {
        if let Some(child) = self.children.get_mut(&peer) {
            while let Some(packet) = child.poll_transmit() {
                self.out.push_back((peer, packet));
            }
        }
    }

    /// The next segment, and its destination.
    pub fn poll_transmit(&mut self) -> Option<(Peer, Packet)> {
        self.out.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let requests = self.requests.values().map(|request| request.due);
        let children = self.children.values().filter_map(Connection::poll_timeout);
        requests.chain(children).min()
    }

    /// Runs every timer that is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<Peer> =
            self.requests.iter().filter(|(_, request)| request.due <= now).map(|(peer, _)| *peer).collect();
        for peer in due {
            self.request_timer(now, peer);
        }
        let due: Vec<Peer> = self
            .children
            .iter()
            .filter(|(_, child)| child.poll_timeout().is_some_and(|at| at <= now))
            .map(|(peer, _)| *peer)
            .collect();
        for peer in due {
            if let Some(child) = self.children.get_mut(&peer) {
                child.handle_timeout(now);
            }
            self.tend(peer);
        }
    }

    /// A SYN-ACK was not acknowledged in time (`reqsk_timer_handler`, `syn_ack_recalc`).
    fn request_timer(&mut self, now: Instant, peer: Peer) {
        let retries = self.synack_retries();
        let deferred = self.options.defer_accept;
        let timestamp = self.timestamp(now);
        let Some(request) = self.requests.get_mut(&peer) else { return };
        if request.in_sequence {
            self.requests.remove(&peer);
            return;
        }
        let mut expired = request.timeouts >= retries;
        let mut again = true;
        if deferred != 0 {
            expired &= !request.acked || request.timeouts >= deferred;
            // Not needed while waiting for data; once more at the end, as a last chance.
            again = !request.acked || request.timeouts >= deferred - 1;
        }
        if expired {
            self.requests.remove(&peer);
            self.counters.failed += 1;
            return;
        }
        if again {
            request.retransmissions = request.retransmissions.saturating_add(1);
            request.last_sent = now;
            self.out.push_back((peer, request.packet_again(timestamp)));
        }
        request.timeouts = request.timeouts.saturating_add(1);
        request.rearm(now, &self.settings, LONGEST_TIMEOUT);
    }

    /// How often a SYN-ACK is retransmitted: less often as old handshakes fill the queue.
    fn synack_retries(&self) -> u8 {
        let mut retries = self.options.syn_count.unwrap_or(self.settings.sysctls.tcp_synack_retries);
        let under_way = self.requests.len();
        if under_way << 1 > usize::try_from(self.backlog).unwrap_or(usize::MAX).max(8) {
            let mut young = self.requests.values().filter(|request| request.timeouts == 0).count() << 1;
            while retries > 2 && under_way >= young {
                retries -= 1;
                young = young.saturating_mul(2).max(1);
            }
        }
        retries
    }

    /// Returns the connection that has waited longest (`accept`).
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there is none.
    pub fn accept(&mut self) -> Result<(Peer, Connection), Errno> {
        let peer = self.ready.pop_front().ok_or(Errno::EAGAIN)?;
        let mut child = self.children.remove(&peer).ok_or(Errno::EAGAIN)?;
        child.unaccepted = false;
        if let Some(request) = &mut child.rcv.fast_open {
            request.accepted = true;
        }
        Ok((peer, child))
    }

    /// Whether a connection has arrived since the last query (`sk_data_ready`).
    pub fn poll_wakeups(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    /// The result of `poll` (`inet_csk_listen_poll`).
    pub fn poll_events(&self) -> Events {
        Events { readable: !self.ready.is_empty(), ..Events::default() }
    }

    /// Connections waiting to be accepted, and the maximum (`tcpi_unacked`, `tcpi_sacked` of a listener).
    pub fn queue(&self) -> (u32, u32) {
        (u32::try_from(self.ready.len()).unwrap_or(u32::MAX), self.backlog)
    }

    /// Stops listening (`inet_csk_listen_stop`): connections not accepted are reset. Get remaining segments from
    /// [`poll_transmit`](Self::poll_transmit).
    pub fn close(&mut self, now: Instant) {
        self.requests.clear();
        while let Ok((peer, mut child)) = self.accept() {
            if child.state() != State::Closed {
                child.disconnect(now);
            }
            while let Some(packet) = child.poll_transmit() {
                self.out.push_back((peer, packet));
            }
        }
    }
}

/// A listener's answer to a SYN's Fast Open option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// None: an ordinary handshake.
    No,
    /// A cookie for later connections.
    Cookie(Cookie),
    /// The data is accepted now; a cookie of the former key is renewed.
    Accept(Option<Cookie>),
}

/// `tcp_try_fastopen`.
fn answer(listener: &Listener, peer: Peer, syn: &Packet) -> Answer {
    let mode = listener.settings().sysctls.tcp_fastopen;
    let asked = syn.syn_options().fast_open;
    let has_data = syn.len > 0;
    let allowed = listener.options().fast_open_queue > 0 || mode & SERVER_WITHOUT_OPTION != 0;
    if mode & SERVER_ENABLE == 0 || !allowed || (!has_data && asked.is_none()) {
        return Answer::No;
    }
    let limit = match listener.options().fast_open_queue {
        0 => listener.queue().1,
        limit => limit,
    };
    let waiting = u32::try_from(listener.fast_children()).unwrap_or(u32::MAX);
    if waiting >= limit {
        return Answer::No;
    }
    if mode & SERVER_NO_COOKIE != 0
        || listener.options().fast_open_no_cookie
        || listener.settings().route.fast_open_no_cookie
    {
        return Answer::Accept(None);
    }
    let Some(asked) = asked else { return Answer::No };
    let (key, former) = listener.keys;
    let cookie = |key: Key| listener.cookie(key, peer).with_number(asked.experimental);
    let good = cookie(key);
    if asked == good {
        Answer::Accept(None)
    } else if former.is_some_and(|former| asked == cookie(former)) {
        Answer::Accept(Some(good))
    } else {
        Answer::Cookie(good)
    }
}

impl Listener {
    /// Sets the secret of the cookies, and a former one whose cookies are still accepted
    /// (`tcp_fastopen_cookie_gen_check`).
    pub fn set_fast_open_keys(&mut self, keys: (Key, Option<Key>)) {
        self.keys = keys;
    }

    /// Sets the addresses of all peers, the client's bytes first, for computing their cookies. Without this, a peer's
    /// number is used.
    pub fn set_fast_open_addresses(&mut self, addresses: Vec<u8>) {
        self.addresses = Some(addresses);
    }

    fn cookie(&self, key: Key, peer: Peer) -> Cookie {
        let number = peer.0.to_be_bytes();
        key.cookie(self.addresses.as_deref().unwrap_or(&number))
    }
}

impl SynAck {
    /// The options negotiated with a SYN (`tcp_conn_request`).
    pub fn new(now: Instant, syn: &Packet, settings: &Settings, options: &SocketOptions) -> Self {
        let sysctls = &settings.sysctls;
        let offered = syn.syn_options();
        let timestamps = syn.timestamps.filter(|_| sysctls.tcp_timestamps != 0);
        let advmss = settings.advmss(options);
        let payload = if timestamps.is_some() { advmss.saturating_sub(12) } else { advmss };
        let scaling = sysctls.tcp_window_scaling && offered.window_scale.is_some();
        let window = listener_window(settings, options, payload, scaling);
        let theirs = offered.window_scale.map(|shift| shift.min(MAX_WINDOW_SCALE));
        Self {
            negotiated: Negotiated {
                timestamps: timestamps.is_some(),
                sack: sysctls.tcp_sack && offered.sack_permitted,
                window_scale: theirs.filter(|_| scaling).map(|theirs| (theirs, window.scale)),
                mss: peer_mss(offered.mss, options, settings),
                ecn: accepted_ecn(syn, settings),
            },
            window,
            advmss,
            ts_recent: timestamps.map_or(0, |stamps| stamps.val),
            first_sent: now,
            last_sent: now,
            timeouts: 0,
            retransmissions: 0,
            due: now,
            acked: false,
            accepted: false,
            rcv_nxt: syn.seq + 1,
            last_oow_ack: None,
            cookie: None,
            in_sequence: false,
            syn_ecn: syn.ecn,
            distrusts: false,
        }
    }
}
