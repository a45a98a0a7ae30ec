//! The kernel of this machine accepts and restores every setting in the advice: in a network namespace of its own, so
//! that the host's settings stay unchanged.

mod sample;

use sample::{finding, report_of};
use slowpath_analyses::Cause;
use slowpath_remedies::{Fix, advise};
use std::collections::BTreeSet;
use std::process;

/// Sysctls that exist once for the whole host, and not per namespace.
const GLOBAL: [&str; 4] =
    ["net.core.netdev_budget", "net.core.netdev_budget_usecs", "net.core.rmem_max", "net.core.wmem_max"];

/// The lines to run for `command`: itself and its undo line, if it is about network settings of a namespace.
fn lines(command: &Fix) -> Vec<String> {
    let line = &command.command;
    let concerns =
        ["sysctl ", "ip route ", "tc qdisc ", "nstat ", "ss "].iter().any(|start| line.starts_with(start));
    if !concerns || GLOBAL.iter().any(|key| line.contains(key)) || line.contains("conntrack") {
        return Vec::new();
    }
    let undo = command.undo.iter().map(|line| line.split(", which").next().unwrap_or(line).to_owned());
    std::iter::once(line.clone())
        .chain(undo)
        .map(|line| {
            line.replace("IFACE", "slow0").replace("GATEWAY", "203.0.113.2").replace("PEER", "203.0.113.2")
        })
        .collect()
}

#[test]
#[ignore = "needs root"]
fn kernel_accepts_and_restores_every_setting() {
    let directory = std::env::temp_dir().join(format!("slowpath-remedies-{}", process::id()));
    std::fs::create_dir(&directory).expect("a directory of our own");
    let mut seen = BTreeSet::new();
    let mut script = String::from(
        "exec 2>&1\nip link add slow0 type veth peer name slow1\nip link set slow1 up\n\
         ip address add 203.0.113.1/24 dev slow0\nip link set slow0 up\nip route add default via 203.0.113.2\n",
    );
    for cause in Cause::ALL {
        for piece in advise(&finding(*cause), &report_of(*cause)) {
            for line in piece.fixes.iter().flat_map(lines) {
                // Two causes may give the same advice, but saving a value and restoring it belong together.
                if seen.insert((piece.text.clone(), line.clone())) {
                    // If the kernel answers that it lacks the discipline, tc has accepted the line.
                    script.push_str(&format!(
                        "out=$( ({line}) 2>&1 >/dev/null ) || case \"$out\" in\n\
                         *'kind is unknown'*|*'handle of zero'*) echo 'not in this kernel: {line}';;\n\
                         *) echo \"FAILED: $out\"; echo '{}';;\nesac\n",
                        line.replace('\'', "")
                    ));
                }
            }
        }
    }
    let output = process::Command::new("unshare")
        .args(["--net", "sh", "-c", &script])
        .current_dir(&directory)
        .output()
        .expect("unshare runs");
    std::fs::remove_dir_all(&directory).expect("removed");
    let shown = String::from_utf8_lossy(&output.stdout);
    eprint!("{shown}");
    assert!(seen.len() > 40, "only {} lines", seen.len());
    assert!(output.status.success() && !shown.contains("FAILED"), "{shown}");
}
