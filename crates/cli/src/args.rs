//! The command line: what `--help`, the man page and the completions are made from.

use crate::console::Output;
use crate::doctor::Doctor;
use crate::drill::Drill;
use crate::explain::Explain;
use crate::kernels::Kernels;
use crate::lab::Lab;
use crate::live;
use crate::papers::Papers;
use crate::probe::Probe;
use crate::profile::Profile;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::sweep::Sweep;
use crate::tunings::CompareTunings;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use slowpath_analyses::{Cause, Label};
use slowpath_model::{Bytes, FlowId, Instant};
use std::path::PathBuf;

/// Says where a TCP transfer loses its time, and what would give it back.
#[derive(Parser)]
#[command(
    name = "slowpath",
    version,
    about = "Where does a TCP transfer lose its time, and what would give it back?",
    long_about = LONG_ABOUT,
    after_long_help = AFTER_HELP,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub output: Output,
}

const LONG_ABOUT: &str = "\
Where does a TCP transfer lose its time, and what would give it back?

slowpath reads a recording of a transfer (pcap or pcapng, as tcpdump and Wireshark write them; gzip and zstd are \
unpacked) and says, for each flow and each moment, what bound it: the application, a socket buffer, the receive window, \
the congestion window, loss and its repair, or the path itself. Each verdict comes with its evidence, with how sure it \
is, and with the commands that would change it.";

const AFTER_HELP: &str = "\
Record a transfer, at best on the host that sends:
  tcpdump -i any -s 128 -B 65536 -w transfer.pcap tcp port 443

Then ask:
  slowpath diagnose transfer.pcap

Exit codes:
  0  there is a result
  1  there is a result, but the recording was damaged or a part that matters was skipped
  2  nothing could be done: no such file, not a recording, wrong arguments";

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Say what bound each flow, the slowest first, and what would help
    Diagnose(Diagnose),
    /// Show the packets of a recording as text, one a line
    Show(Show),
    /// List the flows of a recording with their measures
    Flows(Flows),
    /// Explain the causes that a verdict can name
    Causes(Causes),
    /// Do the arithmetic behind a cause, step by step
    Explain(Explain),
    /// Simulate a scenario, and say what bound its flows
    Run(Run),
    /// Run a scenario again and again with other values, a row for each run
    Sweep(Sweep),
    /// Run scenarios on this machine's kernel, in network namespaces
    Lab(Lab),
    /// Make a paper's experiments again, and show its tables beside ours
    Papers(Papers),
    /// Compare what every technique of tuning buffers makes of a path, and what it costs
    CompareTunings(CompareTunings),
    /// Say what of this host would limit a transfer of some rate and round trip, and what mends it
    Doctor(Doctor),
    /// Measure a path: round trip, capacity, available bandwidth, where loss begins
    Probe(Probe),
    /// Say where the CPU went, and for whom, by what a profiler saw
    Profile(Profile),
    /// Run scripts in packetdrill's language, on the model or on this kernel
    Drill(Drill),
    /// Check, explain or begin a scenario file
    Scenario(Scenario),
    /// Show the kernels that a scenario can name, choice by choice
    Kernels(Kernels),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  slowpath completions bash > ~/.local/share/bash-completion/completions/slowpath"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(after_help = "Example:\n  slowpath man | man -l -")]
    Man,
}

const DIAGNOSE_HELP: &str = "\
Where a recording was made (its vantage) decides what it can tell:
  sender    The best place. All that the sender does shows, and each loss as
            it learns of it; what the receiver does with the data does not.
  receiver  What arrives and how it is answered shows; why the sender pauses
            can be hard to tell.
  between   Both ends are seen from a distance.
slowpath infers the place from how soon each end answers, and says how sure
it is. --vantage overrides that.

Examples:
  slowpath diagnose transfer.pcapng
  slowpath diagnose transfer.pcapng --html report.html
  slowpath diagnose transfer.pcapng --flow 1 --json
  slowpath diagnose sender.pcapng receiver.pcapng
  tcpdump -i any -s 128 -w - tcp port 443 | slowpath diagnose -
  sudo slowpath diagnose --live --for 20s
  sudo slowpath diagnose --live --port 5201";

/// Arguments of `diagnose`.
#[derive(Args)]
#[command(after_long_help = DIAGNOSE_HELP)]
pub struct Diagnose {
    /// The recording (pcap or pcapng, plain, gzip or zstd; a folder that `slowpath run --record` wrote; a file that --raw
    /// wrote; a scenario), or - for standard input; two for both ends of the same transfer
    #[arg(required_unless_present = "live", num_args = 1..=2, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub live: live::Asked,
    #[command(flatten)]
    pub choice: Choice,
    /// Where the recording was made, if slowpath should not infer it (of two recordings it always does)
    #[arg(long, value_name = "PLACE")]
    pub vantage: Option<Place>,
    /// How many flows to show in full; the others are put together in groups
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print JSON (schema slowpath/diagnosis/1, with --live slowpath/live/1) instead of text
    #[arg(long)]
    pub json: bool,
    /// Also write the verdict, the limits over time and the time–sequence picture as one page for a browser
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Which flows.
#[derive(Args)]
pub struct Choice {
    /// Only the flow of this number, as the verdict and `slowpath flows` give it
    #[arg(long, value_name = "N", value_parser = flow_id)]
    pub flow: Option<FlowId>,
    /// Only flows that carried at least this much in one direction, such as "1 MiB"
    #[arg(long, value_name = "AMOUNT", default_value = "0 B")]
    pub min_bytes: Bytes,
}

/// Where a recording was made.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// On the host that sent the data, or right beside it
    Sender,
    /// On the host that received the data, or right beside it
    Receiver,
    /// Somewhere on the way
    Between,
}

const SHOW_HELP: &str = "\
A line is an event, in packetdrill's notation: the time in seconds since the first packet; > from the end that opened \
the connection, < back to it; flags (S SYN, F FIN, R RST, P PSH, . ACK); first and last byte and length, counted from the \
SYN; the acknowledgment; the window as on the wire; the options. Behind // stand the number of the frame, as in \
Wireshark, and what the IP header adds.

With --label a line says before its time what its data was:
  new                      seen for the first time
  retransmission           sent again, being lost or taken to be
  spurious-retransmission  sent again though it had arrived
  out-of-order             overtaken on the way
  duplicate-frame          the same frame once more
  keep-alive               asks whether the other end is there
  window-probe             asks whether its window is still 0

What turns out to be needless later (by a DSACK or an old echo) is shown as \
what it was, so that lines are held back until that is known: for up to 10 s \
of the recording.

Examples:
  slowpath show transfer.pcapng --flow 1 --limit 20
  slowpath show transfer.pcapng --flow 1 --from 0.5 --to 1.25
  slowpath show transfer.pcapng --label retransmission,spurious
  slowpath show transfer.pcapng --json | head -n 3";

/// Arguments of `show`.
#[derive(Args)]
#[command(after_long_help = SHOW_HELP)]
pub struct Show {
    /// The recording, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Only the flow of this number; without it every line starts with its flow's number
    #[arg(long, value_name = "N", value_parser = flow_id)]
    pub flow: Option<FlowId>,
    /// From this time on, in seconds since the first packet
    #[arg(long, value_name = "SECONDS", value_parser = instant, allow_negative_numbers = true)]
    pub from: Option<Instant>,
    /// Up to this time, in seconds since the first packet
    #[arg(long, value_name = "SECONDS", value_parser = instant, allow_negative_numbers = true)]
    pub to: Option<Instant>,
    /// Only data of these labels, with commas between: new, retransmission, spurious, out-of-order, duplicate,
    /// keep-alive, window-probe; each line then says which
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = labels(), hide_possible_values = true)]
    pub label: Vec<Label>,
    /// Where the recording was made, if slowpath should not infer it: it tells a retransmission from a segment that
    /// was overtaken
    #[arg(long, value_name = "PLACE", requires = "label")]
    pub vantage: Option<Place>,
    /// At most this many events
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Print one JSON object a line (schema slowpath/event/1) instead of text
    #[arg(long)]
    pub json: bool,
}

const FLOWS_HELP: &str = "\
Columns: start in seconds since the first packet; bytes of payload without repetitions, and the rate of these (goodput), \
in the direction that carried more; the shortest round trip from the place of recording; segments sent again; what bound \
it for most of its time.

Examples:
  slowpath flows transfer.pcapng
  slowpath flows transfer.pcapng --long --flow 1
  slowpath flows transfer.pcapng --json";

/// Arguments of `flows`.
#[derive(Args)]
#[command(after_long_help = FLOWS_HELP)]
pub struct Flows {
    /// The recording, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Where the recording was made, if slowpath should not infer it
    #[arg(long, value_name = "PLACE")]
    pub vantage: Option<Place>,
    /// Print every measure of every flow, both directions side by side
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON (schema slowpath/flows/1) with every measure
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `causes`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  slowpath causes\n  slowpath causes receive-window/slow-reader\n  slowpath causes --json"
)]
pub struct Causes {
    /// The cause to explain, as `slowpath causes` lists it, with or without its limit; all are listed without it
    #[arg(value_name = "CAUSE", value_parser = causes(), hide_possible_values = true)]
    pub cause: Option<Cause>,
    /// Print JSON (schema slowpath/causes/1)
    #[arg(long)]
    pub json: bool,
}

/// Labels by their names, and by the first word of those that have two.
fn labels() -> impl TypedValueParser<Value = Label> {
    named(Label::ALL.map(|label| {
        let short = match label {
            Label::Spurious => Some("spurious".to_owned()),
            Label::Duplicate => Some("duplicate".to_owned()),
            _ => None,
        };
        (label, label.slug().to_owned(), short)
    }))
}

/// Causes by their names, with or without the limit before them.
fn causes() -> impl TypedValueParser<Value = Cause> {
    named(Cause::ALL.iter().map(|cause| {
        let name = cause.to_string();
        let short = name.split_once('/').map(|(_, short)| short.to_owned());
        (*cause, name, short)
    }))
}

/// One of `all`, each with its name and a shorter one that serves too.
fn named<T: Clone + Send + Sync + 'static>(
    all: impl IntoIterator<Item = (T, String, Option<String>)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<_> = all.into_iter().collect();
    let names = all.iter().map(|(_, name, short)| PossibleValue::new(name.clone()).aliases(short.clone()));
    PossibleValuesParser::new(names).try_map(move |text| {
        let found = all.iter().find(|(_, name, short)| *name == text || short.as_ref() == Some(&text));
        found.map(|(value, _, _)| value.clone()).ok_or("no such name")
    })
}

fn flow_id(text: &str) -> Result<FlowId, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("flows are numbered from 1; `slowpath flows FILE` lists them".to_owned()),
        Ok(number) => Ok(FlowId(number)),
    }
}

/// Seconds, with or without their unit, as the events show them.
fn instant(text: &str) -> Result<Instant, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim();
    let seconds: f64 = number
        .parse()
        .ok()
        .filter(|seconds: &f64| seconds.is_finite() && seconds.abs() < 9e9)
        .ok_or("write seconds since the first packet, such as 3.25")?;
    Ok(Instant::from_nanos((seconds * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn instants_are_seconds() {
        assert_eq!(instant("3.25"), Ok(Instant::from_nanos(3_250_000_000)));
        assert_eq!(instant("-0.5s"), Ok(Instant::from_nanos(-500_000_000)));
        assert!(instant("soon").is_err());
        assert!(instant("inf").is_err());
    }
}
