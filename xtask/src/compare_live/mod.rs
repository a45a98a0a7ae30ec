//! `xtask compare-live`: the same scenario files in the simulator and on this machine's kernel, number by number.

mod growth;
mod live;
mod model;
mod rows;
mod seen;
mod steady;
mod timers;
mod wakeups;
mod window;

use anyhow::{Context, Result, ensure};
use clap::Args;
use rows::Row;
use seen::Seen;
use slowpath_lab::clock;
use slowpath_scenario::Scenario;
use std::path::{Path, PathBuf};
use steady::{Late, Watch};

/// Run scenarios in the simulator and on this machine's kernel.
#[derive(Args)]
pub struct CompareLive {
    /// The folder with the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios/live")]
    scenarios: PathBuf,
    /// Only scenarios whose name begins so
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
}

/// What is measured in a run, the same way in both.
struct Comparison {
    scenario: &'static str,
    /// How often it runs on the real kernel.
    runs: usize,
    /// The rows, of one run of the model and the runs of the kernel.
    rows: fn(&Scenario, &Seen, &[Seen]) -> Result<Vec<Row>>,
}

const COMPARISONS: &[Comparison] = &[
    Comparison { scenario: "window-limited", runs: 3, rows: window::rows },
    Comparison { scenario: "growth-untuned", runs: 3, rows: growth::untuned },
    Comparison { scenario: "growth-tuned", runs: 3, rows: growth::tuned },
    // One run has sixteen connections.
    Comparison { scenario: "syn-timeouts", runs: 1, rows: timers::syn },
    Comparison { scenario: "timeouts", runs: 1, rows: timers::data },
    Comparison { scenario: "delayed-acks", runs: 1, rows: timers::delayed_acks },
    Comparison { scenario: "quick-acks", runs: 1, rows: timers::quick_acks },
    Comparison { scenario: "wake-ups", runs: 1, rows: wakeups::readers },
];

/// The kernel that the profile models; an older one behaves differently.
const RELEASE: (u32, u32) = (6, 18);
/// How often a comparison is tried: a machine whose CPUs are taken away is late for seconds at a time.
const TRIES: u32 = 9;
/// Disagreements that count against the model: a real difference of the kernel recurs every time.
const ENOUGH: u32 = 3;

impl CompareLive {
    pub(crate) fn run(&self) -> Result<()> {
        let release = slowpath_lab::run::kernel_release();
        if numbers(&release) < RELEASE {
            println!("not compared: the profile is that of Linux {RELEASE:?}, and this is {release}");
            return Ok(());
        }
        let hz = clock::ticks_per_second();
        let release = release.split('-').next().unwrap_or_default();
        println!("The kernel: Linux {release}, {hz} ticks a second. The model: linux-6.18, as many.\n");
        let mut apart = Vec::new();
        for comparison in COMPARISONS.iter().filter(|c| c.scenario.starts_with(&self.only)) {
            let file = self.scenarios.join(comparison.scenario).with_extension("toml");
            let compared = comparison.make(&file, hz).with_context(|| file.display().to_string())?;
            println!("{}: {}", comparison.scenario, compared.title);
            print!("{}", rows::table(&compared.rows));
            if let Some(late) = compared.too_late {
                println!("not judged: {}: {late} at least", comparison.scenario);
            } else {
                apart.extend(compared.rows.into_iter().filter(|row| !row.agrees()).map(|row| row.what));
            }
            println!();
        }
        ensure!(apart.is_empty(), "further apart than is tolerated: {}", apart.join("; "));
        Ok(())
    }
}

/// The result of a comparison.
struct Compared {
    title: String,
    /// Once they agree, or after the last try.
    rows: Vec<Row>,
    /// How late the machine was at least, if it was too late each time to decide which is wrong.
    too_late: Option<Late>,
}

impl Comparison {
    fn make(&self, file: &Path, hz: u32) -> Result<Compared> {
        let scenario = read(file, hz)?;
        let model = model::run(&scenario);
        let mut rows = Vec::new();
        let (mut counted, mut least_late) = (0, None);
        for _ in 0..TRIES {
            let watch = Watch::start(&scenario);
            let kernel: Vec<Seen> = (0..self.runs).map(|_| live::run(&scenario)).collect::<Result<_>>()?;
            let late = watch.finish();
            rows = (self.rows)(&scenario, &model, &kernel)?;
            if rows.iter().all(Row::agrees) {
                return Ok(Compared { title: scenario.title, rows, too_late: None });
            }
            counted += u32::from(late.is_steady());
            least_late = Some(least_late.map_or(late, |least: Late| least.or_less(late)));
            if counted == ENOUGH {
                break;
            }
        }
        let too_late = least_late.filter(|_| counted < ENOUGH);
        Ok(Compared { title: scenario.title, rows, too_late })
    }
}

/// A scenario whose hosts have this many ticks a second, as this machine does.
fn read(file: &Path, hz: u32) -> Result<Scenario> {
    let text = std::fs::read_to_string(file)?;
    let mut scenario = slowpath_scenario::check(&file.display().to_string(), &text, &[], None)?.scenario;
    for host in &mut scenario.hosts {
        host.kernel.tcp.clock.hz = hz;
    }
    Ok(scenario)
}

/// `6.18.44-fc` gives 6 and 18.
fn numbers(release: &str) -> (u32, u32) {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
