//! The shipped object was built from these sources; builds without clang use it.

use std::fs;
use std::path::Path;

/// The source hash that the object should contain.
const SOURCE: &str = env!("SLOWPATH_BPF_SOURCE");
/// The object in this build: the shipped one, or a newer one.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sockops.bpf.o"));

fn says(object: &[u8], text: &str) -> bool {
    object.windows(text.len()).any(|window| window == text.as_bytes())
}

/// `SLOWPATH_UPDATE=1` updates the shipped object.
#[test]
fn shipped_object_matches_the_sources() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/sockops.bpf.o");
    if std::env::var_os("SLOWPATH_UPDATE").is_some() {
        fs::write(&path, BUILT_IN).expect("the folder is there");
    }
    let shipped = fs::read(&path).unwrap_or_default();
    assert!(says(&shipped, SOURCE), "{} is of other sources; run with SLOWPATH_UPDATE=1", path.display());
    assert!(shipped == BUILT_IN, "built in is not what is shipped, though it is of the same sources");
    assert!(BUILT_IN.len() < 64_000, "{} bytes", BUILT_IN.len());
    for folder in ["home", "root", "tmp", "usr", "build"] {
        assert!(!says(BUILT_IN, &format!("/{folder}/")), "{folder}");
    }
}
