//! The object that is built in when there is no clang was built from these sources.

use std::fs;
use std::path::Path;

/// Of what the object should say it was built.
const SOURCE: &str = env!("SLOWPATH_BPF_SOURCE");
/// What this crate was built with: the shipped object, or a newer one.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o"));

fn says(object: &[u8], text: &str) -> bool {
    object.windows(text.len()).any(|window| window == text.as_bytes())
}

/// `SLOWPATH_UPDATE=1` ships the one that clang made of the sources.
#[test]
fn shipped_object_is_of_these_sources() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/probe.bpf.o");
    if std::env::var_os("SLOWPATH_UPDATE").is_some() {
        fs::write(&path, BUILT_IN).expect("the folder is there");
    }
    let shipped = fs::read(&path).unwrap_or_default();
    assert!(says(&shipped, SOURCE), "{} is of other sources; run with SLOWPATH_UPDATE=1", path.display());
    assert!(shipped == BUILT_IN, "built in is not what is shipped, though it is of the same sources");
}

/// It is small, and names nobody's folders.
#[test]
fn shipped_object_holds_nothing_of_the_machine_it_was_built_on() {
    assert!(BUILT_IN.len() < 175_000, "{} bytes", BUILT_IN.len());
    for folder in ["home", "root", "tmp", "usr", "build"] {
        assert!(!says(BUILT_IN, &format!("/{folder}/")), "{folder}");
    }
}
