//! Where a copy comes from or goes to, as the user writes it. Pure.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The port of `slowpath copy --serve`: not registered.
pub const PORT: u16 = 5718;
/// How the address of a far end that serves begins.
const SERVED: &str = "slowpath://";

/// One end of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this host.
    Here(PathBuf),
    /// On a host that ssh reaches.
    Ssh {
        /// As ssh takes it: `user@host`, or a name of its configuration.
        host: String,
        /// The path there; relative ones begin at the home directory.
        path: OsString,
    },
    /// On a host where `slowpath copy --serve` runs.
    Served {
        /// Name or address.
        host: String,
        /// TCP port.
        port: u16,
        /// The path below the folder that is served.
        path: OsString,
    },
}

/// Text that is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// Nothing is named.
    #[error("{0:?} names no file")]
    Empty(String),
    /// ssh would take the host for an option.
    #[error("{0:?} is no host: it begins with a dash")]
    Dash(String),
    /// A host or a port that cannot be.
    #[error("{0:?} is not slowpath://HOST[:PORT]/PATH")]
    Address(String),
}

/// Reads a place. A name with a `:` before the first `/` has a host in front, as scp and rsync read it; `./a:b` is a file.
///
/// # Errors
/// If it names nothing, or its host could be taken for an option.
pub fn place(text: &OsStr) -> Result<Place, NoPlace> {
    let shown = || text.to_string_lossy().into_owned();
    let bytes = text.as_bytes();
    if let Some(rest) = bytes.strip_prefix(SERVED.as_bytes()) {
        return served(rest).ok_or_else(|| NoPlace::Address(shown()));
    }
    let colon = colon(bytes).filter(|at| !bytes[..*at].contains(&b'/'));
    let Some(colon) = colon else {
        return if bytes.is_empty() { Err(NoPlace::Empty(shown())) } else { Ok(Place::Here(text.into())) };
    };
    let (host, path) = (&bytes[..colon], &bytes[colon + 1..]);
    let host = std::str::from_utf8(host).map_err(|_| NoPlace::Empty(shown()))?;
    // A user that begins with a dash is an option too, and so is a host behind an `@`.
    if host.split('@').any(|part| part.starts_with('-')) {
        return Err(NoPlace::Dash(host.to_owned()));
    }
    if host.is_empty() || host.ends_with('@') {
        return Err(NoPlace::Empty(shown()));
    }
    // `HOST:` is the home directory, as for scp.
    let path = if path.is_empty() { OsString::from(".") } else { OsString::from_vec(path.to_vec()) };
    Ok(Place::Ssh { host: host.to_owned(), path })
}

/// The colon behind a host; an IPv6 address is between brackets.
fn colon(bytes: &[u8]) -> Option<usize> {
    let begin = match bytes.iter().position(|byte| *byte == b'[') {
        Some(open) if open == 0 || bytes[open - 1] == b'@' => bytes.iter().position(|byte| *byte == b']')?,
        _ => 0,
    };
    bytes[begin..].iter().position(|byte| *byte == b':').map(|at| begin + at)
}

fn served(rest: &[u8]) -> Option<Place> {
    let slash = rest.iter().position(|byte| *byte == b'/')?;
    let (authority, path) = (std::str::from_utf8(&rest[..slash]).ok()?, &rest[slash + 1..]);
    let (host, port) = match colon(authority.as_bytes()) {
        Some(at) => (&authority[..at], authority[at + 1..].parse().ok().filter(|port| *port > 0)?),
        None => (authority, PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return None;
    }
    let path = if path.is_empty() { OsString::from(".") } else { OsString::from_vec(path.to_vec()) };
    Some(Place::Served { host: host.to_owned(), port, path })
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(path) => write!(f, "{}", path.display()),
            // The home directory, as it was written.
            Self::Ssh { host, path } if path == "." => write!(f, "{host}:"),
            Self::Ssh { host, path } => write!(f, "{host}:{}", path.display()),
            Self::Served { host, port, path } if host.contains(':') => {
                write!(f, "{SERVED}[{host}]:{port}/{}", path.display())
            }
            Self::Served { host, port, path } => write!(f, "{SERVED}{host}:{port}/{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(host: &str, path: &str) -> Place {
        Place::Ssh { host: host.into(), path: path.into() }
    }

    fn served(host: &str, port: u16, path: &str) -> Place {
        Place::Served { host: host.into(), port, path: path.into() }
    }

    #[test]
    fn places_are_read_as_scp_reads_them() {
        let cases = [
            ("data.bin", Place::Here("data.bin".into())),
            ("./a:b", Place::Here("./a:b".into())),
            ("/tmp/x:y", Place::Here("/tmp/x:y".into())),
            ("host:data", ssh("host", "data")),
            ("me@host:/a b/c:d", ssh("me@host", "/a b/c:d")),
            ("host:", ssh("host", ".")),
            ("[2001:db8::1]:x", ssh("[2001:db8::1]", "x")),
            ("me@[2001:db8::1]:x", ssh("me@[2001:db8::1]", "x")),
            ("slowpath://host/a/b", served("host", PORT, "a/b")),
            ("slowpath://[2001:db8::1]:99/x", served("2001:db8::1", 99, "x")),
            ("slowpath://192.0.2.2:99/", served("192.0.2.2", 99, ".")),
        ];
        for (text, expected) in cases {
            assert_eq!(place(text.as_ref()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn hosts_that_ssh_would_take_for_options_are_refused() {
        for text in ["-oProxyCommand=x:y", "-l@host:y", "me@-oX:y"] {
            assert!(matches!(place(text.as_ref()), Err(NoPlace::Dash(_))), "{text}");
        }
        for text in
            ["", ":x", "me@:x", "slowpath://", "slowpath:///x", "slowpath://h:0/x", "slowpath://h:x/y"]
        {
            assert!(place(text.as_ref()).is_err(), "{text}");
        }
    }
}
