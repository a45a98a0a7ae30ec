use super::{write, write_line};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn ordinary_documents_match_serde_json() {
    let document = json!({"a": [1, 2.5, null, {}, []], "é": {"日本": "b\n\"\t"}});
    let (mut pretty, mut line) = (Vec::new(), Vec::new());
    write(&document, &mut pretty).expect("memory");
    write_line(&document, &mut line).expect("memory");
    assert_eq!(pretty, format!("{document:#}\n").into_bytes());
    assert_eq!(line, format!("{document}\n").into_bytes());
}

#[test]
fn invisible_and_control_characters_are_escaped() {
    let mut text = Vec::new();
    write_line(&"\u{9b}\u{7f}\u{202e}\u{2028}\u{e0041}a\u{200d}\u{1b}", &mut text).expect("memory");
    let shown = r#""\u009b\u007f\u202e\u2028\udb40\udc41a\u200d\u001b""#;
    assert_eq!(String::from_utf8_lossy(&text).trim_end(), shown);
}

proptest! {
    #[test]
    fn escaped_names_round_trip_through_a_parser(name: String, control in 0u8..=255) {
        let name = format!("{name}{}\u{2069}", char::from(control));
        let mut text = Vec::new();
        write(&json!({ &name: name }), &mut text).expect("memory");
        let text = String::from_utf8(text).expect("UTF-8");
        prop_assert_eq!(slowpath_model::shown::text(&text), &*text);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(&value[&name], &Value::from(name.clone()));
    }
}
