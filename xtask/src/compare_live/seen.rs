//! What was seen at both hosts of a run, simulated or real.

use slowpath_analyses::report::FlowReport;
use slowpath_analyses::{Analysis, AnalysisOptions, VantageOverride};
use slowpath_model::{End, Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink};

/// One run: its connections in the order in which the scenario opens them.
pub struct Seen {
    /// At the host that sends.
    pub sender: Vec<Connection>,
    /// At the host that receives.
    pub receiver: Vec<Connection>,
    /// The report of the first connection, as seen by its sender.
    pub verdict: FlowReport,
}

/// A connection's segments at one host.
#[derive(Default)]
pub struct Connection {
    /// The server's port.
    pub port: u16,
    /// When each passed, and what it was.
    pub segments: Vec<(Instant, Segment)>,
}

impl Connection {
    /// Data of the opening end.
    pub fn data(&self) -> impl Iterator<Item = (Instant, &Segment)> {
        self.of(End::A).filter(|(_, segment)| segment.len > 0)
    }

    /// What one end sent.
    pub fn of(&self, end: End) -> impl Iterator<Item = (Instant, &Segment)> {
        self.segments
            .iter()
            .filter(move |(_, segment)| segment.from == end)
            .map(|(at, segment)| (*at, segment))
    }

    /// The shift of the windows that an end advertises.
    pub fn scale(&self, end: End) -> u8 {
        self.of(end).find_map(|(_, segment)| segment.window_scale).unwrap_or(0)
    }
}

/// Collects the segments of all connections at one host, and passes them on to an analysis.
pub struct Collector {
    connections: Vec<Connection>,
    analysis: Analysis,
}

impl Collector {
    /// For the host that sends.
    pub fn new() -> Self {
        let options =
            AnalysisOptions { vantage: Some(VantageOverride::Sender), ..AnalysisOptions::default() };
        Self { connections: Vec::new(), analysis: Analysis::new(options) }
    }

    /// The connections in the order in which they were opened, and the report about the first.
    pub fn finish(self) -> (Vec<Connection>, Option<FlowReport>) {
        let mut verdicts = Vec::new();
        self.analysis.finish_each(|flow| verdicts.push(flow));
        (self.connections, verdicts.into_iter().next())
    }
}

impl Sink for Collector {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.connections.push(Connection { port: key.b.port, segments: Vec::new() });
        self.analysis.open(flow, key);
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if let EventKind::Seen(segment) = event.kind
            && let Some(connection) = self.connections.get_mut(flow.0 as usize - 1)
        {
            connection.segments.push((event.at, segment));
        }
        self.analysis.accept(flow, event);
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        self.analysis.close(flow, end);
    }
}
