//! What held a transfer back at its receiver, as the receiver's own host reports it.
//!
//! A receiver cannot know what its sender waits for, but it knows what it offers: whether its window is used up,
//! whether by unread data or for lack of room, and for how long it gave no answer. Time is judged from one sample of
//! the socket to the next.

use super::Bound;
use crate::cause::Cause;
use slowpath_model::{Bytes, Instant, SocketSample, Wait};
use std::time::Duration;

/// The causes that can hold a receiver, in the order in which time is added up.
pub(super) const CAUSES: [Cause; 4] =
    [Cause::LockHolderOffCpu, Cause::ReaderOffCpu, Cause::SlowReader, Cause::ReceiveBufferTooSmall];

/// Time for each of [`CAUSES`].
#[derive(Clone, Copy, Debug, Default)]
struct Held([Duration; CAUSES.len()]);

impl Held {
    fn add(&mut self, cause: Cause, lasted: Duration) {
        let at = CAUSES.iter().position(|other| *other == cause).expect("one of those that hold a receiver");
        self.0[at] += lasted;
    }

    fn iter(self) -> impl Iterator<Item = (Cause, Duration)> {
        CAUSES.into_iter().zip(self.0)
    }
}

/// Adds up what held a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiving {
    held: Held,
    judged: Duration,
    last: Option<Instant>,
    /// Since the last sample.
    read: u64,
    without_cpu: Duration,
    unanswered: Duration,
    /// Until then, since something came.
    silent: Duration,
    /// Time with packets in the backlog of a locked socket; its meaning is known when they are processed.
    locked: Duration,
    roomy: Option<Roomy>,
    /// The largest window that was used up, and the last one.
    filled: u64,
    window: u64,
}

/// Samples with room in the window. It takes some RTTs to tell whether the data that came is all that fits.
#[derive(Clone, Copy, Debug)]
struct Roomy {
    /// The window at their start.
    window: u64,
    read: u64,
    lasted: Duration,
    /// For how long nothing came.
    silent: Duration,
    round_trip: Duration,
}

/// RTTs that are evaluated together.
const ROUND_TRIPS: u32 = 8;

impl Receiving {
    /// The process read data.
    pub(super) fn read(&mut self, amount: Bytes) {
        self.read = self.read.saturating_add(amount.get());
    }

    /// Something waited.
    pub(super) fn waited(&mut self, on: Wait, lasted: Duration, times: u64) {
        match on {
            // Packets wait at the same time, a process one time after the other.
            Wait::HolderOffCpu => self.unanswered = self.unanswered.max(lasted),
            Wait::RunQueue => {
                let times = u32::try_from(times).unwrap_or(u32::MAX);
                self.without_cpu = self.without_cpu.saturating_add(lasted.saturating_mul(times));
            }
            _ => {}
        }
    }

    /// Forgets for how long what held it.
    pub(super) fn next_interval(&mut self) {
        (self.held, self.judged) = (Held::default(), Duration::ZERO);
    }

    /// A sample of the socket's state: classifies the time until it.
    pub(super) fn sample(&mut self, at: Instant, sample: &SocketSample) {
        let since = self.last.replace(at).and_then(|last| at.since(last)).unwrap_or_default();
        let unanswered = std::mem::take(&mut self.unanswered);
        let (Some(window), Some(unread)) = (sample.rcv_wnd, sample.receive_queue) else { return };
        let is_locked = sample.backlog.is_some_and(|bytes| bytes > 0);
        if self.read == 0 && unread == 0 && unanswered.is_zero() && !is_locked {
            self.silent += since;
            if let Some(roomy) = &mut self.roomy {
                roomy.silent += since;
            }
            return;
        }
        // Time without answers is reported when it is over, and nothing was judged before.
        let since = since + std::mem::take(&mut self.locked);
        let since = since + std::mem::take(&mut self.silent).min(unanswered.saturating_sub(since));
        let unanswered = unanswered.min(since);
        self.judged += unanswered;
        self.held.add(Cause::LockHolderOffCpu, unanswered);
        let rest = since - unanswered;
        if is_locked {
            self.locked = rest;
            return;
        }
        self.judged += rest;
        let (read, without_cpu) = (std::mem::take(&mut self.read), std::mem::take(&mut self.without_cpu));
        if unread > window {
            let off = without_cpu.min(rest);
            self.held.add(Cause::ReaderOffCpu, off);
            self.held.add(Cause::SlowReader, rest - off);
            return;
        }
        let Some(round_trip) = sample.rcv_rtt.map(|us| Duration::from_micros(us.into())) else { return };
        self.room(u64::from(window) + u64::from(unread), read, rest, round_trip);
    }

    /// The window had room: was it used up? A growing window is observed until it has grown by half.
    fn room(&mut self, window: u64, read: u64, lasted: Duration, round_trip: Duration) {
        let nothing = Roomy { window, read: 0, lasted: Duration::ZERO, silent: Duration::ZERO, round_trip };
        // How long the data before the first sample took is unknown.
        let Some(before) = self.roomy.filter(|_| !lasted.is_zero()) else {
            self.roomy.get_or_insert(nothing);
            return;
        };
        let roomy = Roomy {
            read: before.read.saturating_add(read),
            lasted: before.lasted + lasted,
            round_trip,
            ..before
        };
        let has_grown = window > before.window + before.window / 2;
        if roomy.lasted >= round_trip * ROUND_TRIPS || has_grown {
            self.settle(roomy);
            self.roomy = Some(nothing);
        } else {
            self.roomy = Some(roomy);
        }
        self.window = window;
    }

    fn settle(&mut self, roomy: Roomy) {
        if roomy.is_filled() {
            self.held.add(Cause::ReceiveBufferTooSmall, roomy.lasted);
            self.filled = self.filled.max(roomy.window);
        }
    }

    /// The causes that held it, the longest first, with their share of the time in which data came or lay there.
    pub fn bounds(&self) -> Vec<Bound> {
        let mut settled = self.clone();
        if let Some(roomy) = self.roomy.filter(|roomy| roomy.lasted >= roomy.round_trip * (ROUND_TRIPS / 2)) {
            settled.settle(roomy);
        }
        let Self { held, filled, window, .. } = settled;
        let grew = window >= filled.saturating_mul(2);
        let held = held.iter().filter(|(_, lasted)| !lasted.is_zero()).map(|(cause, lasted)| {
            let cause =
                if grew && cause == Cause::ReceiveBufferTooSmall { Cause::AutotuningLag } else { cause };
            Bound { cause, lasted, share: lasted.as_secs_f64() / self.judged.as_secs_f64() }
        });
        let mut bounds: Vec<_> = held.collect();
        bounds.sort_by_key(|bound| (std::cmp::Reverse(bound.lasted), bound.cause));
        bounds
    }
}

impl Roomy {
    /// Whether so much came in each RTT that the window left no room for more: but for a quarter, since a part of the
    /// first and the last may be missing, and an eighth where there are few. (A window that the kernel tunes in time is
    /// kept at twice the data of the RTT before, or more: `tcp_rcv_space_adjust`.)
    fn is_filled(&self) -> bool {
        let times = (self.lasted + self.silent).as_secs_f64() / self.round_trip.as_secs_f64();
        let (times, least) =
            if times < f64::from(ROUND_TRIPS / 2) { (times.round().max(1.0), 0.875) } else { (times, 0.75) };
        self.read as f64 >= self.window as f64 * times * least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    const LOOK: Duration = Duration::from_millis(100);

    /// The result for samples that are all the same: bytes read, window, bytes unread, RTT.
    fn held(
        read: u64,
        window: u32,
        unread: u32,
        round_trip_us: u32,
        waits: &[(Wait, u64)],
    ) -> Vec<(Cause, u64)> {
        let mut receiving = Receiving::default();
        let sample = SocketSample {
            rcv_wnd: Some(window),
            receive_queue: Some(unread),
            rcv_rtt: Some(round_trip_us),
            ..SocketSample::unknown(End::A)
        };
        for look in 0..=10 {
            receiving.read(Bytes::new(read));
            waits.iter().for_each(|(on, ms)| receiving.waited(*on, Duration::from_millis(*ms), 1));
            receiving.sample(Instant::START + LOOK * look, &sample);
        }
        let bounds = receiving.bounds();
        let shares: f64 = bounds.iter().map(|bound| bound.share).sum();
        assert!(shares <= 1.0 + 1e-9, "{bounds:?}");
        bounds.into_iter().map(|bound| (bound.cause, bound.lasted.as_millis() as u64)).collect()
    }

    /// The result for samples as the kernel reported them of transfers with a known cause: bytes read, window, bytes in
    /// the backlog, milliseconds for which a packet waited there.
    fn told(round_trip_us: u32, looks: &[(u64, u32, u32, u64)]) -> Vec<(Cause, u64)> {
        let mut receiving = Receiving::default();
        for (n, (read, window, backlog, waited)) in (0..).zip(looks) {
            receiving.read(Bytes::new(*read));
            receiving.waited(Wait::HolderOffCpu, Duration::from_millis(*waited), 1);
            let sample = SocketSample {
                rcv_wnd: Some(*window),
                receive_queue: Some(0),
                backlog: Some(*backlog),
                rcv_rtt: Some(round_trip_us),
                ..SocketSample::unknown(End::A)
            };
            receiving.sample(Instant::START + LOOK * n, &sample);
        }
        receiving.bounds().into_iter().map(|bound| (bound.cause, bound.lasted.as_millis() as u64)).collect()
    }

    /// Two transfers over a path of 150 ms: one whose window was used up until it had grown, and one in slow start, which the
    /// window kept ahead of.
    #[test]
    fn autotuning_lag_is_distinguished_from_timely_growth() {
        let late = [
            (65_160, 80_896),
            (78_192, 234_496),
            (2_704, 240_640),
            (240_368, 720_896),
            (377_928, 1_476_608),
            (196_928, 1_870_848),
            (981_744, 3_833_856),
        ];
        assert_eq!(
            told(150_000, &late.map(|(read, window)| (read, window, 0, 0))),
            [(Cause::AutotuningLag, 300)]
        );
        let in_time = [
            (14_480, 80_896),
            (28_960, 80_896),
            (0, 80_896),
            (57_920, 151_552),
            (60_000, 346_112),
            (82_800, 497_664),
        ];
        assert_eq!(told(150_000, &in_time.map(|(read, window)| (read, window, 0, 0))), []);
    }

    /// A reader that had its socket locked for 180 of 300 ms, whatever it read before in the same look.
    #[test]
    fn locked_socket_is_judged_when_its_backlog_is_processed() {
        let period = [(40_544, 346_112, 124_416, 0), (0, 346_112, 154_368, 0), (153_488, 346_112, 0, 180)];
        let looks = [&[(40_000, 346_112, 0, 0)], &period[..], &period, &period].concat();
        assert_eq!(told(41_000, &looks), [(Cause::LockHolderOffCpu, 540)]);
    }

    /// 64 KiB every 20 ms through a window of that size: it is all that fits; through one of twice the size it is not.
    #[test]
    fn window_used_up_each_rtt_is_buffer_too_small() {
        assert_eq!(held(5 * 65_536, 65_536, 0, 20_000, &[]), [(Cause::ReceiveBufferTooSmall, 1000)]);
        assert_eq!(held(5 * 65_536, 131_072, 0, 20_000, &[]), []);
        assert_eq!(held(0, 65_536, 0, 20_000, &[]), [], "nothing came");
    }

    /// Unread data closes the window: while the reader waits for a CPU, that is the cause, and for the rest the reader.
    #[test]
    fn slow_reader_is_distinguished_from_reader_off_cpu() {
        assert_eq!(held(1000, 1000, 60_000, 20_000, &[]), [(Cause::SlowReader, 1000)]);
        let off = [(Wait::RunQueue, 40), (Wait::RunQueue, 30)];
        let expected = [(Cause::ReaderOffCpu, 700), (Cause::SlowReader, 300)];
        assert_eq!(held(1000, 1000, 60_000, 20_000, &off), expected);
        assert_eq!(held(1000, 60_000, 1000, 20_000, &off), [], "the window has room, so nothing is held");
    }

    /// Packets that wait together for one process are counted once.
    #[test]
    fn lock_holder_off_cpu_counts_waiting_packets_once() {
        let waits = [(Wait::HolderOffCpu, 40), (Wait::HolderOffCpu, 60)];
        assert_eq!(held(1000, 60_000, 0, 100, &waits), [(Cause::LockHolderOffCpu, 600)]);
    }
}
