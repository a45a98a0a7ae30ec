//! Receive buffer autotuning (`tcp_rcv_space_adjust` and its neighbours, net/ipv4/tcp_input.c, 6.18).

use super::initial_window::twenty_segments;
use super::receiver::QueueSpace;
use super::window::RATIO_SHIFT;
use crate::choices::{BufferArithmetic, LeastReceiveBuffer, ReceiveTuning, TimestampClock, WindowGrowth};
use crate::connection::Connection;
use crate::packet::{DEFAULT_MSS, Packet};
use slowpath_model::{Flags, Instant};

/// `TCP_MIN_MSS`: the minimum guess of the peer's segment size.
const MSS_MIN: u32 = 88;

/// `TCP_INIT_CWND`.
const INITIAL_SEGMENTS: u32 = 10;
/// What a segment takes besides its payload: MAX_TCP_HEADER, 16, and `struct sk_buff` of 2.4 and 2.6.14.
const OLD_OVERHEAD: u32 = 192 + 16 + 176;
/// The minimum payload of a segment that counts for buffer sizing (`tcp_event_data_recv`).
const TELLING_SIZE: u32 = 128;

impl Connection {
    /// Initialises window and buffers once the connection is established (`tcp_init_buffer_space`; the sender does its
    /// own part).
    pub(crate) fn init_receive_buffer(&mut self, now: Instant) {
        self.fix_up_buffer();
        let app_win = u32::from(self.settings.sysctls.tcp_app_win);
        let advmss = self.rcv.advmss;
        let full = self.rcv.full_space(&self.settings).max(0);
        let full = u32::try_from(full).unwrap_or(u32::MAX);
        let rcv = &mut self.rcv;
        if rcv.window_clamp >= full {
            rcv.window_clamp = full;
            if app_win != 0 && full > 4 * advmss {
                let application = full.checked_shr(app_win).unwrap_or(0);
                rcv.window_clamp = (full - application).max(4 * advmss);
            }
        }
        // One segment is kept back.
        if app_win != 0 && rcv.window_clamp > 2 * advmss && rcv.window_clamp.saturating_add(advmss) > full {
            rcv.window_clamp = full.saturating_sub(advmss).max(2 * advmss);
        }
        rcv.ssthresh = match self.settings.choices.window_growth {
            WindowGrowth::AtOnce => rcv.window_clamp,
            WindowGrowth::WithArrivals | WindowGrowth::TwiceReceived => rcv.ssthresh.min(rcv.window_clamp),
        };
        rcv.arrivals = QueueSpace { space: 0, seq: rcv.nxt, since: now };
        let space = if self.settings.choices.early_tuning {
            rcv.ssthresh.min(rcv.wnd).min(INITIAL_SEGMENTS * advmss)
        } else {
            rcv.wnd
        };
        rcv.space = QueueSpace { space, seq: rcv.copied, since: now };
    }

    /// `tcp_fixup_rcvbuf`, until 4.19.
    fn fix_up_buffer(&mut self) {
        if self.rcv.buffer_locked {
            return;
        }
        let least = match self.settings.choices.least_receive_buffer {
            LeastReceiveBuffer::FourSegments => self.room_for_four(),
            LeastReceiveBuffer::TwentySegments => {
                let advmss = self.rcv.advmss;
                let twice = 2 * expected_truesize(advmss) * twenty_segments(advmss);
                if self.settings.sysctls.tcp_moderate_rcvbuf { twice << 2 } else { twice }
            }
            LeastReceiveBuffer::Unchanged => return,
        };
        if self.rcv.buffer < least {
            self.rcv.buffer = least.min(self.settings.sysctls.tcp_rmem.max);
        }
    }

    /// The memory of four segments, until 2.6.37.
    fn room_for_four(&self) -> u32 {
        4 * self.room_for(self.rcv.advmss + OLD_OVERHEAD)
    }

    /// The memory from `each` on whose window holds a segment.
    fn room_for(&self, mut each: u32) -> u32 {
        // Bounded: from scale 1 on, at least half is left; with a negative scale, a power of two is left.
        for _ in 0..1024 {
            if self.rcv.window_of(&self.settings, i64::from(each)) >= i64::from(self.rcv.advmss) {
                break;
            }
            each += 128;
        }
        each
    }

    /// A first guess of the peer's segment size, rather too small than too big (`tcp_initialize_rcv_mss`).
    pub(crate) fn init_rcv_mss(&mut self) {
        let hint = self.rcv.advmss.min(self.snd.mss).min(self.rcv.wnd / 2);
        self.rcv.ack.rcv_mss = hint.clamp(MSS_MIN, DEFAULT_MSS);
    }

    /// Received data exceeds the buffer: grows it, or closes the window (`tcp_clamp_window`).
    pub(super) fn clamp_window(&mut self) {
        let rcv = &mut self.rcv;
        rcv.ack.quick = 0;
        let most = self.settings.sysctls.tcp_rmem.max;
        let may_grow = match self.settings.choices.receive_tuning {
            ReceiveTuning::Fixed => false,
            // If all data is in order, the reader is slow, and more memory would not help.
            ReceiveTuning::Memory | ReceiveTuning::SenderWindow => !rcv.ofo.is_empty(),
            ReceiveTuning::Largest
            | ReceiveTuning::RightSizing
            | ReceiveTuning::RightSizingAhead
            | ReceiveTuning::Growing => true,
        };
        if rcv.buffer < most && !rcv.buffer_locked && may_grow {
            rcv.buffer = rcv.rmem_alloc.min(most);
        }
        if rcv.rmem_alloc > rcv.buffer {
            rcv.ssthresh = rcv.window_clamp.min(2 * rcv.advmss);
        }
    }

    /// Learns the peer's segment size, and from it the share of memory that is payload (`tcp_measure_rcv_mss`).
    pub(super) fn measure_rcv_mss(&mut self, packet: &Packet, truesize: u32) {
        let last = std::mem::take(&mut self.rcv.ack.last_seg_size);
        let payload = if packet.gso_size == 0 { packet.len } else { u32::from(packet.gso_size) };
        if payload >= self.rcv.ack.rcv_mss {
            if payload != self.rcv.ack.rcv_mss {
                self.measure_scaling_ratio(packet.len, truesize);
            }
            self.rcv.ack.rcv_mss = payload.min(self.rcv.advmss);
            // A full segment with PSH ends a write, so the reader may answer immediately.
            if packet.flags.has(Flags::PSH) {
                self.rcv.ack.pending.pushed = true;
            }
            return;
        }
        // Varying options (SACK) do not make a segment small: count them in, and subtract the constant ones.
        let with_options = payload + packet.option_bytes();
        let plain = !packet.flags.has_any(Flags::FIN.with(Flags::URG).with(Flags::SYN).with(Flags::PSH));
        if with_options >= DEFAULT_MSS || (with_options >= MSS_MIN && plain) {
            let fixed = if self.negotiated.timestamps { 12 } else { 0 };
            let size = with_options.saturating_sub(fixed);
            self.rcv.ack.last_seg_size = size;
            if size == last {
                self.rcv.ack.rcv_mss = size;
                return;
            }
        }
        let pending = &mut self.rcv.ack.pending;
        pending.pushed2 |= pending.pushed;
        pending.pushed = true;
    }

    /// Whether the payload share is measured.
    pub(crate) fn measures_ratio(&self) -> bool {
        self.settings.choices.buffer_arithmetic == BufferArithmetic::ScalingRatio
    }

    /// Sets the window's share of the buffer to the measured payload share.
    pub(crate) fn measure_scaling_ratio(&mut self, len: u32, truesize: u32) {
        if !self.measures_ratio() {
            return;
        }
        let ratio = (u64::from(len) << RATIO_SHIFT) / u64::from(truesize.max(1));
        // The kernel keeps the low byte; payload never exceeds its memory, so nothing is lost.
        let ratio = u8::try_from(ratio).unwrap_or(u8::MAX).max(1);
        if ratio == self.rcv.scaling_ratio {
            return;
        }
        self.rcv.scaling_ratio = ratio;
        if !self.settings.choices.clamp_follows_ratio {
            return;
        }
        let clamp = self.rcv.full_space(&self.settings).max(0);
        self.rcv.set_window_clamp(u32::try_from(clamp).unwrap_or(u32::MAX));
        self.rcv.space.space = self.rcv.space.space.min(self.rcv.window_clamp);
    }

    /// Lets the window grow if segments like this one fit the buffer (`tcp_grow_window`).
    pub(crate) fn grow_window(&mut self, len: u32, truesize: u32) {
        if self.settings.choices.window_growth != WindowGrowth::WithArrivals {
            return;
        }
        let free = self.rcv.free_space(&self.settings);
        let room = i64::from(self.rcv.window_clamp).min(free) - i64::from(self.rcv.ssthresh);
        if room <= 0 {
            return;
        }
        let increase = if self.rcv.window_of(&self.settings, i64::from(truesize)) <= i64::from(len) {
            2 * self.rcv.advmss
        } else {
            self.careful_increase(len, truesize)
        };
        if increase != 0 {
            let increase = i64::from(increase.max(len.saturating_mul(2))).min(room);
            self.rcv.ssthresh = self.rcv.ssthresh.saturating_add(u32::try_from(increase).unwrap_or(0));
            self.rcv.ack.quick |= 1;
        }
    }

    /// Segments with more overhead than payload let only a small window grow (`__tcp_grow_window`).
    fn careful_increase(&self, len: u32, truesize: u32) -> u32 {
        let most = self.settings.sysctls.tcp_rmem.max;
        let mut memory = self.rcv.window_of(&self.settings, i64::from(truesize)) >> 1;
        let mut window = self.rcv.window_of(&self.settings, i64::from(most)) >> 1;
        while i64::from(self.rcv.ssthresh) <= window && window > 0 {
            if memory <= i64::from(len) {
                return 2 * self.rcv.ack.rcv_mss;
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// Whether a segment is big enough to count for window sizing.
    pub(super) fn is_telling(packet: &Packet) -> bool {
        packet.len >= TELLING_SIZE
    }

    /// Measures the RTT by the window: a windowful takes one RTT (`tcp_rcv_rtt_measure`).
    pub(super) fn measure_round_trip(&mut self, now: Instant) {
        if let Some((end, since)) = self.rcv.rtt.measuring {
            if self.rcv.nxt < end {
                return;
            }
            self.update_round_trip(self.micros_between(since, now).max(self.least_round_trip()), true);
        }
        self.rcv.rtt.measuring = Some((self.rcv.nxt + self.rcv.wnd, now));
    }

    /// Measures the RTT by the timestamp that the peer echoes (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn measure_round_trip_by_timestamp(&mut self, now: Instant, packet: &Packet) {
        let Some(timestamps) = packet.timestamps.filter(|_| self.negotiated.timestamps) else { return };
        if timestamps.ecr == self.rcv.last_tsecr {
            return;
        }
        self.rcv.last_tsecr = timestamps.ecr;
        let length = packet.len + u32::from(packet.flags.has(Flags::FIN));
        if length >= self.rcv.ack.rcv_mss && timestamps.ecr != 0 {
            let delta = self.timestamp(now).wrapping_sub(timestamps.ecr);
            // An RTT of zero ticks: no sample since 6.16, one tick before.
            let least = u32::from(self.settings.choices.receive_tuning != ReceiveTuning::Growing);
            let delta = delta.max(least);
            // An echo from the future or from days ago is invalid (`tcp_rtt_tsopt_us`).
            if delta != 0 && delta < i32::MAX as u32 / 1000 {
                self.update_round_trip(delta.saturating_mul(self.timestamp_micros()), false);
            }
        }
    }

    /// Microseconds, rounded to ticks if the receiver's clock has no finer resolution.
    fn micros_between(&self, since: Instant, now: Instant) -> u32 {
        let choices = &self.settings.choices;
        match choices.timestamp_clock {
            TimestampClock::Jiffies => {
                let ticks = choices.clock.jiffies(now).0 - choices.clock.jiffies(since).0;
                u32::try_from(ticks).unwrap_or(u32::MAX).saturating_mul(self.timestamp_micros())
            }
            TimestampClock::Milliseconds => {
                u32::try_from(now.nanos_since(since).max(0) / 1000).unwrap_or(u32::MAX)
            }
        }
    }

    /// The minimum RTT measured by windows, in microseconds (`tcp_rcv_rtt_update`).
    fn least_round_trip(&self) -> u32 {
        match self.settings.choices.timestamp_clock {
            TimestampClock::Jiffies => self.timestamp_micros(),
            TimestampClock::Milliseconds => 1,
        }
    }

    /// Takes an RTT sample (`tcp_rcv_rtt_update`).
    fn update_round_trip(&mut self, sample_us: u32, by_window: bool) {
        let sample = sample_us.saturating_mul(8);
        let old = self.rcv.rtt.rtt_us;
        let least_counts = by_window || self.settings.choices.receive_tuning == ReceiveTuning::Growing;
        if old == 0 || (least_counts && sample < old) {
            self.rcv.rtt.rtt_us = sample;
            return;
        }
        // A window may be slow for lack of data, and a slow reader holds back its sender: only shorter samples count.
        let reader_lags = least_counts && self.rcv.nxt != self.rcv.copied;
        if !by_window && !reader_lags {
            self.rcv.rtt.rtt_us = (old - (old >> 3)).saturating_add(sample_us);
        }
    }

    /// Once per RTT, grows the buffer with what the application has read (`tcp_rcv_space_adjust`), or with what has
    /// arrived.
    pub(crate) fn adjust_receive_space(&mut self, now: Instant) {
        let choices = &self.settings.choices;
        let tuning = choices.receive_tuning;
        if tuning == ReceiveTuning::SenderWindow || choices.window_growth == WindowGrowth::TwiceReceived {
            self.follow_sender(now);
        }
        if !matches!(
            tuning,
            ReceiveTuning::RightSizing | ReceiveTuning::RightSizingAhead | ReceiveTuning::Growing
        ) {
            return;
        }
        let space = self.rcv.space;
        if !self.is_round_trip_over(space.since, now) {
            return;
        }
        let read = self.rcv.copied.distance_from(space.seq);
        match tuning {
            ReceiveTuning::Growing => {
                let unread = self.rcv.nxt.distance_from(self.rcv.copied);
                let copied = u32::try_from((read - unread).max(0)).unwrap_or(u32::MAX);
                if copied > space.space {
                    self.grow_buffer(copied);
                }
            }
            _ => self.right_size(u32::try_from(read.max(0)).unwrap_or(u32::MAX)),
        }
        self.rcv.space.seq = self.rcv.copied;
        self.rcv.space.since = now;
    }

    /// Whether an RTT is known and has passed.
    fn is_round_trip_over(&self, since: Instant, now: Instant) -> bool {
        let rtt = self.rcv.rtt.rtt_us;
        rtt != 0 && self.micros_between(since, now) >= rtt >> 3
    }

    /// Once per RTT, checks how much arrived: the sender's window was at least that. It may double by the next RTT, and
    /// the same again is overhead (Dynamic Right-Sizing, Fisk and Feng 2001).
    fn follow_sender(&mut self, now: Instant) {
        if !self.is_round_trip_over(self.rcv.arrivals.since, now) {
            return;
        }
        let arrived = self.rcv.nxt.distance_from(self.rcv.arrivals.seq).max(0);
        let arrived = u32::try_from(arrived).unwrap_or(u32::MAX).max(self.rcv.arrivals.space);
        self.rcv.arrivals = QueueSpace { space: arrived, seq: self.rcv.nxt, since: now };
        let window = arrived.saturating_mul(2);
        if self.settings.choices.receive_tuning == ReceiveTuning::SenderWindow && !self.rcv.buffer_locked {
            self.raise_buffer(u64::from(window) * 2);
        }
        if self.settings.choices.window_growth == WindowGrowth::TwiceReceived {
            self.rcv.ssthresh = self.rcv.ssthresh.max(window).min(self.rcv.window_clamp);
        }
    }

    /// Makes the buffer big enough for the next RTT (`tcp_rcvbuf_grow`).
    pub(super) fn grow_buffer(&mut self, copied: u32) {
        let before = u64::from(std::mem::replace(&mut self.rcv.space.space, copied).max(1));
        if self.settings.choices.receive_tuning != ReceiveTuning::Growing
            || !self.settings.sysctls.tcp_moderate_rcvbuf
            || self.rcv.buffer_locked
        {
            return;
        }
        // What was read is an RTT old, and a sender in slow start has doubled since.
        let copied = u64::from(copied);
        let mut window = copied << 1;
        window += (window * copied.saturating_sub(before) / before) << 1;
        if let Some(end) = self.rcv.ofo.end() {
            window += u64::try_from(end.distance_from(self.rcv.nxt)).unwrap_or(0);
        }
        self.raise_buffer(self.rcv.space_for(window.min(u64::from(u32::MAX))));
    }

    /// The buffer for twice what was read, and more for a sender in slow start (`tcp_rcv_space_adjust`, 2.6.7 to 6.15).
    fn right_size(&mut self, copied: u32) {
        if copied <= self.rcv.space.space {
            return;
        }
        let before = u64::from(self.rcv.space.space.max(1));
        self.rcv.space.space = copied;
        if !self.settings.sysctls.tcp_moderate_rcvbuf || self.rcv.buffer_locked {
            return;
        }
        let copied = u64::from(copied);
        let advmss = u64::from(self.rcv.advmss);
        let is_ahead = self.settings.choices.receive_tuning == ReceiveTuning::RightSizingAhead;
        if is_ahead || self.measures_ratio() {
            let mut window = (copied << 1) + 16 * advmss;
            window += (window * (copied - before.min(copied)) / before) << 1;
            let wanted = match self.settings.choices.buffer_arithmetic {
                BufferArithmetic::ScalingRatio => self.rcv.space_for(window.min(u64::from(u32::MAX))),
                BufferArithmetic::AdvertisedScale(_) => {
                    let each = self.room_for(expected_truesize(self.rcv.advmss));
                    window / advmss.max(1) * u64::from(each)
                }
            };
            self.raise_buffer(wanted);
            return;
        }
        // 2.6.14: twice what was read, in whole segments charged by their memory, and 16 more segments.
        let space = (2 * copied / advmss.max(1)).max(1);
        let each = self.room_for(self.rcv.advmss + OLD_OVERHEAD);
        self.raise_buffer(space * u64::from(each) + 16 * u64::from(each));
    }

    /// Enlarges the buffer up to its limit, and the window clamp with it.
    pub(crate) fn raise_buffer(&mut self, wanted: u64) {
        let sysctls = &self.settings.sysctls;
        let most = match self.settings.choices.receive_tuning {
            ReceiveTuning::SenderWindow => sysctls.rmem_max,
            _ => sysctls.tcp_rmem.max,
        };
        let buffer = u32::try_from(wanted).unwrap_or(u32::MAX).min(most);
        if buffer > self.rcv.buffer {
            self.rcv.buffer = buffer;
            let clamp = self.rcv.full_space(&self.settings).max(0);
            self.rcv.window_clamp = u32::try_from(clamp).unwrap_or(u32::MAX);
        }
    }
}

/// `SKB_TRUESIZE(mss + MAX_TCP_HEADER)` of 3.13 to 6.5 on x86-64: 272 bytes for headers, 256 for `struct sk_buff`, 320 for
/// `struct skb_shared_info`. Twenty segments of 1448 bytes, twice and four times, are the 367,360 bytes that `ss -m` shows
/// as `rb` at a client of such a kernel.
const fn expected_truesize(mss: u32) -> u32 {
    mss + 272 + 256 + 320
}
