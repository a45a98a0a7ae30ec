//! JSON that can be looked at.

use serde_json::ser::Formatter;
use slowpath_model::shown;
use std::io::{self, Write};

/// JSON in another format, with `\\u` escapes for all characters that [`shown`] would escape: a program reads the same
/// value, and a terminal obeys nothing. JSON itself demands that only of C0 (RFC 8259, section 7).
pub(super) struct Shown<F>(pub(super) F);

impl<F: Formatter> Formatter for Shown<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // What stands before a fragment is a quotation mark or an escape: nothing that a joiner belongs to.
        let mut rest = fragment;
        while let Some((at, hidden)) = shown::hidden(rest, None) {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in hidden.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + hidden.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{write, write_line};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn ordinary_documents_are_as_usual() {
        let document = json!({"a": [1, 2.5, null, {}, []], "é": {"日本": "b\n\"\t"}});
        let (mut pretty, mut line) = (Vec::new(), Vec::new());
        write(&document, &mut pretty).expect("memory");
        write_line(&document, &mut line).expect("memory");
        assert_eq!(pretty, format!("{document:#}\n").into_bytes());
        assert_eq!(line, format!("{document}\n").into_bytes());
    }

    #[test]
    fn what_has_no_shape_is_an_escape() {
        let mut text = Vec::new();
        write_line(&"\u{9b}\u{7f}\u{202e}\u{2028}\u{e0041}a\u{200d}\u{1b}", &mut text).expect("memory");
        let shown = r#""\u009b\u007f\u202e\u2028\udb40\udc41a\u200d\u001b""#;
        assert_eq!(String::from_utf8_lossy(&text).trim_end(), shown);
    }

    proptest! {
        #[test]
        fn a_program_reads_the_name_itself(name: String, control in 0u8..=255) {
            let name = format!("{name}{}\u{2069}", char::from(control));
            let mut text = Vec::new();
            write(&json!({ &name: name }), &mut text).expect("memory");
            let text = String::from_utf8(text).expect("UTF-8");
            prop_assert_eq!(slowpath_model::shown::text(&text), &*text);
            let value: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(&value[&name], &Value::from(name.clone()));
        }
    }
}
