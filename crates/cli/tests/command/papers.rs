//! Papers' experiments made again.

use crate::captures::Captures;
use crate::{run, told};
use serde_json::Value;

#[test]
fn every_cell_stands_beside_the_published_one() {
    let folder = Captures::new();
    let (code, out, err) = told(&run(&folder, &["papers", "wu", "--seeds", "1", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let document: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (document["schema"].as_str(), document["seeds"].as_u64()),
        (Some("slowpath/paper/1"), Some(1))
    );
    let tables = document["tables"].as_array().expect("tables");
    let names: Vec<_> = tables.iter().filter_map(|table| table["name"].as_str()).collect();
    assert_eq!(names, ["Table III", "Table IV", "Table V", "Table VI", "Table VII"]);
    let cells: Vec<_> = tables.iter().filter_map(|table| table["cells"].as_array()).flatten().collect();
    assert_eq!(cells.len(), 4 + 12 + 6 + 18 + 8);
    assert!(cells.iter().all(|cell| cell["published"].is_number() && cell["ours"].is_number()));
    let claims = document["claims"].as_array().expect("claims");
    assert!(claims.iter().all(|claim| claim["holds"].is_boolean() && claim["place"].is_string()));
    let (code, out, err) = told(&run(&folder, &["papers", "reno"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("[possible values: wu]"), "{err}");
}
