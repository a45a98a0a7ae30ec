//! A run over time: the queues of its receiver's socket, and its sender's time–sequence diagram and congestion window.
//!
//! Both come from the measured run, of its first connection. Tracing changes nothing in it.

use crate::figure::Course;
use slowpath_model::{CaState, End, EventKind, Flags, Instant, SocketSample, StreamOffset};
use slowpath_scenario::{HostId, Scenario};
use slowpath_simulator::{Observer, Occurrence, Sight, Wants, shown};
use std::time::Duration;

/// The sampling interval of queues. Not a multiple of a scheduler's tick or period, which would always be sampled at
/// the same phase.
const EVERY: Duration = Duration::from_micros(997);
/// Marks are letters, of which fewer can be distinguished than points of a line.
const STRETCHES_OF_MARKS: usize = 100;

/// A run over time, in seconds since its flow began.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The receiver's queues.
    pub queues: Queues,
    /// The sender's time–sequence diagram.
    pub sequence: Sequence,
    /// The sender's congestion window.
    pub window: CongestionWindow,
}

/// The queues of the receiver's socket, in bytes of memory (`skb->truesize`), as charged.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Received in order and not read.
    pub receive: Queue,
    /// Waiting for the process that owns the socket lock.
    pub backlog: Queue,
    /// Waiting for the process that sleeps in its call.
    pub prequeue: Queue,
    /// Received beyond a hole.
    pub out_of_order: Queue,
    /// The limit of received data (`sk_rcvbuf`), as last sampled.
    pub limit: f64,
}

/// A queue over time.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its length.
    pub course: Course,
    /// The maximum length.
    pub most: f64,
    /// The longest time without being empty, in seconds.
    pub longest_stretch: f64,
    /// Since when it is not empty.
    since: Option<f64>,
    sum: f64,
    seen: u64,
    not_empty: u64,
}

/// The congestion window over time, in segments.
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    /// cwnd.
    pub cwnd: Course,
    /// ssthresh, once it was set.
    pub ssthresh: Course,
    /// The maximum cwnd.
    pub most: f64,
    /// The lowest cwnd in a fast recovery, as a share of cwnd before; `None` without a recovery.
    pub least_left: Option<f64>,
    /// How long it was below ssthresh, in seconds.
    pub recovering: f64,
    /// Since when it is below; `None` if it was not at the last sample.
    below_since: Option<f64>,
    /// The last cwnd outside fast recovery.
    before: f64,
    sum: f64,
    seen: u64,
}

impl CongestionWindow {
    fn new(span: [f64; 2]) -> Self {
        let course = || Course::new(span, Course::USUAL);
        Self {
            cwnd: course(),
            ssthresh: course(),
            most: 0.0,
            least_left: None,
            recovering: 0.0,
            below_since: None,
            before: 0.0,
            sum: 0.0,
            seen: 0,
        }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.seen as f64
    }

    fn sample(&mut self, at: f64, sample: &SocketSample) {
        let Some(cwnd) = sample.snd_cwnd.map(f64::from) else { return };
        self.cwnd.push(at, cwnd);
        self.most = self.most.max(cwnd);
        self.sum += cwnd;
        self.seen += 1;
        if sample.ca_state != Some(CaState::Recovery) {
            self.before = cwnd;
        } else if self.before > 0.0 {
            let left = cwnd / self.before;
            self.least_left = Some(self.least_left.map_or(left, |least| least.min(left)));
        }
        if let Some(since) = self.below_since.take() {
            self.recovering += at - since;
        }
        if let Some(ssthresh) = sample.snd_ssthresh.filter(|ssthresh| *ssthresh < UNSET) {
            self.ssthresh.push(at, ssthresh.into());
            self.below_since = (cwnd < f64::from(ssthresh)).then_some(at);
        }
    }
}

/// ssthresh before it was first set (`TCP_INFINITE_SSTHRESH`).
const UNSET: u32 = 0x7fff_ffff;

/// What a capture at the sender shows, in bytes of the stream.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Data segments sent, each at its first byte.
    pub sent: Course,
    /// Acknowledged bytes.
    pub acknowledged: Course,
    /// The end of the receiver's window.
    pub window: Course,
    /// Retransmitted segments.
    pub again: Course,
    /// ACKs with a zero window.
    pub closed: Course,
    /// The number of retransmitted segments.
    pub sent_again: u64,
    /// The number of ACKs with a zero window.
    pub zero_windows: u64,
    /// The longest pause between two data segments, in seconds.
    pub longest_pause: f64,
}

impl Queue {
    fn new(span: [f64; 2]) -> Self {
        Self {
            course: Course::new(span, Course::USUAL),
            most: 0.0,
            longest_stretch: 0.0,
            since: None,
            sum: 0.0,
            seen: 0,
            not_empty: 0,
        }
    }

    fn push(&mut self, at: f64, length: f64) {
        self.course.push(at, length);
        self.most = self.most.max(length);
        self.sum += length;
        self.seen += 1;
        self.since = if length > 0.0 { self.since.or(Some(at)) } else { None };
        if let Some(since) = self.since {
            self.not_empty += 1;
            self.longest_stretch = self.longest_stretch.max(at - since);
        }
    }

    /// Its mean length.
    pub fn mean(&self) -> f64 {
        self.sum / self.seen.max(1) as f64
    }

    /// The share of time in which it is not empty.
    pub fn share_not_empty(&self) -> f64 {
        self.not_empty as f64 / self.seen.max(1) as f64
    }
}

/// Traces a run.
pub struct Tracer {
    sender: HostId,
    receiver: HostId,
    /// The end that sends data.
    from: End,
    began: Instant,
    /// The receiver's window scale.
    shift: u8,
    highest: StreamOffset,
    last_data: f64,
    trace: Trace,
}

impl Tracer {
    /// For a scenario's first flow, which lasts this long.
    pub fn new(scenario: &Scenario, lasts: Duration) -> Self {
        let flow = &scenario.flows[0];
        let span = [0.0, lasts.as_secs_f64()];
        let (queue, course) = (|| Queue::new(span), || Course::new(span, Course::USUAL));
        let marks = || Course::new(span, STRETCHES_OF_MARKS);
        let queues = Queues {
            receive: queue(),
            backlog: queue(),
            prequeue: queue(),
            out_of_order: queue(),
            limit: 0.0,
        };
        let sequence = Sequence {
            sent: course(),
            acknowledged: course(),
            window: course(),
            again: marks(),
            closed: marks(),
            sent_again: 0,
            zero_windows: 0,
            longest_pause: 0.0,
        };
        Self {
            sender: flow.sender_host(),
            receiver: flow.receiver_host(),
            from: if flow.sender_host() == flow.client { End::A } else { End::B },
            began: Instant::START + flow.start.earliest(),
            shift: 0,
            highest: StreamOffset(0),
            last_data: 0.0,
            trace: Trace { queues, sequence, window: CongestionWindow::new(span) },
        }
    }

    /// The trace.
    pub fn finish(self) -> Trace {
        self.trace
    }

    fn seconds(&self, at: Instant) -> f64 {
        at.nanos_since(self.began) as f64 / 1e9
    }

    fn data(&mut self, at: f64, seq: StreamOffset, end: StreamOffset) {
        let sequence = &mut self.trace.sequence;
        let byte = seq.0 as f64;
        sequence.sent.push(at, byte);
        if seq < self.highest {
            sequence.sent_again += 1;
            sequence.again.push(at, byte);
        }
        sequence.longest_pause = sequence.longest_pause.max(at - self.last_data);
        self.last_data = at;
        self.highest = self.highest.max(end);
    }

    fn answer(&mut self, at: f64, ack: StreamOffset, window: u64) {
        let sequence = &mut self.trace.sequence;
        sequence.acknowledged.push(at, ack.0 as f64);
        sequence.window.push(at, ack.0 as f64 + window as f64);
        if window == 0 {
            sequence.zero_windows += 1;
            sequence.closed.push(at, ack.0 as f64);
        }
    }

    fn sample(&mut self, at: f64, sample: &SocketSample) {
        let [in_order, beyond] = [sample.receive_queue, sample.ofo_queue].map(|bytes| bytes.map(f64::from));
        // Memory is reported for both queues together; it is divided as if segments were alike.
        let memory = sample.rmem_alloc.map(f64::from).zip(in_order).zip(beyond);
        let queues = &mut self.trace.queues;
        if let Some(((memory, in_order), beyond)) = memory {
            let share = if beyond > 0.0 { beyond / (in_order + beyond) } else { 0.0 };
            queues.receive.push(at, memory * (1.0 - share));
            queues.out_of_order.push(at, memory * share);
        }
        for (queue, length) in
            [(&mut queues.backlog, sample.backlog), (&mut queues.prequeue, sample.prequeue)]
        {
            length.into_iter().for_each(|length| queue.push(at, length.into()));
        }
        queues.limit = sample.rcvbuf.map_or(queues.limit, f64::from);
    }
}

/// The connection of the scenario's first flow.
const FIRST: u32 = 0;

impl Observer for Tracer {
    fn packet(&mut self, sight: &Sight<'_>) {
        if sight.host != self.sender || sight.frame.connection != FIRST {
            return;
        }
        let at = self.seconds(sight.at);
        let segment = shown::segment(sight.frame, sight.from, sight.sent);
        if segment.from == self.from {
            if segment.len > 0 {
                self.data(at, segment.seq, segment.end());
            }
        } else if segment.flags.has(Flags::SYN) {
            self.shift = segment.window_scale.unwrap_or(0);
        } else if let Some(ack) = segment.ack {
            self.answer(at, ack, u64::from(segment.window) << self.shift.min(14));
        }
    }

    fn wants(&self) -> Wants {
        Wants { samples: Some(EVERY), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        if let EventKind::Sampled(sample) = occurrence.kind
            && occurrence.connection == FIRST
        {
            let at = self.seconds(occurrence.at);
            if occurrence.host == self.receiver {
                self.sample(at, &sample);
            } else if occurrence.host == self.sender {
                self.trace.window.sample(at, &sample);
            }
        }
    }
}
