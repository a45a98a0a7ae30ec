//! One CPU with ticks, tasks that never sleep, and one that does: who runs when.

use super::*;
use slowpath_kernels::ExtraRun;
use slowpath_path::chance::Draws;
use std::time::Duration;

const MS: i64 = 1_000_000;

/// A CPU with only a scheduler: tasks 0..hogs compute without a pause, the last one alternates between computing for
/// `burst` and sleeping for `sleep`.
struct Cpu {
    scheduler: Scheduler,
    tick_ns: i64,
    now: i64,
    current: Option<TaskId>,
    ran: Vec<i64>,
}

struct Sleeper {
    task: TaskId,
    priority: Priority,
    sleep: i64,
    burst: i64,
}

impl Cpu {
    fn new(kind: kernels::Scheduler, cpus: u32, hz: u32, hogs: u32, nice: impl Fn(u32) -> i8) -> Self {
        let mut scheduler = Scheduler::new(kind, cpus, hz);
        for hog in 0..hogs {
            scheduler.start(0, TaskId(hog), Priority::nice(nice(hog)), 1, Instant::START);
        }
        let tick_ns = 1_000_000_000 / i64::from(hz);
        Self { scheduler, tick_ns, now: 0, current: None, ran: vec![0; hogs as usize + 1] }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn advance(&mut self, to: i64) {
        if let Some(task) = self.current {
            self.ran[task.index()] += to - self.now;
        }
        self.now = to;
    }

    fn tick_at(&self) -> i64 {
        (self.now / self.tick_ns + 1) * self.tick_ns
    }

    /// Only hogs, until `end`.
    fn run(&mut self, end: i64) {
        while self.now < end {
            self.current = self.scheduler.pick(0, self.at());
            loop {
                self.advance(self.tick_at());
                if self.scheduler.tick(0, Interrupted::default(), self.at()) || self.now >= end {
                    break;
                }
            }
        }
    }

    /// Hogs and a sleeper until `end`; returns the latencies from its wake-ups to running, sorted.
    fn wake_ups(&mut self, sleeper: &Sleeper, end: i64) -> Vec<i64> {
        let (mut latencies, mut draws) = (Vec::new(), Draws::new(1));
        self.scheduler.start(0, sleeper.task, sleeper.priority, 1, self.at());
        self.current = self.scheduler.pick(0, self.at());
        let (mut woken_at, mut left, mut wakes_at) = (Some(self.now), sleeper.burst, i64::MAX);
        while self.now < end {
            let running = self.current == Some(sleeper.task);
            if running && let Some(woken) = woken_at.take() {
                latencies.push(self.now - woken);
            }
            let finish = if running { self.now + left } else { i64::MAX };
            let next = self.tick_at().min(finish).min(wakes_at);
            left -= if running { next - self.now } else { 0 };
            self.advance(next);
            let mut resched = false;
            if next == wakes_at {
                wakes_at = i64::MAX;
                woken_at = Some(self.now);
                self.scheduler.wake(0, sleeper.task, Waker::Interrupt, self.at());
                resched = self.scheduler.preempts(0, sleeper.task, self.at());
            }
            if next % self.tick_ns == 0 && self.current.is_some() {
                resched |= self.scheduler.tick(0, Interrupted::default(), self.at());
            }
            if next == finish {
                self.scheduler.sleep(0, self.at());
                // Timers and system calls are never exact; without jitter the sleeper falls into step with the ticks.
                let inexact = (draws.bits() % (MS as u64 / 10)) as i64;
                (left, wakes_at, resched) = (sleeper.burst, self.now + sleeper.sleep + inexact, true);
            }
            if resched || self.current.is_none() {
                self.current = self.scheduler.pick(0, self.at());
            }
        }
        latencies.sort_unstable();
        latencies
    }
}

const O1: kernels::Scheduler = kernels::Scheduler::O1 { extra_run: ExtraRun::Never };
const CFS: kernels::Scheduler = kernels::Scheduler::Cfs;
const EEVDF: kernels::Scheduler =
    kernels::Scheduler::Eevdf { base_slice: Duration::from_micros(700), delayed_dequeue: true };
const ALL: [kernels::Scheduler; 4] = [kernels::Scheduler::Goodness, O1, CFS, EEVDF];

#[test]
fn equal_tasks_get_equal_shares() {
    for kind in ALL {
        let mut cpu = Cpu::new(kind, 1, 1000, 4, |_| 0);
        cpu.run(20_000 * MS);
        for hog in 0..4 {
            let share = cpu.ran[hog] as f64 / cpu.now as f64;
            assert!((share - 0.25).abs() < 0.01, "{kind:?}: {share}");
        }
    }
}

#[test]
fn o1_slices_match_the_kernel() {
    // Two hogs of the same nice value alternate in whole slices once their bonus is used up.
    for (nice, slice_ms) in [(0, 100), (-1, 420), (-10, 600), (-20, 800), (10, 50), (19, 5)] {
        let mut cpu = Cpu::new(O1, 1, 1000, 2, |_| nice);
        cpu.run(60_000 * MS);
        let (mut turns, mut last) = (0, cpu.current);
        let begin = cpu.now;
        while turns < 20 {
            cpu.run(cpu.now + MS);
            turns += i64::from(cpu.current != last);
            last = cpu.current;
        }
        let slice = (cpu.now - begin) / turns / MS;
        assert!((slice - slice_ms).abs() <= 1 + slice_ms / 20, "nice {nice}: {slice} ms");
    }
}

/// `sched_slice`: a share of 6 ms (on two CPUs of 12 ms) for up to eight tasks, then 0.75 ms (1.5 ms) each.
#[test]
fn cfs_slices_match_the_kernel() {
    for (cpus, hogs, slice_us) in
        [(1, 2, 3000), (1, 8, 750), (1, 16, 750), (2, 2, 6000), (2, 4, 3000), (8, 2, 12_000)]
    {
        let mut cpu = Cpu::new(CFS, cpus, 10_000, hogs, |_| 0);
        cpu.run(1_000 * MS);
        let ran = ticks(&mut cpu, 10_000, |_| Interrupted::default());
        let turns = ran.windows(2).filter(|pair| pair[0] != pair[1]).count() as i64;
        let slice = 1_000_000 / turns.max(1);
        assert!((slice - slice_us).abs() <= 200, "{hogs} hogs on {cpus} CPUs: {slice} µs");
    }
}

#[test]
fn cfs_shares_follow_the_weights() {
    let mut cpu = Cpu::new(CFS, 1, 1000, 2, |hog| if hog == 0 { 0 } else { 5 });
    cpu.run(20_000 * MS);
    let ratio = cpu.ran[0] as f64 / cpu.ran[1] as f64;
    assert!((ratio - 1024.0 / 335.0).abs() < 0.1, "{ratio}");
}

/// A task that sleeps half a period is that much behind the others, more than `wakeup_granularity`: it preempts.
#[test]
fn cfs_runs_a_sleeper_immediately() {
    let mut cpu = Cpu::new(CFS, 1, 1000, 8, |_| 0);
    cpu.run(1_000 * MS);
    let sleeper = Sleeper { task: TaskId(8), priority: Priority::USUAL, sleep: 50 * MS, burst: MS / 10 };
    let latencies = cpu.wake_ups(&sleeper, 11_000 * MS);
    assert!(latencies[latencies.len() * 9 / 10] == 0, "{latencies:?}");
}

/// Without delayed dequeues (6.6 to 6.11), a task that wants more than its share wakes with its debt, however long it
/// slept.
#[test]
fn eevdf_with_debts_makes_a_greedy_sleeper_wait_longer() {
    let mean = |delayed_dequeue| {
        let kind = kernels::Scheduler::Eevdf { base_slice: Duration::from_micros(750), delayed_dequeue };
        let mut cpu = Cpu::new(kind, 2, 1000, 4, |_| 0);
        cpu.run(1_000 * MS);
        let sleeper = Sleeper { task: TaskId(4), priority: Priority::USUAL, sleep: 6 * MS, burst: 3 * MS };
        let latencies = cpu.wake_ups(&sleeper, 21_000 * MS);
        latencies.iter().sum::<i64>() / latencies.len() as i64
    };
    let (with_debts, paid_off) = (mean(false), mean(true));
    assert!(with_debts > paid_off + MS, "{with_debts} and {paid_off} ns");
}

#[test]
fn eevdf_shares_follow_the_weights() {
    let mut cpu = Cpu::new(EEVDF, 1, 1000, 2, |hog| if hog == 0 { 0 } else { 5 });
    cpu.run(20_000 * MS);
    let ratio = cpu.ran[0] as f64 / cpu.ran[1] as f64;
    assert!((ratio - 1024.0 / 335.0).abs() < 0.05, "{ratio}");
}

/// A task that sleeps nearly always has the full bonus: no hog keeps it from the CPU.
#[test]
fn o1_runs_a_sleeper_immediately() {
    let mut cpu = Cpu::new(O1, 1, 1000, 8, |_| 0);
    cpu.run(30_000 * MS);
    let sleeper = Sleeper { task: TaskId(8), priority: Priority::USUAL, sleep: 50 * MS, burst: MS / 10 };
    let latencies = cpu.wake_ups(&sleeper, 40_000 * MS);
    assert!(latencies[latencies.len() * 9 / 10] == 0, "{latencies:?}");
}

/// A program that alternates between computing and sleeping, pinned to one of two CPUs next to N hogs, on Linux 6.18
/// (HZ 250, base slice 1.4 ms), measured: N, how long it computes and sleeps, and its wake-up latency, average and 99th
/// percentile, in milliseconds. The first four need less than their share and were measured on a machine with other
/// load, where runs differed by a factor of two. The others need more than their share, so that they wait for each
/// burst; only their runs without stolen CPU time count.
const MEASURED: [([f64; 3], [f64; 2], f64); 8] = [
    ([1.0, 0.1, 10.1], [0.16, 3.9], 2.0),
    ([2.0, 0.1, 10.1], [0.22, 3.9], 2.0),
    ([4.0, 0.1, 10.1], [1.1, 4.2], 2.0),
    ([8.0, 0.1, 10.1], [1.8, 5.0], 2.0),
    ([4.0, 3.0, 1.0], [10.4, 18.4], 1.15),
    ([10.0, 1.0, 1.0], [9.8, 28.0], 1.15),
    ([10.0, 2.0, 1.0], [18.7, 32.9], 1.15),
    ([10.0, 3.0, 1.0], [28.3, 39.9], 1.15),
];

#[test]
fn eevdf_wake_up_latency_matches_linux() {
    for ([hogs, burst, sleep], [mean, p99], factor) in MEASURED {
        let hogs = hogs as u32;
        let mut cpu = Cpu::new(EEVDF, 2, 250, hogs, |_| 0);
        cpu.run(1_000 * MS);
        let nanos = |ms: f64| (ms * MS as f64) as i64;
        let priority = Priority::USUAL;
        let sleeper = Sleeper { task: TaskId(hogs), priority, sleep: nanos(sleep), burst: nanos(burst) };
        let latencies = cpu.wake_ups(&sleeper, 61_000 * MS);
        let ms = |nanos: i64| nanos as f64 / MS as f64;
        let ours = ms(latencies.iter().sum::<i64>()) / latencies.len() as f64;
        let fits = (1.0 / factor..factor).contains(&(ours / mean));
        assert!(fits, "{burst} ms next to {hogs} hogs: {ours} ms on average");
        let ours = ms(latencies[latencies.len() * 99 / 100]);
        assert!(
            (0.6..1.4).contains(&(ours / p99)),
            "{burst} ms next to {hogs} hogs: {ours} ms at the 99th percentile"
        );
    }
}

/// sched(7): a real-time task that wakes runs immediately, whatever else runs.
#[test]
fn real_time_task_runs_immediately() {
    for kind in ALL {
        let mut cpu = Cpu::new(kind, 1, 1000, 8, |_| -20);
        cpu.run(1_000 * MS);
        let priority = Priority { class: Class::Fifo, nice: 0 };
        let sleeper = Sleeper { task: TaskId(8), priority, sleep: 3 * MS, burst: MS };
        let latencies = cpu.wake_ups(&sleeper, 5_000 * MS);
        assert!(latencies.len() > 900 && latencies.iter().all(|late| *late == 0), "{kind:?}: {latencies:?}");
        let hogs: i64 = cpu.ran[..8].iter().sum();
        assert_eq!(hogs + cpu.ran[8], cpu.now, "{kind:?}: no time is lost");
    }
}

/// Weights of 3 and 1024 (kernel/sched/sched.h, kernel/sched/core.c), and no wait for a SCHED_IDLE hog.
#[test]
fn sched_idle_tasks_get_next_to_no_cpu() {
    let mut cpu = Cpu::new(EEVDF, 1, 1000, 2, |_| 0);
    let idle = Priority { class: Class::Idle, nice: 0 };
    cpu.scheduler = Scheduler::new(EEVDF, 1, 1000);
    cpu.scheduler.start(0, TaskId(0), idle, 1, Instant::START);
    cpu.scheduler.start(0, TaskId(1), Priority::USUAL, 1, Instant::START);
    cpu.run(200_000 * MS);
    let share = cpu.ran[0] as f64 / cpu.now as f64;
    assert!((share / (3.0 / 1027.0) - 1.0).abs() < 0.1, "{share}");

    let mut cpu = Cpu::new(EEVDF, 1, 1000, 1, |_| 0);
    cpu.scheduler = Scheduler::new(EEVDF, 1, 1000);
    cpu.scheduler.start(0, TaskId(0), idle, 1, Instant::START);
    cpu.run(100 * MS);
    let sleeper = Sleeper { task: TaskId(1), priority: Priority::USUAL, sleep: 3 * MS, burst: MS };
    let latencies = cpu.wake_ups(&sleeper, 5_000 * MS);
    assert!(latencies[latencies.len() * 99 / 100] == 0, "{latencies:?}");
}

/// Runs the tasks for `count` ticks; returns the task of each tick.
fn ticks(cpu: &mut Cpu, count: u32, found: impl Fn(TaskId) -> Interrupted) -> Vec<TaskId> {
    let mut ran = Vec::new();
    cpu.current = cpu.scheduler.pick(0, cpu.at());
    for _ in 0..count {
        let task = cpu.current.expect("all tasks are runnable");
        ran.push(task);
        cpu.advance(cpu.tick_at());
        if cpu.scheduler.tick(0, found(task), cpu.at()) {
            cpu.current = cpu.scheduler.pick(0, cpu.at());
        }
    }
    ran
}

/// Long enough for tasks to lose their initial credit.
const SETTLED: i64 = 40_000 * MS;

#[test]
fn o1_child_gets_less_average_and_half_the_slice() {
    let mut o1 = O1::new(1, 1000, ExtraRun::Never);
    for (forks, prio, slice) in [(0, 115, 100), (1, 116, 50), (2, 117, 25), (3, 118, 13)] {
        o1.start(0, TaskId(forks), 0, forks, Instant::START);
        assert_eq!(o1.state_of(TaskId(forks)), (prio, slice), "{forks} forks");
    }
}

#[test]
fn o1_waiting_parent_keeps_half_its_slice_and_earns_sleep() {
    let (mut o1, task) = (O1::new(1, 1000, ExtraRun::Never), TaskId(0));
    o1.start(0, task, 0, 0, Instant::START);
    assert_eq!(o1.pick(0, Instant::START), Some(task));
    // After vfork it has its own priority, otherwise its parent's place until its slice is over.
    assert!(o1.begin_child(0, task, true, Instant::START));
    assert_eq!((o1.state_of(task), o1.sleep_avg_ms(task)), ((116, 50), 900));
    assert_eq!(o1.pick(0, Instant::START), Some(task));
    assert!(!o1.begin_child(0, task, false, Instant::START));
    assert_eq!((o1.state_of(task), o1.sleep_avg_ms(task)), ((116, 25), 800));
    // A child that exits immediately returns its part of the slice, and a quarter of the difference.
    let mut exit = |at: Instant| {
        o1.sleep(0, at);
        o1.reap(0, task, at);
        assert_eq!(o1.pick(0, at), Some(task));
        (o1.state_of(task), o1.sleep_avg_ms(task))
    };
    assert_eq!(exit(Instant::START), ((116, 50), 875));
    // The first has slept for long, and so has not the full bonus; its child has computed, and was charged for it.
    let late = Instant::from_nanos(800 * MS);
    let charged = 875 - 800 / 8;
    assert_eq!(exit(late), ((116, 100), (900 * 3 + charged) / 4));
}

#[test]
fn o1_unused_first_slice_returns_to_the_parent() {
    let (mut o1, task) = (O1::new(1, 1000, ExtraRun::Never), TaskId(0));
    o1.start(0, task, 0, 0, Instant::START);
    o1.pick(0, Instant::START);
    o1.begin_child(0, task, false, Instant::START);
    let at = |ticks: i64| Instant::from_nanos(ticks * MS);
    for tick in 1..=50 {
        o1.tick(0, Interrupted::default(), at(tick));
    }
    assert_eq!(o1.state_of(task).1, 100, "a slice of its own");
    o1.pick(0, at(50));
    o1.sleep(0, at(50));
    o1.reap(0, task, at(50));
    assert_eq!(o1.state_of(task).1, 50, "what its parent kept");
}

#[test]
fn o1_disk_wait_makes_a_task_just_interactive() {
    let best = |waker: Waker| {
        let mut cpu = Cpu::new(O1, 1, 1000, 1, |_| 0);
        cpu.run(SETTLED);
        // A second task sleeps repeatedly, for long compared with its run time.
        let (task, mut best) = (TaskId(1), i64::MAX);
        cpu.scheduler.start(0, task, Priority::USUAL, 5, cpu.at());
        for _ in 0..20 {
            while cpu.scheduler.pick(0, cpu.at()) != Some(task) {
                cpu.advance(cpu.tick_at());
                cpu.scheduler.tick(0, Interrupted::default(), cpu.at());
            }
            cpu.advance(cpu.now + MS);
            cpu.scheduler.sleep(0, cpu.at());
            cpu.scheduler.pick(0, cpu.at());
            cpu.advance(cpu.now + 300 * MS);
            cpu.scheduler.wake(0, task, waker, cpu.at());
            let Fair::O1(o1) = &cpu.scheduler.fair else { unreachable!() };
            best = best.min(o1.state_of(task).0);
        }
        best
    };
    // 120 minus the bonus plus five: the full bonus, and that of the least interactive task.
    assert_eq!((best(Waker::Interrupt), best(Waker::Disk)), (115, 118));
}

#[test]
fn task_with_an_extra_run_keeps_the_cpu_until_it_leaves_recvmsg() {
    let nothing = Interrupted::default();
    let in_recvmsg = Interrupted { in_recvmsg: true, ..nothing };
    let packets_wait = Interrupted { packets_wait: true, ..nothing };
    let cases = [
        (ExtraRun::Never, Interrupted { packets_wait: true, ..in_recvmsg }, false),
        (ExtraRun::PacketsWait, nothing, false),
        (ExtraRun::PacketsWait, in_recvmsg, false),
        (ExtraRun::PacketsWait, packets_wait, true),
        (ExtraRun::InRecvmsg, nothing, false),
        (ExtraRun::InRecvmsg, packets_wait, false),
        (ExtraRun::InRecvmsg, in_recvmsg, true),
    ];
    let reader = TaskId(2);
    for (extra_run, found, goes_on) in cases {
        let of_reader = |task| if task == reader { found } else { nothing };
        let mut cpu = Cpu::new(kernels::Scheduler::O1 { extra_run }, 1, 1000, 3, |_| 0);
        cpu.run(SETTLED);
        // The end of the reader's slice, as the last of its round.
        let ran = ticks(&mut cpu, 700, of_reader);
        let longest =
            ran.chunk_by(|one, next| one == next).filter(|turn| turn[0] == reader).map(<[_]>::len).max();
        assert_eq!(longest > Some(100), goes_on, "{extra_run:?}, {found:?}: {longest:?}");
        // After that call, the task with an extra run has no more of this round.
        cpu.current =
            (0..400).find_map(|_| ticks(&mut cpu, 1, of_reader).pop().filter(|task| *task == reader));
        let extra = (0..200).any(|_| {
            ticks(&mut cpu, 1, of_reader);
            cpu.current == Some(reader) && cpu.scheduler.leaves_recvmsg(0)
        });
        assert_eq!(extra, goes_on, "{extra_run:?}, {found:?}");
    }
}
