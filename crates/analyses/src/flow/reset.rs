//! Why a connection was reset: from its first RST, or from a later one if nothing was lost at the first.
//!
//! A host answers a segment of a connection that it does not have with a RST *without* ACK, whose sequence number is
//! the one that the segment acknowledged (RFC 9293, section 3.10.7.1; Linux `tcp_v4_send_reset`). An end that aborts a
//! connection of its own sends a RST *with* ACK (RFC 9293, section 3.10.5; Linux `tcp_send_active_reset`). A device on
//! the path can send either in the name of an end, but it cannot imitate that end's TTL and distance well, and it
//! cannot keep that end from sending on.

use super::FlowState;
use crate::cause::Cause;
use crate::end::EndState;
use crate::limits::thresholds;
use crate::report::Reset;
use slowpath_model::{Flags, Instant, Segment};
use std::time::Duration;

/// A RST passes. Called before it is processed.
pub(super) fn note(flow: &mut FlowState, at: Instant, segment: &Segment) {
    if let Some(reset) = &mut flow.closing.reset {
        note_knowledge(reset, segment);
    }
    // An end no longer knows the connection: the device's other RST had reached it.
    let is_unknown = |reset: &mut Box<Reset>| reset.by == segment.from && segment.ack.is_none();
    if let Some(refused) = flow.closing.refused.take_if(is_unknown) {
        flow.closing.reset = Some(refused);
    }
    let closing = &flow.closing;
    // An initiator that resets the answer to its SYN, as port scanners do, opens nothing.
    let is_open = flow.opening.syn.is_none() || flow.opening.established.is_some();
    let is_explained = closing.reset.as_ref().is_some_and(|reset| reset.cause.is_some());
    if is_explained || !is_open {
        return;
    }
    let (me, other) = (segment.from.index(), (!segment.from).index());
    let has_sent_fin = closing.fin[me];
    // Its first RST, with nothing in flight, was the abort.
    let has_aborted = closing.rst[me];
    let (me, other) = (&flow.ends[me], &flow.ends[other]);
    // A FIN takes a sequence number and is not payload.
    let outstanding = |end: &EndState, fin: bool| {
        u32::try_from((end.outstanding.flight() - i64::from(fin)).max(0)).unwrap_or(u32::MAX)
    };
    let unacknowledged =
        [outstanding(me, has_sent_fin), outstanding(other, closing.fin[(!segment.from).index()])];
    if closing.fin == [true; 2] && unacknowledged == [0; 2] {
        return;
    }
    // A host that was still sending knows the connection: its program had closed it, and the FIN waits behind that data.
    let since_sent = me.last_data.map_or(i64::MAX, |last| at.nanos_since(last));
    let is_closing = unacknowledged[0] > 0 && since_sent < thresholds::STILL_SENDING_NS;
    // It may answer an earlier segment than the last.
    let answers = segment.ack.is_none() && other.last_acknowledged().is_some_and(|ack| segment.seq <= ack);
    let mut reset = Reset {
        by: segment.from,
        at,
        cause: None,
        unacknowledged,
        pause: other.unheard().map(|unheard| unheard.pause).unwrap_or_default(),
        ttl: other_ttl(me, segment),
        too_soon: if answers { too_soon(me, other, at) } else { None },
        nxt: me.outstanding.nxt(),
        ack: segment.ack,
        went_on: false,
        acknowledged_more: false,
        // Its program may have closed it, or something else reset it, behind the tap.
        knew: me.distance.sending().min().is_some_and(|far| since_sent < far),
    };
    let gave_up = me.unheard().is_some_and(|unheard| unheard.tries >= thresholds::LEAST_TRIES);
    reset.cause = if reset.ttl.is_some() || reset.too_soon.is_some() {
        Some(Cause::ResetOnPath)
    } else if gave_up {
        // The other end is gone, and that is the cause.
        None
    } else if has_aborted || !answers {
        (unacknowledged != [0; 2]).then_some(Cause::ResetAborted)
    } else if has_sent_fin || is_closing {
        (unacknowledged[1] > 0).then_some(Cause::ResetClosed)
    } else {
        Some(Cause::ResetUnknown)
    };
    flow.closing.reset = Some(Box::new(reset));
}

/// A segment passes, perhaps after a RST. Called before it is processed.
pub(super) fn follow(flow: &mut FlowState, segment: &Segment) {
    let Some(reset) = &mut flow.closing.reset else { return };
    if segment.from == reset.by {
        // A host sends nothing new on a connection that it has reset, and receives nothing: it did not send the RST.
        let nxt = flow.ends[reset.by.index()].outstanding.nxt();
        let acks_more = reset.ack.zip(segment.ack).is_some_and(|(before, ack)| ack > before);
        if segment.len > 0 && segment.seq >= nxt {
            reset.went_on = true;
            reset.cause = Some(Cause::ResetOnPath);
        } else if acks_more && !segment.flags.has(Flags::RST) {
            reset.acknowledged_more = true;
            reset.cause = Some(Cause::ResetOnPath);
        } else {
            note_knowledge(reset, segment);
        }
    } else if reset.went_on && segment.ack.is_some_and(|ack| ack > reset.nxt) {
        // The other end did not accept the RST (RFC 5961, section 3), and the connection continues.
        flow.closing.rst[reset.by.index()] = false;
        flow.closing.refused = flow.closing.reset.take();
        flow.over = false;
    }
}

/// An end that seemed not to know the connection closes or aborts it: it knew it, and its RST overtook that.
fn note_knowledge(reset: &mut Reset, segment: &Segment) {
    if segment.from == reset.by && reset.cause == Some(Cause::ResetUnknown) && closes(segment) {
        reset.cause = None;
    }
}

/// Whether an end of a connection closes or aborts it.
const fn closes(segment: &Segment) -> bool {
    segment.ack.is_some() && segment.flags.has_any(Flags::FIN.with(Flags::RST))
}

/// The TTL of a RST, and that of its sender's other packets, if these took another route: the RST has more hops left
/// than ever, or fewer by more than routes of one network differ. One host's packets take one route as long as nothing
/// changes, so that fewer hops are enough where many others had the same TTL.
fn other_ttl(end: &EndState, segment: &Segment) -> Option<(u8, u8)> {
    let (ttl, usual) = (segment.ip.ttl, end.ttl_max);
    let is_constant = end.ttl_min == usual && end.packets >= thresholds::CONSTANT_TTL_PACKETS;
    let by = if is_constant { thresholds::OTHER_ROUTE_BY } else { thresholds::ROUTES_DIFFER_BY };
    let differs = ttl > usual || ttl.saturating_add(by) <= usual;
    (end.packets > 0 && usual > 0 && differs).then_some((ttl, usual))
}

/// How soon a RST of `end` came after the only segment that it can answer, and that end's shortest answer, if that is
/// far longer.
fn too_soon(end: &EndState, other: &EndState, at: Instant) -> Option<(Duration, Duration)> {
    let asked = other.unheard().filter(|unheard| unheard.tries == 0)?;
    let shortest = end.distance.answering().min().filter(|nanos| *nanos >= thresholds::LEAST_DISTANCE_NS)?;
    let after = at.nanos_since(asked.since);
    let time = |nanos: i64| Duration::from_nanos(nanos.max(0).unsigned_abs());
    (asked.pause >= time(shortest) && after < shortest / thresholds::FAR_SOONER)
        .then(|| (time(after), time(shortest)))
}
