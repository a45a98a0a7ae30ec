//! `slowpath tune apply --persist`: what a boot makes again, and what a revert takes out.

use crate::paths::expect_unit;
use crate::tune::{Host, SET_BACK};
use crate::{flat, json, outcome, slowpath};
use slowpath_lab::namespaces::Place;
use std::fs;
use std::path::Path;

/// What a boot does to what is persisted below `etc`: systemd runs the commands of the unit.
fn boot(host: &Host, unit: &Path) {
    host.shell(SET_BACK);
    host.schedule();
    let unit = fs::read_to_string(unit).expect("the unit");
    for command in unit.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
        host.shell(command);
    }
    let journal = host.folder.path("journal").join("0001.jsonl");
    let records = fs::read_to_string(&journal).expect("the journal");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    fs::write(&journal, records.replace(boot.trim(), "another")).expect("it is there");
}

#[test]
#[ignore = "needs root, waits"]
fn persisted_settings_are_made_again_at_boot_until_reverted() {
    let host = Host::new();
    let wrong = host.show();
    let etc = host.folder.path("etc");
    fs::create_dir_all(etc.join("sysctl.d")).expect("a folder");
    let inside = |args: &[&str]| {
        let mut command =
            host.made.command(Place::Sender, slowpath(&host.folder).get_program().to_str().expect("a path"));
        command.current_dir(host.folder.path("")).args(args).args(["--journal", "journal"]);
        outcome(&command.output().expect("it runs"))
    };
    // Without systemd, sysctls only.
    let (code, out, err) = inside(&["tune", "apply", "plan.toml", "--persist=etc"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        flat(&out).contains("These do not last over a reboot: link eth0 txqueuelen, link eth0 mtu"),
        "{out}"
    );
    assert_eq!(inside(&["tune", "revert"]).0, 0);
    fs::remove_dir_all(host.folder.path("journal")).expect("the journal");

    let units = etc.join("systemd/system");
    fs::create_dir_all(&units).expect("folders");
    let (code, out, err) = inside(&["tune", "apply", "plan.toml", "--persist=etc"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(flat(&out).contains("These do not last over a reboot: process "), "{out}");
    let file = etc.join("sysctl.d/90-slowpath-1.conf");
    let kept = fs::read_to_string(&file).expect("the file");
    assert!(kept.contains("\nnet.ipv4.tcp_rmem = 4096 131072 33554432\nnet.ipv4.tcp_sack = 1\n"), "{kept}");
    let (unit, link) = (
        units.join("slowpath-tune-1.service"),
        units.join("multi-user.target.wants/slowpath-tune-1.service"),
    );
    assert_eq!(
        fs::canonicalize(&link).expect("it leads there"),
        fs::canonicalize(&unit).expect("it is there")
    );
    expect_unit("slowpath-tune-1.service", &fs::read_to_string(&unit).expect("a unit"));
    // The plan has no name for its namespace: elsewhere it is refused.
    let (code, _, err) = host.run(&["revert"]);
    assert!(code == 2 && err.contains("was applied in another network namespace"), "{err}");

    // A process does not outlive a boot.
    let without_process = |shown: String| -> Vec<String> {
        let is_of_process = |line: &&str| line.starts_with("pid ") || line.parse::<i32>().is_ok();
        shown.lines().filter(|line| !is_of_process(line)).map(str::to_owned).collect()
    };
    let right = without_process(host.show());
    boot(&host, &unit);
    assert_eq!(without_process(host.show()), right, "the unit makes all of it again");
    let (_, out, _) = inside(&["tune", "status"]);
    assert!(out.contains("mtu") && out.contains("in force"), "{out}");
    let (code, out, _) = inside(&["tune", "revert"]);
    assert!(out.contains("tcp_sack: 0 again") && out.contains("mtu: 576 again"), "{out}");
    assert!(out.contains("nice: the host was restarted since"), "{out}");
    assert!(code == 0 && out.contains("90-slowpath-1.conf: removed"), "{out}");
    assert!(!file.exists() && !unit.exists() && link.symlink_metadata().is_err(), "{out}");
    assert_eq!(host.show(), wrong);

    // A file that is edited is somebody else's.
    assert_eq!(inside(&["tune", "apply", "plan.toml", "--persist=etc"]).0, 0);
    fs::write(etc.join("sysctl.d/90-slowpath-2.conf"), "net.ipv4.tcp_sack = 1\n").expect("it is there");
    let (code, out, _) = inside(&["tune", "revert", "--json"]);
    let document = json(&out);
    assert_eq!((code, document["whole"].as_bool()), (1, Some(false)), "{out}");
    let left: Vec<&str> = document["persisted"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|file| file["left"].as_str())
        .collect();
    assert_eq!(left, ["it was edited since: left alone"]);
    let (code, _, err) = host.run(&["apply", "plan.toml", "--persist=etc", "--netns", &host.netns]);
    assert!(code == 2 && err.contains("--persist is for the host"), "{err}");
}
