//! The secret that a client shows to a server.

use slowpath_files::{SecretError, open_secret};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The length of a token: 32 characters of base64 have 192 bits.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=512;

/// What a client has to present (RFC 6750).
#[derive(Clone)]
pub struct Token(String);

/// Why a file is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Its file holds no secret.
    #[error(transparent)]
    File(#[from] SecretError),
    /// It is too short, too long, or has characters that no header has.
    #[error(
        "{}: a token is one line of {} to {} letters, digits and -._~+/=; `openssl rand -base64 33` makes one",
        .0.display(), LENGTHS.start(), LENGTHS.end()
    )]
    Form(PathBuf),
}

impl Token {
    /// The token in a file that only its owner, this user or root, may read.
    ///
    /// # Errors
    /// If there is none, or somebody else may read or change it.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let file = open_secret(path)?;
        let mut text = String::new();
        let most = *LENGTHS.end() as u64 + 2;
        let form = || TokenError::Form(path.to_owned());
        file.take(most).read_to_string(&mut text).map_err(|_| form())?;
        Self::of(text.trim_end_matches(['\r', '\n'])).ok_or_else(form)
    }

    /// A token of this text, if it is one (RFC 6750, section 2.1).
    pub fn of(text: &str) -> Option<Self> {
        let is_token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        (is_token && LENGTHS.contains(&text.len())).then(|| Self(text.to_owned()))
    }

    /// The value of the header `Authorization`.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether this is the value of the header. Takes equally long wherever the two differ.
    pub fn is_in(&self, header: &[u8]) -> bool {
        let Some(given) = header.strip_prefix(b"Bearer ") else { return false };
        let own = self.0.as_bytes();
        let mut differs = u8::from(given.len() != own.len());
        for (index, byte) in own.iter().enumerate() {
            differs |= black_box(byte ^ given.get(index).unwrap_or(&0));
        }
        black_box(differs) == 0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const TEXT: &str = "0123456789abcdefghijABCDEFGHIJ-._~+/==";

    pub fn token() -> Token {
        Token::of(TEXT).expect("a token")
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let token = token();
        assert!(token.is_in(token.header().as_bytes()));
        let wrong = [
            String::new(),
            TEXT.to_owned(),
            format!("Bearer {TEXT}x"),
            format!("Bearer {}", &TEXT[1..]),
            format!("Bearer {}", &TEXT[..TEXT.len() - 1]),
            format!("Bearer x{}", &TEXT[1..]),
            format!("Bearer  {TEXT}"),
            "Bearer ".to_owned(),
        ];
        for wrong in wrong {
            assert!(!token.is_in(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn token_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let with = |text: &str, mode| {
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
            Token::read(&file).err().map(|error| error.to_string())
        };
        let line = format!("{TEXT}\n");
        assert_eq!(with(&line, 0o600), None);
        assert_eq!(with(&line, 0o400), None);
        for mode in [0o640, 0o604, 0o620] {
            assert!(with(&line, mode).is_some_and(|error| error.contains("chmod 600")), "{mode:o}");
        }
        for text in ["short", "", &"x".repeat(513), &format!("{TEXT}\nsecond"), &format!("{TEXT} ")] {
            assert!(with(text, 0o600).is_some_and(|error| error.contains("32 to 512")), "{text}");
        }
        assert!(Token::read(folder.path()).is_err());
    }
}
