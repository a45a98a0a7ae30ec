//! Names in commands that are printed to be copied.

use super::line;
use std::borrow::Cow;
use std::fmt::Write;

/// `name` as a shell reads it back, on one line and without characters that cannot be shown.
pub fn word(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "./_-+,:@%".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        Cow::Borrowed(name)
    } else if line(name) == name {
        Cow::Owned(format!("'{}'", name.replace('\'', r"'\''")))
    } else {
        // Dollar-single-quotes (POSIX.1-2024, section 2.2.4), which have an escape for every byte.
        let mut quoted = "$'".to_owned();
        for character in name.chars() {
            match character {
                '\'' | '\\' => quoted.extend(['\\', character]),
                ' '..='~' => quoted.push(character),
                _ => {
                    // Octal, since a hexadecimal escape may go on with digits of the name.
                    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(quoted, "\\{byte:03o}");
                    }
                }
            }
        }
        Cow::Owned(quoted + "'")
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn names_come_back_from_the_shell() {
        assert_eq!(word("a/b-1.pcap"), "a/b-1.pcap");
        assert_eq!(word("it's here.pcap"), r"'it'\''s here.pcap'");
        assert_eq!(word("日本 語.pcap"), "'日本 語.pcap'");
        assert_eq!(word("a\u{1b}[2J\n'\\\u{9b}1"), r"$'a\033[2J\012\'\\\302\2331'");
        assert_eq!(word(""), "''");
    }
}
