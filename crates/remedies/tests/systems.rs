//! Advice for ends that do not run Linux.

mod sample;

use sample::{finding, report_of};
use slowpath_analyses::Cause;
use slowpath_model::End;
use slowpath_remedies::{Advice, Fix, Host, advise};
use std::collections::BTreeSet;

/// What commands of Linux begin with.
const LINUX: [&str; 20] = [
    "sysctl",
    "ss ",
    "nstat",
    "ip ",
    "ethtool",
    "tc ",
    "cat ",
    "grep",
    "strace",
    "renice",
    "kill",
    "echo",
    "modprobe",
    "nft",
    "iptables",
    "timeout",
    "tcpdump",
    "traceroute",
    "tracepath",
    "ping -M",
];

/// The advice of every cause, with ends whose packets start with these TTLs.
fn with_ttls(a: Option<u8>, b: Option<u8>) -> impl Iterator<Item = (Cause, Vec<Advice>)> {
    Cause::ALL.iter().copied().map(move |cause| {
        let mut report = report_of(cause);
        report.directions[0].measures.initial_ttl = a;
        report.directions[1].measures.initial_ttl = b;
        let advice = advise(&finding(cause), &report);
        (cause, advice)
    })
}

fn is_for_linux(fix: &Fix) -> bool {
    LINUX.iter().any(|with| fix.command.starts_with(with))
}

#[test]
fn ends_with_the_usual_ttl_have_the_commands_of_linux() {
    for ((cause, known), (_, unknown)) in with_ttls(Some(64), Some(64)).zip(with_ttls(None, None)) {
        assert_eq!(known, unknown, "{cause}");
    }
}

#[test]
fn windows_gets_its_own_commands_and_its_peer_those_of_linux() {
    let mut commands = BTreeSet::new();
    let receiver = with_ttls(Some(128), Some(64)).map(|one| (Host::Receiver, one));
    let sender = with_ttls(Some(64), Some(128)).map(|one| (Host::Sender, one));
    for (windows, (cause, advice)) in receiver.chain(sender) {
        for fix in advice.iter().flat_map(|one| &one.fixes) {
            assert_ne!(fix.host, Host::Either, "{cause}: {}", fix.command);
            if fix.host == windows {
                assert!(!is_for_linux(fix), "{cause}: {}", fix.command);
                assert_eq!(fix.changes, fix.undo.is_some(), "{cause}: {}", fix.command);
                assert!(!fix.changes || fix.needs.is_some(), "{cause}: {}", fix.command);
                assert!(fix.change.is_none(), "a plan would make it on a host of Linux: {}", fix.command);
                commands.insert(format!("{}  # {}", fix.command, fix.effect));
            }
        }
    }
    insta::assert_snapshot!(commands.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn other_systems_get_no_commands_and_are_told_so_once() {
    for (cause, advice) in with_ttls(Some(255), Some(64)) {
        assert_eq!(finding(cause).from, End::B);
        assert!(advice.iter().flat_map(|one| &one.fixes).all(|fix| fix.host != Host::Receiver), "{cause}");
        let for_linux = advise(&finding(cause), &report_of(cause));
        let is_his = |fix: &Fix| [Host::Receiver, Host::Either].contains(&fix.host);
        let had_some = for_linux.iter().flat_map(|one| &one.fixes).any(is_his);
        let cautions = advice.iter().filter_map(|one| one.caution.as_deref());
        let told = cautions.filter(|caution| caution.contains("a TTL of 255")).count();
        assert_eq!(told, usize::from(had_some), "{cause}");
    }
}
