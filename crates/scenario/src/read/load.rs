//! `[[hosts.NAME.load]]`.

use crate::host::{Load, LoadKind};
use crate::read::{cpu, priority};
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_kernels::KernelProfile;
use std::time::Duration;

static HOGS: Key<u32> = Key::new("hogs", "Number of tasks that compute without a pause (wu, table VII).")
    .range("0", "10000")
    .absent("another kind of load");
static MAKE: Key<u32> = Key::new(
    "make",
    "Like `make -jN`: N jobs at a time. Each is a new task that alternately computes and waits (wu, table III).",
)
.range("1", "10000")
.absent("another kind of load");
static CPU: Key<u32> = Key::new("cpu", "The CPU it is bound to.").absent("any");
static START: Key<Duration> =
    Key::new("start", "Start time.").range("0 s", "24 h").default("0 s", "the start of the run");
static STOP: Key<Duration> = Key::new("stop", "End time.").range("0 s", "24 h").absent("the end of the run");
static JOB_TIME: Key<Duration> =
    Key::new("job-time", "Mean CPU time of one job of `make`; exponentially distributed.")
        .range("1 us", "1 h")
        .default("200 ms", "compiling one file of a kernel on a PC of 2002");
static BURST: Key<Duration> =
    Key::new("burst", "Mean time that a job computes before it waits; exponentially distributed.")
        .range("1 us", "1 h")
        .default("20 ms", "a compiler reading and writing its files");
static WAIT: Key<Duration> =
    Key::new("wait", "Mean time that it then waits for its disk; exponentially distributed.")
        .range("0 s", "1 h")
        .default("5 ms", "one seek of a disk");

static TOOL_TIME: Key<Duration> = Key::new(
    "tool-time",
    "Mean CPU time of each small process of a job; exponentially distributed. A job then consists of the processes of \
     Kbuild's rule for a C file. make runs a shell, and the shell runs the compiler driver. The driver runs the \
     compiler, which takes nine tenths of `job-time`, and the assembler, which takes the rest. Then the shell runs \
     fixdep, rm and mv.",
)
.range("1 us", "1 h")
.absent("a job is one process");

/// Background load on a host's CPUs.
pub static LOAD: Section = Section {
    heading: "[[hosts.NAME.load]]",
    meaning: "Other load on a host's CPUs: exactly one of `hogs` and `make`.",
    keys: &[
        &HOGS,
        &MAKE,
        &priority::NICE,
        &priority::CLASS,
        &CPU,
        &START,
        &STOP,
        &JOB_TIME,
        &BURST,
        &WAIT,
        &TOOL_TIME,
    ],
    also: None,
};

/// More loads than this should be tasks of one.
const MOST_LOADS: usize = 100;

/// Reads all loads of a host.
pub fn read_all(host: &Reader<'_>, key: &'static Sub, kernel: &KernelProfile, cpus: u32) -> Vec<Load> {
    let prefix = host.prefix_of(key);
    let tables = host.tables_up_to(key, MOST_LOADS);
    let read_one = |(number, (table, place))| {
        let prefix = format!("{prefix}{number}.");
        read(&Reader::new(host.context(), &LOAD, Some(table), place, &prefix), kernel, cpus)
    };
    tables.into_iter().enumerate().filter_map(read_one).collect()
}

fn read(reader: &Reader<'_>, kernel: &KernelProfile, cpus: u32) -> Option<Load> {
    reader.refuse_all_but_one(&[&HOGS, &MAKE]);
    for key in [&JOB_TIME, &BURST, &WAIT, &TOOL_TIME] {
        reader.refuse_without(key, &MAKE);
    }
    let kind = match (reader.optional(&HOGS), reader.optional(&MAKE)) {
        (Some(count), _) => Some(LoadKind::Hogs { count }),
        (None, Some(jobs)) => Some(LoadKind::Make {
            jobs,
            job_time: reader.get(&JOB_TIME),
            burst: reader.get(&BURST),
            wait: reader.get(&WAIT),
            tool_time: reader.optional(&TOOL_TIME),
        }),
        (None, None) => {
            if !reader.has(&HOGS) && !reader.has(&MAKE) {
                reader.refuse(&HOGS, "this load does nothing", "write hogs = 10 or make = 10");
            }
            None
        }
    };
    let cpu = reader.optional(&CPU);
    cpu::check(reader, &CPU, cpu, cpus);
    let (start, stop) = (reader.get(&START), reader.optional(&STOP));
    if stop.is_some_and(|stop| stop <= start) {
        reader.refuse(&STOP, "this load ends before it begins", "make stop later than start");
    }
    Some(Load { kind: kind?, priority: priority::read(reader, Some(kernel)), cpu, start, stop })
}
