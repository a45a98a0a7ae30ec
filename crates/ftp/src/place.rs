//! `ftp://[USER[:PASSWORD]@]HOST[:PORT]/PATH` (RFC 3986, RFC 1738 section 3.2). Pure.

use crate::netrc::Secret;
use std::fmt;

/// FTP's port (RFC 959, section 8).
pub const PORT: u16 = 21;

/// A file at an FTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The user; `None` if the URL names none.
    pub user: Option<String>,
    /// The password, likewise.
    pub password: Option<Secret>,
    /// Name or address of the server.
    pub host: String,
    /// Port of its control connection.
    pub port: u16,
    /// The file, from the folder of the login; from the root if it begins with `/`.
    pub path: String,
}

/// Why a text is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// Another scheme, or none.
    #[error("write ftp://[USER@]HOST[:PORT]/PATH")]
    Scheme,
    /// No host.
    #[error("the URL has no host; write ftp://[USER@]HOST[:PORT]/PATH")]
    Host,
    /// No such port.
    #[error("the URL has no valid port; write a number from 1 to 65535 after the host")]
    Port,
    /// No file.
    #[error("the URL names no file; write ftp://HOST/PATH, without a slash at its end")]
    File,
    /// A `%` without two hexadecimal digits, or bytes that are no UTF-8.
    #[error("the URL has a wrong escape; write % as %25")]
    Escape,
    /// Characters that would end an FTP command.
    #[error("the URL has control characters, which FTP cannot carry")]
    Control,
}

/// Reads a URL.
///
/// # Errors
/// What to write instead. It never repeats the URL, which may have a password.
pub fn place(text: &str) -> Result<Place, NoPlace> {
    let rest = text.get(..6).filter(|scheme| scheme.eq_ignore_ascii_case("ftp://"));
    let rest = rest.map(|_| &text[6..]).ok_or(NoPlace::Scheme)?;
    let (authority, path) = rest.split_once('/').ok_or(NoPlace::File)?;
    let (login, address) =
        authority.rsplit_once('@').map_or((None, authority), |(login, at)| (Some(login), at));
    let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
        Some(("", _)) => (None, None),
        Some((user, "")) => (Some(decoded(user)?), None),
        Some((user, password)) => (Some(decoded(user)?), Some(Secret::new(decoded(password)?))),
        None => (None, None),
    };
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or(NoPlace::Port)?)),
        None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        None | Some("") => PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(NoPlace::Port)?,
    };
    let (host, path) = (decoded(host)?, decoded(path)?);
    if host.is_empty() {
        return Err(NoPlace::Host);
    }
    if path.is_empty() || path.ends_with('/') {
        return Err(NoPlace::File);
    }
    Ok(Place { user, password, host, port, path })
}

/// Without percent-encoding.
fn decoded(text: &str) -> Result<String, NoPlace> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = others.get(..2).and_then(|two| std::str::from_utf8(two).ok()).ok_or(NoPlace::Escape)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex).ok_or(NoPlace::Escape)?);
        rest = &others[2..];
    }
    let text = String::from_utf8(bytes).map_err(|_| NoPlace::Escape)?;
    if text.chars().any(char::is_control) { Err(NoPlace::Control) } else { Ok(text) }
}

impl Place {
    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The path of another file in the same folder.
    pub fn beside(&self, name: &str) -> String {
        self.path.rsplit_once('/').map_or_else(|| name.to_owned(), |(folder, _)| format!("{folder}/{name}"))
    }

    /// Host and port as a name for people.
    pub fn server(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == PORT { host } else { format!("{host}:{}", self.port) }
    }
}

/// The URL without user and password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ftp://{}/{}", self.server(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let read = |text| place(text).map(|place| (place.user.clone(), place.to_string()));
        assert_eq!(read("ftp://h/a/b%20c"), Ok((None, "ftp://h/a/b c".to_owned())));
        assert_eq!(
            read("FTP://u:p%40@[2001:db8::1]:2121//etc/x"),
            Ok((Some("u".to_owned()), "ftp://[2001:db8::1]:2121//etc/x".to_owned()))
        );
        assert_eq!(place("ftp://u:p%40@h/x").expect("a place").password, Some(Secret::new("p@".to_owned())));
        assert_eq!(
            place("ftp://h:2121/a/b").map(|place| (place.beside(".b"), place.name().to_owned())),
            Ok(("a/.b".to_owned(), "b".to_owned()))
        );
        for (text, why) in [
            ("http://h/x", NoPlace::Scheme),
            ("ftp:/é", NoPlace::Scheme),
            ("ftp:///x", NoPlace::Host),
            ("ftp://h:0/x", NoPlace::Port),
            ("ftp://[::1]x/y", NoPlace::Port),
            ("ftp://h", NoPlace::File),
            ("ftp://h/folder/", NoPlace::File),
            ("ftp://h/%2", NoPlace::Escape),
            ("ftp://h/%+1", NoPlace::Escape),
            ("ftp://h/x%0d%0aDELE y", NoPlace::Control),
        ] {
            assert_eq!(place(text), Err(why), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_none_smuggles_a_line(text in "(ftp://)?[ -~%0-9a-fé@:/\\[\\]]{0,40}") {
            if let Ok(place) = place(&text) {
                proptest::prop_assert!(!place.path.contains(['\r', '\n']));
            }
        }
    }
}
