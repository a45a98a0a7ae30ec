//! The target that `FUZZ_TARGET` names, under libFuzzer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::env;
use std::sync::LazyLock;

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    slowpath_fuzz::target(&name).unwrap_or_else(|| panic!("no target {name}"))
});

fuzz_target!(|data: &[u8]| CHECK(data));
