//! Scores the labels of segments at the receiver against what the sender's capture says of the same packets.

use anyhow::{Context, Result};
use slowpath_analyses::{Analysis, Judged, Label, Labels, Options};
use slowpath_capture::Capture;
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, Sink};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

#[derive(Default)]
struct Collect(Vec<(Event, Label)>, FirstFlows);

#[derive(Default)]
struct FirstFlows;

impl Labels for Collect {
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        if flow.0 == 1 && let Some(label) = judged.label && let EventKind::Seen(segment) = event.kind && segment.len > 0 {
            self.0.push((*event, label));
        }
    }
}

/// The first flow's data segments.
#[derive(Default)]
struct Data(Vec<Event>);

impl Sink for Data {
    fn open(&mut self, _: FlowId, _: &FlowKey) {}
    fn accept(&mut self, flow: FlowId, event: &Event) {
        if flow.0 == 1 && let EventKind::Seen(segment) = event.kind && segment.len > 0 {
            self.0.push(*event);
        }
    }
    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

fn main() -> Result<()> {
    let set = std::env::args().nth(1).context("which set?")?;
    let mut runs: Vec<PathBuf> = std::fs::read_dir(PathBuf::from("captures").join(&set))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    runs.sort();
    let mut all: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for run in &runs {
        let name = run.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (sender, receiver) = (run.join("sender.pcap.zst"), run.join("receiver.pcap.zst"));
        if !sender.exists() || !receiver.exists() || name.contains("-tso") {
            continue;
        }
        let mut sent = Data::default();
        Capture::open(&sender)?.run(&mut sent)?;
        let mut analysis = Analysis::with_labels(Options::default(), Collect::default());
        Capture::open(&receiver)?.run(&mut analysis)?;
        let mut report = None;
        let (_, labels) = analysis.finish_each(|flow| { report.get_or_insert(flow); });
        // What the wire says: each sending is new unless its bytes were sent before.
        let mut furthest = HashMap::new();
        let mut truth = HashMap::new();
        let (mut resent, mut order) = (0u64, 0u64);
        for event in &sent.0 {
            let EventKind::Seen(segment) = event.kind else { continue };
            let Some(id) = segment.ip.id else { continue };
            let top = furthest.entry(segment.from).or_insert(i64::MIN);
            let again = segment.seq.0 < *top;
            *top = (*top).max(segment.end().0);
            resent += u64::from(again);
            order += 1;
            truth.entry((segment.from, id, segment.seq.0)).or_insert((again, order));
        }
        let mut seen = HashMap::new();
        let (mut right, mut total) = (0u64, 0u64);
        let mut newest = HashMap::new();
        let mut table: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (event, label) in &labels.0 {
            let EventKind::Seen(segment) = event.kind else { continue };
            let Some(id) = segment.ip.id else { continue };
            let Some(&(again, order)) = truth.get(&(segment.from, id, segment.seq.0)) else { continue };
            let top = newest.entry(segment.from).or_insert((0, i64::MIN));
            let copies = seen.entry((segment.from, id, segment.seq.0)).or_insert(0);
            *copies += 1;
            let expected = if *copies > 1 { "duplicate" } else if again { "again" }
                else if segment.seq.0 < top.1 { "out-of-order" } else { "new" };
            *top = (top.0.max(order), top.1.max(segment.end().0));
            let ours = match label {
                Label::New => "new",
                Label::Retransmission | Label::Spurious => "again",
                Label::OutOfOrder => "out-of-order",
                Label::Duplicate => "duplicate",
                Label::KeepAlive | Label::WindowProbe => "probe",
            };
            total += 1;
            right += u64::from(expected == ours);
            *table.entry((expected, ours)).or_default() += 1;
        }
        let main = report.map(|flow| flow.main().measures.labels);
        let counted = main.map_or(0, |labels| labels.retransmission + labels.spurious);
        let arrived_again: u64 = table.iter().filter(|((expected, _), _)| *expected == "again").map(|(_, n)| n).sum();
        if resent > 0 || right < total {
            let wrong: Vec<_> = table.iter().filter(|((a, b), _)| a != b).collect();
            println!("{name:50} {:7.3}% of {total}; sent again {resent}, arrived again {arrived_again}, counted {counted}; wrong {wrong:?}", right as f64 * 100.0 / total as f64);
        }
        for (key, n) in table {
            *all.entry(key).or_default() += n;
        }
    }
    println!("{all:?}");
    Ok(())
}
