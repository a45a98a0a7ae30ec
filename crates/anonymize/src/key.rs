//! The secret of a mapping, and Crypto-PAn.
//!
//! Reading list: J. Xu, J. Fan, M. H. Ammar, S. B. Moon, "Prefix-Preserving IP Address Anonymization:
//! Measurement-Based Security Evaluation and a New Cryptography-Based Scheme", ICNP 2002; the authors' `panonymizer.cpp`,
//! version 1.0; FIPS 197 (AES).

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use std::fmt;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
const BLOCK: usize = 16;

/// A secret: the key of AES-128, and the padding of addresses that are encrypted with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

/// Why a text is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is {KEY_BYTES} bytes, written as {} hexadecimal digits, such as `openssl rand -hex {KEY_BYTES}` prints", KEY_BYTES * 2)]
pub struct NoKey;

impl From<[u8; KEY_BYTES]> for Key {
    fn from(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }
}

impl Key {
    /// The key in a text of hexadecimal digits, perhaps with white space around them.
    ///
    /// # Errors
    ///
    /// If it is no key.
    pub fn from_hex(text: &str) -> Result<Self, NoKey> {
        let digits: Option<Vec<u8>> =
            text.trim().chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
        let digits = digits.filter(|digits| digits.len() == KEY_BYTES * 2).ok_or(NoKey)?;
        let mut bytes = [0; KEY_BYTES];
        bytes.iter_mut().zip(digits.chunks_exact(2)).for_each(|(byte, two)| *byte = two[0] << 4 | two[1]);
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Key {
    /// Without its bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A function of prefixes: the bits of the address before a position decide whether the bit there is flipped.
#[derive(Clone)]
pub(crate) struct CryptoPan {
    aes: Aes128,
    /// The second half of the key, encrypted.
    pad: u128,
}

impl CryptoPan {
    pub(crate) fn new(Key(key): &Key) -> Self {
        let (secret, pad) = key.split_at(BLOCK);
        let mut halves = [[0; BLOCK]; 2];
        halves[0].copy_from_slice(secret);
        halves[1].copy_from_slice(pad);
        let aes = Aes128::new(&halves[0].into());
        let mut this = Self { aes, pad: 0 };
        this.pad = this.encrypted(u128::from_be_bytes(halves[1]));
        this
    }

    /// A block, encrypted.
    pub(crate) fn encrypted(&self, block: u128) -> u128 {
        let mut block = block.to_be_bytes().into();
        self.aes.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }

    /// The first `bits` bits of an address, which is the most significant part of `address`, with some of them flipped:
    /// those after a prefix for which `keeps` is false and whose encryption begins with a 1. `keeps` gets the bits of the
    /// prefix, the others being 0, and their number.
    pub(crate) fn map(&self, address: u128, bits: u32, keeps: impl Fn(u128, u32) -> bool) -> u128 {
        (0..bits).fold(address, |mapped, at| {
            let of_prefix = u128::MAX.checked_shl(128 - at).unwrap_or(0);
            if keeps(address & of_prefix, at) {
                return mapped;
            }
            let block = self.encrypted(address & of_prefix | self.pad & !of_prefix);
            mapped ^ (block >> 127) << (127 - at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// The key of the authors' `sample.cpp`.
    const SAMPLE: [u8; KEY_BYTES] = [
        21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121, 121,
        101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
    ];

    fn v4(pan: &CryptoPan, address: &str) -> String {
        let address: Ipv4Addr = address.parse().expect("an address");
        let mapped = pan.map(u128::from(u32::from(address)) << 96, 32, |_, _| false);
        Ipv4Addr::from((mapped >> 96) as u32).to_string()
    }

    /// From the authors' `sample_trace_raw.dat` and `sample_trace_sanitized.dat`.
    #[test]
    fn published_vectors_of_ipv4_are_reproduced() {
        let pan = CryptoPan::new(&SAMPLE.into());
        for (raw, sanitized) in [
            ("130.132.252.244", "133.68.164.234"),
            ("152.163.225.39", "151.140.114.167"),
            ("166.107.77.190", "160.132.178.185"),
            ("192.233.80.103", "252.25.108.8"),
            ("195.205.63.100", "255.186.223.5"),
            ("198.36.213.5", "249.7.21.132"),
            ("202.49.198.20", "245.206.7.234"),
            ("204.202.136.230", "243.178.4.198"),
            ("205.188.147.153", "242.96.16.101"),
            ("207.105.49.5", "241.118.205.138"),
            ("207.188.7.45", "241.255.249.220"),
            ("208.147.89.59", "227.237.98.191"),
            ("208.52.56.122", "227.8.63.165"),
            ("209.246.74.109", "226.22.124.76"),
            ("212.120.124.31", "228.135.163.231"),
            ("212.204.172.118", "228.71.195.169"),
            ("216.157.30.252", "235.89.31.26"),
            ("216.254.18.172", "235.7.16.162"),
            ("24.0.250.221", "100.15.198.226"),
            ("24.5.0.80", "100.9.15.210"),
            ("38.15.67.68", "64.3.66.187"),
            ("63.195.241.44", "95.179.238.44"),
            ("64.34.154.117", "0.221.154.117"),
        ] {
            assert_eq!(v4(&pan, raw), sanitized, "{raw}");
        }
    }

    /// The vectors that implementations in Go, C++ and Rust share (`cryptopan_test.go` of Yawning Angel), with the key of the
    /// sample.
    #[test]
    fn published_vectors_of_ipv6_are_reproduced() {
        let pan = CryptoPan::new(&SAMPLE.into());
        for (raw, sanitized) in [
            ("::1", "78ff:f001:9fc0:20df:8380:b1f1:704:ed"),
            ("::2", "78ff:f001:9fc0:20df:8380:b1f1:704:ef"),
            ("::ffff", "78ff:f001:9fc0:20df:8380:b1f1:704:f838"),
            ("2001:db8::1", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1e"),
            ("2001:db8::2", "4401:2bc:603f:d91d:27f:ff8e:e6f1:dc1c"),
        ] {
            let address: Ipv6Addr = raw.parse().expect("an address");
            let mapped = Ipv6Addr::from(pan.map(address.into(), 128, |_, _| false));
            assert_eq!(mapped.to_string(), sanitized, "{raw}");
        }
    }

    #[test]
    fn key_is_read_from_hexadecimal_digits() {
        let text: String = SAMPLE.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(Key::from_hex(&format!(" {text}\n")), Ok(SAMPLE.into()));
        for bad in ["", &text[1..], &format!("{text}0"), &text.replace('1', "g")] {
            assert_eq!(Key::from_hex(bad), Err(NoKey), "{bad}");
        }
        assert_eq!(format!("{:?}", Key::from(SAMPLE)), "Key", "a key is not printed");
    }
}
