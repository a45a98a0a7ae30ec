//! Keys and records. AES-256-GCM and X25519 are ring's, key derivation is BLAKE3's.
//!
//! A copy over ssh gets its key from the near end, through ssh. A copy to `--serve` agrees on one: both ends mix an
//! ephemeral X25519 secret, so that a token that leaks later opens no recorded copy, and the token, so that an end without
//! it is found out by its first record. The near end sends that record first: an end that tries tokens gets nothing that
//! it could try them on.

use crate::error::CopyError;
use crate::protocol::block::{HEADER, MOST_RECORD, Record, TAG, header};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey, X25519};
use ring::rand::{SecureRandom, SystemRandom};

/// Random bytes from the kernel.
pub fn random<const N: usize>() -> Result<[u8; N], CopyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| unavailable("draw random bytes"))?;
    Ok(bytes)
}

fn unavailable(what: &'static str) -> CopyError {
    CopyError::System { what, source: std::io::Error::other("the library refuses") }
}

/// A key in one direction, with the number of its next record: no nonce is used twice.
struct Keyed {
    key: LessSafeKey,
    next: u64,
}

impl Keyed {
    fn new(key: &[u8; 32]) -> Result<Self, CopyError> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| unavailable("use a key"))?;
        Ok(Self { key: LessSafeKey::new(key), next: 0 })
    }

    fn nonce(&mut self) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.next.to_be_bytes());
        self.next += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Writes records.
pub struct Seal(Keyed);

/// Reads records.
pub struct Unseal(Keyed);

impl Seal {
    /// Encrypts a record in place: four bytes of room for its length, then its contents. Appends the tag.
    pub fn seal(&mut self, record: &mut Vec<u8>) -> Result<(), CopyError> {
        let length = ((record.len() - 4 + TAG) as u32).to_be_bytes();
        record[..4].copy_from_slice(&length);
        let nonce = self.0.nonce();
        let tag = self.0.key.seal_in_place_separate_tag(nonce, Aad::from(length), &mut record[4..]);
        record.extend(tag.map_err(|_| unavailable("encrypt"))?.as_ref());
        Ok(())
    }

    /// A record without data.
    pub fn bare(&mut self, record: &Record<'_>) -> Result<Vec<u8>, CopyError> {
        let mut bytes = Vec::with_capacity(4 + HEADER + TAG);
        bytes.extend([0; 4]);
        bytes.extend(header(record));
        self.seal(&mut bytes)?;
        Ok(bytes)
    }
}

impl Unseal {
    /// Decrypts a record, without its length, in place.
    pub fn unseal<'a>(&mut self, record: &'a mut [u8]) -> Result<&'a [u8], CopyError> {
        let length = (record.len() as u32).to_be_bytes();
        let nonce = self.0.nonce();
        let opened = self.0.key.open_in_place(nonce, Aad::from(length), record);
        opened.map(|opened| &*opened).map_err(|_| CopyError::Forged)
    }
}

/// Whether a record can have this length.
pub fn is_length(length: usize, most: usize) -> bool {
    (TAG..=most.min(MOST_RECORD)).contains(&length)
}

/// Which end this is: each direction has its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Near,
    Far,
}

/// Both directions of a connection, from a secret.
fn pair(context: &str, secret: &[u8], side: Side) -> Result<(Seal, Unseal), CopyError> {
    let key = |from: u8| {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&[from]).update(secret);
        Keyed::new(hasher.finalize().as_bytes())
    };
    let (near, far) = (key(0)?, key(1)?);
    Ok(match side {
        Side::Near => (Seal(near), Unseal(far)),
        Side::Far => (Seal(far), Unseal(near)),
    })
}

/// The keys of a data connection.
pub fn of_stream(key: &[u8; 32], number: u16, side: Side) -> Result<(Seal, Unseal), CopyError> {
    let secret = [&key[..], &number.to_be_bytes()].concat();
    pair("slowpath copy 1: data connection", &secret, side)
}

/// An ephemeral secret, and its public part.
pub struct Agreement {
    secret: EphemeralPrivateKey,
    public: [u8; 32],
}

impl Agreement {
    pub fn new() -> Result<Self, CopyError> {
        let failed = |_| unavailable("make a key");
        let secret = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(failed)?;
        let public = secret.compute_public_key().map_err(failed)?;
        let public = public.as_ref().try_into().map_err(|_| unavailable("make a key"))?;
        Ok(Self { secret, public })
    }

    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// The keys of the control connection.
    pub fn with(self, other: [u8; 32], token: &[u8], side: Side) -> Result<(Seal, Unseal), CopyError> {
        let (near, far) = match side {
            Side::Near => (self.public, other),
            Side::Far => (other, self.public),
        };
        let other = UnparsedPublicKey::new(&X25519, other);
        agreement::agree_ephemeral(self.secret, &other, |shared| {
            let token = *blake3::hash(token).as_bytes();
            let secret = [&near, &far, shared, &token[..]].concat();
            pair("slowpath copy 1: control connection", &secret, side)
        })
        .map_err(|_| CopyError::Forged)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_once_in_order_and_unchanged() {
        let key = random().expect("random bytes");
        let (mut seal, _) = of_stream(&key, 3, Side::Near).expect("keys");
        let (_, mut unseal) = of_stream(&key, 3, Side::Far).expect("keys");
        let first = seal.bare(&Record::Same { file: 1, block: 2 }).expect("a record");
        let second = seal.bare(&Record::Lost { file: 1 }).expect("a record");
        let mut changed = first[4..].to_vec();
        changed[0] ^= 1;
        assert!(unseal.unseal(&mut changed).is_err(), "a changed record");
        let (_, mut unseal) = of_stream(&key, 3, Side::Far).expect("keys");
        assert!(unseal.unseal(&mut second[4..].to_vec()).is_err(), "the second first");
        let (_, mut unseal) = of_stream(&key, 3, Side::Far).expect("keys");
        assert!(unseal.unseal(&mut first[4..].to_vec()).is_ok());
        assert!(unseal.unseal(&mut first[4..].to_vec()).is_err(), "the first again");
        for (number, side) in [(4, Side::Far), (3, Side::Near)] {
            let (_, mut other) = of_stream(&key, number, side).expect("keys");
            assert!(other.unseal(&mut first[4..].to_vec()).is_err(), "{number} {side:?}");
        }
    }

    #[test]
    fn ends_with_different_tokens_do_not_understand_each_other() {
        let meet = |tokens: [&[u8]; 2]| {
            let (near, far) = (Agreement::new().expect("a key"), Agreement::new().expect("a key"));
            let publics = [near.public(), far.public()];
            let (mut seal, _) = near.with(publics[1], tokens[0], Side::Near).expect("keys");
            let (_, mut unseal) = far.with(publics[0], tokens[1], Side::Far).expect("keys");
            unseal.unseal(&mut seal.bare(&Record::Hello).expect("a record")[4..].to_vec()).is_ok()
        };
        assert!(meet([b"token", b"token"]));
        assert!(!meet([b"token", b"other"]));
    }
}
