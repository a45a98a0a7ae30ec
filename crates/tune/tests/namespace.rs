//! On the real kernel, in a namespace: what is planned for a wrong setting cures its finding, and a revert brings it back; what
//! somebody else changed is left alone; what fails is undone.

#[path = "../../doctor/tests/misset/mod.rs"]
mod misset;
#[path = "namespace/processes.rs"]
mod processes;
#[path = "namespace/qdiscs.rs"]
mod qdiscs;
#[path = "namespace/rates.rs"]
mod rates;
#[path = "namespace/steering.rs"]
mod steering;

use misset::{PEER, Testbed, WrongSetting, goal, of_other_kernels, wrong_settings};
use slowpath_doctor::{Aim, Asked, Finding, Origin};
use slowpath_lab::namespaces::Place;
use slowpath_tune::journal::Journal;
use slowpath_tune::{
    Applied, Error, Fate, Force, Plan, Reverted, State, When, apply, examine, revert, status,
};
use std::path::Path;
use tempfile::TempDir;

/// A host in a namespace, and a journal.
struct Bench {
    testbed: Testbed,
    netns: String,
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::of(Testbed::well_set())
    }

    fn of(testbed: Testbed) -> Self {
        let netns = testbed.0.path(Place::Sender);
        Self { testbed, netns, folder: tempfile::tempdir().expect("a folder") }
    }

    fn journal(&self) -> Journal {
        Journal::at(&self.folder.path().join("journal"))
    }

    /// The plan for all findings.
    fn plan(&self) -> Plan {
        let aim = |_: &_| Aim { goal: goal(), rate_from: Origin::Given, rtt_from: Origin::Given };
        let plan = examine(Some(&self.netns), &Asked::To(PEER.into()), true, aim).expect("a plan");
        // As it is read from its file.
        let mut plan = Plan::from_toml("plan.toml", &plan.to_toml()).expect("what is written can be read");
        // Settings of the machine are not the namespace's.
        plan.changes.retain(|planned| !misset::OF_THE_MACHINE.contains(&planned.finding.as_str()));
        plan
    }

    fn written(&self, changes: &[(&str, &str, &str)]) -> Plan {
        let mut text = "schema = \"slowpath/plan/1\"\n".to_owned();
        for (setting, now, then) in changes {
            text += &format!("[[change]]\nsetting = \"{setting}\"\nnow = \"{now}\"\nthen = \"{then}\"\n");
        }
        Plan::from_toml("plan.toml", &text).expect("a plan")
    }

    fn apply(&self, plan: &Plan) -> Result<Applied, Error> {
        apply(slowpath_tune::Asked {
            plan,
            name: "plan.toml",
            journal: &self.journal(),
            netns: Some(&self.netns),
            lasting: None,
            persist: None,
            program: Path::new("unused"),
        })
    }

    fn revert(&self) -> Reverted {
        revert(&self.journal(), None, When::Now).expect("it is reverted").expect("now")
    }

    fn sysctl(&self, name: &str) -> String {
        let value = self.testbed.0.output(Place::Sender, &["sysctl", "-n", name]).expect("a sysctl");
        String::from_utf8_lossy(&value).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn set(&self, name: &str, value: &str) {
        self.testbed.0.sysctl(Place::Sender, name, value).expect("set");
    }

    fn state(&self) -> (State, Vec<Force>) {
        let last = status(&self.journal()).expect("a journal").remove(0).expect("whole");
        (last.state, last.changes.into_iter().map(|(_, force)| force).collect())
    }
}

const SACK: &str = "net.ipv4.tcp_sack";
const SACK_ON: (&str, &str, &str) = ("sysctl net.ipv4.tcp_sack", "0", "1");
const DSACK_ON: (&str, &str, &str) = ("sysctl net.ipv4.tcp_dsack", "0", "1");

/// Qdiscs that cannot be taken back exactly: the plan leaves them to a person.
const BY_HAND: [&str; 2] = ["htb", "netem"];

#[test]
#[ignore = "needs root"]
fn plan_cures_each_wrong_setting_and_revert_brings_it_back() {
    let bench = Bench::new();
    let testbed = &bench.testbed;
    let mut all = wrong_settings();
    for (kind, one) in of_other_kernels() {
        match testbed.0.execute(Place::Sender, &format!("tc qdisc add dev lo root {kind}")) {
            Ok(()) => all.push(one),
            Err(error) => println!("not judged: {}: {error}", one.finding),
        }
    }
    let mut cured = 0;
    for WrongSetting { finding, set, reset } in &all {
        testbed.shell(set);
        let found: Vec<Finding> = testbed.findings();
        let plan = bench.plan();
        if BY_HAND.iter().any(|kind| set.contains(kind)) {
            assert!(
                plan.changes.is_empty() && plan.by_hand.iter().any(|hand| hand.finding == *finding),
                "{plan:#?}"
            );
        } else {
            assert_eq!(plan.changes.len(), 1, "{set}: {plan:#?}");
            let applied = bench.apply(&plan).unwrap_or_else(|error| panic!("{set}: {error}"));
            assert_eq!(applied.changes.len(), 1);
            testbed.expect_none(set);
            assert_eq!(bench.state(), (State::Applied, vec![Force::InForce]), "{set}");
            let reverted = bench.revert();
            assert!(reverted.is_whole() && reverted.taken[0].fate == Fate::Restored, "{set}: {reverted:#?}");
            assert_eq!(testbed.findings(), found, "{set}");
            let again = revert(&bench.journal(), Some(reverted.id), When::Now).expect("again").expect("now");
            assert!(again.is_whole() && again.taken[0].fate == Fate::WasBack, "{set}: {again:#?}");
            cured += 1;
        }
        testbed.shell(reset);
        testbed.expect_none(reset);
    }
    assert!(cured >= 20, "{cured}");
    println!("cured and reverted: {cured} of {}", all.len());
}

#[test]
#[ignore = "needs root"]
fn plan_cures_a_host_with_many_wrong_settings() {
    let bench = Bench::new();
    // Each wrong setting hides no other of these.
    let wanted = ["window-scaling", "sack", "tail-loss-probe", "send-buffer", "super-packets", "mtu", "tso"];
    let chosen: Vec<WrongSetting> =
        wrong_settings().into_iter().filter(|one| wanted.contains(&one.finding)).collect();
    chosen.iter().for_each(|one| bench.testbed.shell(&one.set));
    bench.testbed.shell(
        "ip route replace 192.0.2.0/24 dev eth0 src 192.0.2.1 window 20000 initrwnd 2 initcwnd 2 rto_min 3s",
    );
    let found = bench.testbed.findings();
    let plan = bench.plan();
    assert!(plan.changes.len() >= 8, "{plan:#?}");
    bench.apply(&plan).expect("it is applied");
    bench.testbed.expect_none("all at once");
    assert!(bench.revert().is_whole());
    assert_eq!(bench.testbed.findings(), found);
}

#[test]
#[ignore = "needs root"]
fn a_value_of_somebody_else_is_named_and_left_alone() {
    let bench = Bench::new();
    bench.set(SACK, "0");
    bench.set("net.ipv4.tcp_dsack", "0");
    bench.set("net.ipv4.tcp_retries2", "3");
    bench
        .apply(&bench.written(&[SACK_ON, DSACK_ON, ("sysctl net.ipv4.tcp_retries2", "3", "15")]))
        .expect("applied");
    bench.set("net.ipv4.tcp_retries2", "12");
    bench.set(SACK, "0");
    let drifted = Force::Drifted { value: "12".to_owned() };
    assert_eq!(bench.state(), (State::Applied, vec![Force::Back, Force::InForce, drifted]));
    let reverted = bench.revert();
    let fates: Vec<Fate> = reverted.taken.iter().map(|taken| taken.fate.clone()).collect();
    assert_eq!(fates, [Fate::Foreign { value: "12".to_owned() }, Fate::Restored, Fate::WasBack]);
    assert!(!reverted.is_whole());
    assert_eq!(bench.sysctl("net.ipv4.tcp_retries2"), "12");
    assert_eq!(bench.sysctl("net.ipv4.tcp_dsack"), "0");
    assert!(matches!(revert(&bench.journal(), None, When::Now), Err(Error::NoneApplied(_))));
}

#[test]
#[ignore = "needs root"]
fn plan_for_another_state_is_refused_before_anything_is_journaled() {
    let bench = Bench::new();
    bench.set("net.ipv4.tcp_dsack", "0");
    let error = bench.apply(&bench.written(&[DSACK_ON, SACK_ON])).expect_err("SACK is on");
    let says = error.to_string();
    assert!(
        says.contains("sysctl net.ipv4.tcp_sack is \"1\", not \"0\"") && says.contains("make a new plan"),
        "{says}"
    );
    assert_eq!(bench.sysctl("net.ipv4.tcp_dsack"), "0");
    assert!(status(&bench.journal()).expect("a journal").is_empty());
}

#[test]
#[ignore = "needs root"]
fn refused_values_undo_what_was_changed_before() {
    let bench = Bench::new();
    bench.set(SACK, "0");
    let rmem = bench.sysctl("net.ipv4.tcp_rmem");
    for (setting, now, then, says) in [
        // The kernel takes the first two numbers before it refuses the third.
        (
            "sysctl net.ipv4.tcp_rmem",
            rmem.as_str(),
            "5000 140000 99999999999999",
            "cannot be set to \"5000 140000",
        ),
        (
            "sysctl net.ipv4.tcp_congestion_control",
            &bench.sysctl("net.ipv4.tcp_congestion_control"),
            "nonesuch",
            "the kernel refuses it",
        ),
        ("link eth0 mtu", "1500", "4294967295", "`ip link set eth0 mtu 4294967295` failed"),
        ("route 192.0.2.2/32", "none", "via 198.51.100.1 dev eth0", "failed: "),
        ("qdisc eth0 root pfifo limit", "1", "2", "has no qdisc pfifo"),
        ("link eth9 mtu", "1500", "9000", "there is no interface eth9"),
        ("sysctl net.ipv4.tcp_nonesuch", "1", "2", "has no net.ipv4.tcp_nonesuch"),
    ] {
        let error = bench.apply(&bench.written(&[SACK_ON, (setting, now, then)])).expect_err(then);
        let mut text = error.to_string();
        if let Some(cause) = std::error::Error::source(&error) {
            text += &format!(": {cause}");
        }
        assert!(text.contains(says), "{text}");
        assert_eq!(bench.sysctl(SACK), "0", "{text}");
        assert_eq!(bench.sysctl("net.ipv4.tcp_rmem"), rmem, "{text}");
        assert!(matches!(revert(&bench.journal(), None, When::Now), Err(Error::NoneApplied(_))), "{text}");
    }
    assert_eq!(bench.state().0, State::Undone);
    let plans = status(&bench.journal()).expect("a journal").len();
    assert_eq!(plans, 4, "what cannot be read is refused before it is journaled");
}

#[test]
#[ignore = "needs root"]
fn a_namespace_that_is_gone_has_nothing_to_revert() {
    let mut bench = Bench::new();
    bench.set(SACK, "0");
    bench.apply(&bench.written(&[SACK_ON])).expect("applied");
    // Its settings go with it, and another one gets its place.
    bench.testbed = Testbed::well_set();
    bench.set(SACK, "1");
    let reverted = bench.revert();
    assert!(matches!(reverted.taken[0].fate, Fate::Gone(_)), "{reverted:#?}");
    assert_eq!(bench.sysctl(SACK), "1");
}

#[test]
#[ignore = "needs root"]
fn plans_on_top_of_each_other_are_reverted_in_reverse() {
    let bench = Bench::new();
    let name = "net.ipv4.tcp_retries2";
    for (now, then) in [("15", "14"), ("14", "13"), ("13", "12")] {
        bench.apply(&bench.written(&[("sysctl net.ipv4.tcp_retries2", now, then)])).expect("applied");
    }
    for value in ["13", "14", "15"] {
        assert!(bench.revert().is_whole());
        assert_eq!(bench.sysctl(name), value);
    }
}

#[test]
#[ignore = "needs root"]
fn routes_of_each_family_come_back_with_all_attributes() {
    let bench = Bench::new();
    bench.testbed.shell("ip -6 addr add 2001:db8::1/64 dev eth0 nodad");
    let others = [
        "default via 192.0.2.2 dev eth0 proto dhcp src 192.0.2.1 metric 100 mtu lock 1400 initcwnd 2",
        "198.51.100.0/24 via 192.0.2.2 dev eth0 rto_min 3s congctl reno features ecn quickack 1 ssthresh lock 20",
    ];
    others.iter().for_each(|route| bench.testbed.shell(&format!("ip route add {route}")));
    bench.testbed.shell("ip -6 route add 2001:db8:1::/48 via 2001:db8::2 dev eth0 metric 30 initrwnd 2");
    let show = || {
        let shown =
            bench.testbed.0.output(Place::Sender, &["sh", "-c", "ip -4 route; ip -6 route"]).expect("routes");
        String::from_utf8_lossy(&shown).into_owned()
    };
    let before = show();
    let read = |setting: &str| {
        let read = || slowpath_tune::Access::reading().read(&setting.parse().expect("a setting"));
        slowpath_tune::inside(Some(&bench.netns), read).expect("inside").expect(setting)
    };
    let mut changes = Vec::new();
    for (setting, out) in [
        ("route default", " initcwnd 2"),
        ("route 198.51.100.0/24", " ssthresh lock 20"),
        ("route -6 2001:db8:1::/48", " initrwnd 2"),
        ("route -6 2001:db8::/64", ""),
    ] {
        let now = read(setting);
        assert!(now.contains(out), "{now}");
        let then = if out.is_empty() { format!("{now} initcwnd 20") } else { now.replace(out, "") };
        changes.push((setting, now, then));
    }
    changes.push(("route -6 2001:db8::9/128", "none".to_owned(), "dev eth0 initcwnd 20".to_owned()));
    let changes: Vec<(&str, &str, &str)> =
        changes.iter().map(|(setting, now, then)| (*setting, now.as_str(), then.as_str())).collect();
    bench.apply(&bench.written(&changes)).expect("applied");
    let after = show();
    assert!(
        !after.contains("initcwnd 2 ") && !after.contains("ssthresh") && !after.contains("initrwnd"),
        "{after}"
    );
    assert_eq!(after.lines().count(), before.lines().count() + 1, "{after}");
    assert!(bench.revert().is_whole());
    assert_eq!(show(), before);
}

#[test]
#[ignore = "needs root"]
fn a_mixed_offload_comes_back_feature_by_feature() {
    let bench = Bench::new();
    bench.testbed.shell("ethtool -K eth0 tx-tcp-segmentation off");
    let found = bench.testbed.findings();
    let plan = bench.plan();
    assert!(plan.changes[0].now.contains("tx-tcp-segmentation off"), "{plan:#?}");
    bench.apply(&plan).expect("applied");
    bench.testbed.expect_none("tso on");
    assert!(bench.revert().is_whole());
    assert_eq!(bench.testbed.findings(), found);
    assert_eq!(bench.plan().changes[0].now, plan.changes[0].now);
}
