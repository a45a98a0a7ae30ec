//! The simulated Linux 6.18 behaves as this machine's kernel, within the tolerances that the table shows.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "needs root"]
fn simulated_linux_6_18_matches_this_kernel() {
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
