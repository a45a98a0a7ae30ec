//! `slowpath compare-tunings`: which technique finds what buffers on a path, and at what cost.

use crate::Outcome;
use crate::console::{self, Console};
use crate::interrupt::Interrupt;
use crate::parallel;
use anyhow::bail;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::units::{duration_from_text, duration_text};
use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::{self, Kind, Path, Technique};
use slowpath_views::columns::align;
use std::io::{self, Write};
use std::time::Duration;

const HELP: &str = "\
Every technique that Weigle 2002 compares, none, and today's kernel, each on the path that is named: today's kernel at \
both ends, which differs in nothing but what the technique is about, in the simulator. Memory is what the sockets of a \
host held at once, by the kernel's own account. The time that a program or a daemon needs to measure the path before a \
transfer is not counted.

Examples:
  slowpath compare-tunings --rate 1Gbit/s --delay 40ms
  slowpath compare-tunings --rate 10Gbit/s --delay 100ms --streams 8 --memory 64MiB
  slowpath compare-tunings --rate 200Mbit/s --delay 5ms --json";

/// Arguments of `compare-tunings`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct CompareTunings {
    /// Rate of the path's bottleneck, such as 1Gbit/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Rate,
    /// The path's round trip, such as 40ms
    #[arg(long, value_name = "TIME", value_parser = delay)]
    delay: Duration,
    /// Connections side by side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    streams: u32,
    /// Memory for the buffers of all connections, on each host, such as 64MiB; without it, as much as they ask for
    #[arg(long, value_name = "AMOUNT", value_parser = memory)]
    memory: Option<Bytes>,
    /// What all connections carry together; without it, what the path carries in ten seconds
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    amount: Option<Bytes>,
    /// Print JSON (schema slowpath/tunings/1) instead of text
    #[arg(long)]
    json: bool,
}

pub fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let known = (1_000..=1_000_000_000_000).contains(&rate.get());
    if known { Ok(rate) } else { Err("write a rate from 1kbit/s to 1Tbit/s".to_owned()) }
}

pub fn delay(text: &str) -> Result<Duration, String> {
    let delay = duration_from_text(text).map_err(|error| format!("{error}"))?;
    let known = Duration::from_micros(1)..=Duration::from_secs(100);
    if known.contains(&delay) { Ok(delay) } else { Err("write a round trip from 1us to 100s".to_owned()) }
}

fn memory(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn amount(text: &str) -> Result<Bytes, String> {
    let amount: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if amount == Bytes::ZERO { Err("write an amount of at least 1B".to_owned()) } else { Ok(amount) }
}

/// What came of all techniques (schema slowpath/tunings/1).
#[derive(Debug, Serialize, JsonSchema)]
pub struct TuningsDocument {
    /// Version of this layout.
    schema: &'static str,
    /// Rate of the bottleneck, in bit/s.
    rate: u64,
    /// The round trip, in nanoseconds.
    delay_ns: u64,
    /// Their product, in bytes.
    bdp: u64,
    /// Connections side by side.
    streams: u32,
    /// Memory for all buffers of a host, in bytes, where there is a bound.
    memory: Option<u64>,
    /// What all connections carry together, in bytes.
    amount: u64,
    /// The techniques, in the order of weigle's table I.
    techniques: Vec<Compared>,
}

/// A technique.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    technique: Technique,
    /// Its name.
    name: &'static str,
    /// What it does.
    does: &'static str,
    /// Its row of table I.
    kind: Option<Kind>,
    /// What came of it.
    outcome: tunings::Outcome,
    /// The command that runs it.
    command: String,
}

pub fn run(args: &CompareTunings, console: &Console) -> anyhow::Result<Outcome> {
    let path = Path {
        rate: args.rate,
        delay: args.delay,
        streams: args.streams,
        memory: args.memory,
        amount: args.amount.unwrap_or_else(|| args.rate.amount_in(Duration::from_secs(10))),
    };
    let least = u64::from(args.streams) * (16 << 10);
    if let Some(memory) = args.memory.filter(|memory| memory.get() < least) {
        bail!("--memory {memory}: {} connections need at least {}", args.streams, Bytes::new(least));
    }
    let document = TuningsDocument {
        schema: "slowpath/tunings/1",
        rate: path.rate.get(),
        delay_ns: u64::try_from(path.delay.as_nanos()).unwrap_or(u64::MAX),
        bdp: path.bdp().get(),
        streams: path.streams,
        memory: path.memory.map(Bytes::get),
        amount: path.amount.get(),
        techniques: compare(&path, console)?,
    };
    console::tell(args.json, || &document, |out| print(&path, &document.techniques, out))?;
    Ok(Outcome::Whole)
}

/// Runs every technique, on all CPUs.
fn compare(path: &Path, console: &Console) -> anyhow::Result<Vec<Compared>> {
    let work = |technique: &Technique, _: &Interrupt| Ok(Some(tunings::measure(*technique, path)?));
    let bar = console.steps("technique", Technique::ALL.len(), 0);
    let outcomes: Option<Vec<_>> = parallel::each(&Technique::ALL, None, &bar, work)?.into_iter().collect();
    let Some(outcomes) = outcomes else {
        bail!("interrupted: the techniques are compared together; a smaller --amount takes less time");
    };
    let compared = Technique::ALL.into_iter().zip(outcomes).map(|(technique, outcome)| Compared {
        technique,
        name: technique.name(),
        does: technique.does(),
        kind: technique.kind(),
        outcome,
        command: technique.case(path).command(),
    });
    Ok(compared.collect())
}

fn print(path: &Path, techniques: &[Compared], out: &mut impl Write) -> io::Result<()> {
    let streams =
        if path.streams == 1 { "one connection".to_owned() } else { format!("{} connections", path.streams) };
    writeln!(
        out,
        "{} over {}, {streams}, {} in all; rate times delay is {}",
        path.rate,
        duration_text(path.delay),
        path.amount,
        path.bdp()
    )?;
    if let Some(memory) = path.memory {
        writeln!(out, "at most {memory} of memory for buffers on each host")?;
    }
    writeln!(out)?;
    let heading = [
        "technique",
        "rate",
        "of the path",
        "window",
        "memory, sender",
        "receiver",
        "sent again",
        "timeouts",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for Compared { name, outcome, .. } in techniques {
        let share = outcome.rate as f64 / path.rate.get() as f64 * 100.0;
        rows.push(vec![
            (*name).to_owned(),
            Rate::bits_per_second(outcome.rate).to_string(),
            format!("{share:.0} %"),
            Bytes::new(outcome.window).to_string(),
            Bytes::new(outcome.sender_memory).to_string(),
            Bytes::new(outcome.receiver_memory).to_string(),
            outcome.retransmits.to_string(),
            outcome.timeouts.to_string(),
        ]);
    }
    align(&rows, out)?;
    writeln!(out)?;
    conclude(techniques, out)?;
    writeln!(out, "\nWhat they do (weigle, table I)")?;
    for Compared { name, does, kind, .. } in techniques {
        let kind = kind.map_or_else(String::new, |kind| {
            format!("{}, {}, {}, {}", kind.level, kind.changes, kind.band, kind.visibility)
        });
        writeln!(out, "  {name:12}{kind:42}{does}")?;
    }
    writeln!(out, "\nA run by itself")?;
    for Compared { name, command, .. } in techniques {
        writeln!(out, "  {name:12}{command}")?;
    }
    Ok(())
}

/// The fastest, and what is nearly as fast with the least memory.
fn conclude(techniques: &[Compared], out: &mut impl Write) -> io::Result<()> {
    let Some(fastest) = techniques.iter().max_by_key(|one| one.outcome.rate) else { return Ok(()) };
    let memory = |one: &Compared| one.outcome.sender_memory + one.outcome.receiver_memory;
    let near = techniques.iter().filter(|one| one.outcome.rate as f64 >= 0.95 * fastest.outcome.rate as f64);
    let Some(lightest) = near.min_by_key(|one| memory(one)) else { return Ok(()) };
    let rate = |one: &Compared| Rate::bits_per_second(one.outcome.rate);
    let held = |one: &Compared| Bytes::new(memory(one));
    if lightest.technique == fastest.technique {
        writeln!(
            out,
            "{} is the fastest, {}, and nothing within 5 % of it takes less memory ({} on both hosts).",
            fastest.name,
            rate(fastest),
            held(fastest)
        )
    } else {
        writeln!(
            out,
            "{} is the fastest: {} with {} of memory on both hosts. Within 5 % of it {} takes the least: {} with {}.",
            fastest.name,
            rate(fastest),
            held(fastest),
            lightest.name,
            rate(lightest),
            held(lightest)
        )
    }
}
