//! Scores the limit verdicts against the labelled captures: `cargo run --release -p xtask --bin score -- shipped`.

use anyhow::{Context, Result, bail};
use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, Cause, Limit, Options};
use slowpath_capture::Capture;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The answers that count as right for one run, and how much of its time the kernel says they hold.
struct Truth {
    limit: String,
    right: Vec<(String, String)>,
    kernel_share: Option<f64>,
    server_port: u16,
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let root = PathBuf::from("captures");
    let sets: Vec<String> = args.by_ref().collect();
    if sets.is_empty() {
        bail!("which set? such as: score shipped heldout [--verbose]");
    }
    let verbose = sets.iter().any(|arg| arg == "--verbose");
    let mut matrix: BTreeMap<String, BTreeMap<&'static str, f64>> = BTreeMap::new();
    let mut scores: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for set in sets.iter().filter(|arg| !arg.starts_with("--")) {
        let mut runs: Vec<PathBuf> = fs::read_dir(root.join(set))
            .with_context(|| format!("{}: no such set", root.join(set).display()))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        runs.sort();
        for run in runs.iter().filter(|run| run.join("truth.json").exists()) {
            let truth = truth(run)?;
            if std::env::var("ONLY").is_ok_and(|only| !run.to_string_lossy().contains(&only)) {
                continue;
            }
            for side in ["sender", "receiver"] {
                if std::env::var("SIDE").is_ok_and(|only| only != side) {
                    continue;
                }
                let Some(file) = capture_file(run, side) else { continue };
                let shares = shares(&file, &truth)?;
                let ours: f64 = shares
                    .iter()
                    .filter(|(cause, _)| truth.counts(**cause))
                    .map(|(_, share)| share)
                    .sum();
                let score = truth.kernel_share.map_or(ours, |kernel| if kernel > 0.0 { (ours / kernel).min(1.0) } else { ours });
                let key = truth.row();
                scores.entry(key.clone()).or_default().push(score);
                let row = matrix.entry(key).or_default();
                for (cause, share) in &shares {
                    *row.entry(cause.limit().slug()).or_default() += share;
                }
                let mut top: Vec<_> = shares.iter().collect();
                top.sort_by(|a, b| b.1.total_cmp(a.1));
                let top: Vec<String> =
                    top.iter().take(4).map(|(cause, share)| format!("{cause} {:.1}%", **share * 100.0)).collect();
                if verbose || score < 0.95 {
                    let kernel = truth.kernel_share.map_or("    -".into(), |k| format!("{:5.1}", k * 100.0));
                    let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    println!("{:5.1} k{kernel} {name:52} {side:8} {}", score * 100.0, top.join(", "));
                }
            }
        }
    }
    println!("\n{:28} {:>6} {:>6} {:>5}  time by our limit, %", "expected", "mean", "min", "runs");
    for (key, row) in &matrix {
        let scores = &scores[key];
        let runs = scores.len() as f64;
        let min = scores.iter().copied().fold(1.0, f64::min);
        let cells: Vec<String> = Limit::ALL
            .iter()
            .filter_map(|limit| row.get(limit.slug()).map(|share| (limit, share * 100.0 / runs)))
            .filter(|(_, share)| *share >= 0.05)
            .map(|(limit, share)| format!("{} {share:.1}", limit.slug()))
            .collect();
        let mean = scores.iter().sum::<f64>() / runs;
        println!("{key:28} {:6.1} {:6.1} {:5}  {}", mean * 100.0, min * 100.0, scores.len(), cells.join("  "));
    }
    Ok(())
}

impl Truth {
    fn counts(&self, cause: Cause) -> bool {
        self.right.iter().any(|(limit, which)| {
            limit == cause.limit().slug() && (which == "slow-reader" || which == "reader-stopped")
                == matches!(cause, Cause::SlowReader | Cause::ReaderStopped)
        })
    }

    fn row(&self) -> String {
        match self.right.first() {
            Some((limit, cause)) => format!("{limit}/{cause}"),
            None => self.limit.clone(),
        }
    }
}

fn truth(run: &Path) -> Result<Truth> {
    let path = run.join("truth.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let expected = &json["expected"];
    let pair = |label: &serde_json::Value| {
        (label["limit"].as_str().unwrap_or("").to_owned(), label["cause"].as_str().unwrap_or("").to_owned())
    };
    let mut right = vec![pair(expected)];
    if let Some(also) = expected["also"].as_array() {
        right.extend(also.iter().map(pair));
    }
    let port = json["connections"][0]["receiver"]["local"].as_str().and_then(|text| text.rsplit(':').next()?.parse().ok());
    Ok(Truth {
        limit: right[0].0.clone(),
        right,
        kernel_share: expected["share_at_least"]["of_transfer"].as_f64(),
        server_port: port.unwrap_or(0),
    })
}

fn capture_file(run: &Path, side: &str) -> Option<PathBuf> {
    ["pcap.zst", "pcapng.zst", "pcap", "pcapng"]
        .iter()
        .map(|ending| run.join(format!("{side}.{ending}")))
        .find(|file| file.exists())
}

/// How the time of all flows of a capture is shared out, opening and aftermath left out.
fn shares(file: &Path, truth: &Truth) -> Result<BTreeMap<Cause, f64>> {
    let mut analysis = Analysis::new(Options::default());
    Capture::open(file)?.run(&mut analysis)?;
    let mut time: BTreeMap<Cause, Duration> = BTreeMap::new();
    let mut all = Duration::ZERO;
    for flow in &analysis.finish().flows {
        if truth.server_port != 0 && flow.key.b.port != truth.server_port && flow.key.a.port != truth.server_port {
            continue;
        }
        add(flow, &mut time, &mut all);
    }
    Ok(time.into_iter().map(|(cause, lasted)| (cause, lasted.as_secs_f64() / all.as_secs_f64())).collect())
}

fn add(flow: &FlowReport, time: &mut BTreeMap<Cause, Duration>, all: &mut Duration) {
    let main = flow.main();
    let until = main.measures.last_data.unwrap_or(flow.last);
    for spell in &main.spells {
        let to = spell.to.min(until);
        if let Some(lasted) = to.since(spell.from)
            && spell.cause.limit() != Limit::Connection
        {
            *time.entry(spell.cause).or_default() += lasted;
            *all += lasted;
        }
    }
}
