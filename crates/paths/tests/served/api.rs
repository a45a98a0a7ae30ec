//! What the server answers is what `openapi.json` describes, route by route.

use crate::{Server, TOKEN, measured, now, pair};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn description() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).expect("JSON")
}

/// Why a value is not of a schema, in the part of JSON Schema that the document uses.
fn mismatch(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/components/schemas/").expect("a schema of this document");
        let schema = &document["components"]["schemas"][name];
        assert!(!schema.is_null(), "{name} is not described");
        return mismatch(document, schema, value, at);
    }
    if let Some(all) = schema["anyOf"].as_array() {
        let fits = all.iter().any(|one| mismatch(document, one, value, at).is_none());
        return (!fits).then(|| format!("{at}: {value} is none of {all:?}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = &schema["type"];
    let fits = types == kind || types.as_array().is_some_and(|all| all.contains(&json!(kind)));
    if !fits {
        return Some(format!("{at}: {value} is not {types}"));
    }
    let constant = &schema["const"];
    if !constant.is_null() && constant != value {
        return Some(format!("{at}: {value} is not {constant}"));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return Some(format!("{at}: {value} is not listed"));
    }
    let bound = |name: &str| schema[name].as_u64();
    if let Some(number) = value.as_u64()
        && (bound("minimum").is_some_and(|least| number < least)
            || bound("maximum").is_some_and(|most| number > most))
    {
        return Some(format!("{at}: {number} is out of its range"));
    }
    if let Some(items) = value.as_array() {
        return items.iter().find_map(|item| mismatch(document, &schema["items"], item, &format!("{at}[]")));
    }
    let (Some(fields), Some(described)) = (value.as_object(), schema["properties"].as_object()) else {
        return None;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    if let Some(missing) = required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name)) {
        return Some(format!("{at}: {missing} is missing"));
    }
    fields.iter().find_map(|(name, value)| match described.get(name) {
        Some(schema) => mismatch(document, schema, value, &format!("{at}.{name}")),
        None => Some(format!("{at}: {name} is not described")),
    })
}

/// Fails unless the response to this operation is described.
fn check(path: &str, method: &str, (status, body): (u16, Value), wanted: u16) {
    let document = description();
    assert_eq!(status, wanted, "{path}: {body}");
    let response = &document["paths"][path][method]["responses"][status.to_string()];
    let schema = &response["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{method} {path} {status} is not described");
    assert_eq!(mismatch(&document, schema, &body, path), None);
}

#[test]
fn every_answer_is_described() {
    let server = Server::start(&measured(pair(7), now()), Some(TOKEN));
    let right = format!("Authorization: Bearer {TOKEN}\nContent-Type: application/json");
    let entries = json!({ "entries": measured(pair(8), now()) }).to_string();
    let bad = entries.replace("1500", "15");
    let post = format!("POST /v1/entries\n{right}");
    for (path, query, wanted) in [
        ("/v1/answer", "?to=198.51.100.7&streams=4", 200),
        ("/v1/answer", "?to=198.51.100.9,198.51.100.7&from=192.0.2.1", 200),
        ("/v1/answer", "?to=198.51.100.9", 404),
        ("/v1/answer", "", 400),
        ("/v1/answer", "?to=example.org", 400),
        ("/v1/answer", "?to=198.51.100.7&streams=x", 400),
        ("/v1/answer", "?to=198.51.100.7&hops=1", 400),
        ("/v1/paths", "", 200),
        ("/v1/paths", "?to=198.51.100.7&limit=1", 200),
        ("/v1/paths", "?limit=-1", 400),
        ("/v1/history", "?to=198.51.100.7", 200),
        ("/v1/history", "?to=198.51.100.9", 404),
        ("/v1/history", "", 400),
        ("/v1/health", "", 200),
        ("/v1/openapi.json", "", 200),
    ] {
        check(path, "get", server.tcp(&format!("GET {path}{query}"), ""), wanted);
        check(path, "get", server.unix(&format!("GET {path}{query}"), ""), wanted);
    }
    check("/v1/entries", "post", server.tcp(&post, &entries), 200);
    check("/v1/entries", "post", server.tcp(&post, &bad), 422);
    check("/v1/entries", "post", server.tcp(&post, "{"), 400);
    check("/v1/entries", "post", server.tcp(&post, &" ".repeat(70_000)), 413);
    check("/v1/entries", "post", server.tcp("POST /v1/entries", &entries), 401);
    check("/v1/entries", "post", server.tcp(&post.replace("application/json", "text/plain"), &entries), 415);
    assert_eq!(server.tcp("GET /v2/answer", "").0, 404);
    assert_eq!(server.tcp(&format!("DELETE /v1/paths\n{right}"), "").0, 405);
}

#[test]
fn described_schemas_are_used_and_named() {
    let (document, text) = (description(), include_str!("../../openapi.json"));
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let unused = schemas.keys().filter(|name| !text.contains(&format!("#/components/schemas/{name}\"")));
    assert_eq!(unused.collect::<BTreeSet<_>>(), BTreeSet::new());
    let server = Server::start(&[], None);
    assert_eq!(server.tcp("GET /v1/openapi.json", ""), (200, document));
}

#[test]
fn a_value_that_differs_from_its_schema_is_seen() {
    let document = description();
    let schema = json!({ "$ref": "#/components/schemas/Path" });
    let good = json!({ "from": "192.0.2.1", "to": "192.0.2.2" });
    assert_eq!(mismatch(&document, &schema, &good, ""), None);
    for bad in [
        json!({ "from": "192.0.2.1" }),
        json!({ "from": "192.0.2.1", "to": 5 }),
        json!({ "from": "", "to": "", "via": "" }),
        json!([]),
    ] {
        assert!(mismatch(&document, &schema, &bad, "").is_some(), "{bad}");
    }
}
