//! Expected packets.

use super::difference::{compare_headers, compare_parts};
use super::sockets::State;
use super::time::{Due, TimeKind};
use super::{Failure, Note, PATIENCE_FOR_ANY, PATIENCE_FOR_PACKETS, Runner, Step, TraceLine};
use crate::call::Difference;
use crate::packet::{Body, Datagram, PacketSpec, Segment};
use crate::script::Event;
use slowpath_model::{Flags, Instant};

impl Runner<'_> {
    pub(super) fn expect(&mut self, event: &Event, due: &Due, packet: &PacketSpec) -> Step {
        match self.expect_strictly(event, due, packet) {
            Err(failure) if self.script.config.packets_may_fail => {
                self.notes.push(Note { line: event.place.line, text: failure.what });
                Ok(())
            }
            result => result,
        }
    }

    fn expect_strictly(&mut self, event: &Event, due: &Due, packet: &PacketSpec) -> Step {
        if !packet.around.is_empty() {
            return Err(self.failure(event, "packets inside of other packets cannot be expected here"));
        }
        let known = self.sockets.under_test_mut().filter(|socket| socket.speaks(&packet.body));
        let Some(socket) = known else {
            return Err(self.failure(event, "no socket of this script can send this packet"));
        };
        if let Body::Tcp(segment) = &packet.body
            && segment.has(Flags::SYN)
        {
            let acknowledges = segment.has(Flags::ACK);
            if socket.state == State::Connecting && !acknowledges {
                socket.state = State::SynSent;
                socket.script_isn = segment.seq;
            } else if socket.state == State::PacketReceived && acknowledges {
                socket.script_isn = segment.seq;
            }
        }
        let (at, actual) = self.gather(event, due, packet)?;
        self.trace.push(TraceLine { at, text: format!("> {actual}") });
        self.compare(event, packet, &actual)?;
        due.check(at, self.last.map(|last| last.at), &self.script.config)
            .map_err(|late| self.failure(event, "the packet was not sent in time").of_time(late))
    }

    /// Collects packets until they carry the expected payload, merged, with the script's numbers.
    fn gather(
        &mut self,
        event: &Event,
        due: &Due,
        packet: &PacketSpec,
    ) -> Result<(Instant, Datagram), Box<Failure>> {
        let expected = payload(&packet.body);
        let (mut at, mut whole) = self.next_sent(event, due, packet)?;
        let mut last = payload(&whole.body);
        while payload(&whole.body) < expected && !self.script.config.strict_segments {
            let missing = expected - payload(&whole.body);
            let (sent, part) = self.next_sent(event, due, packet)?;
            at = sent;
            let len = payload(&part.body);
            let fault = compare_parts(&whole, &part).err().or_else(|| {
                let uneven = len < missing && len != last;
                uneven.then(|| {
                    Difference::new(format!("parts of {last} bytes"), format!("a part of {len} bytes"))
                })
            });
            if let Some(difference) = fault {
                let what = "the packets sent do not add up to the one expected";
                return Err(self.failure(event, what).between(
                    format!("> {packet}"),
                    format!(
                        "> {whole}\n            > {part} ({}, not {})",
                        difference.actual, difference.expected
                    ),
                ));
            }
            last = len;
            append(&mut whole, &part);
        }
        Ok((at, whole))
    }

    /// The next packet of the socket under test, with the script's numbers.
    fn next_sent(
        &mut self,
        event: &Event,
        due: &Due,
        packet: &PacketSpec,
    ) -> Result<(Instant, Datagram), Box<Failure>> {
        let patience = match due.kind {
            TimeKind::Any => self.kernel.now() + PATIENCE_FOR_ANY,
            TimeKind::Exact | TimeKind::Range => {
                let since = self.last.and_then(|last| due.from.since(last.at)).unwrap_or_default();
                due.to.max(self.kernel.now())
                    + self.script.config.tolerance_after(since)
                    + PATIENCE_FOR_PACKETS
            }
        };
        loop {
            while let Some((at, mut sent)) = self.sent.pop_front() {
                let Some(socket) = self.sockets.under_test_mut() else { continue };
                if !socket.sent(&sent) {
                    continue;
                }
                if let Body::Tcp(segment) = &mut sent.body {
                    let answers = segment.has(Flags::SYN) && segment.has(Flags::ACK);
                    if socket.state == State::PacketReceived && answers && expects_syn_ack(packet) {
                        socket.state = State::SynAckSent;
                        socket.live_isn = segment.seq;
                    }
                    socket.to_script(segment);
                }
                return Ok((at, sent));
            }
            if self.kernel.now() >= patience {
                let waited = format!("none up to {} s", super::seconds(patience));
                return Err(self
                    .failure(event, "the packet was not sent")
                    .between(format!("{} > {packet}", super::seconds(due.from)), waited));
            }
            let happening = self.kernel.wait(patience).map_err(|error| self.broken(event, &error))?;
            self.take(event, happening)?;
        }
    }

    fn compare(&mut self, event: &Event, packet: &PacketSpec, actual: &Datagram) -> Step {
        let tick = self.script.config.timestamp_tick;
        let tolerance = self.script.config.tolerance;
        let Some(socket) = self.sockets.under_test_mut() else { return Ok(()) };
        let mut result = compare_headers(packet, actual);
        if let (Body::Tcp(script), Body::Tcp(live)) = (&packet.body, &actual.body)
            && let (Some(script), Some(live)) = (script.timestamps(), live.timestamps())
        {
            let val = socket.learn_timestamps(script, live);
            let off = (val.wrapping_sub(script.val) as i32).unsigned_abs();
            if let Some(tick) = tick
                && tick.saturating_mul(off) > tolerance
            {
                result = result
                    .and(Err(Difference::new(format!("TS val {}", script.val), format!("TS val {val}"))));
            }
        }
        if let Some(label) = packet.ip.flow_label
            && !socket.flow_label_fits(label, actual.flow_label)
        {
            result = result.and(Err(Difference::new(
                format!("flow label {label:#x}"),
                format!("flow label {:#x}, which changed otherwise", actual.flow_label),
            )));
        }
        result.map_err(|difference| {
            let what = format!("the packet has {}, not {}", difference.actual, difference.expected);
            self.failure(event, what).between(format!("> {packet}"), format!("> {actual}"))
        })
    }
}

fn expects_syn_ack(packet: &PacketSpec) -> bool {
    matches!(&packet.body, Body::Tcp(segment) if segment.has(Flags::SYN) && segment.has(Flags::ACK))
}

fn payload(body: &Body) -> u32 {
    match body {
        Body::Tcp(Segment { len, .. }) | Body::Udp { len } => *len,
        Body::Icmp(_) => 0,
    }
}

/// Appends a packet to the one before. PSH and FIN are the last one's.
fn append(whole: &mut Datagram, part: &Datagram) {
    if let (Some(whole), Some(part)) = (whole.segment_mut(), part.segment()) {
        whole.len = whole.len.saturating_add(part.len);
        let ends = Flags::FIN.with(Flags::PSH);
        whole.flags = whole.flags.without(ends).with(Flags(part.flags.0 & ends.0));
    }
}
