//! How processes are scheduled: each thread gets its own old value back, and no other process is touched.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs, io, thread};

/// A process of this test, which starts a thread for each line that it gets.
struct Threaded {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const VARIABLE: &str = "SLOWPATH_THREADED";

/// Not a test, but that process.
#[test]
fn a_threaded_process() {
    if env::var_os(VARIABLE).is_none() {
        return;
    }
    println!("\nstarted");
    for _ in io::stdin().lines() {
        thread::spawn(|| {
            println!("\nstarted");
            thread::park();
        });
    }
}

impl Threaded {
    fn new() -> Self {
        let mut command = Command::new(env::current_exe().expect("this test"));
        command.args(["--exact", "processes::a_threaded_process", "--nocapture"]).env(VARIABLE, "");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut threaded = Self { child, input, output };
        threaded.wait();
        // Whatever that of the test is.
        threaded.threads().into_iter().for_each(|thread| renice(thread, "0"));
        threaded.add();
        threaded
    }

    fn wait(&mut self) {
        let mut line = String::new();
        while line.trim() != "started" {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "it ended");
        }
    }

    /// Starts a thread, and returns its number: the highest.
    fn add(&mut self) -> u32 {
        writeln!(self.input).expect("it reads");
        self.wait();
        self.threads().into_iter().max().expect("threads")
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn threads(&self) -> Vec<u32> {
        let list = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("it runs");
        list.map(|entry| {
            entry.expect("a thread").file_name().to_str().expect("a name").parse().expect("a number")
        })
        .collect()
    }

    fn setting(&self, what: &str) -> String {
        format!("process {} {what}", self.pid())
    }

    /// The nice value of each thread, sorted by their numbers.
    fn nice(&self) -> Vec<i32> {
        let mut threads = self.threads();
        threads.sort_unstable();
        let nice = |thread: u32| {
            let stat =
                fs::read_to_string(format!("/proc/{}/task/{thread}/stat", self.pid())).expect("it runs");
            let after = stat.rsplit(')').next().expect("fields");
            after.split_whitespace().nth(16).expect("field 19").parse().expect("a number")
        };
        threads.into_iter().map(nice).collect()
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        // It is this test's own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn renice(thread: u32, nice: &str) {
    let mut command = Command::new("renice");
    let renice = command.args(["-n", nice, "-p", &thread.to_string()]).stdout(Stdio::null());
    assert!(renice.status().expect("renice runs").success());
}

#[test]
#[ignore = "needs root"]
fn each_thread_gets_its_own_value_back() {
    let bench = Bench::new();
    let mut threaded = Threaded::new();
    let last = threaded.add();
    renice(last, "7");
    let before = threaded.nice();
    assert!(before.contains(&0) && before.contains(&7), "{before:?}");
    let read = slowpath_tune::Access::reading().read(&threaded.setting("nice").parse().expect("a setting"));
    let now = read.expect("values");
    assert!(now.contains(&format!("{last}=7")), "{now}");
    bench.apply(&bench.written(&[(&threaded.setting("nice"), &now, "-5")])).expect("applied");
    assert!(threaded.nice().iter().all(|nice| *nice == -5), "{:?}", threaded.nice());
    // A new thread inherits, and is taken back with the others.
    threaded.add();
    assert_eq!(threaded.nice().last(), Some(&-5));
    let reverted = bench.revert();
    assert_eq!(reverted.taken[0].fate, Fate::Restored, "{reverted:#?}");
    let after = threaded.nice();
    assert_eq!((&after[..before.len()], after.last()), (&before[..], Some(&0)));
}

#[test]
#[ignore = "needs root"]
fn policy_and_cpus_come_back_and_the_nice_value_stays() {
    let bench = Bench::new();
    let threaded = Threaded::new();
    threaded.threads().into_iter().for_each(|thread| renice(thread, "3"));
    let affinity = slowpath_tune::Access::reading()
        .read(&threaded.setting("affinity").parse().expect("a setting"))
        .expect("CPUs");
    let all = affinity.split('=').next_back().expect("CPUs").to_owned();
    let changes = [
        (threaded.setting("scheduler"), "SCHED_OTHER", "SCHED_FIFO 1"),
        (threaded.setting("affinity"), all.as_str(), "1"),
    ];
    let changes: Vec<(&str, &str, &str)> =
        changes.iter().map(|(setting, now, then)| (setting.as_str(), *now, *then)).collect();
    bench.apply(&bench.written(&changes)).expect("applied");
    let show = || {
        let pid = threaded.pid().to_string();
        let show = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).arg(&pid).output().expect("it runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        show("chrt", &["-a", "-p"]) + &show("taskset", &["-a", "-c", "-p"])
    };
    assert!(show().contains("SCHED_FIFO") && !show().contains("SCHED_OTHER"), "{}", show());
    assert_eq!(bench.state(), (State::Applied, vec![Force::InForce; 2]));
    assert!(bench.revert().is_whole());
    assert!(show().contains("SCHED_OTHER") && !show().contains("SCHED_FIFO"), "{}", show());
    assert!(threaded.nice().iter().all(|nice| *nice == 3), "{:?}", threaded.nice());
}

#[test]
#[ignore = "needs root"]
fn a_thread_that_somebody_else_has_changed_is_left_alone() {
    let bench = Bench::new();
    let threaded = Threaded::new();
    bench.apply(&bench.written(&[(&threaded.setting("nice"), "0", "5")])).expect("applied");
    let last = threaded.threads().into_iter().max().expect("threads");
    renice(last, "9");
    assert!(matches!(bench.state().1[..], [Force::Drifted { .. }]));
    let reverted = bench.revert();
    let Fate::Foreign { value } = &reverted.taken[0].fate else { panic!("{reverted:#?}") };
    assert!(value.contains(&format!("{last}=9")), "{value}");
    let nice = threaded.nice();
    assert!(nice.last() == Some(&9) && nice[..nice.len() - 1].iter().all(|nice| *nice == 0), "{nice:?}");
}

#[test]
#[ignore = "needs root"]
fn a_process_that_has_ended_has_nothing_to_revert() {
    let bench = Bench::new();
    bench.set(SACK, "0");
    let threaded = Threaded::new();
    let setting = threaded.setting("nice");
    bench.apply(&bench.written(&[SACK_ON, (&setting, "0", "5")])).expect("applied");
    drop(threaded);
    assert_eq!(bench.state().1[0], Force::InForce);
    assert!(matches!(bench.state().1[1], Force::Gone(_)));
    let reverted = bench.revert();
    assert!(matches!(reverted.taken[0].fate, Fate::Gone(_)) && reverted.is_whole(), "{reverted:#?}");
    assert_eq!(bench.sysctl(SACK), "0");
    let error = bench.apply(&bench.written(&[(&setting, "0", "5")])).expect_err("it has ended");
    let cause = std::error::Error::source(&error).expect("a reason").to_string();
    assert!(cause.starts_with("there is no process"), "{cause}");
}

#[test]
#[ignore = "needs root"]
fn another_process_with_the_number_is_not_touched() {
    let bench = Bench::new();
    let threaded = Threaded::new();
    bench.apply(&bench.written(&[(&threaded.setting("nice"), "0", "5")])).expect("applied");
    // As if the number had been given again: the journal is about a process that was started before.
    let file = bench.journal().folder().join("0001.jsonl");
    let text = fs::read_to_string(&file).expect("a journal");
    let start = text.split(&format!("process {}@", threaded.pid())).nth(1).expect("with its start");
    let start = start.split(' ').next().expect("a number");
    fs::write(&file, text.replace(&format!("@{start}"), "@1")).expect("there is room");
    let reverted = bench.revert();
    assert!(matches!(reverted.taken[0].fate, Fate::Gone(_)), "{reverted:#?}");
    assert!(threaded.nice().iter().all(|nice| *nice == 5));
}

#[test]
#[ignore = "needs root"]
fn a_process_outlives_the_namespace_of_its_plan() {
    let mut bench = Bench::new();
    bench.set(SACK, "0");
    let threaded = Threaded::new();
    bench.apply(&bench.written(&[SACK_ON, (&threaded.setting("nice"), "0", "5")])).expect("applied");
    bench.testbed = Testbed::well_set();
    assert!(
        matches!(bench.state(), (State::Applied, forces) if matches!(forces[..], [Force::Gone(_), Force::InForce]))
    );
    let reverted = bench.revert();
    let fates: Vec<&Fate> = reverted.taken.iter().map(|taken| &taken.fate).collect();
    assert!(matches!(fates[..], [Fate::Restored, Fate::Gone(_)]), "{reverted:#?}");
    assert!(threaded.nice().iter().all(|nice| *nice == 0));
}

#[test]
#[ignore = "needs root"]
fn what_cannot_be_scheduled_is_refused_with_the_reason() {
    let bench = Bench::new();
    let threaded = Threaded::new();
    let [nice, affinity] = ["nice", "affinity"].map(|what| threaded.setting(what));
    let pid = threaded.pid();
    let start = slowpath_tune::Access::reading().named(&nice.parse().expect("a setting")).expect("it runs");
    let twice = [(nice.as_str(), "0", "5"), (&start.to_string(), "0", "6")];
    let error = bench.apply(&bench.written(&twice)).expect_err("twice");
    assert!(error.to_string().contains(&format!("the plan changes {start} twice")), "{error}");
    let error =
        bench.apply(&bench.written(&[(&format!("process {pid}@1 nice"), "0", "5")])).expect_err("another");
    let cause = std::error::Error::source(&error).expect("a reason").to_string();
    assert!(cause.contains("is another one now"), "{cause}");
    let error = bench.apply(&bench.written(&[(&nice, "1", "5")])).expect_err("it is 0");
    assert!(error.to_string().contains("nice is \"0\", not \"1\""), "{error}");
    let all = slowpath_tune::Access::reading().read(&affinity.parse().expect("a setting")).expect("CPUs");
    let error = bench.apply(&bench.written(&[(&affinity, &all, "8191")])).expect_err("no such CPU");
    assert!(std::error::Error::source(&error).expect("a reason").to_string().contains("not online are 8191"));
    assert!(status(&bench.journal()).expect("a journal").is_empty());
}
