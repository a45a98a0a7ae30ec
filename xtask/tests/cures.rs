//! Verdicts on random transfers of the simulator name what a cure takes away, no more seldom than before. `cargo xtask cures` has
//! as many as you like.

use serde_json::Value;
use std::process::Command;

/// Two of each fault. The rules were written with the transfers below 460 in view.
const TRANSFERS: [&str; 4] = ["--from", "0", "--transfers", "46"];

/// How many verdicts are right at least, at the sender and at the receiver, and how many of the wrong ones may be sure.
const RIGHT: [usize; 2] = [42, 38];
const SURE_AND_WRONG: [usize; 2] = [0, 0];

#[test]
fn verdicts_name_what_a_cure_takes_away() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["cures", "--json"])
        .args(TRANSFERS)
        .output()
        .expect("xtask starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(judged.len() > 40, "{} transfers that something cures", judged.len());
    for place in 0..2 {
        let said = || judged.iter().map(|one| &one["said"][place]);
        let right = said().filter(|said| said["is_right"] == true).count();
        let wrong = said().filter(|said| said["is_right"] == false && said["is_sure"] == true).count();
        assert!(
            right >= RIGHT[place],
            "{right} right at place {place}; `cargo xtask cures` shows which are not"
        );
        assert!(wrong <= SURE_AND_WRONG[place], "{wrong} with high confidence are wrong at place {place}");
    }
}
