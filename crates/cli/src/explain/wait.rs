//! `slowpath explain wait`: equations 1 to 12 of Wu and Crawford 2007.

use crate::Outcome;
use crate::console;
use anyhow::bail;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::units::{duration_from_text, duration_text};
use slowpath_model::{Bytes, Rate, nanos};
use slowpath_papers::wu::equations::{self, Estimate, backlog_wait, bandwidth, prequeue_wait, times_out};
use std::io::{self, Write};
use std::time::Duration;

const HELP: &str = "\
Under the scheduler of Linux 2.6.0 to 2.6.22 a process that has used up its time slice runs again when all others have \
used up theirs. If it is then in the middle of a read, its socket is locked, and packets wait until it goes on. The \
answer is a lower bound: it supposes that everybody uses the whole of a slice.

Tasks are given by their nice values, such as 0,0,-5, or as how many there are of one, such as 10x0.

Examples:
  slowpath explain wait --active 6x0 --expired 4x0 --rtt 1ms
  slowpath explain wait --woken -10,-5 --rtt 40ms --rttvar 2ms --loss 0.0001";

/// Arguments of `explain wait`.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Wait {
    /// Tasks left in the active array when the reader's slice ends
    #[arg(long, value_name = "TASKS", value_parser = tasks, default_value = "", allow_hyphen_values = true, hide_default_value = true)]
    active: Tasks,
    /// Tasks in the expired array that are to run before the reader
    #[arg(long, value_name = "TASKS", value_parser = tasks, default_value = "", allow_hyphen_values = true, hide_default_value = true)]
    expired: Tasks,
    /// Tasks in the active array that are to run before a reader that was woken
    #[arg(long, value_name = "TASKS", value_parser = tasks, default_value = "", allow_hyphen_values = true, hide_default_value = true)]
    woken: Tasks,
    /// The round trip of a packet that does not wait, such as 40ms
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    rtt: Duration,
    /// The sender's RTTVAR before the wait
    #[arg(long, value_name = "TIME", value_parser = duration_from_text, default_value = "0s")]
    rttvar: Duration,
    /// The sender's RTO, where it is not to be that of SRTT and RTTVAR
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    rto: Option<Duration>,
    /// The chance that a packet is lost, from 0 to 1, for the bandwidth that Reno reaches
    #[arg(long, value_name = "CHANCE", value_parser = chance)]
    loss: Option<f64>,
    /// The path's MSS, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1448, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    mss: u32,
    /// Print JSON (schema slowpath/explain-wait/1) instead of text
    #[arg(long)]
    json: bool,
}

/// The nice values of some tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tasks(Vec<i8>);

/// As many tasks as a machine may be thought to have.
const MOST: usize = 100_000;

fn tasks(text: &str) -> Result<Tasks, String> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (count, nice) = part.split_once('x').unwrap_or(("1", part));
        let count =
            count.trim().parse().ok().filter(|count| (1..=MOST - all.len().min(MOST)).contains(count));
        let nice = nice.trim().parse().ok().filter(|nice| (-20..=19).contains(nice));
        let (Some(count), Some(nice)) = (count, nice) else {
            return Err(format!("{part:?}: write nice values from -20 to 19, such as 0,0,-5 or 10x0"));
        };
        all.resize(all.len() + count, nice);
    }
    Ok(Tasks(all))
}

fn chance(text: &str) -> Result<f64, String> {
    let chance = text.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
    chance.ok_or_else(|| "write a number from 0 to 1, such as 0.0001".to_owned())
}

/// The answer as a document.
#[derive(Serialize, JsonSchema)]
pub struct Document {
    schema: &'static str,
    /// Smoothed round trip before the wait, in nanoseconds.
    srtt_ns: u64,
    /// RTTVAR before it.
    rttvar_ns: u64,
    /// The retransmission timeout before it (equation 11).
    rto_ns: u64,
    /// What each wait comes to.
    waits: Vec<Waited>,
}

/// A wait, and what comes of it.
#[derive(Serialize, JsonSchema)]
struct Waited {
    /// `backlog` or `prequeue`.
    place: &'static str,
    /// How many tasks are in the way.
    tasks: usize,
    /// The least that a packet waits (equations 3a and 3b).
    wait_ns: u64,
    /// The round trip with it (equation 5).
    rtt_ns: u64,
    /// Whether the sender times out for nothing (equation 12).
    times_out: bool,
    /// The timeout after such a round trip was measured (equations 9 to 11).
    rto_after_ns: u64,
    /// What Reno reaches with the usual round trip (equation 8); absent without a chance of loss.
    bandwidth_bit_per_s: Option<u64>,
    /// The same with this one.
    bandwidth_waiting_bit_per_s: Option<u64>,
}

impl Document {
    fn of(args: &Wait) -> Self {
        let before = Estimate { smoothed: args.rtt, variation: args.rttvar };
        let timeout = args.rto.unwrap_or_else(|| before.timeout());
        let waited = |place, tasks, wait: Duration| {
            let round_trip = args.rtt.saturating_add(wait);
            let reno = |time| bandwidth(Bytes::new(args.mss.into()), time, args.loss?).map(|rate| rate.get());
            Waited {
                place,
                tasks,
                wait_ns: nanos(wait),
                rtt_ns: nanos(round_trip),
                times_out: times_out(wait, timeout, args.rtt),
                rto_after_ns: nanos(before.after(round_trip).timeout()),
                bandwidth_bit_per_s: reno(args.rtt),
                bandwidth_waiting_bit_per_s: reno(round_trip),
            }
        };
        let (active, expired, woken) = (&args.active.0, &args.expired.0, &args.woken.0);
        let mut waits = Vec::new();
        if !active.is_empty() || !expired.is_empty() {
            waits.push(waited("backlog", active.len() + expired.len(), backlog_wait(active, expired)));
        }
        if !woken.is_empty() {
            waits.push(waited("prequeue", woken.len(), prequeue_wait(woken)));
        }
        Self {
            schema: "slowpath/explain-wait/1",
            srtt_ns: nanos(args.rtt),
            rttvar_ns: nanos(args.rttvar),
            rto_ns: nanos(timeout),
            waits,
        }
    }

    fn print(&self, is_given: bool, out: &mut impl Write) -> io::Result<()> {
        let time = |ns| duration_text(Duration::from_nanos(ns));
        let of = if is_given {
            "given".to_owned()
        } else {
            let floor = duration_text(equations::RTO_MIN);
            format!(
                "SRTT {} and 4 × RTTVAR {}, at least {floor}; equation 11",
                time(self.srtt_ns),
                time(self.rttvar_ns)
            )
        };
        writeln!(out, "The sender's RTO is {} ({of}).", time(self.rto_ns))?;
        for waited in &self.waits {
            let (who, equation) = match waited.place {
                "backlog" => ("whose reader's time slice ended with the socket locked", "1 and 3a"),
                _ => ("whose reader was woken for it", "2 and 3b"),
            };
            writeln!(out, "\nA packet on the {}, {who}", waited.place)?;
            let tasks = if waited.tasks == 1 { "task's slice" } else { "tasks' slices" };
            writeln!(
                out,
                "  waits for {} at least: {} {tasks} (equations {equation})",
                time(waited.wait_ns),
                waited.tasks
            )?;
            writeln!(
                out,
                "  its round trip is {} instead of {} (equation 5)",
                time(waited.rtt_ns),
                time(self.srtt_ns)
            )?;
            let sign = if waited.times_out {
                "the sender times out, though nothing was lost"
            } else {
                "the sender does not time out"
            };
            writeln!(out, "  {sign} (equation 12)")?;
            writeln!(
                out,
                "  measured once, it makes the RTO {} (equations 9 to 11)",
                time(waited.rto_after_ns)
            )?;
            if let (Some(usual), Some(waiting)) =
                (waited.bandwidth_bit_per_s, waited.bandwidth_waiting_bit_per_s)
            {
                let [usual, waiting] = [usual, waiting].map(Rate::bits_per_second);
                writeln!(out, "  if all had it, Reno would reach {waiting} instead of {usual} (equation 8)")?;
            }
        }
        Ok(())
    }
}

pub fn run(args: &Wait) -> anyhow::Result<Outcome> {
    if args.active.0.is_empty() && args.expired.0.is_empty() && args.woken.0.is_empty() {
        bail!("nothing is in the way: name tasks by --active, --expired or --woken, such as --active 10x0");
    }
    let document = Document::of(args);
    console::tell(args.json, || &document, |out| document.print(args.rto.is_some(), out))?;
    Ok(Outcome::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_nice_values_or_how_many_of_one() {
        assert_eq!(tasks("0,-5, 3x19").unwrap(), Tasks(vec![0, -5, 19, 19, 19]));
        assert_eq!(tasks("").unwrap(), Tasks::default());
        for wrong in ["20", "-21", "x0", "0x0", "1x", "a", "99999999999x0", "100000x0,1"] {
            assert!(tasks(wrong).is_err(), "{wrong}");
        }
    }
}
