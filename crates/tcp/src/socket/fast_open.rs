//! Data in the SYN (RFC 7413; net/ipv4/tcp_fastopen.c, 6.18).

use super::listener::{Listener, Peer};
use super::options::SocketOptions;
use super::request::{SynAck, Verdict};
use crate::congestion::CaState;
use crate::connection::{Connection, Settings};
use crate::errno::Errno;
use crate::packet::{Cookie, Packet};
use slowpath_model::{Flags, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `TFO_SERVER_ENABLE` (include/net/tcp.h), a bit of `tcp_fastopen`.
const SERVER_ENABLE: u32 = 2;
/// `TFO_CLIENT_ENABLE`.
pub(super) const CLIENT_ENABLE: u32 = 1;
/// `TFO_CLIENT_NO_COOKIE`: the client sends data without having a cookie.
const CLIENT_NO_COOKIE: u32 = 4;
/// `TFO_SERVER_COOKIE_NOT_REQD`.
const SERVER_NO_COOKIE: u32 = 0x200;
/// `TFO_SERVER_WO_SOCKOPT1`: every listener takes data in SYNs, without the option.
const SERVER_WITHOUT_OPTION: u32 = 0x400;
/// Servers that a client remembers.
const MAX_SERVERS: usize = 1024;

/// The secret of a server's cookies (`net.ipv4.tcp_fastopen_key`): its four words, two and two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub u64, pub u64);

impl Key {
    /// The key that the sysctl writes as `a-b-c-d`.
    pub fn from_words(words: [u32; 4]) -> Self {
        let [a, b, c, d] = words.map(u64::from);
        Self(a | b << 32, c | d << 32)
    }

    /// The cookie for a connection between two addresses, the client's bytes first
    /// (`__tcp_fastopen_cookie_gen_cipher`): their SipHash-2-4 (Aumasson and Bernstein 2012).
    pub fn cookie(self, addresses: &[u8]) -> Cookie {
        Cookie::new(&siphash(self, addresses).to_le_bytes()).unwrap_or_default()
    }
}

fn siphash(key: Key, bytes: &[u8]) -> u64 {
    let mut state = [
        key.0 ^ 0x736f_6d65_7073_6575,
        key.1 ^ 0x646f_7261_6e64_6f6d,
        key.0 ^ 0x6c79_6765_6e65_7261,
        key.1 ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64, rounds: u32| {
        state[3] ^= word;
        (0..rounds).for_each(|_| sip_round(&mut state));
        state[0] ^= word;
    };
    let (whole, rest) = bytes.split_at(bytes.len() / 8 * 8);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    whole.chunks(8).for_each(|chunk| absorb(word(chunk), 2));
    absorb(word(rest) | (bytes.len() as u64) << 56, 2);
    state[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut state));
    state.into_iter().fold(0, |hash, word| hash ^ word)
}

fn sip_round(state: &mut [u64; 4]) {
    let [a, b, c, d] = state;
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

/// What a client remembers of servers (`tcp_fastopen_cache_set`): one for each host.
#[derive(Clone, Debug, Default)]
pub struct CookieCache {
    servers: BTreeMap<Peer, (Cookie, u16)>,
}

impl CookieCache {
    /// The cookie of a server, and the MSS it gave.
    pub fn get(&self, server: Peer) -> Option<(Cookie, u16)> {
        self.servers.get(&server).copied()
    }

    /// Remembers a server's cookie. Where there is no room the one with the least number is forgotten.
    pub fn set(&mut self, server: Peer, cookie: Cookie, mss: u16) {
        if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(&server) {
            self.servers.pop_first();
        }
        self.servers.insert(server, (cookie, mss));
    }
}

/// What a listener does with a SYN's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing: an ordinary handshake.
    No,
    /// A cookie for the next time.
    Cookie(Cookie),
    /// The data is taken now.
    Accept,
}

/// `tcp_try_fastopen`.
pub(super) fn answer(listener: &Listener, peer: Peer, syn: &Packet) -> Answer {
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
        return Answer::Accept;
    }
    let Some(asked) = asked else { return Answer::No };
    let good = listener.cookie(peer);
    if asked == good { Answer::Accept } else { Answer::Cookie(good) }
}

impl Listener {
    /// Sets the secret of the cookies.
    pub fn set_fast_open_key(&mut self, key: Key) {
        self.key = key;
    }

    /// Says what the addresses of all peers are, the client's bytes first: their cookies depend on it. Without it,
    /// the number of a peer serves.
    pub fn set_fast_open_addresses(&mut self, addresses: Vec<u8>) {
        self.addresses = Some(addresses);
    }

    fn cookie(&self, peer: Peer) -> Cookie {
        let number = peer.0.to_be_bytes();
        self.key.cookie(self.addresses.as_deref().unwrap_or(&number))
    }
}

/// What a client's SYN was about (`syn_fastopen`, `syn_data`), and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// It asked for a cookie, or showed one.
    option: bool,
    /// Data went with it.
    data: bool,
    /// The cookie that the SYN-ACK brought, and the MSS.
    learned: Option<(Cookie, u16)>,
}

impl Connection {
    /// Opens a connection with data in the SYN (`sendto` with `MSG_FASTOPEN`), if the server's cookie is known or
    /// none is wanted; else the SYN asks for one. Says how many of the `len` bytes went along.
    ///
    /// # Errors
    ///
    /// `EINPROGRESS` if nothing went along, `EOPNOTSUPP` if `tcp_fastopen` does not allow it. The connection is
    /// opening in either case but the last.
    pub fn connect_fast(
        settings: Arc<Settings>,
        options: SocketOptions,
        now: Instant,
        known: Option<(Cookie, u16)>,
        len: u32,
    ) -> (Self, Result<u32, Errno>) {
        let mode = settings.sysctls.tcp_fastopen;
        let free =
            mode & CLIENT_NO_COOKIE != 0 || options.fast_open_no_cookie || settings.route.fast_open_no_cookie;
        let mut connection = Self::new(settings, options);
        if mode & CLIENT_ENABLE == 0 {
            return (connection, Err(Errno::EOPNOTSUPP));
        }
        connection.prepare_connect();
        // What the server has said before, or what we would say ourselves.
        let mss = known.map_or(connection.rcv.advmss, |(_, mss)| u32::from(mss)).min(connection.rcv.advmss);
        connection.negotiated.mss = u16::try_from(mss).unwrap_or(u16::MAX);
        let (option, len) = match known {
            _ if free => (None, len),
            Some((cookie, _)) => (Some(cookie), len),
            None => (Some(Cookie::default()), 0),
        };
        let sent = connection.start_fast_connect(now, option, len);
        connection.rcv.attempt = Attempt { option: option.is_some(), data: sent > 0, learned: None };
        (connection, if sent > 0 { Ok(sent) } else { Err(Errno::EINPROGRESS) })
    }

    /// The SYN-ACK has come: whether it left out the SYN's data, which then goes again
    /// (`tcp_rcv_fastopen_synack`).
    pub(crate) fn fast_open_answered(&mut self, now: Instant, syn_ack: &Packet) -> bool {
        if self.rcv.attempt.option {
            let cookie = syn_ack.syn_options().fast_open.filter(|cookie| !cookie.as_slice().is_empty());
            self.rcv.attempt.learned = cookie.map(|cookie| (cookie, self.negotiated.mss));
        }
        if !self.rcv.attempt.data {
            return false;
        }
        self.rcv.syn_data = self.snd.una == self.snd.nxt;
        if !self.rcv.syn_data {
            self.retransmit_syn_data(now);
        }
        !self.rcv.syn_data
    }

    /// The cookie that the server gave, once, for the host's [`CookieCache`].
    pub fn poll_cookie(&mut self) -> Option<(Cookie, u16)> {
        self.rcv.attempt.learned.take()
    }

    /// Whether it was opened by a SYN with data and the handshake is not through.
    pub(crate) fn is_fast_open_child(&self) -> bool {
        self.rcv.fast_open.is_some()
    }

    /// Begins as the child of a SYN with data (`tcp_fastopen_create_child`): sends the SYN-ACK, and what the
    /// application will write need not wait for its ACK.
    pub(super) fn open_fast(&mut self, now: Instant, syn: &Packet, mut request: SynAck) {
        self.init_transfer(now);
        self.init_receive_buffer(now);
        // The window of a SYN is not scaled.
        self.snd.wnd = u32::from(syn.window);
        self.snd.max_window = self.snd.wnd;
        self.rcv.fast_open_child = true;
        self.rcv.counters.data_segs_in = u32::from(syn.len > 0);
        self.receive_syn_payload(syn);
        request.rcv_nxt = self.rcv.nxt;
        self.rcv.wup = self.rcv.nxt;
        self.out.push_back(request.packet(self.timestamp(now)));
        let first = self.settings.choices.initial_rto;
        let settings = self.settings.clone();
        request.rearm(now, &settings, first);
        self.timers.keepalive = Some(request.due);
        self.rcv.fast_open = Some(request);
    }

    /// Whether a segment may go on to be processed though the handshake of a SYN with data is not through
    /// (`tcp_check_req` with `fastopen`).
    pub(crate) fn passes_fast_open_check(&mut self, now: Instant, packet: &Packet) -> bool {
        let Some(request) = self.rcv.fast_open.as_mut() else { return true };
        let verdict = request.check(packet, None);
        let settings = self.settings.clone();
        match verdict {
            Verdict::Complete => return true,
            Verdict::Repeat => {
                if !request.is_rate_limited(now, &settings) {
                    self.repeat_syn_ack(now);
                }
            }
            Verdict::Acknowledge => {
                if !request.is_rate_limited(now, &settings) {
                    self.send_ack(now);
                }
            }
            Verdict::Abort if packet.flags.has(Flags::RST) => self.reset(now),
            Verdict::Abort | Verdict::WrongAck => self.send_reset_for(packet),
            Verdict::Ignore => {}
        }
        false
    }

    fn repeat_syn_ack(&mut self, now: Instant) {
        let timestamp = self.timestamp(now);
        if let Some(request) = self.rcv.fast_open.as_mut() {
            request.retransmissions = request.retransmissions.saturating_add(1);
            self.out.push_back(request.packet(timestamp));
            let totals = &mut self.snd.totals;
            totals.retransmissions = totals.retransmissions.wrapping_add(1);
        }
    }

    /// The SYN-ACK is acknowledged (`tcp_rcv_synrecv_state_fastopen`).
    pub(crate) fn finish_fast_open(&mut self, now: Instant) {
        let Some(request) = self.rcv.fast_open.take() else { return };
        if self.snd.rtt.srtt_us == 0 {
            self.measure_syn_ack(now, &request);
        }
        self.end_timeouts(now);
        self.snd.retransmits = 0;
        if self.snd.ca_state != CaState::Recovery {
            self.snd.retrans_stamp = None;
        }
        self.timers.keepalive = None;
        self.start_keepalive(now);
        // Data may have been sent.
        self.rearm_rto(now);
    }

    /// The SYN-ACK was not acknowledged in time (`tcp_fastopen_synack_timer`).
    pub(super) fn fast_open_timer(&mut self, now: Instant) {
        let retries =
            u16::from(self.options.syn_count.unwrap_or(self.settings.sysctls.tcp_synack_retries)) + 1;
        let Some(request) = self.rcv.fast_open.as_mut() else { return };
        if u16::from(request.timeouts) >= retries {
            self.done_with_error(now, Errno::ETIMEDOUT);
            return;
        }
        self.snd.retrans_stamp.get_or_insert(now);
        request.timeouts = request.timeouts.saturating_add(1);
        let settings = self.settings.clone();
        request.rearm(now, &settings, settings.choices.initial_rto);
        let due = request.due;
        self.count_timeout(now);
        self.repeat_syn_ack(now);
        self.timers.keepalive = Some(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: key 00 01 … 0f, message 00 01 … 0e.
    #[test]
    fn siphash_is_siphash() {
        let key = Key(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_client_remembers_so_many_servers() {
        let mut cache = CookieCache::default();
        for server in 0..2000 {
            cache.set(Peer(server), Key::default().cookie(&[1]), 1460);
        }
        assert_eq!(cache.servers.len(), MAX_SERVERS);
        assert!(cache.get(Peer(1999)).is_some() && cache.get(Peer(0)).is_none());
    }
}
