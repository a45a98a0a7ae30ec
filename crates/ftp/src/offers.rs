//! With which command a server lets the buffers of its data connections be set. Pure.
//!
//! None of the servers of today's distributions has one (vsftpd, pure-ftpd, proftpd). GridFTP's have `SBUF` (GFD.020, section
//! 5.6); ncftpd, wu-ftpd with patches and others have a `SITE` command, whose name differs.

use std::collections::HashMap;

/// The command without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferCommand(&'static str);

/// Names in a server's `SITE HELP`, and the commands. The first one offered is used.
const SITE: [(&str, &str); 7] = [
    ("SBUF", "SITE SBUF"),
    ("BUFSIZE", "SITE BUFSIZE"),
    ("SETBUFSIZE", "SITE SETBUFSIZE"),
    ("RETRBUFSIZE", "SITE RETRBUFSIZE"),
    ("STORBUFSIZE", "SITE STORBUFSIZE"),
    ("SBUFSIZ", "SITE SBUFSIZ"),
    ("RBUFSIZ", "SITE RBUFSIZ"),
];

/// Whether a command sizes the buffer that a transfer needs at the server.
fn fits(name: &str, server_sends: bool) -> bool {
    match name {
        "RETRBUFSIZE" | "SBUFSIZ" => server_sends,
        "STORBUFSIZE" | "RBUFSIZ" => !server_sends,
        _ => true,
    }
}

impl BufferCommand {
    /// The command that a server offers for a transfer in which it sends, or receives: from its answers to FEAT and SITE HELP.
    pub fn offered(
        features: &HashMap<String, Option<String>>,
        site_help: &str,
        server_sends: bool,
    ) -> Option<Self> {
        if features.keys().any(|name| name.trim().eq_ignore_ascii_case("SBUF")) {
            return Some(Self("SBUF"));
        }
        let words = || site_help.split(|each: char| !each.is_ascii_alphanumeric());
        let is_offered = |name: &str| words().any(|word| word.eq_ignore_ascii_case(name));
        let found = SITE.iter().find(|(name, _)| fits(name, server_sends) && is_offered(name));
        found.map(|(_, command)| Self(command))
    }

    /// The command for this size.
    pub fn with(self, bytes: u64) -> String {
        format!("{} {bytes}", self.0)
    }

    /// The command without a size.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_command_that_fits_is_used() {
        let none = HashMap::new();
        let offered = |help, sends| BufferCommand::offered(&none, help, sends).map(BufferCommand::name);
        assert_eq!(
            offered("214-The following SITE commands\r\n CHMOD UMASK HELP\r\n214 End\r\n", true),
            None
        );
        assert_eq!(offered("214 CHMOD BUFSIZE*\r\n", true), Some("SITE BUFSIZE"));
        assert_eq!(offered("214 RBUFSIZ SBUFSIZ", true), Some("SITE SBUFSIZ"));
        assert_eq!(offered("214 RBUFSIZ SBUFSIZ", false), Some("SITE RBUFSIZ"));
        let features = HashMap::from([("SBUF".to_owned(), None)]);
        let command = BufferCommand::offered(&features, "214 BUFSIZE", false).expect("one");
        assert_eq!(command.with(65_536), "SBUF 65536");
    }
}
