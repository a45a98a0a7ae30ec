//! What is wrong with a filter, and where.

use slowpath_model::shown;

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {at}: {what}")]
pub struct FilterError {
    /// The position of the word that is wrong, in characters from 1.
    pub at: usize,
    what: String,
}

/// What can be written.
pub(super) const WORDS: &str =
    "host, net, port, portrange, src, dst, ip, ip6, tcp, and, or, not and parentheses";

impl FilterError {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    pub(super) fn no_address(at: usize, word: &str) -> Self {
        let word = quoted(word);
        Self::new(
            at,
            format!(
                "{word} is not an address; write one such as 192.0.2.1 or 2001:db8::1, names are not looked up"
            ),
        )
    }

    pub(super) fn no_port(at: usize, word: &str) -> Self {
        let word = quoted(word);
        Self::new(at, format!("{word} is not a port; write a number from 0 to 65535, such as port 443"))
    }

    /// A word where a keyword has to be.
    pub(super) fn unknown(at: usize, word: &str) -> Self {
        let word = quoted(word);
        Self::new(at, format!("{word} does not select connections; write {WORDS}"))
    }
}

/// A word in quotes, shortened if it is long.
pub(super) fn quoted(word: &str) -> String {
    const LONGEST: usize = 60;
    format!("{:?}", shown::shortened(word, LONGEST))
}
