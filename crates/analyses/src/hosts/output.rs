//! How a sending host limits its own output: by its pacing rate, and by the queue of its device.
//!
//! TCP limits how much of a socket's data is in the queue of a device (`tcp_small_queue_check`). A source reports for
//! how long that held the sender. That alone does not show what the data waited for: a packet counts until somebody
//! takes it off the socket, and on a virtual device that may be its receiver. So the queue itself has to show that it
//! made packets wait.

use crate::evidence::Evidence;
use slowpath_model::{Bytes, Rate, SocketSample};

/// What shows that the sending host set the pace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Output {
    /// `qdisc_overlimits` of the last sample.
    last: Option<u32>,
    /// The pacing rate that the application set, in bytes a second, while that held the sender.
    paced_to: Option<u32>,
    /// Whether the queue held the sender.
    is_queued: bool,
    /// Of that time: the largest backlog of the queue, and how often it held packets back.
    backlog: u32,
    overlimits: u64,
    /// The rate of the queue, in bytes a second, if it reports one.
    rate: Option<u32>,
}

/// The queue of the sender's own device in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queue {
    /// How often it held packets back to keep its rate since the last sample.
    held_back: u32,
    /// Packets waited in it, or were held back to keep its rate since the last sample.
    pub holds_back: bool,
    /// Of this flow's data that waits beyond the shortest RTT, half or more waits there.
    pub has_most: bool,
}

impl Output {
    /// Evaluates the queue in a sample.
    pub(super) fn look(&mut self, sample: &SocketSample) -> Queue {
        let before = std::mem::replace(&mut self.last, sample.qdisc_overlimits);
        let held_back =
            sample.qdisc_overlimits.zip(before).map_or(0, |(now, before)| now.wrapping_sub(before));
        let holds_back = sample.qdisc_backlog.is_some_and(|bytes| bytes > 0) || held_back > 0;
        Queue { held_back, holds_back, has_most: holds_back && has_most(sample) }
    }

    /// The queue held the sender until this sample.
    pub(super) fn queued(&mut self, sample: &SocketSample, queue: Queue) {
        self.is_queued = true;
        self.backlog = self.backlog.max(sample.qdisc_backlog.unwrap_or(0));
        self.overlimits = self.overlimits.saturating_add(queue.held_back.into());
        self.rate = sample.qdisc_rate.or(self.rate);
    }

    /// The pacing rate held the sender until this sample.
    pub(super) fn paced(&mut self, sample: &SocketSample) {
        self.paced_to = sample.max_pacing_rate.or(self.paced_to);
    }

    /// What shows that the sending host set the pace.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        let rate = |bytes: u32| Rate::bits_per_second(u64::from(bytes) * 8);
        evidence.extend(self.paced_to.map(|limit| Evidence::PacingLimit { rate: rate(limit) }));
        if self.is_queued {
            evidence.push(Evidence::OwnQueue {
                backlog: Bytes::new(self.backlog.into()),
                held_back: self.overlimits,
            });
            evidence.extend(self.rate.map(|limit| Evidence::OwnQueueRate { rate: rate(limit) }));
        }
        evidence
    }
}

/// Whether half or more of a flow's data that waits beyond the shortest RTT is still on this host.
fn has_most(sample: &SocketSample) -> bool {
    let number = |value: Option<u32>| value.map(f64::from);
    let numbers = || {
        let mss = number(sample.snd_mss)?;
        let sent = number(sample.packets_out)?;
        let gone = number(sample.sacked_out).unwrap_or(0.0) + number(sample.lost_out).unwrap_or(0.0);
        // As tcp_packets_in_flight.
        let flight = (sent - gone + number(sample.retrans_out).unwrap_or(0.0)).max(0.0) * mss;
        let (srtt, shortest) = (number(sample.srtt)?, number(sample.min_rtt)?);
        // Memory is more than payload, by the same factor in the queue as in the write queue.
        let memory = number(sample.wmem_queued).filter(|memory| *memory > 0.0)?;
        let here = number(sample.wmem_alloc)? * (sent * mss + number(sample.notsent)?) / memory;
        // Little's law: data in flight times the share of the RTT that is beyond the shortest.
        Some((here, flight * (1.0 - shortest / srtt)))
    };
    numbers().is_some_and(|(here, waiting)| here > 0.0 && here * 2.0 >= waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    fn sample(backlog: u32, overlimits: u32) -> SocketSample {
        SocketSample {
            qdisc_backlog: Some(backlog),
            qdisc_overlimits: Some(overlimits),
            ..SocketSample::unknown(End::A)
        }
    }

    #[test]
    fn qdisc_holds_back_with_backlog_or_new_overlimits() {
        let mut output = Output::default();
        assert!(!output.look(&sample(0, 700)).holds_back, "earlier counts do not matter");
        assert!(!output.look(&sample(0, 700)).holds_back);
        assert!(output.look(&sample(0, 701)).holds_back);
        assert!(output.look(&sample(3028, 701)).holds_back);
        assert!(!output.look(&SocketSample::unknown(End::A)).holds_back, "an unknown queue shows nothing");
    }

    /// 30 segments in flight, an RTT of 60 ms where the shortest is 40 ms: ten segments wait somewhere.
    #[test]
    fn half_of_queued_data_on_host_counts_as_most() {
        let with = |segments: u32| SocketSample {
            packets_out: Some(30),
            snd_mss: Some(1448),
            notsent: Some(0),
            srtt: Some(60_000),
            min_rtt: Some(40_000),
            wmem_queued: Some(30 * 2304),
            wmem_alloc: Some(segments * 2304),
            ..sample(3028, 0)
        };
        assert!(has_most(&with(6)) && !has_most(&with(4)) && !has_most(&with(0)));
        assert!(!has_most(&SocketSample::unknown(End::A)));
    }
}
