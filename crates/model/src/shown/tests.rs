use super::*;
use proptest::prelude::*;
use std::io::Write as _;

/// Characters that a hostile text is made of: each kind that is escaped, ordinary ones, and parts of styles and markup.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        (0u8..0xa0).prop_map(|c| char::from(c).to_string()),
        prop::sample::select(vec![
            "\u{202e}",
            "\u{2066}",
            "\u{200e}",
            "\u{61c}",
            "\u{2028}",
            "\u{2029}",
            "\u{200b}",
            "\u{200d}",
            "\u{fe0f}",
            "\u{e0041}",
            "\u{feff}",
            "\u{fffe}",
            "\x1b[1m",
            "\x1b[38;5;81m",
            "\x1b[2J",
            "\x1b]0;x\x07",
            "\x1b[",
            "é",
            "日本語",
            "👩\u{200d}💻",
            "❤\u{fe0f}\u{200d}🔥",
            "</script>",
            "\\u{9b}",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A slow, obvious account of what a terminal must not get.
fn is_harmless(text: &str, is_styled: bool) -> bool {
    let mut text = text.to_owned();
    if is_styled {
        for style in (0..=255).flat_map(|n| [format!("38;5;{n}"), format!("48;5;{n}")]) {
            text = text.replace(&format!("\x1b[{style}m"), "");
        }
        for style in [0, 1, 2, 4, 30, 31, 32, 33, 34, 35, 36, 37] {
            text = text.replace(&format!("\x1b[{style}m"), "");
        }
    }
    text.chars().all(|c| {
        let is_break = c == '\n' || c == '\t';
        is_break
            || !c.is_control()
                && !"\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{feff}".contains(c)
                && !('\u{202a}'..='\u{202e}').contains(&c)
                && !('\u{2066}'..='\u{2069}').contains(&c)
                && !('\u{e0000}'..='\u{e0fff}').contains(&c)
    })
}

fn written(parts: &[&[u8]], is_styled: bool) -> String {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, is_styled);
    parts.iter().for_each(|part| writer.write_all(part).expect("memory"));
    writer.flush().expect("memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn ordinary_text_stays_as_it_is() {
    let words = "naïve, 日本語, Ελληνικά, עברית, العربية, نمی\u{200c}خواهم, क्ष, 1\u{fe0f}\u{20e3}\u{20e3}\n";
    let emoji = "\t👩\u{200d}💻 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f} 👍🏽 → µs … – C:\\new\\u{9b}";
    for ordinary in [words, emoji] {
        assert_eq!(text(ordinary), ordinary);
        assert_eq!(written(&[ordinary.as_bytes()], false), ordinary);
    }
}

#[test]
fn what_has_no_shape_is_escaped() {
    for (hostile, shown) in [
        ("\x1b]0;title\x07", r"\u{1b}]0;title\u{7}"),
        ("a\u{9b}2J\u{7f}\r", r"a\u{9b}2J\u{7f}\u{d}"),
        ("\u{202e}\u{2066}\u{200f}\u{61c}", r"\u{202e}\u{2066}\u{200f}\u{61c}"),
        ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
        ("a\u{200b}\u{200d}b\u{fe0f}\u{fe0f}\u{e0041}", "a\\u{200b}\\u{200d}b\u{fe0f}\\u{fe0f}\\u{e0041}"),
        ("a\nb\t", r"a\u{a}b\u{9}"),
    ] {
        assert_eq!(line(hostile), shown);
    }
    assert_eq!(text("a\n\tb\r"), "a\n\tb\\u{d}");
    assert_eq!(written(&[b"a\x9bb\xf0\x9f"], false), r"a\x9bb\xf0\x9f");
}

#[test]
fn own_styles_pass_where_there_is_colour() {
    let styled = "\x1b[1m\x1b[38;5;81m▌\x1b[0m";
    assert_eq!(written(&[styled.as_bytes()], true), styled);
    assert_eq!(written(&["\x1b[1m".as_bytes()], false), r"\u{1b}[1m");
    for other in
        ["\x1b[8m", "\x1b[38;5;256m", "\x1b[1;8m", "\x1b[2J", "\x1b[38;5;081;1m", "\x1b", "\x1b[38;5"]
    {
        assert!(!written(&[other.as_bytes()], true).contains('\x1b'), "{other:?}");
    }
}

#[test]
fn a_long_name_loses_its_middle() {
    assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
    assert_eq!(shortened("abcdefghi", 8), "abc…fghi");
}

#[test]
fn a_quoted_line_and_its_caret() {
    let quoted = Quoted::new("\ta\u{9b}b = \u{202e}1", 8, 2, 70);
    assert_eq!((quoted.line.as_str(), quoted.indent.as_str()), ("\ta\\u{9b}b = \\u{202e}1", "\t           "));
    assert_eq!(quoted.carets(70), "^".repeat(r"\u{202e}1".len()));
    let long = "x".repeat(1000);
    let quoted = Quoted::new(&long, 500, 900, 70);
    assert_eq!((quoted.line.len(), quoted.indent.len(), quoted.width), (140, 70, 900));
}

#[test]
fn bytes_are_told_apart_wherever_they_are() {
    for byte in 0..=255 {
        for at in 0..150 {
            let mut bytes = *b"aaaaaaa aa~aaaaaaaaaaaaa0".repeat(6).first_chunk::<150>().expect("as many");
            bytes[at] = byte;
            let is_shape = matches!(byte, b' '..=b'~');
            let is_break = matches!(byte, b'\n' | b'\t');
            let whole = |is_shown| if is_shown { bytes.len() } else { at };
            assert_eq!(ascii(&bytes, Breaks::Escaped), whole(is_shape), "{byte} at {at}");
            assert_eq!(ascii(&bytes, Breaks::Kept), whole(is_shape || is_break), "{byte} at {at}");
        }
    }
}

proptest! {
    #[test]
    fn nothing_hostile_is_left(hostile in hostile()) {
        prop_assert!(is_harmless(&text(&hostile), false));
        let line = line(&hostile);
        prop_assert!(is_harmless(&line, false) && !line.contains(['\n', '\t']));
        prop_assert_eq!(super::line(&line), &*line);
        prop_assert_eq!(written(&[hostile.as_bytes()], false), text(&hostile));
        prop_assert!(is_harmless(&written(&[hostile.as_bytes()], true), true));
    }

    #[test]
    fn parts_are_one_text(hostile in hostile(), bytes: Vec<u8>, at: prop::sample::Index, is_styled: bool) {
        for all in [hostile.as_bytes(), &bytes, &[hostile.as_bytes(), &bytes].concat()] {
            let (head, tail) = all.split_at(at.index(all.len() + 1));
            let (middle, tail) = tail.split_at(tail.len().min(1));
            let whole = written(&[all], is_styled);
            prop_assert_eq!(&written(&[head, middle, tail], is_styled), &whole);
            prop_assert!(is_harmless(&whole, is_styled));
        }
    }
}

#[test]
fn errors_are_shown_with_their_causes() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot read {file}")]
    struct Unreadable {
        file: &'static str,
        source: std::num::ParseIntError,
    }
    let source = "x".parse::<u32>().expect_err("no number");
    let error = Unreadable { file: "/proc/stat", source };
    assert_eq!(with_causes(&error), "cannot read /proc/stat: invalid digit found in string");
}
