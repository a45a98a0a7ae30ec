//! `slowpath tune` as its users run it: plans are applied in a namespace, and are taken back after a kill at any instant, on a full
//! disk, and by themselves.

use crate::captures::Captures;
use crate::{expect_lines, flat, json, outcome, run, slowpath, text};
use slowpath_lab::namespaces::{Namespaces, Place};
use std::io::{self, BufRead, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

/// Kills of each kind; `SLOWPATH_KILLS=1000` overrides it.
const KILLS: u64 = 40;

/// Settings of each kind that a namespace has, with a wrong value and a right one.
const CHANGES: &[(&str, &str, &str)] = &[
    ("sysctl net.ipv4.tcp_rmem", "4096 131072 1048576", "4096 131072 33554432"),
    ("link eth0 txqueuelen", "5", "1000"),
    ("sysctl net.ipv4.tcp_sack", "0", "1"),
    ("link eth0 mtu", "576", "1500"),
    (
        "route 10.77.0.0/24",
        "proto kernel scope link src 10.77.0.1 window 20000",
        "proto kernel scope link src 10.77.0.1",
    ),
    ("route 10.77.0.9/32", "none", "dev eth0 initcwnd 20"),
    ("link eth0 gso_max", "gso_max_size 65536 gso_max_segs 2", "gso_max_size 65536 gso_max_segs 65535"),
    ("offload eth0 tso", "off", "on"),
    ("qdisc eth0 root pfifo limit", "8", "1000"),
    ("qdisc lo root", "handle 5: tbf rate 1mbit burst 10k limit 100k", "default"),
    ("rps eth0 rx-0", "none", "0"),
    ("rfs eth0 rx-1", "0", "256"),
    ("xps eth0 tx-1", "1", "0"),
    ("sysctl net.ipv4.tcp_retries2", "3", "15"),
];

/// How a process is scheduled: a wrong value and a right one.
const SCHEDULED: &[(&str, &str, &str)] =
    &[("nice", "5", "-3"), ("scheduler", "SCHED_BATCH", "SCHED_RR 1"), ("affinity", "0-1", "0")];

/// An interrupt that no machine has, in a folder that is mounted over the machine's.
const INTERRUPT: (&str, &str, &str) = ("irq 4000000 affinity", "0", "1");
const INTERRUPT_FILE: &str = "irq/4000000/smp_affinity_list";

/// Sets the wrong values.
const SET: &str = "sysctl -qw net.ipv4.tcp_rmem='4096 131072 1048576' net.ipv4.tcp_sack=0 net.ipv4.tcp_retries2=3 && \
                   ip link set eth0 txqueuelen 5 mtu 576 gso_max_size 65536 gso_max_segs 2 && ethtool -K eth0 tso off && \
                   ip route replace 10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.1 window 20000 && \
                   tc qdisc replace dev eth0 root pfifo limit 8 && echo 2 >/sys/class/net/eth0/queues/tx-1/xps_cpus && \
                   tc qdisc replace dev lo root handle 5: tbf rate 1mbit burst 10k limit 100k";

/// Sets those that a file does not keep.
pub(super) const SET_BACK: &str = "ip link set eth0 txqueuelen 5 mtu 576 gso_max_size 65536 gso_max_segs 2 && ethtool -K eth0 tso off && \
                        ip route replace 10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.1 window 20000 && \
                        ip route del 10.77.0.9/32 && tc qdisc replace dev eth0 root pfifo limit 8 && \
                        cd /sys/class/net/eth0/queues && echo 2 >tx-1/xps_cpus && echo 0 >rx-0/rps_cpus && \
                        echo 0 >rx-1/rps_flow_cnt && \
                        tc qdisc replace dev lo root handle 5: tbf rate 1mbit burst 10k limit 100k";

/// Prints them.
const SHOW: &str = "sysctl net.ipv4.tcp_rmem net.ipv4.tcp_sack net.ipv4.tcp_retries2; ip -d -o link show eth0; ip route; \
                    ethtool -k eth0 | grep -v fixed; tc qdisc show dev eth0; tc qdisc show dev lo; \
                    grep . /sys/class/net/eth0/queues/*/[rx]ps_*";

pub(super) struct Host {
    pub(super) made: Namespaces,
    pub(super) folder: Captures,
    pub(super) netns: String,
    /// A process with threads, which waits.
    process: Child,
    has_interrupt: bool,
}

impl Drop for Host {
    fn drop(&mut self) {
        // It is this test's own.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Threads of the process of a [`Host`].
const THREADS: usize = 6;

/// Not a test, but that process.
#[test]
fn a_process_with_threads() {
    if env::var_os("SLOWPATH_THREADS").is_some() {
        (0..THREADS).for_each(|_| drop(thread::spawn(thread::park)));
        println!("started");
        thread::park();
    }
}

fn process_with_threads() -> Child {
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", "tune::a_process_with_threads", "--nocapture"]).env("SLOWPATH_THREADS", "");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut output = io::BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(output.by_ref().lines().any(|line| line.is_ok_and(|line| line.contains("started"))), "it ended");
    // It stays open: after a minute, libtest says that the test still runs, and would end at a closed pipe.
    child.stdout = Some(output.into_inner());
    child
}

impl Host {
    pub(super) fn new() -> Self {
        let made = Namespaces::create().expect("namespaces");
        let there = made.path(Place::Receiver);
        let link =
            "link add eth0 numrxqueues 2 numtxqueues 2 type veth peer name eth0 numrxqueues 2 numtxqueues 2";
        made.ip(Place::Sender, &format!("{link} netns {there}")).expect("a veth");
        for (place, address) in [(Place::Sender, "10.77.0.1/24"), (Place::Receiver, "10.77.0.2/24")] {
            made.ip(place, &format!("addr add {address} dev eth0")).expect("an address");
            made.ip(place, "link set eth0 up").expect("up");
        }
        let netns = made.path(Place::Sender);
        let process = process_with_threads();
        let host = Self { made, folder: Captures::new(), netns, process, has_interrupt: false };
        host.shell(SET);
        host.schedule();
        host.write_plan(&[]);
        host
    }

    /// Adds an interrupt to the plan.
    pub(super) fn with_interrupt(mut self) -> Self {
        let file = self.folder.path(INTERRUPT_FILE);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, "0\n").expect("there is room");
        self.has_interrupt = true;
        self.write_plan(&[INTERRUPT]);
        self
    }

    fn write_plan(&self, more: &[(&str, &str, &str)]) {
        let pid = self.process.id();
        let scheduled: Vec<(String, &str, &str)> = SCHEDULED
            .iter()
            .map(|(what, now, then)| (format!("process {pid} {what}"), *now, *then))
            .collect();
        let scheduled = scheduled.iter().map(|(setting, now, then)| (setting.as_str(), *now, *then));
        let changes: Vec<(&str, &str, &str)> =
            CHANGES.iter().copied().chain(scheduled).chain(more.iter().copied()).collect();
        self.folder.write("plan.toml", plan("", &changes).as_bytes());
    }

    /// Gives all threads of the process the wrong values.
    pub(super) fn schedule(&self) {
        let pid = self.process.id();
        self.shell(&format!(
            "renice -n 5 -p $(ls /proc/{pid}/task) >&2 && chrt -a -b -p 0 {pid} && taskset -a -c -p 0-1 {pid}"
        ));
    }

    pub(super) fn shell(&self, line: &str) -> String {
        text(
            &self
                .made
                .output(Place::Sender, &["sh", "-c", line])
                .unwrap_or_else(|error| panic!("{line}: {error}")),
        )
    }

    pub(super) fn show(&self) -> String {
        let pid = self.process.id();
        let threads = format!(
            "cut -d')' -f2 /proc/{pid}/task/*/stat | cut -d' ' -f18; chrt -a -p {pid}; taskset -a -c -p {pid}"
        );
        let interrupt = fs::read_to_string(self.folder.path(INTERRUPT_FILE)).unwrap_or_default();
        self.shell(&format!("{SHOW}; {threads}")) + &interrupt
    }

    /// `slowpath tune …` with a journal of its own.
    pub(super) fn tune(&self, args: &[&str]) -> Command {
        let mut command = slowpath(&self.folder);
        if self.has_interrupt {
            let script = "mount --bind irq /proc/irq && exec \"$0\" \"$@\"";
            let mut apart = Command::new("unshare");
            apart.args(["-m", "sh", "-c", script]).arg(command.get_program());
            apart.current_dir(self.folder.path("")).env("NO_COLOR", "1").stdin(Stdio::null());
            command = apart;
        }
        command.arg("tune").args(args).args(["--journal", "journal"]);
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> (i32, String, String) {
        outcome(&self.tune(args).output().expect("the binary runs"))
    }

    /// The arguments that apply the plan.
    pub(super) fn apply<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        ["apply", "plan.toml", "--netns", self.netns.as_str()].iter().chain(more).copied().collect()
    }

    fn applied(&self) {
        let (code, out, err) = self.run(&self.apply(&[]));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
    }

    /// Runs a command and kills it after a while.
    pub(super) fn killed(&self, args: &[&str], after: Duration) {
        let mut child =
            self.tune(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        thread::sleep(after);
        // It may have ended.
        let _ = child.kill();
        child.wait().expect("it ends");
    }
}

/// A plan's file. Values of routes get their interface.
pub(super) fn plan(goal: &str, changes: &[(&str, &str, &str)]) -> String {
    let mut text = format!("schema = \"slowpath/plan/1\"\ngoal = \"{goal}\"\n");
    for (setting, now, then) in changes {
        let value = |value: &str| {
            if value.starts_with("proto") { format!("dev eth0 {value}") } else { value.to_owned() }
        };
        text += &format!(
            "[[change]]\nsetting = \"{setting}\"\nnow = \"{}\"\nthen = \"{}\"\n",
            value(now),
            value(then)
        );
    }
    text
}

/// A pseudo-random sequence (Marsaglia, xorshift64), from a seed that is printed.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new() -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let seed = env::var("SLOWPATH_SEED")
            .map_or(time.as_nanos() as u64 | 1, |seed| seed.parse().expect("a number"));
        println!("SLOWPATH_SEED={seed}");
        Self(seed)
    }

    /// A time below `most`.
    pub(super) fn below(&mut self, most: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        most.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

pub(super) fn kills() -> u64 {
    env::var("SLOWPATH_KILLS").map_or(KILLS, |kills| kills.parse().expect("a number"))
}

#[test]
#[ignore = "needs root, waits"]
fn killed_at_any_instant_everything_can_be_reverted() {
    let host = Host::new().with_interrupt();
    let wrong = host.show();
    let apply = host.apply(&[]);
    let begun = Instant::now();
    host.applied();
    let takes = begun.elapsed();
    let right = host.show();
    assert_ne!(right, wrong);
    assert_eq!(host.run(&["revert"]).0, 0);
    assert_eq!(host.show(), wrong);
    let mut draws = Draws::new();
    // What was seen after a kill of apply: nothing, a part, or all of the changes; and of revert likewise.
    let mut seen = [[0_u64; 3]; 2];
    let of = |shown: &str| {
        if shown == wrong {
            0
        } else if shown == right {
            2
        } else {
            1
        }
    };
    for _ in 0..kills() {
        host.killed(&apply, draws.below(takes.mul_f64(1.2)));
        seen[0][of(&host.show())] += 1;
        let (code, out, err) = host.run(&["revert"]);
        let had_begun = code == 0 && err.is_empty();
        let had_not = code == 2 && err.contains("has no plan that is applied");
        assert!(had_begun || had_not, "{code}: {out}{err}");
        assert_eq!(host.show(), wrong, "{out}");
    }
    for _ in 0..kills() {
        host.applied();
        let (_, out, _) = host.run(&["status", "--json"]);
        let id = json(&out)["plans"][0]["id"].to_string();
        host.killed(&["revert"], draws.below(takes.mul_f64(1.2)));
        seen[1][2 - of(&host.show())] += 1;
        let (code, out, err) = host.run(&["revert", &id]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert_eq!(host.show(), wrong, "{out}");
    }
    println!("apply takes {takes:?}; changes after a kill: [none, some, all] of apply, of revert {seen:?}");
    let (code, out, _) = host.run(&["status", "--json"]);
    assert_eq!(code, 0, "nothing is left open: {out}");
}

/// A program that outlives the killed one changes the setting late, and a revert waits for it.
#[test]
#[ignore = "needs root, waits"]
fn revert_waits_for_a_program_that_outlived_the_kill() {
    let host = Host::new();
    let wrong = host.show();
    let ip = host.shell("command -v ip");
    fs::create_dir(host.folder.path("bin")).expect("a folder");
    let slow = format!("#!/bin/sh\nsleep 1\nexec {} \"$@\"\n", ip.trim());
    host.folder.write("bin/ip", slow.as_bytes());
    Command::new("chmod").arg("755").arg(host.folder.path("bin/ip")).status().expect("chmod runs");
    host.folder.write("plan.toml", plan("", &[("link eth0 txqueuelen", "5", "1000")]).as_bytes());
    let path = format!("{}:{}", host.folder.path("bin").display(), env::var("PATH").expect("a PATH"));
    let mut apply = host.tune(&host.apply(&[]));
    let mut apply = apply.env("PATH", path).spawn().expect("it starts");
    thread::sleep(Duration::from_millis(400));
    apply.kill().expect("it waits for ip");
    apply.wait().expect("it ends");
    assert_eq!(host.show(), wrong, "not yet");
    let (code, out, err) = host.run(&["revert"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("link eth0 txqueuelen: 5 again"), "{out}");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(host.show(), wrong);
}

#[test]
#[ignore = "needs root, waits"]
fn limited_plan_reverts_by_itself_after_a_kill() {
    let host = Host::new();
    let wrong = host.show();
    let mut draws = Draws::new();
    for _ in 0..3 {
        let apply = host.apply(&["--for", "2s"]);
        host.killed(&apply, Duration::from_millis(30) + draws.below(Duration::from_millis(200)));
        let begun = Instant::now();
        loop {
            let (_, out, _) = host.run(&["status", "--json"]);
            let status = json(&out);
            let Some(last) = status["plans"].get(0) else { break };
            if last["state"] == "reverted" {
                break;
            }
            assert!(last["ends"].is_u64(), "{out}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{out}");
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(host.show(), wrong);
    }
}

#[test]
#[ignore = "needs root, waits"]
fn limited_plan_that_is_reverted_by_hand_stays_so() {
    let host = Host::new();
    let (code, out, err) = host.run(&host.apply(&["--for", "2s", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = json(&out);
    assert_eq!(
        (document["schema"].as_str(), document["timer"]["kind"].as_str()),
        (Some("slowpath/tune-apply/1"), Some("watcher"))
    );
    let pid = document["timer"]["pid"].as_u64().expect("a process");
    let (_, out, _) = host.run(&["status"]);
    assert!(flat(&out).contains(&format!("by process {pid} of slowpath")), "{out}");
    assert_eq!(host.run(&["revert"]).0, 0);
    // Somebody applies the same by hand: it is theirs.
    host.shell("sysctl -qw net.ipv4.tcp_sack=1");
    let begun = Instant::now();
    while fs::metadata(format!("/proc/{pid}")).is_ok() && !is_zombie(pid) {
        assert!(begun.elapsed() < Duration::from_secs(10), "the process waits on");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(host.shell("sysctl -n net.ipv4.tcp_sack"), "1\n");
}

#[test]
#[ignore = "needs root, waits"]
fn a_timer_that_is_gone_is_reported() {
    let host = Host::new();
    let (_, out, _) = host.run(&host.apply(&["--for", "1h", "--json"]));
    let pid = json(&out)["timer"]["pid"].as_u64().expect("a process");
    assert_eq!(host.run(&["status"]).0, 0);
    // SAFETY: a plain number; the process is the one that was started above.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) }, 0);
    let begun = Instant::now();
    while host.run(&["status"]).0 == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is not noticed");
    }
    let (_, out, _) = host.run(&["status"]);
    assert!(
        flat(&out)
            .contains("It was to revert by itself, but what would do so is gone: slowpath tune revert 1"),
        "{out}"
    );
    assert_eq!(host.run(&["revert"]).0, 0);
}

/// Whether a process has ended, where nobody waits for it.
fn is_zombie(pid: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
#[ignore = "needs root, waits"]
fn on_a_full_disk_nothing_is_changed_and_all_can_be_reverted() {
    let host = Host::new();
    let wrong = host.show();
    let (mut applied, mut refused) = (0, 0);
    for length in (0..4000).step_by(150) {
        host.folder.write("plan.toml", plan(&"g".repeat(length), CHANGES).as_bytes());
        // A page for the lock, and one for the journal.
        let script = format!(
            "mkdir -p full && mount -t tmpfs -o size=8k,mode=700 none full && \
             \"$0\" tune apply plan.toml --netns {} --journal full; echo code $?; \
             dd if=/dev/zero of=full/rest bs=1k count=8 2>/dev/null; \
             \"$0\" tune revert --journal full; echo code $?",
            host.netns
        );
        let mut apart = Command::new("unshare");
        apart.args(["-m", "sh", "-c", &script]).arg(slowpath(&host.folder).get_program());
        let output = apart.current_dir(host.folder.path("")).output().expect("unshare runs");
        let Output { stdout, stderr, .. } = output;
        let (out, err) = (text(&stdout), text(&stderr));
        let codes: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("code ")).collect();
        match codes[..] {
            // The disk is full now, and it is reverted all the same.
            ["0", "0"] => applied += 1,
            ["2", "0" | "2"] => {
                assert!(err.contains("No space left on device"), "{length}: {err}");
                refused += 1;
            }
            _ => panic!("{length}: {out}{err}"),
        }
        assert_eq!(host.show(), wrong, "{length}: {out}{err}");
    }
    assert!(applied > 3 && refused > 3, "{applied} {refused}");
}

#[test]
#[ignore = "needs root, waits"]
fn two_at_once_are_refused_with_who_is_at_it() {
    let host = Host::new();
    fs::create_dir(host.folder.path("journal")).expect("a folder");
    let lock = host.folder.path("journal").join("lock");
    let line = "exec 9>>\"$0\"; flock 9; echo \"process $$, testing since now\" >\"$0\"; echo held; cat";
    let mut holder = Command::new("sh");
    holder.args(["-c", line]).arg(&lock).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().expect("a shell");
    let mut word = [0; 5];
    Read::read_exact(holder.stdout.as_mut().expect("a pipe"), &mut word).expect("it holds the lock");
    let wrong = host.show();
    let (code, _, err) = host.run(&host.apply(&[]));
    assert_eq!(code, 2);
    assert!(err.contains("is in use: process ") && err.contains("testing since now"), "{err}");
    assert_eq!(host.show(), wrong);
    drop(holder.stdin.take());
    holder.wait().expect("it ends");
    host.applied();
}

#[test]
#[ignore = "needs root, waits"]
fn after_a_reboot_nothing_is_touched() {
    let host = Host::new();
    host.applied();
    let file = host.folder.path("journal").join("0001.jsonl");
    let text = fs::read_to_string(&file).expect("the journal");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    assert!(text.contains(boot.trim()));
    fs::write(&file, text.replace(boot.trim(), "another")).expect("it is there");
    let right = host.show();
    let (_, out, _) = host.run(&["status", "--json"]);
    assert_eq!(json(&out)["plans"][0]["state"], "gone");
    let (code, out, err) = host.run(&["revert"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("sysctl net.ipv4.tcp_sack: the host was restarted since: it did not last"), "{out}");
    assert_eq!(host.show(), right);
}

#[test]
#[ignore = "needs root, waits"]
fn without_privilege_or_with_a_foreign_journal_nothing_is_done() {
    let host = Host::new();
    let wrong = host.show();
    // The folder of the test is not readable for others.
    let plan = fs::File::open(host.folder.path("plan.toml")).expect("the plan");
    let program = slowpath(&host.folder).get_program().to_owned();
    let mut nobody = Command::new(&program);
    nobody
        .args(["tune", "revert", "--journal", "/nonesuch/journal"])
        .uid(65_534)
        .gid(65_534)
        .current_dir("/");
    if let Ok(output) = nobody.output() {
        let (code, _, err) = outcome(&output);
        assert!(code == 2 && err.contains("this needs CAP_NET_ADMIN"), "{err}");
    }
    let mut nobody = Command::new(program);
    nobody.args(["tune", "apply", "-", "--journal", "/nonesuch/journal"]);
    nobody.stdin(plan).uid(65_534).gid(65_534).current_dir("/");
    match nobody.output() {
        Ok(output) => {
            let (code, _, err) = outcome(&output);
            assert_eq!(code, 2);
            assert!(
                err.contains("this needs CAP_NET_ADMIN") && err.contains("run it as root (sudo)"),
                "{err}"
            );
        }
        // Where the binary is in a folder of root's.
        Err(error) => println!("not tested without privilege: {error}"),
    }
    fs::create_dir(host.folder.path("journal")).expect("a folder");
    let folder = host.folder.path("journal");
    Command::new("chmod").arg("777").arg(&folder).status().expect("chmod runs");
    for args in [host.apply(&[]), vec!["revert"]] {
        let (code, _, err) = host.run(&args);
        assert!(code == 2 && err.contains("others than its user may write to this journal"), "{err}");
    }
    assert_eq!(host.show(), wrong);
}

#[test]
#[ignore = "needs root, waits"]
fn doctors_advice_is_planned_applied_and_reverted() {
    let host = Host::new();
    let wrong = host.show();
    let args = [
        "tune",
        "plan",
        "--doctor",
        "10.77.0.2",
        "--rate",
        "1Gbit/s",
        "--rtt",
        "40ms",
        "--netns",
        &host.netns,
    ];
    let (code, out, err) =
        outcome(&run(&host.folder, &[&args[..], &["-o", "plan.toml", "--force"]].concat()));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("Read it, then: slowpath tune apply plan.toml"), "{out}");
    host.applied();
    let (code, out, _) = outcome(&run(&host.folder, &args));
    assert_eq!(code, 0);
    assert!(!out.contains("[[change]]"), "nothing but hints is left: {out}");
    let (code, out, _) = host.run(&["status"]);
    assert!(code == 0 && out.starts_with("Plan 1 is applied since 20"), "{out}");
    assert_eq!(host.run(&["revert", "1"]).0, 0);
    assert_eq!(host.show(), wrong);
    let (code, out, _) = host.run(&["status"]);
    assert!(code == 0 && out.contains("Plan 1 was reverted at 20"), "{out}");
}

/// A host of its own, which has an own /var/lib, for lines of documents.
const APART: &str = "mount -t tmpfs none /var/lib && ip link set lo up && ip link add eth0 type veth peer name eth1 && \
                     ip link set eth1 up && ip addr add 192.0.2.1/24 dev eth0 && ip link set eth0 up && \
                     sysctl -qw net.ipv4.tcp_rmem='4096 131072 4194304'";

#[test]
#[ignore = "needs root, waits"]
fn handbook_sessions_match_the_output() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/tune.md");
    let page = fs::read_to_string(page).expect("a page of the handbook");
    let sessions =
        page.split("```console\n").skip(1).map(|rest| rest.split("```").next().expect("a session"));
    let commands: Vec<usize> = sessions.map(matches_the_output).collect();
    assert_eq!(commands, [4, 1]);
}

/// Runs the commands of a session, and returns their number.
fn matches_the_output(session: &str) -> usize {
    let folder = Captures::new();
    let lines = session.lines().filter_map(|line| line.strip_prefix("$ "));
    let script: Vec<String> = lines.map(|line| format!("echo '$ {line}'; {line}")).collect();
    let commands = script.len();
    let binary = slowpath(&folder).get_program().to_str().expect("a path").to_owned();
    let script = format!("{APART} && alias slowpath='{binary}' && eval \"{}\"", script.join("; "));
    let mut apart = Command::new("unshare");
    apart.args(["-n", "-m", "sh", "-ec", &script]).current_dir(folder.path("")).env("NO_COLOR", "1");
    let (code, out, err) = outcome(&apart.output().expect("unshare runs"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    expect_lines(session, &out);
    commands
}

#[test]
fn faults_of_a_plan_are_shown_with_file_line_and_key() {
    let folder = Captures::new();
    folder.write("plan.toml", b"schema = \"slowpath/plan/1\"\n[[change]]\nsetting = \"sysctl vm.swappiness\"\nnow = \"60\"\nthan = \"1\"\n");
    let (code, _, err) = outcome(&run(&folder, &["tune", "apply", "plan.toml", "--journal", "journal"]));
    assert_eq!(code, 2);
    assert!(err.contains("plan.toml:5: \"than\" is not a key of [[change]]"), "{err}");
    assert!(err.contains("plan.toml:2: then missing"), "{err}");
    assert!(!folder.path("journal").exists());
}

#[test]
fn status_without_a_journal_is_empty() {
    let folder = Captures::new();
    let (code, out, err) = outcome(&run(&folder, &["tune", "status", "--journal", "none"]));
    // Connections may be tuned on this host by another test.
    assert!(code == 0 && err.is_empty() && out.ends_with("Nothing was applied.\n"), "{out}");
    let (code, out, _) = outcome(&run(&folder, &["tune", "status", "--journal", "none", "--json"]));
    assert_eq!((code, json(&out)["schema"].as_str()), (0, Some("slowpath/tune-status/1")));
    let (code, _, err) = outcome(&run(&folder, &["tune", "apply", "plan.toml", "--for", "0s"]));
    assert!(code == 2 && err.contains("from 1s to 720h"), "{err}");
}
