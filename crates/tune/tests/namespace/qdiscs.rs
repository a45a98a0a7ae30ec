//! Whole root qdiscs: each kind that this kernel has comes back as `tc qdisc show` printed it, with its handle.

use super::*;

const ROOT: &str = "qdisc eth0 root";

/// A host with the kernel's qdisc.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.testbed.shell("tc qdisc del dev eth0 root");
    bench
}

fn show(bench: &Bench) -> String {
    let shown =
        bench.testbed.0.output(Place::Sender, &["tc", "-r", "qdisc", "show", "dev", "eth0"]).expect("tc");
    String::from_utf8_lossy(&shown).trim().to_owned()
}

fn read(bench: &Bench) -> Result<String, String> {
    let read = || slowpath_tune::Access::reading().read(&ROOT.parse().expect("a setting"));
    slowpath_tune::inside(Some(&bench.netns), read).expect("inside").map_err(|error| error.to_string())
}

/// Kinds with options, in the words of a person. Kernels lack some of them.
const KINDS: [&str; 14] = [
    "pfifo limit 77",
    "bfifo limit 100k",
    "handle 7: bfifo limit 3333",
    "pfifo_fast",
    "noqueue",
    "tbf rate 1mbit burst 10k limit 100k",
    "tbf rate 1234567bit burst 3333 limit 77777",
    "tbf rate 8gbit burst 1m limit 50m",
    "tbf rate 1234567890bit burst 98765 limit 50m",
    "tbf rate 20gbit burst 10000001 limit 100m",
    "codel limit 500 target 7ms ecn",
    "fq_codel limit 500 flows 256 target 7ms ce_threshold 3ms noecn",
    "fq limit 5000 maxrate 900mbit nopacing",
    "fq",
];

#[test]
#[ignore = "needs root"]
fn each_kind_replaces_the_default_and_comes_back_from_another() {
    let bench = bench();
    let default = show(&bench);
    assert_eq!(read(&bench).as_deref(), Ok("default"));
    let (mut tested, mut missing) = (0, Vec::new());
    for kind in KINDS {
        match bench.apply(&bench.written(&[(ROOT, "default", kind)])) {
            Ok(applied) => assert!(applied.changes[0].new.starts_with("handle "), "{applied:?}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("This kernel has no such qdisc"), "{kind}: {text}");
                assert_eq!(show(&bench), default);
                missing.push(kind.split(' ').next().expect("a kind"));
                continue;
            }
        }
        let (shown, now) = (show(&bench), read(&bench).expect(kind));
        for other in ["pfifo limit 5", "default"] {
            bench
                .apply(&bench.written(&[(ROOT, &now, other)]))
                .unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_ne!(show(&bench), shown, "{kind}");
            let reverted = bench.revert();
            assert_eq!(reverted.taken[0].fate, Fate::Restored, "{kind}: {reverted:#?}");
            assert_eq!(show(&bench), shown);
        }
        assert!(bench.revert().is_whole());
        assert_eq!(show(&bench), default, "{kind}");
        tested += 1;
    }
    println!("kinds that came back: {tested}; this kernel lacks {missing:?}");
    assert!(tested >= 6, "{missing:?}");
}

#[test]
#[ignore = "needs root"]
fn what_somebody_else_has_made_of_it_is_left_alone() {
    let bench = bench();
    bench.apply(&bench.written(&[(ROOT, "default", "pfifo")])).expect("applied");
    // The plan did not say a limit.
    bench.testbed.shell("tc qdisc change dev eth0 root pfifo limit 3");
    let reverted = bench.revert();
    assert!(matches!(&reverted.taken[0].fate, Fate::Foreign { value } if value.ends_with("pfifo limit 3")));
    assert!(show(&bench).ends_with("limit 3p"));
}

#[test]
#[ignore = "needs root"]
fn classes_and_filters_are_left_to_a_person() {
    let bench = Bench::new();
    for (set, says) in [
        (
            "tc qdisc replace dev eth0 root handle 1: htb default 30",
            "is htb, which has classes; that is left to a person",
        ),
        (
            "tc class add dev eth0 parent 1: classid 1:30 htb rate 1gbit && tc qdisc add dev eth0 parent 1:30 pfifo",
            "the root qdisc htb of eth0 has others below it",
        ),
        ("tc qdisc replace dev eth0 root tbf rate 1mbit burst 10k limit 9k overhead 4", "with overhead"),
    ] {
        bench.testbed.shell(set);
        let before = show(&bench);
        let error = read(&bench).expect_err(set);
        assert!(error.contains(says), "{error}");
        bench.apply(&bench.written(&[(ROOT, "default", "pfifo limit 5")])).expect_err("refused");
        assert_eq!(show(&bench), before);
    }
    assert!(status(&bench.journal()).expect("a journal").is_empty());
}
