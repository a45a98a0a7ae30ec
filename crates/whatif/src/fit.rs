//! From what a capture shows to a scenario's values.

use crate::fitted::{Basis, Control, Fitted, Known, ReceiveBuffer, Writing};
use crate::loss;
use crate::refusal::Refusal;
use crate::seen::Seen;
use slowpath_analyses::{Cause, Limit};
use slowpath_kernels::Release;
use slowpath_model::{Bytes, Rate, Vantage};

/// Fewer segments do not show a path: less than three rounds of slow start (RFC 6928).
const LEAST_SEGMENTS: u64 = 70;

/// What the receiver may send, as a part of the data: more is a dialogue.
const MOST_ANSWERED_PART: u64 = 100;

/// The most time, as a share, of causes that a fit does not have: the tolerance of time by limit.
const MOST_NOT_MODELLED: f64 = 0.05;

/// The pace of the initial window and the quickest of later trains may differ by this part: a single train of ten segments is
/// off by up to that on a host with other work.
const SAME_PACE: f64 = 0.15;

/// Reordered or duplicated segments, as a part of all: a stray one does no harm.
const MOST_DISTURBED_PART: u64 = 1000;

/// SACK blocks without a loss that do not matter.
const SACKED_ANYHOW: u64 = 3;

/// How far the rate may be from what trains show, as a part: paces within 3 % agree. If the quickest is not the usual one, fewer
/// show it; behind a policer, trains are short.
const SPREAD: f64 = 0.03;
const UNUSUAL_SPREAD: f64 = 0.06;
const POLICED_SPREAD: f64 = 0.10;

/// Bytes of the headers of IPv4 and TCP, and of the timestamps option with its padding (RFC 7323, appendix A).
const HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;

/// The initial window of Linux (RFC 6928; `TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

/// A window that grew by less than this after the first data was fixed: the measured share of payload changes it a little
/// (`tcp_measure_rcv_mss`, 6.18).
const GREW: f64 = 1.5;

/// From this share of the time on, the window was a limit that the fit has to have.
const LIMITED: f64 = 0.05;

/// From this share of the time on, the send buffer was the limit: far from that, its size does not show.
const BUFFERED: f64 = 0.5;

/// The defaults of `tcp_rmem` (6.18): the first buffer, and the largest of 6.16 and newer and of older ones.
pub(crate) const FIRST_BUFFER: Bytes = Bytes::kib(128);
pub(crate) const RMEM_MOST: [Bytes; 2] = [Bytes::kib(32 * 1024), Bytes::kib(6 * 1024)];

/// Causes that a fit has.
const MODELLED: &[Cause] = &[
    Cause::SendBufferFull,
    Cause::ReceiveBufferTooSmall,
    Cause::NoWindowScaling,
    Cause::WindowScaleTooSmall,
    Cause::AutotuningLag,
    Cause::SlowStart,
    Cause::AfterLoss,
    Cause::FastRecovery,
    Cause::Timeout,
    Cause::TailLoss,
    Cause::LostRetransmission,
    Cause::BottleneckFull,
    Cause::StandingQueue,
    Cause::Policer,
];

/// Causes that a fit of requests has, too: what is neither a request on its way nor a response.
const OF_REQUESTS: &[Cause] = &[Cause::SenderIdle, Cause::ThinkTime, Cause::ProtocolWindow];

/// Fits a transfer. `shared` is how many other flows moved data at the same time.
///
/// # Errors
///
/// Why the capture does not show enough, or shows something that a fit does not have.
pub fn fit(seen: &Seen, shared: u64) -> Result<Fitted, Refusal> {
    refuse(seen, shared)?;
    let rtt = seen.least_rtt.ok_or(Refusal::NoRtt)?;
    let (timestamps, sack) = options(seen);
    let headers = HEADERS + if timestamps { TIMESTAMPS } else { 0 };
    let mss = full_segment(seen, timestamps);
    let on_wire = |payload: f64| payload * (mss + headers) as f64 / mss as f64;
    let pace = seen.pace.as_ref().ok_or(Refusal::RateUnknown)?;
    let shown = capacity(seen, pace.quickest.ok_or(Refusal::RateUnknown)?, pace.first)?;
    let rate = on_wire(shown);
    let spread = |part: f64| Rate::bits_per_second((rate * part) as u64);
    let part = match () {
        () if seen.of_cause(Cause::Policer) >= LIMITED => POLICED_SPREAD,
        () if (shown / pace.usual - 1.0).abs() > SPREAD => UNUSUAL_SPREAD,
        () => SPREAD,
    };
    let basis = Basis::AckPace { share: pace.share };
    let rate = Known::between(spread(1.0), spread(1.0 - part), spread(1.0 + part), basis);
    let packet = Bytes::new(mss + headers);
    let (loss, queue) = loss::fit(seen, rate.value, packet, rtt, on_wire)?;
    let scaling = [&seen.sender_options, &seen.receiver_options]
        .map(|options| options.is_some_and(|options| options.window_scale.is_some()));
    Ok(Fitted {
        rate,
        rtt: Known::exact(rtt, Basis::ShortestRtt),
        queue,
        loss,
        receive: receive_buffer(seen, scaling),
        first_buffer: first_buffer(seen),
        send: send_buffer(seen),
        send_most: send_most(seen),
        writing: Writing { waits_for_nic: true, nodelay: true },
        merges: seen.super_packets > 0,
        controls: Control::ALL.to_vec(),
        control_basis: Basis::Assumed,
        initial_window: initial_window(seen, mss),
        amount: seen.amount,
        requests: seen.requests,
        mtu: packet,
        timestamps,
        sack,
        scaling,
        super_packets: seen.super_packets > 0,
        kernel: Release::Linux6_18,
        lasted: seen.lasted,
    })
}

fn refuse(seen: &Seen, shared: u64) -> Result<(), Refusal> {
    let unless = |holds: bool, refusal: Refusal| if holds { Ok(()) } else { Err(refusal) };
    unless(seen.vantage == Vantage::At(seen.sender), Refusal::NotAtSender(seen.vantage))?;
    unless(seen.from_start, Refusal::NoHandshake)?;
    let (segments, least) = (seen.segments, LEAST_SEGMENTS);
    unless(segments >= least, Refusal::TooLittle { segments, least })?;
    let answered = seen.answered;
    unless(answered.get() <= seen.amount.get() / MOST_ANSWERED_PART, Refusal::TwoWay { answered })?;
    unless(shared == 0, Refusal::Shared { flows: shared })?;
    unless(seen.unseen == Bytes::ZERO, Refusal::Gaps(seen.unseen))?;
    unless(seen.lost_syns == 0, Refusal::LostSyns(seen.lost_syns))?;
    unless(seen.marked == 0, Refusal::Marked(seen.marked))?;
    unless(seen.disturbed * MOST_DISTURBED_PART <= segments, Refusal::Disturbed(seen.disturbed))?;
    // SACK blocks without a loss: data was reordered on its way.
    unless(seen.retransmitted > 0.0 || seen.sacked < SACKED_ANYHOW, Refusal::Disturbed(seen.sacked))?;
    unless(!seen.losses_cut, Refusal::TooManyLosses)?;
    unless(options(seen).1 || seen.losses.is_empty(), Refusal::NoSack)?;
    let of_requests = |cause| seen.requests.is_some() && OF_REQUESTS.contains(cause);
    let others = || seen.causes.iter().filter(|(cause, _)| !MODELLED.contains(cause) && !of_requests(cause));
    let share: f64 = others().map(|(_, share)| share).sum();
    match others().next() {
        Some((cause, _)) if share > MOST_NOT_MODELLED => Err(Refusal::NotModelled { cause: *cause, share }),
        _ => Ok(()),
    }
}

/// The rate of the path, in bits of payload per second: that of the quickest trains. Behind a policer, only the initial window
/// passes at the rate of the link.
fn capacity(seen: &Seen, quickest: f64, first: Option<f64>) -> Result<f64, Refusal> {
    let first = first.unwrap_or(quickest);
    if first <= quickest * (1.0 + SAME_PACE) {
        return Ok(quickest);
    }
    // A pace that only the initial window has may be that of the path, or of ACKs that bunched up.
    if seen.of_cause(Cause::Policer) >= LIMITED { Ok(first) } else { Err(Refusal::RateUnknown) }
}

/// Whether both ends use timestamps, and SACK.
fn options(seen: &Seen) -> (bool, bool) {
    let both = [seen.sender_options, seen.receiver_options];
    let all = |has: fn(&slowpath_analyses::report::SynOptions) -> bool| {
        both.iter().all(|options| options.as_ref().is_some_and(has))
    };
    (all(|options| options.timestamps), all(|options| options.sack_permitted))
}

/// Payload of a full segment.
fn full_segment(seen: &Seen, timestamps: bool) -> u64 {
    let offered = [seen.sender_options, seen.receiver_options];
    let offered = offered.iter().flatten().filter_map(|options| options.mss).min();
    let offered = offered.map(|mss| u64::from(mss).saturating_sub(if timestamps { TIMESTAMPS } else { 0 }));
    let largest = u64::from(seen.mss.max(1));
    offered.filter(|offered| seen.super_packets > 0 && *offered > 0).unwrap_or(largest)
}

fn receive_buffer(seen: &Seen, scaling: [bool; 2]) -> ReceiveBuffer {
    let (largest, first) = seen.window.unwrap_or_default();
    let is_limit = seen.of_limit(Limit::ReceiveWindow) >= LIMITED;
    let window = Basis::LargestWindow { window: largest };
    let shift = seen.receiver_options.and_then(|options| options.window_scale);
    if let Some(shift) = shift.filter(|_| is_limit && scaling == [true; 2]) {
        let grew = largest.get() as f64 >= GREW * first.get() as f64;
        // The scale that Linux chooses for a buffer that the application fixed: no larger than its window needs.
        let least = Bytes::new(if shift == 0 { 1 } else { (65_535 << (shift - 1)) + 1 });
        if !grew && least <= largest && largest.get() <= 2 * (65_535 << shift) {
            return ReceiveBuffer::Fixed { size: Known::exact(largest.max(least), window), least };
        }
        let is_bound = |cause| seen.of_cause(cause) >= LIMITED;
        if is_bound(Cause::ReceiveBufferTooSmall) || is_bound(Cause::WindowScaleTooSmall) {
            // Half of a buffer is window at first.
            return ReceiveBuffer::Tuned(Known::exact(Bytes::new(2 * largest.get()), window));
        }
    }
    let Some(shift) = shift else {
        return ReceiveBuffer::Tuned(Known::exact(RMEM_MOST[0], Basis::Assumed));
    };
    // The least shift for which the field can show the whole buffer.
    let (low, high) = ((65_535 << shift) / 2, 65_535 << shift);
    let usual = RMEM_MOST.into_iter().find(|usual| (low..=high).contains(&usual.get()));
    let value = usual.unwrap_or(Bytes::new(high));
    let low = Bytes::new(low.max(largest.get()).min(value.get()));
    ReceiveBuffer::Tuned(Known::between(value, low, Bytes::new(high), Basis::WindowScale { shift }))
}

fn first_buffer(seen: &Seen) -> Known<Bytes> {
    // A window of 64 KiB is that of the default, whatever the field can show of it.
    match seen.window {
        Some((_, first)) if seen.of_cause(Cause::AutotuningLag) >= LIMITED && first.get() > 0 => {
            Known::exact(Bytes::new(2 * first.get()), Basis::LargestWindow { window: first })
        }
        _ => Known::exact(FIRST_BUFFER, Basis::Assumed),
    }
}

fn send_buffer(seen: &Seen) -> Option<Known<Bytes>> {
    let flight = seen.flight;
    // Half of a buffer's memory is payload, more or less, and setsockopt doubles what it is given. The most in flight may be many
    // times the buffer, if its writer once wrote on while packets left.
    let size = Known::between(seen.mean_flight, seen.mean_flight, flight, Basis::FlightPlateau { flight });
    (seen.of_limit(Limit::SendBuffer) >= BUFFERED).then_some(size)
}

/// The default of `tcp_wmem` (6.18): the largest send buffer.
pub(crate) const WMEM_MOST: Bytes = Bytes::kib(4 * 1024);

/// A buffer of the default's size holds half of it as payload at least. Where more was in flight and the buffer did not show, it
/// may be larger: four times as much never shows.
fn send_most(seen: &Seen) -> Bytes {
    let flight = seen.flight.get();
    let is_beyond = flight > WMEM_MOST.get() / 2 && seen.of_limit(Limit::SendBuffer) < BUFFERED;
    if is_beyond { Bytes::new(4 * flight) } else { WMEM_MOST }
}

/// What a capture leaves open of the hosts, where that matters: each is tried, the usual one first.
pub fn readings(seen: &Seen, fitted: &Fitted) -> Vec<Fitted> {
    let mut all = vec![fitted.clone()];
    if seen.of_limit(Limit::ReceiveWindow) >= LIMITED {
        let untuned = untuned(seen, fitted).map(|receive| Fitted { receive, ..fitted.clone() });
        all.extend(untuned);
        // Before 6.6, a window does not depend on the memory that packets take, and so does not show it.
        let arithmetic = |kernel: Release| kernel.tcp().buffer_arithmetic;
        let is_hidden = arithmetic(fitted.kernel) != arithmetic(Release::Linux6_18);
        if fitted.merges || is_hidden {
            let otherwise: Vec<Fitted> =
                all.iter().map(|one| Fitted { merges: !one.merges, ..one.clone() }).collect();
            all.extend(otherwise);
        }
    }
    if fitted.send.is_some() {
        let writings = [(true, true), (false, true), (true, false), (false, false)]
            .map(|(waits_for_nic, nodelay)| Writing { waits_for_nic, nodelay });
        all = all.iter().flat_map(|one| writings.map(|writing| Fitted { writing, ..one.clone() })).collect();
    }
    all
}

/// The window scale allows a far larger buffer than ever showed: tuning was off, or its limit is less than the one that the scale
/// was chosen for (`rmem_max`).
fn untuned(seen: &Seen, fitted: &Fitted) -> Option<ReceiveBuffer> {
    let ReceiveBuffer::Tuned(tuned) = fitted.receive else { return None };
    let shift = seen.receiver_options.and_then(|options| options.window_scale)?;
    let most = Bytes::new(65_535 << shift);
    let is_far = tuned.value.get() < most.get() / 4;
    let shows = matches!(tuned.basis, Basis::LargestWindow { .. });
    (shows && is_far).then_some(ReceiveBuffer::Untuned { size: tuned, most })
}

fn initial_window(seen: &Seen, mss: u64) -> Known<u32> {
    let segments = u32::try_from(seen.first_flight.get().div_ceil(mss)).unwrap_or(u32::MAX);
    let flight = Basis::FirstFlight { flight: seen.first_flight };
    if segments > INITIAL_WINDOW {
        return Known::exact(segments, flight);
    }
    let basis = if segments == INITIAL_WINDOW { flight } else { Basis::Assumed };
    Known::exact(INITIAL_WINDOW, basis)
}
