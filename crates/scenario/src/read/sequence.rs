//! When a flow of `[flows]` begins: at a time, or after another; its runs one after another, and the flushes of the
//! parameter cache between them.

use crate::flow::{Flow, Start};
use crate::schema::nearest::nearest;
use crate::schema::{Key, Reader};
use std::time::Duration;

/// More flows than this should be streams of one.
pub const MOST_FLOWS: usize = 1000;

pub static START: Key<Duration> = Key::new("start", "Time at which its first connection is opened.")
    .range("0 s", "24 h")
    .default("0 s", "the start of the run");
pub static AFTER: Key<String> = Key::new(
    "after",
    "The flow that must end first, one written before this one. This flow starts `pause` after it, instead of at `start`.",
)
.absent("at `start`");
pub static RUNS: Key<u32> = Key::new(
    "runs",
    "Number of runs, one after another, each `pause` after the end of the previous one. Each has a result of its own, \
     under the flow's name and its number. The hosts keep their state from run to run, such as the parameter cache \
     (`ip tcp_metrics`).",
)
.range("1", "1000")
.default("1", "one run");
pub static PAUSE: Key<Duration> = Key::new(
    "pause",
    "With `after` or `runs`: time from the end of the earlier transfer, when both of its processes have ended, to the \
     opening of the next connection.",
)
.range("0 s", "24 h")
.default("1 s", "a person who runs a command again");
pub static FLUSH: Key<bool> = Key::new(
    "flush",
    "Whether the parameter caches of both hosts are flushed before each run, as by `ip tcp_metrics flush`.",
)
.default("false", "Linux keeps the metrics of a destination for an hour (`TCP_METRICS_TIMEOUT`)");

/// How to make a flow end.
const ENDS: &str = "give it an amount, a time or a count, such as amount = \"10 MB\"";

/// The flows so far.
#[derive(Default)]
pub struct Flows {
    /// Every run of every flow, in order.
    pub runs: Vec<Flow>,
    /// The names of the file's flows, each with the index of its last run.
    written: Vec<(String, usize)>,
}

/// The `start` of a flow.
pub fn start(reader: &Reader<'_>, duration: Duration) -> Start {
    let start = reader.get(&START);
    if start >= duration {
        let hint = "start it earlier, or make the run longer";
        reader.refuse(&START, "the run is over before this flow starts", hint);
    }
    Start::At(start)
}

impl Flows {
    /// Adds all runs of a flow. Returns the name of a run that another one already has.
    pub fn add(&mut self, reader: &Reader<'_>, flow: Flow) -> Option<String> {
        let pause = reader.get(&PAUSE);
        let start = self.start(reader, flow.start, pause);
        let flow = Flow { start, flush: reader.get(&FLUSH), ..flow };
        let written = flow.name.clone();
        let runs = self.runs_of(reader, flow, pause);
        let is_taken = |run: &Flow| self.runs.iter().any(|other| other.name == run.name);
        let taken = runs.iter().find(|run| is_taken(run)).map(|run| run.name.clone());
        if self.runs.len() + runs.len() > MOST_FLOWS {
            let message = format!("there are more than {MOST_FLOWS} runs of all flows");
            reader.refuse(&RUNS, message, "make fewer");
        }
        self.runs.extend(runs);
        self.written.push((written, self.runs.len() - 1));
        taken
    }

    fn start(&self, reader: &Reader<'_>, start: Start, pause: Duration) -> Start {
        let after = reader.optional(&AFTER);
        reader.refuse_all_but_one(&[&START, &AFTER]);
        let Some(after) = after else {
            if !reader.has(&RUNS) {
                reader.refuse_without(&PAUSE, &AFTER);
            }
            return start;
        };
        let Some((_, flow)) = self.written.iter().find(|(name, _)| *name == after) else {
            let hint = match nearest(&after, self.written.iter().map(|(name, _)| name.as_str())) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write the flow that ends first above this one, with a name".to_owned(),
            };
            reader.refuse(&AFTER, "no flow before this one has this name", hint);
            return start;
        };
        if self.runs[*flow].workload.is_endless() {
            reader.refuse(&AFTER, "that flow ends only with the run, so nothing comes after it", ENDS);
        }
        Start::After { flow: *flow, pause }
    }

    /// The runs of a flow, one after another.
    fn runs_of(&self, reader: &Reader<'_>, flow: Flow, pause: Duration) -> Vec<Flow> {
        let count = reader.get(&RUNS) as usize;
        if count == 1 {
            return vec![flow];
        }
        if flow.workload.is_endless() {
            let message = "the first run ends only with the scenario's, so there is no second";
            reader.refuse(&RUNS, message, ENDS);
        }
        let start = |number: usize| match number.checked_sub(1) {
            None => flow.start,
            Some(previous) => Start::After { flow: self.runs.len() + previous, pause },
        };
        let run = |number: usize| Flow {
            name: format!("{} {}", flow.name, number + 1),
            start: start(number),
            ..flow.clone()
        };
        (0..count).map(run).collect()
    }
}
