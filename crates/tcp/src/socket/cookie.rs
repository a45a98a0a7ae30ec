//! Fast Open cookies (RFC 7413, section 4.1): the server's generation and the client's cache.

use crate::packet::Cookie;
use std::collections::BTreeMap;

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

/// A client's cache of server cookies (`tcp_fastopen_cache_set`): one per host.
#[derive(Clone, Debug, Default)]
pub struct CookieCache {
    servers: BTreeMap<Peer, (Cookie, u16)>,
}

impl CookieCache {
    /// The cookie of a server, and its MSS.
    pub fn get(&self, server: Peer) -> Option<(Cookie, u16)> {
        self.servers.get(&server).copied()
    }

    /// Stores a server's cookie. If the cache is full, the server with the lowest number is evicted.
    pub fn set(&mut self, server: Peer, cookie: Cookie, mss: u16) {
        if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(&server) {
            self.servers.pop_first();
        }
        self.servers.insert(server, (cookie, mss));
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
            cache.set(Peer(server), Key::default().cookie(&[1]), 1460);
        }
        assert_eq!(cache.servers.len(), MAX_SERVERS);
        assert!(cache.get(Peer(1999)).is_some() && cache.get(Peer(0)).is_none());
    }
}
