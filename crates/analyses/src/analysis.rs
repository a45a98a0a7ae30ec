//! The sink that analyses every flow of a recording.

use crate::flow::{Flow, Judged};
use crate::report::FlowReport;
use crate::summary;
use slowpath_model::{End, Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Sink, Vantage};

/// Where the user says the tap was, in terms of the transfer rather than of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantageOverride {
    /// On the host that sends most of the data.
    Sender,
    /// On the host that receives most of the data.
    Receiver,
    /// Somewhere on the way.
    Between,
}

impl VantageOverride {
    /// For a flow whose data comes from `sender`.
    pub(crate) fn resolve(self, sender: End) -> Vantage {
        match self {
            Self::Sender => Vantage::At(sender),
            Self::Receiver => Vantage::At(!sender),
            Self::Between => Vantage::Between,
        }
    }
}

/// What to analyse, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where the tap was; inferred per flow where not given.
    pub vantage: Option<VantageOverride>,
    /// Flows kept for the report; what comes after is counted only.
    pub most_flows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { vantage: None, most_flows: 200_000 }
    }
}

/// Told of every labelled segment as it is seen. A later correction (a retransmission found needless) has its own
/// call.
pub trait Labels {
    /// What `event`'s segment was.
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged);
}

impl Labels for () {
    fn judged(&mut self, _: FlowId, _: &Event, _: Judged) {}
}

/// Analyses every flow of a recording.
#[derive(Debug)]
pub struct Analysis<L = ()> {
    options: Options,
    flows: Vec<Option<Box<Watched>>>,
    /// Flow numbers start at 1; the slot of flow n is n − 1.
    kept: usize,
    not_kept: NotKept,
    labels: L,
}

#[derive(Debug)]
struct Watched {
    id: FlowId,
    flow: Flow,
    ended: FlowEnd,
}

/// Flows beyond [`Options::most_flows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotKept {
    /// How many.
    pub flows: u64,
    /// Their segments.
    pub segments: u64,
}

/// What is known when the recording is over.
#[derive(Debug, Default)]
pub struct Report {
    /// The flows, in order of appearance.
    pub flows: Vec<FlowReport>,
    /// Flows for which there was no room.
    pub not_kept: NotKept,
}

impl Analysis {
    /// An analysis that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self::with_labels(options, ())
    }
}

impl<L: Labels> Analysis<L> {
    /// An analysis that also tells `labels` what each segment was.
    pub fn with_labels(options: Options, labels: L) -> Self {
        Self { options, flows: Vec::new(), kept: 0, not_kept: NotKept::default(), labels }
    }

    /// Ends the analysis and reports one flow after the other, so that not all reports need be held at once.
    pub fn finish_each(self, mut each: impl FnMut(FlowReport)) -> (NotKept, L) {
        for slot in self.flows {
            if let Some(watched) = slot {
                let Watched { id, flow, ended } = *watched;
                each(summary::report(id, flow, ended, self.options.vantage));
            }
        }
        (self.not_kept, self.labels)
    }

    /// Ends the analysis.
    pub fn finish(self) -> Report {
        let mut flows = Vec::with_capacity(self.kept);
        let (not_kept, _) = self.finish_each(|flow| flows.push(flow));
        Report { flows, not_kept }
    }

    fn slot(&mut self, flow: FlowId) -> Option<&mut Watched> {
        let index = usize::try_from(flow.0.checked_sub(1)?).ok()?;
        self.flows.get_mut(index)?.as_deref_mut()
    }
}

impl<L: Labels> Sink for Analysis<L> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if self.kept >= self.options.most_flows {
            self.not_kept.flows += 1;
            return;
        }
        let Some(index) = flow.0.checked_sub(1).map(|index| index as usize) else { return };
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, || None);
        }
        self.kept += 1;
        self.flows[index] =
            Some(Box::new(Watched { id: flow, flow: Flow::new(*key), ended: FlowEnd::EndOfRecording }));
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        let Some(watched) = self.slot(flow) else {
            self.not_kept.segments += 1;
            return;
        };
        match &event.kind {
            EventKind::Seen(segment) => {
                let judged = watched.flow.segment(event.at, segment);
                self.labels.judged(flow, event, judged);
            }
            _ => watched.flow.last = watched.flow.last.max(event.at),
        }
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        if let Some(watched) = self.slot(flow) {
            watched.ended = end;
            watched.flow.shrink();
        }
    }
}

/// The time between two instants, zero where reversed.
pub(crate) fn between(from: Instant, to: Instant) -> std::time::Duration {
    to.since(from).unwrap_or_default()
}
