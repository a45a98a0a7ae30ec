//! What held a sender, as its own host reports it: from one sample of the socket to the next.
//!
//! A source reports for how long each limit held it. The RTTs of that time show what it means: a congestion window that
//! is used up is the path's capacity while packets wait there, and somebody's lateness while nothing comes.

use super::output::Output;
use super::spells::{Spell, Spells};
use super::why::Why;
use super::windows::Windows;
use crate::evidence::Evidence;
use slowpath_model::{Bytes, Hold, Instant, SocketSample};
use std::mem::take;
use std::time::Duration;

/// The time of a hold, and the parts of it that were a full path, silence, and the queue of the sender's own device.
type Parts = [Duration; 4];

/// Adds up what held a sender.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    /// In the order of [`Hold::ALL`].
    held: [Parts; Hold::ALL.len()],
    spells: Spells,
    output: Output,
    /// The windows that its peer advertised.
    pub(super) windows: Windows,
    /// The longest time under them that was reported at once.
    pub(super) longest_by_window: Duration,
    /// Until the last sample: the time of each cause.
    look: Vec<(Why, Duration)>,
    /// Since then: what was reported, and until when.
    told: Vec<(Hold, Duration)>,
    until: Instant,
    wrote: bool,
    last: Option<Last>,
    /// The time after the last data was sent, as far as known.
    after_all: Duration,
}

/// The last sample.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: Instant,
    /// Whether it showed a queue on the path.
    is_full: bool,
    /// How soon an answer was due.
    due: Duration,
}

impl Sending {
    /// The process has written.
    pub(super) fn wrote(&mut self, amount: Bytes) {
        self.wrote |= amount > Bytes::ZERO;
    }

    /// The sender was held by `by`, until `at`.
    pub(super) fn held(&mut self, at: Instant, by: Hold, lasted: Duration) {
        match self.told.iter_mut().find(|(hold, _)| *hold == by) {
            Some((_, sum)) => *sum += lasted,
            None => self.told.push((by, lasted)),
        }
        self.until = at;
        if by == Hold::ReceiveWindow {
            self.longest_by_window = self.longest_by_window.max(lasted);
        }
    }

    /// Forgets for how long what held it.
    pub(super) fn next_interval(&mut self) {
        self.held = Default::default();
        self.spells = Spells::default();
    }

    /// When the first report since the last sample began.
    pub(super) fn began(&self) -> Instant {
        self.until - self.told.iter().map(|(_, lasted)| *lasted).sum()
    }

    /// A sample of the socket's state: classifies the time until it.
    pub(super) fn sample(&mut self, at: Instant, sample: &SocketSample) {
        let silence = self.silence();
        let (is_full, was_full) = (shows_queue(sample), self.last.is_some_and(|last| last.is_full));
        let queue = self.output.look(sample);
        self.look.clear();
        let (mut by_window, mut idle, mut all) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (hold, lasted) in take(&mut self.told) {
            // A single limit held it all the while.
            let is_silent = matches!(hold, Hold::SlowStart | Hold::CongestionWindow)
                && !silence.is_zero()
                && silence <= lasted;
            // The answer came between the last sample and this one: on average, half of that time was silent.
            let silent = if is_silent { silence + (lasted - silence) / 2 } else { Duration::ZERO };
            let why = match hold {
                Hold::OutputQueue if queue.holds_back => Why::OwnQueue,
                // Its window is more than enough: the rest lies here.
                Hold::SlowStart | Hold::CongestionWindow | Hold::Local if is_full && queue.has_most => {
                    Why::OwnQueue
                }
                Hold::CongestionWindow if is_full => Why::FullPath,
                Hold::Recovery if is_full && was_full && queue.has_most => Why::OwnQueue,
                Hold::Recovery if is_full && was_full => Why::FullPath,
                _ => Why::Hold(hold),
            };
            match why {
                Why::OwnQueue => self.output.queued(sample, queue),
                Why::Hold(Hold::Paced) => self.output.paced(sample),
                _ => {}
            }
            let part = |of: Why| if why == of { lasted - silent } else { Duration::ZERO };
            let parts = [lasted, part(Why::FullPath), silent, part(Why::OwnQueue)];
            for (sum, lasted) in self.held[hold as usize].iter_mut().zip(parts) {
                *sum += lasted;
            }
            self.look.extend([(Why::Silence, silent), (why, lasted - silent)]);
            match hold {
                Hold::Idle | Hold::Drained => idle += lasted,
                Hold::ReceiveWindow => by_window += lasted,
                _ => {}
            }
            all += lasted;
        }
        self.look.retain(|(_, lasted)| !lasted.is_zero());
        self.spells.add(self.until, &self.look);
        let is_over = !take(&mut self.wrote) && all == idle;
        self.after_all = if is_over { self.after_all + idle } else { idle };
        self.windows.add(sample, by_window);
        self.last = Some(Last { at, is_full, due: answer_due(sample) });
    }

    /// The least that a silence lasted, if it was longer than it should be: what is reported with an answer began
    /// before the last sample.
    fn silence(&self) -> Duration {
        let began = self.began();
        let silent = self.last.and_then(|last| last.at.since(began).filter(|silent| *silent > last.due));
        silent.unwrap_or_default()
    }

    /// The time until the last sample, by cause.
    pub fn look(&self) -> &[(Why, Duration)] {
        &self.look
    }

    /// All of the time. Time after the last data of a finished connection held nothing back.
    pub(super) fn whys(&self, is_over: bool) -> Vec<(Why, Duration)> {
        let mut whys: Vec<(Why, Duration)> = Vec::new();
        for (hold, [all, full, silent, own]) in Hold::ALL.iter().zip(self.held) {
            let rest = (Why::Hold(*hold), all - full - silent - own);
            whys.extend([rest, (Why::FullPath, full), (Why::Silence, silent), (Why::OwnQueue, own)]);
        }
        whys.extend(self.unsampled());
        let mut left = self.over(is_over);
        for (why, lasted) in &mut whys {
            if matches!(why, Why::Hold(Hold::Idle | Hold::Drained)) {
                let cut = left.min(*lasted);
                (*lasted, left) = (*lasted - cut, left - cut);
            }
        }
        whys
    }

    /// Reports since the last sample.
    fn unsampled(&self) -> impl Iterator<Item = (Why, Duration)> {
        self.told.iter().map(|(hold, lasted)| (Why::Hold(*hold), *lasted))
    }

    /// The time after the last data of a finished connection.
    const fn over(&self, is_over: bool) -> Duration {
        if is_over { self.after_all } else { Duration::ZERO }
    }

    /// The spells in order, over all of the time from one instant to another.
    pub(super) fn spells(&self, watched: [Instant; 2], is_over: bool) -> Vec<Spell> {
        let mut spells = self.spells.clone();
        spells.add(self.until, &self.unsampled().collect::<Vec<_>>());
        spells.all(watched, self.over(is_over))
    }

    /// Evidence that its own host set the pace.
    pub(super) fn own_limits(&self) -> Vec<Evidence> {
        self.output.evidence()
    }

    /// The time of each hold, in the order of [`Hold::ALL`].
    pub fn holds(&self) -> [Duration; Hold::ALL.len()] {
        self.held.map(|[all, ..]| all)
    }
}

/// Whether packets wait on the path: RTTs exceed the shortest by an eighth and by more than scheduling jitter, and not
/// only some of them. A receiver that delays some of its ACKs, and a path that paused, make RTTs differ; a queue makes
/// all of them longer. So twice their mean deviation (RTTVAR: RFC 6298, section 2) is subtracted from their mean.
pub fn shows_queue(sample: &SocketSample) -> bool {
    const WHIM_US: u32 = 500;
    let most = sample.srtt.zip(sample.min_rtt);
    most.is_some_and(|(srtt, least)| {
        let deviation = sample.rttvar.unwrap_or(0).saturating_mul(2);
        srtt.saturating_sub(deviation) > least.saturating_add((least / 8).max(WHIM_US))
    })
}

/// How soon an answer is due: the timeout without its lower bound (RFC 6298, section 2.3; `tcp_rto_min`).
fn answer_due(sample: &SocketSample) -> Duration {
    let us = sample.srtt.unwrap_or(0).saturating_add(sample.rttvar.unwrap_or(0).saturating_mul(4));
    Duration::from_micros(us.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_model::End;

    const LOOK: Duration = Duration::from_millis(100);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn round_trips(srtt: u32, rttvar: u32) -> SocketSample {
        let known = |us| Some(us);
        SocketSample {
            srtt: known(srtt),
            rttvar: known(rttvar),
            min_rtt: known(40_200),
            ..SocketSample::unknown(End::A)
        }
    }

    /// As the kernel reported a full path, one whose receiver delayed every other ACK of a few segments, and one that
    /// its packets filled by a twentieth.
    #[test]
    fn srtt_and_rttvar_show_a_queue() {
        assert!(shows_queue(&round_trips(77_200, 1_100)));
        assert!(!shows_queue(&round_trips(62_400, 21_800)));
        assert!(!shows_queue(&round_trips(42_200, 100)));
    }

    /// A path of 8 Mbit/s that stood still. Of the time that one answer ended, the part before the last sample was
    /// certainly silent, and half of the rest.
    #[test]
    fn overdue_answer_is_silence() {
        let mut sending = Sending::default();
        let at = |look: u32| Instant::START + LOOK * look;
        sending.held(at(1), Hold::CongestionWindow, LOOK);
        sending.sample(at(1), &round_trips(97_800, 1_000));
        assert_eq!(sending.look(), [(Why::FullPath, LOOK)]);
        (2..=8).for_each(|look| sending.sample(at(look), &round_trips(97_800, 1_000)));
        assert_eq!(sending.look(), []);
        sending.held(at(9), Hold::CongestionWindow, LOOK * 8);
        sending.sample(at(9), &round_trips(130_000, 80_000));
        assert_eq!(sending.look(), [(Why::Silence, ms(750)), (Why::Hold(Hold::CongestionWindow), ms(50))]);
        assert_eq!(sending.holds()[Hold::CongestionWindow as usize], ms(900));
    }

    /// Each time has one cause and none is left out; once the connection is over, the time after its last data does not
    /// count.
    #[test]
    fn time_after_last_data_is_not_counted() {
        let mut sending = Sending::default();
        let at = |look: u32| Instant::START + LOOK * look;
        let sample = round_trips(40_300, 100);
        sending.wrote(Bytes::new(200_000));
        sending.held(at(1), Hold::SlowStart, LOOK);
        sending.sample(at(1), &sample);
        sending.held(at(2), Hold::SlowStart, ms(60));
        sending.held(at(2), Hold::Drained, ms(40));
        sending.sample(at(2), &sample);
        sending.held(at(3), Hold::Idle, LOOK);
        sending.sample(at(3), &sample);
        let sum = |whys: Vec<(Why, Duration)>| whys.iter().map(|(_, lasted)| *lasted).sum::<Duration>();
        assert_eq!((sum(sending.whys(false)), sum(sending.whys(true))), (ms(300), ms(160)));
        sending.wrote(Bytes::new(1));
        sending.sample(at(4), &sample);
        assert_eq!(sum(sending.whys(true)), ms(300), "more came");
    }
}
