//! Prints the reference page of the file format: `docs/src/scenario-reference.md`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(slowpath_scenario::reference::page().as_bytes())
}
