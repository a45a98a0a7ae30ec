//! What OProfile's `opreport --callgraph -l` prints: for each function its callers, itself, its callees.
//!
//! ```text
//! samples  %        image name  app name  symbol name
//! -------------------------------------------------------------------------------
//!   300     75.0000  vmlinux     vmlinux   tcp_v4_do_rcv
//!   100     25.0000  vmlinux     vmlinux   tcp_prequeue_process
//! 1180       5.1234  vmlinux     vmlinux   tcp_rcv_established
//!   200     60.0000  vmlinux     vmlinux   tcp_ack
//!   1180    40.0000  vmlinux     vmlinux   tcp_rcv_established [self]
//! -------------------------------------------------------------------------------
//! ```
//!
//! The line that is not indented has the function's own samples. Lines above it are callers and lines below callees,
//! with the samples in which the call was on the stack (OProfile manual, "Callgraph and reports"). A call appears in
//! two sections, its caller's and its callee's, or in one if the other was omitted as too small.

use super::lines::Lines;
use crate::error::{At, Stop};
use crate::images::image;
use crate::notes::{Notes, Oddity};
use slowpath_cost::{CallGraph, Event, Function, Image};
use std::collections::HashMap;
use std::io::BufRead;

/// The columns of a line, from the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Columns {
    /// The number of events; each has a column of samples and one of their share.
    events: usize,
    /// Whether the address comes first (`--details`).
    has_address: bool,
    /// The columns between the numbers and the symbol.
    between: Vec<Column>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Image,
    App,
    Other,
}

impl Columns {
    /// Parses a header line; `None` for any other line.
    fn parse(line: &str) -> Option<Self> {
        let names = line.strip_suffix("symbol name")?.trim_end();
        let (address, names) =
            names.strip_prefix("vma").map_or((false, names), |rest| (true, rest.trim_start()));
        let events = names.matches('%').count();
        let (numbers, between) = names.rsplit_once('%')?;
        let is_numbers = numbers.split_ascii_whitespace().all(|word| word == "samples" || word == "%");
        let between = split_columns(between).map(|name| match name {
            "image name" => Column::Image,
            "app name" => Column::App,
            _ => Column::Other,
        });
        is_numbers.then(|| Self { events, has_address: address, between: between.collect() })
    }
}

/// Splits a line at two or more spaces.
fn split_columns(text: &str) -> impl Iterator<Item = &str> {
    text.split("  ").map(str::trim).filter(|part| !part.is_empty())
}

/// Whether the text contains a header of such a report.
pub(crate) fn is_report(head: &str) -> bool {
    head.lines().any(|line| Columns::parse(line.trim()).is_some())
        && head.lines().any(|line| line.len() > 8 && line.bytes().all(|byte| byte == b'-'))
}

/// A line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    samples: u64,
    image: Image,
    name: String,
    is_self: bool,
}

impl Columns {
    /// Parses a line with numbers; those of the first event are used.
    fn line(&self, text: &str) -> Option<Line> {
        let mut rest = text.trim();
        if self.has_address {
            rest = rest.split_once(' ')?.1.trim_start();
        }
        let mut samples = None;
        for _ in 0..self.events.max(1) {
            let (count, after) = rest.split_once(' ')?;
            let (_share, after) = after.trim_start().split_once(' ')?;
            samples = samples.or(Some(count.parse().ok()?));
            rest = after.trim_start();
        }
        let (mut in_image, mut app) = (None, None);
        for column in &self.between {
            // Columns are two spaces apart, or one if a long name fills its column.
            let (value, after) = match rest.split_once("  ") {
                Some(found) if !found.0.contains(' ') || found.0.contains('(') => found,
                _ => rest.split_once(' ')?,
            };
            match column {
                Column::Image => in_image = Some(value),
                Column::App => app = Some(value),
                Column::Other => {}
            }
            rest = after.trim_start();
        }
        let (name, is_self) = rest.strip_suffix(" [self]").map_or((rest, false), |name| (name, true));
        let image = in_image.or(app).map_or(Image::Unknown, image);
        (!name.is_empty()).then(|| Line {
            samples: samples.unwrap_or(0),
            image,
            name: name.to_owned(),
            is_self,
        })
    }
}

/// A report as it is read.
#[derive(Default)]
struct Reading {
    graph: CallGraph,
    columns: Option<Columns>,
    edges: HashMap<(Function, Function), usize>,
    /// The callers in the section, until its function is known.
    callers: Vec<(Function, u64)>,
    function: Option<Function>,
}

/// Reads a report; returns why reading ended early, if it did.
pub(crate) fn read(source: impl BufRead, notes: &mut Notes) -> (CallGraph, Option<Stop>) {
    let mut lines = Lines::new(source);
    let mut reading = Reading::default();
    let stopped = loop {
        let at = At::Line(lines.number + 1);
        match lines.next() {
            Ok(Some(line)) => {
                if reading.line(&line).is_none() {
                    notes.at(Oddity::Malformed, "", at);
                }
            }
            Ok(None) => break None,
            Err(stop) => break Some(stop),
        }
    };
    let stopped = stopped.or_else(|| {
        let reason = "the report ends before the function of a section".to_owned();
        (!reading.callers.is_empty() && reading.function.is_none()).then_some(Stop { at: lines.at(), reason })
    });
    (reading.graph, stopped)
}

impl Reading {
    fn line(&mut self, line: &str) -> Option<()> {
        let Some(columns) = &self.columns else {
            self.columns = Columns::parse(line.trim());
            if self.columns.is_none() {
                self.about(line);
            }
            return Some(());
        };
        if line.is_empty() {
            return Some(());
        }
        if line.bytes().all(|byte| byte == b'-') {
            self.callers.clear();
            self.function = None;
            return Some(());
        }
        let is_indented = line.starts_with([' ', '\t']);
        let Line { samples, image, name, is_self } = columns.line(line)?;
        let function = self.graph.functions.of(&name, &image);
        let owns = &mut self.graph.self_samples;
        owns.resize(owns.len().max(function.0 as usize + 1), 0);
        match (is_indented, self.function) {
            (false, _) => {
                owns[function.0 as usize] = samples;
                self.function = Some(function);
                for (caller, samples) in std::mem::take(&mut self.callers) {
                    self.edge(caller, function, samples);
                }
            }
            (true, None) => self.callers.push((function, samples)),
            (true, Some(_)) if is_self => {}
            (true, Some(of)) => self.edge(of, function, samples),
        }
        Some(())
    }

    /// Adds a call, unless the other section has already listed it.
    fn edge(&mut self, caller: Function, callee: Function, samples: u64) {
        let edges = &mut self.graph.edges;
        let at = *self.edges.entry((caller, callee)).or_insert_with(|| {
            edges.push((caller, callee, 0));
            edges.len() - 1
        });
        edges[at].2 = edges[at].2.max(samples);
    }

    /// Lines above the header name the event: `Counted CPU_CLK_UNHALTED events (…)`.
    fn about(&mut self, line: &str) {
        let counted = line.strip_prefix("Counted ").and_then(|rest| rest.split_once(" events"));
        let by_timer = line.contains("Profiling through timer interrupt").then_some("timer");
        if let Some(name) = counted.map(|(name, _)| name).or(by_timer) {
            self.graph.event.get_or_insert_with(|| Event { name: name.to_owned(), unit: "samples" });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "CPU: P4 / Xeon, speed 2400 MHz (estimated)\n\
        Counted GLOBAL_POWER_EVENTS events (time during which processor is not stopped) count 100000\n\
        samples  %        image name               app name                 symbol name\n\
        -------------------------------------------------------------------------------\n\
        \x20 300      75.0000  vmlinux                  vmlinux                  tcp_v4_do_rcv\n\
        \x20 100      25.0000  vmlinux                  vmlinux                  tcp_prequeue_process\n\
        1180      5.1234  vmlinux                  vmlinux                  tcp_rcv_established\n\
        \x20 200      14.4900  vmlinux                  vmlinux                  tcp_ack\n\
        \x20 1180     85.5000  vmlinux                  vmlinux                  tcp_rcv_established [self]\n\
        -------------------------------------------------------------------------------\n\
        \x20 200      100.000  vmlinux                  vmlinux                  tcp_rcv_established\n\
        90        0.3900  vmlinux                  vmlinux                  tcp_ack\n\
        \x20 90       90.0000  vmlinux                  vmlinux                  tcp_ack [self]\n\
        \x20 10       10.0000  vmlinux                  vmlinux                  tcp_ack\n\
        -------------------------------------------------------------------------------\n\
        7         0.0300  a-library-with-a-long-name.so.1 an-application-of-a-long-name std::map<int, int>::find(int const&)\n";

    #[test]
    fn self_samples_and_call_edges_are_read() {
        let mut notes = Notes::default();
        let (graph, stopped) = read(REPORT.as_bytes(), &mut notes);
        assert_eq!((stopped, notes.into_vec()), (None, Vec::new()));
        assert_eq!(graph.event.as_ref().unwrap().name, "GLOBAL_POWER_EVENTS");
        let name = |function: Function| graph.functions.name(function);
        let owns: Vec<_> =
            graph.functions.iter().map(|of| (name(of), graph.self_samples[of.0 as usize])).collect();
        let expected = [
            ("tcp_v4_do_rcv", 0),
            ("tcp_prequeue_process", 0),
            ("tcp_rcv_established", 1180),
            ("tcp_ack", 90),
            ("std::map<int, int>::find(int const&)", 7),
        ];
        assert_eq!(owns, expected);
        let edges: Vec<_> = graph.edges.iter().map(|(from, to, n)| (name(*from), name(*to), *n)).collect();
        let expected = [
            ("tcp_v4_do_rcv", "tcp_rcv_established", 300),
            ("tcp_prequeue_process", "tcp_rcv_established", 100),
            ("tcp_rcv_established", "tcp_ack", 200),
            ("tcp_ack", "tcp_ack", 10),
        ];
        assert_eq!(edges, expected);
        let library = graph.functions.iter().last().unwrap();
        assert_eq!(
            graph.functions.image(library),
            &Image::User("a-library-with-a-long-name.so.1".to_owned())
        );
    }

    #[test]
    fn column_headings_are_parsed() {
        let columns =
            |text| Columns::parse(text).map(|found| (found.events, found.has_address, found.between));
        assert_eq!(columns("samples  %        symbol name"), Some((1, false, vec![])));
        assert_eq!(
            columns("samples  %        samples  %        app name                 symbol name"),
            Some((2, false, vec![Column::App]))
        );
        assert_eq!(
            columns("vma      samples  %        image name    linenr info      symbol name"),
            Some((1, true, vec![Column::Image, Column::Other]))
        );
        assert_eq!(columns("samples of a symbol name"), None);
        let two = Columns::parse("samples  %        samples  %        symbol name").unwrap();
        let line = two.line("  12  0.1000  7  0.2000  main [self]").unwrap();
        assert_eq!((line.samples, line.name.as_str(), line.is_self), (12, "main", true));
    }
}
