//! Flows shared out over threads: one thread reads the packets, and each of the others analyses the flows that it is
//! given. Flows are independent of each other until the analysis ends, so the number of threads does not show.

use super::Analyst;
use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_model::{Event, EventKind, FlowEnd, FlowId, FlowKey, IcmpError, Instant, Segment, Sink};
use std::num::NonZero;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Messages in a batch: 86 KB, which stay in a second-level cache between two threads.
const BATCH: usize = 512;
/// Batches that may wait for a thread. A reader that is further ahead waits.
const WAITING: usize = 2;

/// What the thread that reads tells one that analyses.
enum Message {
    Open(FlowId, FlowKey),
    /// There is no room for one more flow.
    Refused,
    /// A segment passed at `at`; `before` is the latest time of an event before it, of any flow.
    Segment {
        flow: FlowId,
        at: Instant,
        before: Instant,
        segment: Segment,
    },
    IcmpError {
        flow: FlowId,
        at: Instant,
        error: Box<IcmpError>,
    },
    Close(FlowId, FlowEnd),
}

impl Message {
    fn pass_to(self, analysis: &mut Analysis) {
        match self {
            Self::Open(flow, key) => analysis.open(flow, &key),
            Self::Refused => analysis.refuse(),
            Self::Segment { flow, at, before, segment } => {
                analysis.passes(before);
                analysis.accept(flow, &Event { at, kind: EventKind::Seen(segment) });
            }
            Self::IcmpError { flow, at, error } => {
                analysis.accept(flow, &Event { at, kind: EventKind::IcmpError(*error) });
            }
            Self::Close(flow, end) => analysis.close(flow, end),
        }
    }
}

/// A share of the flows.
struct Share {
    options: AnalysisOptions,
    /// Not passed on yet.
    batch: Vec<Message>,
    /// The thread that analyses them, once a batch is full: most captures are smaller, and a thread would take longer
    /// to start.
    worker: Option<Worker>,
}

struct Worker {
    batches: SyncSender<Vec<Message>>,
    /// Used batches, for their memory.
    emptied: Receiver<Vec<Message>>,
    thread: JoinHandle<Analysis>,
}

impl Worker {
    fn start(mut analysis: Analysis) -> Self {
        let (batches, full) = mpsc::sync_channel::<Vec<Message>>(WAITING);
        let (empty, emptied) = mpsc::sync_channel(WAITING + 1);
        let thread = thread::spawn(move || {
            for mut batch in full {
                batch.drain(..).for_each(|message| message.pass_to(&mut analysis));
                // The reader has as many as it can use.
                let _ = empty.try_send(batch);
            }
            analysis
        });
        Self { batches, emptied, thread }
    }

    /// Gives it a batch, and leaves an empty one.
    #[inline(never)]
    fn take(&self, batch: &mut Vec<Message>) {
        let empty = self.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        // It fails if the thread has panicked, which `join` passes on.
        let _ = self.batches.send(std::mem::replace(batch, empty));
    }

    /// What it has found when all is analysed.
    fn join(self) -> Analysis {
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    }
}

impl Share {
    fn new(options: AnalysisOptions) -> Self {
        Self { options, batch: Vec::with_capacity(BATCH), worker: None }
    }

    #[inline]
    fn push(&mut self, message: Message) {
        self.batch.push(message);
        if self.batch.len() == BATCH {
            let analysis = || Analysis::new(self.options);
            let worker = self.worker.get_or_insert_with(|| Worker::start(analysis()));
            worker.take(&mut self.batch);
        }
    }

    /// No more comes.
    fn end(&mut self) {
        if let Some(worker) = &self.worker {
            worker.take(&mut self.batch);
        }
    }

    fn join(self) -> Analysis {
        if let Some(worker) = self.worker {
            return worker.join();
        }
        let mut analysis = Analysis::new(self.options);
        self.batch.into_iter().for_each(|message| message.pass_to(&mut analysis));
        analysis
    }
}

/// Passes the events of each flow to one of several threads.
pub struct SharedOut {
    /// None if one thread does it all.
    shares: Vec<Share>,
    alone: Analysis,
    /// The room that is left for flows.
    room: usize,
    /// The latest time of an event so far.
    now: Instant,
}

impl SharedOut {
    /// Shares flows out over as many threads as there are CPUs, next to this one.
    pub fn over_cpus(options: AnalysisOptions) -> Self {
        Self::over(thread::available_parallelism().map_or(1, NonZero::get), options)
    }

    fn over(threads: usize, options: AnalysisOptions) -> Self {
        let shares = if threads > 1 { threads } else { 0 };
        Self {
            shares: (0..shares).map(|_| Share::new(options)).collect(),
            alone: Analysis::new(options),
            room: options.most_flows,
            now: Instant::from_nanos(i64::MIN),
        }
    }

    #[inline]
    fn share(&mut self, flow: FlowId) -> Option<&mut Share> {
        let at = (flow.0 as usize).checked_rem(self.shares.len())?;
        self.shares.get_mut(at)
    }
}

impl Analyst for SharedOut {
    type Labels = ();

    fn whole(mut self) -> Analysis {
        self.shares.iter_mut().for_each(Share::end);
        Analysis::joined(self.shares.into_iter().map(Share::join)).unwrap_or(self.alone)
    }
}

impl Sink for SharedOut {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        let room = self.room;
        self.room = room.saturating_sub(1);
        match self.share(flow) {
            Some(share) if room > 0 => share.push(Message::Open(flow, *key)),
            Some(share) => share.push(Message::Refused),
            None => self.alone.open(flow, key),
        }
    }

    #[inline]
    fn accept(&mut self, flow: FlowId, event: &Event) {
        let (at, before) = (event.at, self.now);
        self.now = before.max(at);
        let Some(share) = self.share(flow) else { return self.alone.accept(flow, event) };
        match event.kind {
            EventKind::Seen(segment) => share.push(Message::Segment { flow, at, before, segment }),
            EventKind::IcmpError(error) => {
                share.push(Message::IcmpError { flow, at, error: Box::new(error) });
            }
            // The analysis of a flow is one of packets.
            _ => {}
        }
    }

    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        match self.share(flow) {
            Some(share) => share.push(Message::Close(flow, end)),
            None => self.alone.close(flow, end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_analyses::analysis::NotKept;
    use slowpath_capture::Capture;

    #[derive(Default)]
    struct Calls(Vec<Call>);

    #[derive(Clone)]
    enum Call {
        Open(FlowId, FlowKey),
        Accept(FlowId, Box<Event>),
        Close(FlowId, FlowEnd),
    }

    impl Sink for Calls {
        fn open(&mut self, flow: FlowId, key: &FlowKey) {
            self.0.push(Call::Open(flow, *key));
        }

        fn accept(&mut self, flow: FlowId, event: &Event) {
            self.0.push(Call::Accept(flow, Box::new(*event)));
        }

        fn close(&mut self, flow: FlowId, end: FlowEnd) {
            self.0.push(Call::Close(flow, end));
        }
    }

    /// Sixty connections, four at a time.
    fn many_flows() -> Vec<Call> {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/shipped");
        let file = format!("{shipped}/short-connections-50mbit-40ms-30000b-4x15/sender.pcap.zst");
        let mut calls = Calls::default();
        Capture::open(file).and_then(|capture| capture.run(&mut calls)).expect("a capture");
        calls.0
    }

    fn analyse(threads: usize, options: AnalysisOptions, calls: &[Call]) -> (Vec<String>, NotKept) {
        let mut sink = SharedOut::over(threads, options);
        for call in calls.iter().cloned() {
            match call {
                Call::Open(flow, key) => sink.open(flow, &key),
                Call::Accept(flow, event) => sink.accept(flow, &event),
                Call::Close(flow, end) => sink.close(flow, end),
            }
        }
        let report = sink.whole().finish();
        (report.flows.iter().map(|flow| format!("{flow:?}")).collect(), report.not_kept)
    }

    fn whatever_the_number_of_threads(options: AnalysisOptions, calls: &[Call]) -> (Vec<String>, NotKept) {
        let alone = analyse(1, options, calls);
        for threads in [2, 3, 7, 100] {
            assert_eq!(analyse(threads, options, calls), alone, "{threads} threads");
        }
        alone
    }

    #[test]
    fn number_of_threads_does_not_show() {
        let (flows, not_kept) = whatever_the_number_of_threads(AnalysisOptions::default(), &many_flows());
        assert_eq!((flows.len(), not_kept), (60, NotKept::default()));
    }

    #[test]
    fn flows_without_room_are_the_last_ones() {
        let options = AnalysisOptions { most_flows: 25, ..AnalysisOptions::default() };
        let (flows, not_kept) = whatever_the_number_of_threads(options, &many_flows());
        assert_eq!((flows.len(), not_kept.flows), (25, 35));
        assert!(not_kept.segments > 35 * 20, "{not_kept:?}");
    }

    /// A segment that comes long after its flow has closed, when others have passed since or not.
    #[test]
    fn late_segments_are_late_next_to_other_flows() {
        let calls = many_flows();
        let of_first = |call: &&Call| matches!(call, Call::Accept(FlowId(1), event) if event.kind.segment().is_some_and(|segment| segment.len > 0));
        let data = calls.iter().rfind(of_first).expect("a flow with data").clone();
        let mut late = calls.clone();
        let Some(Call::Accept(flow, mut event)) = Some(data) else { panic!("an event") };
        let last = calls.iter().filter_map(|call| match call {
            Call::Accept(_, event) => Some(event.at),
            _ => None,
        });
        event.at = last.max().expect("events");
        late.push(Call::Accept(flow, event));
        let (before, _) = whatever_the_number_of_threads(AnalysisOptions::default(), &calls);
        let (with, _) = whatever_the_number_of_threads(AnalysisOptions::default(), &late);
        assert_eq!(before[1..], with[1..]);
        assert_ne!(before[0], with[0]);
    }
}
