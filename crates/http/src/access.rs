//! Who may do what.

use crate::token::Token;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A socket that only this host reaches.
    Loopback,
    /// A socket that other hosts reach.
    Network,
    /// The Unix socket: a process of this user. `is_trusted` if that is the server's user, or root.
    Unix {
        /// Whether it may write.
        is_trusted: bool,
    },
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It reads what is known.
    Read,
    /// It adds to it.
    Write,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It needs the token.
    Token,
    /// There is no token, so nobody may do it this way.
    Closed,
    /// Its header `Host` is a name: a browser's page may have made it, with a name that its owner points here.
    Host,
}

/// Decides on a request, by its headers `Authorization` and `Host`.
pub fn decide(
    peer: Peer,
    does: Does,
    token: Option<&Token>,
    authorization: Option<&[u8]>,
    host: Option<&str>,
) -> Result<(), Denied> {
    let has_token = token.zip(authorization).is_some_and(|(token, given)| token.is_in(given));
    match (peer, does) {
        _ if has_token => Ok(()),
        (Peer::Unix { .. }, Does::Read) | (Peer::Unix { is_trusted: true }, Does::Write) => Ok(()),
        (Peer::Loopback, Does::Read) => {
            if is_address(host) {
                Ok(())
            } else {
                Err(Denied::Host)
            }
        }
        _ if token.is_some() => Err(Denied::Token),
        _ => Err(Denied::Closed),
    }
}

/// Whether a header `Host` names this host by address, or as every host names itself.
fn is_address(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tests::token;

    #[test]
    fn table_of_rights() {
        let token = token();
        let right = token.header();
        let decided = |peer, does, token: Option<&Token>, header: Option<&str>| {
            decide(peer, does, token, header.map(str::as_bytes), Some("127.0.0.1:5718"))
        };
        use {Denied as No, Does::Read, Does::Write, Peer::Loopback, Peer::Network};
        let stranger = Peer::Unix { is_trusted: false };
        let own = Peer::Unix { is_trusted: true };
        for (peer, does, without, wrong) in [
            (Loopback, Read, Ok(()), Ok(())),
            (Loopback, Write, Err(No::Closed), Err(No::Token)),
            (Network, Read, Err(No::Closed), Err(No::Token)),
            (Network, Write, Err(No::Closed), Err(No::Token)),
            (stranger, Read, Ok(()), Ok(())),
            (stranger, Write, Err(No::Closed), Err(No::Token)),
            (own, Read, Ok(()), Ok(())),
            (own, Write, Ok(()), Ok(())),
        ] {
            assert_eq!(decided(peer, does, None, Some(&right)), without, "{peer:?} {does:?}");
            assert_eq!(decided(peer, does, Some(&token), Some("Bearer x")), wrong, "{peer:?} {does:?}");
            assert_eq!(decided(peer, does, Some(&token), None), wrong, "{peer:?} {does:?}");
            assert_eq!(decided(peer, does, Some(&token), Some(&right)), Ok(()), "{peer:?} {does:?}");
        }
    }

    #[test]
    fn page_of_a_browser_with_a_name_for_loopback_is_refused() {
        let read = |host| decide(Peer::Loopback, Does::Read, None, None, host);
        for host in ["127.0.0.1:5718", "[::1]:5718", "[::1]", "localhost:5718", "localhost"] {
            assert_eq!(read(Some(host)), Ok(()), "{host}");
        }
        for host in ["evil.example:5718", "localhost.evil.example", "127.0.0.1.evil.example", "a:b", ""] {
            assert_eq!(read(Some(host)), Err(Denied::Host), "{host}");
        }
        assert_eq!(read(None), Ok(()));
    }
}
