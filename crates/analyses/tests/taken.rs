//! Reports that are taken once a flow is over are those of the end of the recording.

use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, Judged, Labels};
use slowpath_model::{Endpoint, Event, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink};

/// Keeps the reports that it takes, and those that it had before the end.
#[derive(Default)]
struct Taken {
    reports: Vec<FlowReport>,
    echoes: usize,
}

impl Labels for Taken {
    const TAKES_REPORTS: bool = true;

    fn judged(&mut self, _: FlowId, _: &Event, _: Judged) {}

    fn take(&mut self, report: Box<FlowReport>) {
        self.reports.push(*report);
    }

    fn echo(&mut self, flow: FlowId, at: Instant, segment: &Segment) {
        self.echoes += 1;
        let report = self.reports.iter_mut().find(|report| report.id == flow).expect("one that was taken");
        report.echo(at, segment);
    }
}

/// A connection that opens at `at` seconds, is answered after 1 ms, and closes: by FINs, whose last is repeated `echo` seconds
/// later, or by a RST.
fn connection(nth: u32, at: f64, echo: Option<f64>) -> Vec<(f64, FlowId, Event)> {
    let mut lines = vec![
        (0.0, "> S 0:0(0) win 65535 <mss 1000>"),
        (0.001, "< S. 0:0(0) ack 1 win 65535 <mss 1000>"),
        (0.0011, "> . 1:1(0) ack 1 win 65535"),
        (0.0012, "> P. 1:501(500) ack 1 win 65535"),
        (0.0022, "< P. 1:1001(1000) ack 501 win 65535"),
    ];
    match echo {
        Some(echo) => lines.extend([
            (0.0023, "> F. 501:501(0) ack 1001 win 65535"),
            (0.0033, "< F. 1001:1001(0) ack 502 win 65535"),
            (0.0034, "> . 502:502(0) ack 1002 win 65535"),
            (echo, "< F. 1001:1001(0) ack 502 win 65535"),
        ]),
        None => lines.push((0.0023, "> R. 501:501(0) ack 1001 win 65535")),
    }
    let event = |(after, line): (f64, &str)| {
        let at = at + after;
        (at, FlowId(nth), format!("{at:.6} {line}").parse().expect(line))
    };
    lines.into_iter().map(event).collect()
}

fn feed<L: Labels>(mut analysis: Analysis<L>) -> Analysis<L> {
    const FLOWS: u32 = 60;
    let echoes = [Some(0.05), Some(0.3), None, Some(2.5), Some(0.9)];
    let mut all: Vec<_> = (0..FLOWS)
        .flat_map(|nth| connection(nth + 1, f64::from(nth) * 0.1, echoes[nth as usize % echoes.len()]))
        .collect();
    all.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    for nth in 1..=FLOWS {
        let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        let key = FlowKey { a: end(1, 40_000 + nth as u16), b: end(2, 80), occurrence: 0 };
        analysis.open(FlowId(nth), &key);
    }
    for (_, flow, event) in &all {
        analysis.accept(*flow, event);
    }
    (1..=FLOWS).for_each(|nth| analysis.close(FlowId(nth), FlowEnd::EndOfRecording));
    analysis
}

#[test]
fn reports_taken_early_are_those_of_the_end() {
    let mut expected = Vec::new();
    feed(Analysis::new(AnalysisOptions::default())).finish_each(|report| expected.push(report));
    let analysis = feed(Analysis::with_labels(AnalysisOptions::default(), Taken::default()));
    let (not_kept, mut taken) = analysis.finish_each(|report| panic!("{} was not taken", report.id));
    assert_eq!(not_kept.flows, 0);
    let before_the_end = taken.reports.windows(2).filter(|pair| pair[0].id > pair[1].id).count();
    assert!(before_the_end > 0, "the flows with a RST come at the end");
    assert!(taken.echoes > 0, "some segments came after that");
    taken.reports.iter_mut().for_each(FlowReport::settle);
    taken.reports.sort_by_key(|report| report.id);
    for (expected, taken) in expected.iter().zip(&taken.reports) {
        assert_eq!(format!("{expected:?}"), format!("{taken:?}"), "flow {}", expected.id);
    }
    assert_eq!(expected.len(), taken.reports.len());
}
