//! The sink that analyses every flow of a recording.

use crate::cause::Cause;
use crate::findings;
use crate::flow::FlowState;
use crate::label::Judged;
use crate::nearest::Nearest;
use crate::options::AnalysisOptions;
use crate::outstanding::SpuriousRetransmission;
use crate::overview::CapturedLate;
use crate::report::FlowReport;
use crate::summary;
use slowpath_model::{
    End, Endpoint, Event, EventKind, FlowEnd, FlowId, FlowKey, Instant, Segment, Sink, Vantage,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// Receives every labelled segment as it is seen, and later corrections of labels; and, if it takes them, the reports of
/// flows.
pub trait Labels {
    /// Whether it takes the reports of flows: each once the flow is over, so that not all need be in memory at once. Their
    /// findings have no evidence, as those of [`Analysis::finish_each`].
    const TAKES_REPORTS: bool = false;

    /// A new flow.
    fn open(&mut self, _flow: FlowId, _key: &FlowKey) {}

    /// How `event`'s segment was judged.
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged);

    /// A retransmission by `from` in `flow`, labelled [`Label::Retransmission`](crate::Label), turned out to be
    /// spurious.
    fn found_spurious(&mut self, _flow: FlowId, _from: End, _spurious: &SpuriousRetransmission) {}

    /// The report of a flow, if it takes reports.
    fn take(&mut self, _report: Box<FlowReport>) {}

    /// A segment of a flow whose report it has taken: an echo of its close ([`FlowReport::echo`]).
    fn echo(&mut self, _flow: FlowId, _at: Instant, _segment: &Segment) {}
}

impl Labels for () {
    fn judged(&mut self, _: FlowId, _: &Event, _: Judged) {}
}

/// Both of them; the reports go to the second, if it takes them.
impl<A: Labels, B: Labels> Labels for (A, B) {
    const TAKES_REPORTS: bool = A::TAKES_REPORTS || B::TAKES_REPORTS;

    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        self.0.open(flow, key);
        self.1.open(flow, key);
    }

    #[inline]
    fn judged(&mut self, flow: FlowId, event: &Event, judged: Judged) {
        self.0.judged(flow, event, judged);
        self.1.judged(flow, event, judged);
    }

    fn found_spurious(&mut self, flow: FlowId, from: End, spurious: &SpuriousRetransmission) {
        self.0.found_spurious(flow, from, spurious);
        self.1.found_spurious(flow, from, spurious);
    }

    fn take(&mut self, report: Box<FlowReport>) {
        if B::TAKES_REPORTS { self.1.take(report) } else { self.0.take(report) }
    }

    fn echo(&mut self, flow: FlowId, at: Instant, segment: &Segment) {
        if B::TAKES_REPORTS { self.1.echo(flow, at, segment) } else { self.0.echo(flow, at, segment) }
    }
}

/// Analyses every flow of a recording.
#[derive(Debug)]
pub struct Analysis<L = ()> {
    options: AnalysisOptions,
    /// Flow numbers start at 1; the slot of flow n is n − 1.
    flows: Vec<Option<Watched>>,
    kept: usize,
    /// Closed flows, those with short RTTs and the others, oldest first, with their time of closing. They are summed up once no
    /// more segments are expected.
    closed: [VecDeque<(FlowId, Instant)>; 2],
    /// Summed up flows whose reports are still to be taken, oldest first, with the time of that.
    over: VecDeque<(FlowId, Instant)>,
    /// The hosts next to the tap that the reports taken show.
    here: BTreeSet<IpAddr>,
    /// How far hosts are, by all flows so far.
    nearest: Nearest,
    /// Flows that are over, for their memory: a recording may have thousands in a second.
    #[expect(clippy::vec_box, reason = "they are moved in and out, and large")]
    spare: Vec<Box<FlowState>>,
    not_kept: NotKept,
    labels: L,
}

/// A flow that goes on, or a finished one. There may be very many finished flows; their reports are smaller.
#[derive(Debug)]
enum Watched {
    Live(Box<FlowState>),
    Over(Box<FlowReport>),
    /// Its report was taken.
    Taken,
}

impl Watched {
    /// The stray segment, if this flow consists of nothing else, and the socket it arrived at: a segment of no known
    /// connection, and the RST that answers it.
    fn stray(&self, flow: FlowId) -> Option<(Endpoint, Stray)> {
        let (key, opening, closing) = match self {
            Self::Live(live) => (&live.key, &live.opening, &live.closing),
            Self::Over(report) => (&report.key, &report.opening, &report.closing),
            Self::Taken => return None,
        };
        let reset = closing.reset.as_ref().filter(|reset| reset.cause == Some(Cause::ResetUnknown))?;
        let stray = Stray { flow, at: reset.at, from: key.endpoint(!reset.by) };
        opening.syn.is_none().then_some((key.endpoint(reset.by), stray))
    }

    /// The responder's address, if it answered next to the tap.
    fn responder_here(&self) -> Option<IpAddr> {
        let (key, is_here) = match self {
            Self::Live(live) => (&live.key, live.is_next_to_responder()),
            Self::Over(report) => (&report.key, report.vantage.vantage == Vantage::At(End::B)),
            Self::Taken => return None,
        };
        is_here.then_some(key.b.address)
    }

    fn captured_late(&self, end: End) -> &CapturedLate {
        match self {
            Self::Live(flow) => flow.ends[end.index()].outstanding.captured_late(),
            Self::Over(report) => &report.directions[end.index()].overview.rare().captured_late,
            Self::Taken => &CapturedLate::NONE,
        }
    }

    /// Whether data of it is recorded after its own acknowledgment, or after data that came later and is stamped so.
    fn is_out_of_order(&self) -> bool {
        End::BOTH.iter().any(|end| self.captured_late(*end).segments > 0 || self.is_written_late(*end))
    }

    /// Whether segments of `end` lie behind later ones in the recording, by their timestamps and their sequence numbers.
    fn is_written_late(&self, end: End) -> bool {
        let unusual = match self {
            Self::Live(flow) => flow.ends[end.index()].unusual.as_deref(),
            Self::Over(report) => Some(report.directions[end.index()].measures.unusual()),
            Self::Taken => None,
        };
        unusual.is_some_and(|unusual| unusual.written_late > unusual.stamped_early)
    }
}

/// A segment that arrived at a socket from an address without a connection, and was answered with a RST.
#[derive(Clone, Copy, Debug)]
struct Stray {
    /// Its flow.
    flow: FlowId,
    at: Instant,
    from: Endpoint,
}

impl Stray {
    /// Whether it belongs to the connection of `report`, which arrived at its initiator's socket: the connection was open then,
    /// and did not end well afterwards. A responder's socket may have a connection with anybody.
    fn is_of(&self, report: &FlowReport) -> bool {
        let closing = &report.closing;
        let is_open = closing.fin == [false; 2] && closing.rst == [false; 2];
        report.opening.syn_ack.is_some()
            && self.from != report.key.b
            && closing.fin != [true; 2]
            && self.at >= report.first
            && (self.at <= report.last || is_open)
    }
}

/// Flows beyond [`AnalysisOptions::most_flows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotKept {
    /// How many.
    pub flows: u64,
    /// Their segments.
    pub segments: u64,
}

/// What is known when the recording is over.
#[derive(Debug, Default)]
pub struct AnalysisReport {
    /// The flows, in order of appearance.
    pub flows: Vec<FlowReport>,
    /// Flows for which there was no room.
    pub not_kept: NotKept,
}

impl Analysis {
    /// An analysis that has seen nothing.
    pub fn new(options: AnalysisOptions) -> Self {
        Self::with_labels(options, ())
    }
}

impl<L: Labels> Analysis<L> {
    /// An analysis that also reports each segment's label to `labels`.
    pub fn with_labels(options: AnalysisOptions, labels: L) -> Self {
        Self {
            options,
            flows: Vec::new(),
            kept: 0,
            closed: Default::default(),
            over: VecDeque::new(),
            here: BTreeSet::new(),
            nearest: Nearest::default(),
            spare: Vec::new(),
            not_kept: NotKept::default(),
            labels,
        }
    }

    /// Whether `flow` was seen, and there was room for it.
    pub fn has(&self, flow: FlowId) -> bool {
        let index = flow.0.checked_sub(1).map(|index| index as usize);
        index.is_some_and(|index| matches!(self.flows.get(index), Some(Some(_))))
    }

    /// The directions whose data is always recorded after its acknowledgment by the same time, in nanoseconds: their
    /// timestamps are wrong by that much.
    pub fn stamped_late(&self) -> Vec<(FlowId, End, i64)> {
        self.captured_late().filter_map(|(id, end, late)| Some((id, end, late.constant()?))).collect()
    }

    /// Whether data of any flow is recorded too late, so that the order has to be corrected.
    pub fn is_out_of_order(&self) -> bool {
        self.flows.iter().flatten().any(Watched::is_out_of_order)
    }

    /// The first segment at each socket from an address without a connection.
    fn strays(&self) -> BTreeMap<Endpoint, Stray> {
        let mut strays = BTreeMap::new();
        for (flow, watched) in (1..).map(FlowId).zip(&self.flows) {
            if let Some((socket, stray)) = watched.as_ref().and_then(|watched| watched.stray(flow)) {
                strays.entry(socket).or_insert(stray);
            }
        }
        strays
    }

    /// The hosts that answer next to the tap.
    fn hosts_here(&self) -> BTreeSet<IpAddr> {
        let watched = self.flows.iter().flatten();
        watched.filter_map(Watched::responder_here).chain(self.here.iter().copied()).collect()
    }

    fn captured_late(&self) -> impl Iterator<Item = (FlowId, End, &CapturedLate)> {
        let flows = (1..).map(FlowId).zip(&self.flows);
        flows.filter_map(|(id, watched)| Some((id, watched.as_ref()?))).flat_map(|(id, watched)| {
            End::BOTH.into_iter().map(move |end| (id, end, watched.captured_late(end)))
        })
    }

    /// Ends the analysis and reports the flows one by one, so that the reports need not all be in memory at once. The
    /// findings have no evidence, which is needed for few of many flows: [`FlowReport::explain`] adds it.
    pub fn finish_each(mut self, mut each: impl FnMut(FlowReport)) -> (NotKept, L) {
        let (strays, here) = (self.strays(), self.hosts_here());
        for (id, watched) in (1..).map(FlowId).zip(&self.flows) {
            if let Some(Watched::Live(flow)) = watched {
                self.nearest.note(id, flow);
            }
        }
        for (id, watched) in (1..).map(FlowId).zip(self.flows) {
            let mut report = match watched {
                Some(Watched::Live(mut flow)) => {
                    flow.note_hosts_here(&here);
                    let known = self.nearest.of(id, &flow);
                    summary::report(id, &mut flow, FlowEnd::EndOfRecording, self.options.vantage, known)
                }
                Some(Watched::Over(report)) => *report,
                Some(Watched::Taken) | None => continue,
            };
            let stray = strays.get(&report.key.a).filter(|stray| stray.is_of(&report));
            report.closing.stray = stray.map(|stray| stray.flow);
            findings::complete(&mut report);
            if L::TAKES_REPORTS {
                self.labels.take(Box::new(report));
            } else {
                each(report);
            }
        }
        (self.not_kept, self.labels)
    }

    /// Ends the analysis.
    pub fn finish(self) -> AnalysisReport {
        let mut flows = Vec::with_capacity(self.kept);
        let (not_kept, _) = self.finish_each(|mut flow| {
            flow.explain();
            flows.push(flow);
        });
        AnalysisReport { flows, not_kept }
    }

    /// Counts a segment of a flow for which there was no room.
    #[cold]
    fn not_kept(&mut self) {
        self.not_kept.segments += 1;
    }

    /// Sums up a closed flow of which no more segments are expected at `at`.
    #[inline(never)]
    fn sum_up_closed(&mut self, at: Instant) {
        let lingers = [LINGER_SHORT, LINGER];
        for (nth, lingers) in lingers.into_iter().enumerate() {
            if let Some((oldest, closed)) = self.closed[nth].front().copied()
                && at.nanos_since(closed) > lingers
            {
                self.closed[nth].pop_front();
                // The receiver may have ignored a RST.
                if matches!(slot(&mut self.flows, oldest), Some(Some(Watched::Live(live))) if live.is_closed())
                {
                    self.sum_up(oldest, FlowEnd::EndOfRecording);
                    if L::TAKES_REPORTS {
                        self.over.push_back((oldest, at));
                    }
                }
            }
        }
        if let Some((oldest, over)) = self.over.front().copied()
            && at.nanos_since(over) > ECHOES
        {
            self.over.pop_front();
            self.give(oldest);
        }
    }

    /// Gives away the report of a flow that is over. What the rest of the recording may change is kept: the reason of a RST is
    /// in another flow at times, and a wrong order is mended for all flows.
    fn give(&mut self, id: FlowId) {
        let Some(slot) = slot(&mut self.flows, id) else { return };
        let Some(over @ Watched::Over(report)) = slot.as_ref() else { return };
        if report.closing.rst != [false; 2] || over.is_out_of_order() {
            return;
        }
        let here = over.responder_here();
        let Some(Watched::Over(mut report)) = slot.replace(Watched::Taken) else { return };
        self.here.extend(here);
        findings::complete(&mut report);
        self.labels.take(report);
    }

    /// Sums a flow up, so that only its report is kept.
    fn sum_up(&mut self, id: FlowId, ended: FlowEnd) {
        let vantage = self.options.vantage;
        let Some(slot) = slot(&mut self.flows, id) else { return };
        let Some(Watched::Live(live)) = slot else { return };
        self.nearest.note(id, live);
        let known = self.nearest.of(id, live);
        let report = Box::new(summary::report(id, live, ended, vantage, known));
        let Some(Watched::Live(mut flow)) = slot.replace(Watched::Over(report)) else { return };
        if self.spare.len() < MOST_SPARE {
            flow.empty();
            self.spare.push(flow);
        }
    }
}

fn slot(flows: &mut [Option<Watched>], flow: FlowId) -> Option<&mut Option<Watched>> {
    let index = usize::try_from(flow.0.checked_sub(1)?).ok()?;
    flows.get_mut(index)
}

/// How long after its close segments of a flow may still come that are more than an echo: the receiver of a RST may ignore it, and
/// an end that has closed answers late data with a RST.
const LINGER: i64 = 1_000_000_000;

/// How long where both ends sent a FIN, and no RTT was longer than a quarter of this.
const LINGER_SHORT: i64 = 100_000_000;

/// How long echoes of the close may still come: if the last ACK is lost, the FIN is retransmitted.
const ECHOES: i64 = 1_000_000_000;

/// Spare flows kept. Nearly as many flows open as close, so few are ever spare.
const MOST_SPARE: usize = 256;

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
        self.labels.open(flow, key);
        let given = self.options.vantage;
        let live = match self.spare.pop() {
            Some(mut spare) => {
                spare.renew(*key, given);
                spare
            }
            None => Box::new(FlowState::new(*key, given)),
        };
        self.flows[index] = Some(Watched::Live(live));
    }

    #[inline(always)]
    fn accept(&mut self, flow: FlowId, event: &Event) {
        let index = flow.0.wrapping_sub(1) as usize;
        let segment = match &event.kind {
            EventKind::Seen(segment) => segment,
            EventKind::IcmpError(error) => {
                if let Some(Some(Watched::Live(live))) = self.flows.get_mut(index) {
                    live.icmp_error(event.at, error);
                }
                return;
            }
            _ => return,
        };
        let judged = match self.flows.get_mut(index) {
            Some(Some(Watched::Live(live))) => {
                let judged = live.segment(event.at, segment);
                if judged.spurious > 0 {
                    for (from, spurious) in live.take_spurious() {
                        self.labels.found_spurious(flow, from, &spurious);
                    }
                }
                if live.has_closed() {
                    let lingers = live.closing.rst != [false; 2] || !live.has_short_rtts(LINGER_SHORT / 4);
                    self.closed[usize::from(lingers)].push_back((flow, event.at));
                }
                judged
            }
            Some(Some(Watched::Over(report))) => {
                Judged { label: report.echo(event.at, segment), spurious: 0 }
            }
            Some(Some(Watched::Taken)) => {
                self.labels.echo(flow, event.at, segment);
                Judged { label: None, spurious: 0 }
            }
            _ => return self.not_kept(),
        };
        self.labels.judged(flow, event, judged);
        if !(self.closed[0].is_empty() && self.closed[1].is_empty() && self.over.is_empty()) {
            self.sum_up_closed(event.at);
        }
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        if end != FlowEnd::EndOfRecording {
            self.sum_up(flow, end);
        }
    }
}
