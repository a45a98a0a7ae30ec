//! `slowpath explain wait`: equations 1 to 12 of Wu and Crawford 2007, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate, nanos};
use slowpath_papers::wu::equations::{self, Estimate, backlog_wait, bandwidth, prequeue_wait, times_out};
use std::io::{self, Write};
use std::time::Duration;

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct WaitQuestion<'a> {
    /// The nice values of the tasks left in the active array when the reader's slice ends.
    pub active: &'a [i8],
    /// The nice values of the tasks in the expired array that run before the reader.
    pub expired: &'a [i8],
    /// The nice values of the tasks in the active array that run before a woken reader.
    pub woken: &'a [i8],
    /// The RTT of a packet that does not wait.
    pub rtt: Duration,
    /// The sender's RTTVAR before the wait.
    pub rttvar: Duration,
    /// The sender's RTO, if it differs from that of SRTT and RTTVAR.
    pub rto: Option<Duration>,
    /// The packet loss probability, 0 to 1.
    pub loss: Option<f64>,
    /// The path's MSS, in bytes.
    pub mss: u32,
}

/// How long a packet waits for a process that is off the CPU.
#[derive(Serialize, JsonSchema)]
pub struct Wait {
    /// `slowpath/explain-wait/1`.
    schema: &'static str,
    /// Smoothed RTT before the wait, in nanoseconds.
    srtt_ns: u64,
    /// RTTVAR before it.
    rttvar_ns: u64,
    /// The retransmission timeout before it (equation 11).
    rto_ns: u64,
    /// The result of each wait.
    waits: Vec<Waited>,
}

/// A wait and its consequences.
#[derive(Serialize, JsonSchema)]
struct Waited {
    /// `backlog` or `prequeue`.
    place: &'static str,
    /// The number of tasks that run before.
    tasks: usize,
    /// The minimum wait of a packet (equations 3a and 3b).
    wait_ns: u64,
    /// The RTT with it (equation 5).
    rtt_ns: u64,
    /// Whether the sender has a spurious timeout (equation 12).
    times_out: bool,
    /// The timeout after such an RTT was measured (equations 9 to 11).
    rto_after_ns: u64,
    /// What Reno reaches with the usual RTT (equation 8); absent without a loss probability.
    bandwidth_bit_per_s: Option<u64>,
    /// What Reno reaches with the RTT that has the wait in it; absent without a loss probability.
    bandwidth_waiting_bit_per_s: Option<u64>,
}

impl Wait {
    /// The answer.
    pub fn of(args: &WaitQuestion<'_>) -> Self {
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
        let (active, expired, woken) = (args.active, args.expired, args.woken);
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

    /// Prints the result; `is_given` says whether the RTO was given.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print(&self, is_given: bool, out: &mut impl Write) -> io::Result<()> {
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
                "  waits for at least {}: {} {tasks} (equations {equation})",
                time(waited.wait_ns),
                waited.tasks
            )?;
            writeln!(
                out,
                "  its RTT is {} instead of {} (equation 5)",
                time(waited.rtt_ns),
                time(self.srtt_ns)
            )?;
            let sign = if waited.times_out {
                "the sender times out although nothing was lost"
            } else {
                "the sender does not time out"
            };
            writeln!(out, "  {sign} (equation 12)")?;
            writeln!(
                out,
                "  once measured, it raises the RTO to {} (equations 9 to 11)",
                time(waited.rto_after_ns)
            )?;
            if let (Some(usual), Some(waiting)) =
                (waited.bandwidth_bit_per_s, waited.bandwidth_waiting_bit_per_s)
            {
                let [usual, waiting] = [usual, waiting].map(Rate::bits_per_second);
                writeln!(
                    out,
                    "  if all packets had it, Reno would reach {waiting} instead of {usual} (equation 8)"
                )?;
            }
        }
        Ok(())
    }
}
