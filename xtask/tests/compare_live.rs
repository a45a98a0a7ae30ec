//! The profile of Linux 6.18 does what this machine's kernel does, within the tolerances that the table shows.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "needs root"]
fn the_model_does_what_this_kernel_does() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("compare-live")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("xtask starts");
    let (table, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}\n{error}");
    println!("{table}");
}
