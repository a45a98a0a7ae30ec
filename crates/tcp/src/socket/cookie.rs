//! Fast Open cookies (RFC 7413, section 4.1): the server's generation and the client's cache.

use crate::packet::Cookie;
use slowpath_model::Instant;
use std::collections::BTreeMap;
use std::time::Duration;

/// Servers in the client's cache.
const MAX_SERVERS: usize = 1024;

/// The sender of a segment: address and port, as its host numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u64);

/// The secret of a server's cookies (`net.ipv4.tcp_fastopen_key`): its four words, in pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub u64, pub u64);

impl Key {
    /// The key written as `a-b-c-d` in the sysctl.
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

/// What a client knows of a server (`struct tcp_fastopen_metrics`, net/ipv4/tcp_metrics.c, 6.18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The MSS of its last SYN-ACK; 0 if unknown.
    mss: u16,
    /// Its cookie; empty if unknown.
    cookie: Cookie,
    /// Which option requests the next cookie (`try_exp`).
    request: Request,
    /// Whether Fast Open is paused or on trial, for every server.
    pub(crate) pause: Pause,
}

/// Whether a host avoids Fast Open (`tcp_fastopen_active_should_disable`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pause {
    /// No.
    #[default]
    No,
    /// It is paused: SYNs have neither the option nor data.
    Now,
    /// It was paused before, and is tried again.
    Over,
}

/// What a connection says of Fast Open on the host's paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omen {
    /// A middlebox seems to drop its segments (`tcp_fastopen_active_disable`).
    BlackHole,
    /// Data arrived on a connection that tried it again.
    Works,
}

/// The longest pause: the first, doubled six times (`tcp_fastopen_active_should_disable`).
const MOST_DOUBLINGS: u32 = 6;

/// Which option requests a cookie, as far as a server has not answered the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Request {
    /// That of RFC 7413.
    #[default]
    Standard,
    /// The experimental one, after the other was not answered.
    Experimental,
    /// That of RFC 7413 for good: neither was answered.
    StandardAgain,
}

impl Known {
    /// A server whose cookie and MSS are known.
    pub fn of(cookie: Cookie, mss: u16) -> Self {
        Self { mss, cookie, ..Self::default() }
    }

    /// Without the cookie.
    #[must_use]
    pub fn without_cookie(self) -> Self {
        let cookie = Cookie::default().with_number(self.cookie.experimental);
        Self { cookie, ..self }
    }

    /// The MSS of its last SYN-ACK.
    pub(crate) fn mss(&self) -> Option<u32> {
        (self.mss != 0).then_some(self.mss.into())
    }

    /// The option to send: the cookie, or a request (`tcp_fastopen_cache_get`).
    pub(crate) fn option(&self) -> Cookie {
        let experimental = self.cookie.is_empty() && self.request == Request::Experimental;
        self.cookie.with_number(self.cookie.experimental || experimental)
    }
}

/// What a SYN-ACK taught a client (`tcp_rcv_fastopen_synack`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Its MSS; 0 without the option.
    pub(crate) mss: u16,
    /// Its cookie; empty without one.
    pub(crate) cookie: Cookie,
    /// Which option to request a cookie with, if there is none.
    pub(crate) request: Request,
}

/// What a client knows of servers: one entry per host.
#[derive(Clone, Debug, Default)]
pub struct CookieCache {
    servers: BTreeMap<Peer, Known>,
    /// When Fast Open was last paused, and how often in a row (`tfo_active_disable_stamp`, `tfo_active_disable_times`).
    paused: Option<(Instant, u32)>,
}

impl CookieCache {
    /// What is known of a server. `first_pause` is `tcp_fastopen_blackhole_timeout_sec`.
    pub fn get(&self, server: Peer, now: Instant, first_pause: Duration) -> Known {
        let known = self.servers.get(&server).copied().unwrap_or_default();
        let pause = match self.paused {
            Some((since, times)) if !first_pause.is_zero() => {
                let pause = first_pause * (1 << times.saturating_sub(1).min(MOST_DOUBLINGS));
                if now < since + pause { Pause::Now } else { Pause::Over }
            }
            _ => Pause::No,
        };
        Known { pause, ..known }
    }

    /// A connection says that Fast Open fails or works (`tcp_fastopen_active_disable`,
    /// `tcp_fastopen_active_disable_ofo_check`).
    pub fn heed(&mut self, omen: Omen, now: Instant, first_pause: Duration) {
        match omen {
            Omen::BlackHole if first_pause.is_zero() => {}
            Omen::BlackHole => {
                let times = self.paused.map_or(0, |(_, times)| times);
                self.paused = Some((now, times.saturating_add(1)));
            }
            Omen::Works => self.paused = None,
        }
    }

    /// The sysctl was written: earlier failures no longer count (`proc_tfo_blackhole_detect_timeout`).
    pub fn forget_failures(&mut self) {
        self.paused = None;
    }

    /// Stores what a SYN-ACK taught (`tcp_fastopen_cache_set`). If the cache is full, the server with the lowest number
    /// is evicted.
    pub fn learn(&mut self, server: Peer, learned: Learned) {
        if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(&server) {
            self.servers.pop_first();
        }
        let known = self.servers.entry(server).or_default();
        if learned.mss != 0 {
            known.mss = learned.mss;
        }
        if !learned.cookie.is_empty() {
            known.cookie = learned.cookie;
        } else if learned.request > known.request && known.cookie == Cookie::default() {
            known.request = learned.request;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper: key 00 01 … 0f, message 00 01 … 0e.
    #[test]
    fn siphash_matches_the_papers_example() {
        let key = Key(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn cookie_cache_is_bounded() {
        let mut cache = CookieCache::default();
        for server in 0..2000 {
            let cookie = Key::default().cookie(&[1]);
            cache.learn(Peer(server), Learned { mss: 1460, cookie, ..Learned::default() });
        }
        assert_eq!(cache.servers.len(), MAX_SERVERS);
        let get = |server| cache.get(Peer(server), Instant::START, Duration::ZERO);
        assert_eq!(get(0), Known::default());
        assert_eq!(get(1999).mss(), Some(1460));
    }

    #[test]
    fn pauses_double_until_fast_open_works() {
        const HOUR: Duration = Duration::from_secs(3600);
        let mut cache = CookieCache::default();
        let after = |hours: u32| Instant::START + HOUR * hours;
        let pause = |cache: &CookieCache, hours| cache.get(Peer(1), after(hours), HOUR).pause;
        assert_eq!(pause(&cache, 0), Pause::No);
        cache.heed(Omen::BlackHole, after(0), HOUR);
        assert_eq!((pause(&cache, 0), pause(&cache, 1)), (Pause::Now, Pause::Over));
        cache.heed(Omen::BlackHole, after(10), HOUR);
        assert_eq!((pause(&cache, 11), pause(&cache, 12)), (Pause::Now, Pause::Over));
        (0..9).for_each(|_| cache.heed(Omen::BlackHole, after(20), HOUR));
        assert_eq!((pause(&cache, 83), pause(&cache, 84)), (Pause::Now, Pause::Over));
        cache.heed(Omen::Works, after(90), HOUR);
        assert_eq!(pause(&cache, 90), Pause::No);
        cache.heed(Omen::BlackHole, after(91), Duration::ZERO);
        assert_eq!(pause(&cache, 91), Pause::No);
    }
}
