//! Documents as `slowpath diagnose --json` prints them, damaged, and made up.

use super::*;
use serde_json::{Value, json};

fn document() -> Value {
    let fix = json!({
        "host": "receiver",
        "command": "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\"",
        "effect": "",
        "changes": true,
        "needs": "root (CAP_NET_ADMIN)",
        "undo": "sysctl -p tcp_rmem.before",
        "persists": null,
        "source": null,
        "change": {"setting": "sysctl net.ipv4.tcp_rmem", "then": "4096 131072 8388608", "target": "at-least"}
    });
    let look = json!({
        "host": "sender", "command": "ss -ti", "effect": "shows it", "changes": false, "needs": null, "undo": null, "change": null
    });
    let finding = json!({
        "cause": "receive-window/buffer-too-small", "from": "b", "share": 0.6, "spell_count": 3,
        "confidence": "high", "later": {"a": [1, 2]},
        "advice": [{"text": "Why.", "caution": null, "fixes": [look, fix]}]
    });
    json!({
        "schema": "slowpath/diagnosis/1",
        "flows": [{
            "flow": 7, "a": "192.0.2.1:40000", "b": "[2001:db8::2]:443", "sender": "b",
            "directions": [{"from": "a", "findings": []}, {"from": "b", "findings": [finding]}]
        }]
    })
}

fn change(path: &str, value: Value) -> String {
    let mut document = document();
    *document.pointer_mut(path).expect(path) = value;
    document.to_string()
}

fn without(path: &str, key: &str) -> String {
    let mut document = document();
    let object = document.pointer_mut(path).and_then(Value::as_object_mut).expect(path);
    assert!(object.remove(key).is_some());
    document.to_string()
}

const FINDING: &str = "/flows/0/directions/1/findings/0";
const CHANGE: &str = "/flows/0/directions/1/findings/0/advice/0/fixes/1/change";

#[test]
fn advice_of_a_document_is_read() {
    let flows = findings("f.json", &document().to_string()).expect("a diagnosis");
    assert_eq!((flows.len(), flows[0].flow, flows[0].sender), (1, 7, End::B));
    let found = &flows[0].findings[0];
    assert_eq!((found.cause, found.from, found.is_instant), (Cause::ReceiveBufferTooSmall, End::B, false));
    let [look, fix] = &found.advice[0].fixes[..] else { panic!("{found:?}") };
    assert!(!look.changes && fix.changes && fix.has_undo);
    let change = fix.change.as_ref().expect("typed");
    assert_eq!(
        (change.setting.to_string().as_str(), change.target),
        ("sysctl net.ipv4.tcp_rmem", Target::AtLeast)
    );
}

#[test]
fn what_slowpath_does_not_advise_is_refused_with_its_place() {
    for (value, says) in [
        (
            json!({"setting": "sysctl net.ipv4.ip_forward", "then": "1", "target": "exactly"}),
            "net.ipv4.ip_forward = \"1\" is nothing that slowpath advises",
        ),
        (
            json!({"setting": "sysctl kernel.modprobe", "then": "x", "target": "exactly"}),
            "names no setting below net.",
        ),
        (
            json!({"setting": "sysctl net.ipv4.tcp_ecn", "then": "0\nx=1;", "target": "exactly"}),
            "is nothing that slowpath advises",
        ),
        (
            json!({"setting": "route default", "then": "initcwnd 30", "target": "added"}),
            "is nothing that slowpath advises",
        ),
        (
            json!({"setting": "route 192.0.2.9/32", "then": "initcwnd 30", "target": "added"}),
            "is nothing that slowpath advises",
        ),
        (
            json!({"setting": "sysctl net.ipv4.tcp_ecn", "then": "0", "target": "maybe"}),
            "\"maybe\" is no target",
        ),
    ] {
        let error = findings("f.json", &change(CHANGE, value)).expect_err(says).to_string();
        let place = "f.json: flows[0].directions[1].findings[0].advice[0].fixes[1].change: ";
        assert!(error.starts_with(place) && error.contains(says), "{error}");
    }
}

#[test]
fn a_route_is_to_the_other_end_only() {
    // The receiver is A; its peer sent from 2001:db8::2.
    let route = json!({"setting": "route -6 2001:db8::2/128", "then": "quickack 1", "target": "added"});
    assert!(findings("f.json", &change(CHANGE, route)).is_ok());
}

#[test]
fn other_documents_are_refused_with_what_to_do() {
    for (text, says) in [
        ("{".to_owned(), "f.json:1: "),
        ("[]".to_owned(), "slowpath diagnose CAPTURE --json"),
        ("{}".to_owned(), "schema is nothing; this reads \"slowpath/diagnosis/1\""),
        (change("/schema", json!("slowpath/diagnosis/2")), "schema is \"slowpath/diagnosis/2\""),
        (change("/schema", json!("slowpath/doctor/1")), "use --doctor"),
        (change("/schema", json!(5)), "invalid type: integer `5`, expected a string"),
        (change("/flows", json!({})), "expected a sequence"),
        (change("/flows/0/a", json!("example.org:443")), "invalid socket address"),
        (change("/flows/0/sender", json!("c")), "unknown variant `c`, expected `a` or `b`"),
        (
            change(&format!("{FINDING}/cause"), json!("a/b")),
            "\"a/b\" is no cause (`slowpath causes` lists them)",
        ),
        (change(&format!("{FINDING}/share"), json!(7.5)), "findings[0].share: 7.5 is no share"),
        (change(&format!("{FINDING}/share"), json!("1")), "expected f64"),
        (change(&format!("{FINDING}/confidence"), json!("sure")), "unknown variant `sure`"),
        (change(&format!("{FINDING}/advice/0/fixes/0/host"), json!("me")), "unknown variant `me`"),
        // Of an older slowpath.
        (without(FINDING, "from"), "missing field `from`"),
    ] {
        let error = findings("f.json", &text).expect_err(says).to_string();
        assert!(error.contains(says) && error.starts_with("f.json"), "{text}: {error}");
    }
}

#[test]
fn cut_at_each_character_it_is_an_error() {
    let text = document().to_string();
    for (length, _) in text.char_indices() {
        assert!(findings("f.json", &text[..length]).is_err(), "{length}");
    }
}
