//! User names and passwords in the file that ftp(1) and curl(1) read too. Pure.

use std::fmt;

/// A password, which is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// For a login.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Only for the server.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Who logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password.
    pub password: Secret,
}

/// The login of a host in a netrc file (netrc(5)): the first entry for this host, and for this user if one is named; or the
/// default entry. Macros are skipped.
pub fn login(text: &str, host: &str, user: Option<&str>) -> Option<Login> {
    entries(text).into_iter().find_map(|entry| {
        let is_of_host = entry.machine.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(host));
        let name = entry.login.or_else(|| user.map(str::to_owned))?;
        (is_of_host && user.is_none_or(|user| user == name))
            .then(|| Login { user: name, password: Secret(entry.password.unwrap_or_default()) })
    })
}

#[derive(Default)]
struct Entry {
    /// `None` for the default entry.
    machine: Option<String>,
    login: Option<String>,
    password: Option<String>,
}

fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut in_macro = false;
    for line in text.lines() {
        // A macro ends with an empty line.
        in_macro &= !line.trim().is_empty();
        if in_macro {
            continue;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        while let Some(word) = words.next() {
            match word.as_str() {
                "machine" => entries.push(Entry { machine: words.next(), ..Entry::default() }),
                "default" => entries.push(Entry::default()),
                "macdef" => {
                    in_macro = true;
                    break;
                }
                comment if comment.starts_with('#') => break,
                "login" => set(&mut entries, words.next(), |entry| &mut entry.login),
                "password" => set(&mut entries, words.next(), |entry| &mut entry.password),
                "account" => drop(words.next()),
                _ => {}
            }
        }
    }
    entries
}

fn set(entries: &mut [Entry], value: Option<String>, place: fn(&mut Entry) -> &mut Option<String>) {
    if let Some(entry) = entries.last_mut() {
        *place(entry) = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nmachine a.example login ann password one\nmacdef init\nmachine b.example login evil password no\n\n\
        machine b.example\n  login bob\n  password two\ndefault login anonymous password me@example.org\n";

    #[test]
    fn entry_of_the_host_is_found() {
        let found = |host, user| login(TEXT, host, user).map(|login| (login.user, login.password.0));
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(found("a.example", None), pair("ann", "one"));
        assert_eq!(found("B.example", None), pair("bob", "two"), "not the macro's");
        assert_eq!(found("c.example", None), pair("anonymous", "me@example.org"));
        assert_eq!(found("a.example", Some("zoe")), None);
        assert_eq!(
            format!("{:?}", login(TEXT, "a.example", None)),
            "Some(Login { user: \"ann\", password: *** })"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(machine|login|password|default|macdef|[a-z# \n]){0,40}") {
            let _ = login(&text, "host", None);
        }
    }
}
