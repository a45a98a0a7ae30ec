//! Background load has the requested form, and ends. Nothing here depends on how busy the machine is.

use slowpath_lab::clock;
use slowpath_lab::host::Host;
use slowpath_lab::load::{Load, LoadKind, Running};
use slowpath_lab::task::{Class, Scheduling, own_cpus};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Processes are counted by their parent, which is the test program: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());
const MINUTE_NS: u64 = 60_000_000_000;

/// The fields of /proc/PID/stat (proc(5)).
struct Stat {
    id: i32,
    parent: i32,
    ticks: u64,
    nice: i8,
    policy: i32,
}

fn stat(id: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<i128> =
        rest.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let state = rest.trim_start().chars().next()?;
    // Field 4 of the manual is the first one here.
    let field = |number: usize| fields.get(number - 4).copied();
    let of_load = name == "slowpath-load" && state != 'Z';
    of_load.then_some(Stat {
        id,
        parent: field(4)? as i32,
        ticks: (field(14)? + field(15)?) as u64,
        nice: field(19)? as i8,
        policy: field(41)? as i32,
    })
}

/// The processes of loads whose parents are among these.
fn children(of: &[i32]) -> Vec<Stat> {
    let entries = fs::read_dir("/proc").expect("proc(5)").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(stat).filter(|stat| of.contains(&stat.parent)).collect()
}

fn own() -> i32 {
    std::process::id().cast_signed()
}

fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let given_up = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < given_up, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn load(kind: LoadKind, scheduling: Scheduling) -> Load {
    Load { host: Host::Receiver, kind, scheduling, after_ns: 0, until_ns: None }
}

#[test]
fn hogs_are_separate_tasks_and_end_on_stop() {
    let _alone = ALONE.lock();
    let cpu = own_cpus()[0];
    let asked = Scheduling { class: Class::Idle, nice: 5, cpus: vec![cpu] };
    let now = clock::monotonic_ns();
    let hogs = load(LoadKind::Hogs { count: 3 }, asked);
    let running = Running::start(&[hogs], now, now + MINUTE_NS, 1).expect("processes");
    let all = soon("three hogs that have run", || {
        let all = children(&[own()]);
        (all.len() == 3 && all.iter().all(|hog| hog.ticks > 0)).then_some(all)
    });
    for hog in &all {
        assert_eq!((hog.nice, hog.policy), (5, libc::SCHED_IDLE));
        let status = fs::read_to_string(format!("/proc/{}/status", hog.id)).expect("it runs");
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("proc(5)");
        assert_eq!(cpus.trim(), cpu.to_string());
        // It is in the scheduling group of its creator (sched(7), autogroups), and has none of its files open.
        let group = |id: i32| fs::read_to_string(format!("/proc/{id}/autogroup")).ok();
        assert_eq!(group(hog.id), group(own()));
        assert_eq!(fs::read_dir(format!("/proc/{}/fd", hog.id)).expect("it runs").count(), 0);
    }
    let ticks: u64 = all.iter().map(|hog| hog.ticks).sum();
    let records = running.stop();
    assert!(children(&[own()]).is_empty());
    let tick_ns = 1_000_000_000 / 100;
    assert!(records[0].ran_ns >= (ticks - 3) * tick_ns, "{records:?}, {ticks} ticks");
}

#[test]
fn make_load_forks_jobs_and_leaves_none() {
    let _alone = ALONE.lock();
    let kind = LoadKind::Make { jobs: 4, job_ns: 3_000_000, burst_ns: 1_000_000, wait_ns: 1_000_000 };
    let now = clock::monotonic_ns();
    let usual = Scheduling { class: Class::Other, nice: 0, cpus: Vec::new() };
    let running = Running::start(&[load(kind, usual)], now, now + MINUTE_NS, 1).expect("processes");
    let make = soon("the make itself", || children(&[own()]).first().map(|make| make.id));
    let mut seen = BTreeSet::new();
    soon("more jobs than there are at a time", || {
        let jobs = children(&[make]);
        assert!(jobs.len() <= 4);
        seen.extend(jobs.iter().map(|job| job.id));
        (seen.len() > 12).then_some(())
    });
    let records = running.stop();
    assert!(stat(make).is_none());
    soon("the end of all jobs", || seen.iter().all(|id| stat(*id).is_none()).then_some(()));
    assert!(records[0].ran_ns > 0, "its jobs' CPU time counts as its own");
}

#[test]
fn load_ends_at_its_deadline_and_on_drop() {
    let _alone = ALONE.lock();
    let hogs = |until_ns| Load {
        until_ns,
        ..load(LoadKind::Hogs { count: 2 }, Scheduling { class: Class::Other, nice: 19, cpus: Vec::new() })
    };
    let now = clock::monotonic_ns();
    let both = [hogs(None), hogs(Some(50_000_000))];
    let running = Running::start(&both, now, now + MINUTE_NS, 1).expect("processes");
    soon("the end of the two whose time is over", || (children(&[own()]).len() == 2).then_some(()));
    drop(running);
    assert!(children(&[own()]).is_empty());
}

#[test]
fn refused_scheduling_is_an_error_and_leaves_no_process() {
    let _alone = ALONE.lock();
    let nowhere = Scheduling { class: Class::Other, nice: 0, cpus: vec![1023] };
    let now = clock::monotonic_ns();
    let hogs = load(LoadKind::Hogs { count: 2 }, nowhere);
    assert!(Running::start(&[hogs], now, now + MINUTE_NS, 1).is_err());
    assert!(children(&[own()]).is_empty());
}
