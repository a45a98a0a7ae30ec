//! The reference page in the handbook is generated from the declarations.

use slowpath_scenario::reference;
use std::fs;
use std::path::Path;

#[test]
fn reference_page_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/scenario-reference.md");
    let page = fs::read_to_string(file).expect("the page");
    assert!(
        page == reference::page(),
        "run: cargo run -p slowpath-scenario --example scenario-reference > docs/src/scenario-reference.md"
    );
}
