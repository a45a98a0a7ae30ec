//! Episodes of loss recovery: from the first retransmission until all that was outstanding then has arrived.

use crate::cause::Cause;
use crate::label::Label;
use crate::outstanding::Placed;
use slowpath_model::{Instant, Segment, StreamOffset};

/// One episode.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    /// When the sender fell silent before it.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// Segments sent again.
    pub resent: u32,
    /// Of these, how many for nothing.
    pub needless: u32,
    /// The retransmission timer ran out.
    pub timeout: bool,
    /// Something was sent a third time.
    pub repeated: bool,
    /// The first thing sent again was the last that was outstanding.
    pub tail: bool,
    /// The receiver took back what it had SACKed.
    pub reneged: bool,
    /// The receiver took back a part of its window, with data in flight beyond it.
    pub taken_back: bool,
}

impl Episode {
    /// How long it took, in nanoseconds.
    pub const fn lasted(&self) -> i64 {
        self.to.nanos_since(self.from)
    }

    /// What made it necessary.
    pub const fn cause(&self) -> Cause {
        if self.taken_back {
            Cause::WindowTakenBack
        } else if self.reneged {
            Cause::SackReneging
        } else if self.timeout && self.needless * 2 >= self.resent {
            // Real losses beside them may have been repaired in the same episode.
            Cause::SpuriousTimeout
        } else if self.needless >= self.resent && self.tail {
            // Nothing was above it to overtake it: a probe timer was too early (RFC 8985, section 7).
            Cause::SpuriousTimeout
        } else if self.needless >= self.resent {
            Cause::Reordering
        } else if self.repeated && self.needless == 0 {
            Cause::LostRetransmission
        } else if self.tail {
            Cause::TailLoss
        } else if self.timeout {
            Cause::Timeout
        } else {
            Cause::FastRecovery
        }
    }
}

/// The episodes of one direction, in order.
#[derive(Clone, Debug, Default)]
pub struct Episodes {
    done: Vec<Episode>,
    /// The present one, and the offset that ends it.
    open: Option<(Episode, StreamOffset)>,
    count: u32,
    timeouts: u32,
    /// Neighbours were joined, so that an episode may hold time in which nothing was repaired.
    joined: bool,
}

/// Episodes kept; of more, neighbours are joined.
const MOST: usize = 4096;

impl Episodes {
    /// Whether a recovery is going on.
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// How many there were.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// How often the timer ran out.
    pub const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The episodes, the present one included.
    pub fn all(&self) -> impl Iterator<Item = &Episode> {
        self.done.iter().chain(self.open.as_ref().map(|(episode, _)| episode))
    }

    /// The first episode that ends after `at`.
    pub fn around(&self, at: Instant) -> Option<&Episode> {
        let next = self.done.partition_point(|episode| episode.to <= at);
        self.done.get(next).or(self.open.as_ref().map(|(episode, _)| episode))
    }

    /// The episodes between two instants, each with the time that it takes of it; none where neighbours were joined, since
    /// then it is not known when one of them ended.
    pub fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = (Instant, Instant, &Episode)> {
        let next = self.done.partition_point(|episode| episode.to <= from);
        let done = self.done[next..].iter().map(|episode| (episode, episode.to));
        // The present one goes on.
        let all = done.chain(self.open.as_ref().map(|(episode, _)| (episode, to)));
        let are_exact = !self.joined;
        all.take_while(move |(episode, _)| are_exact && episode.from < to)
            .map(move |(episode, end)| (episode.from.max(from), end.min(to), episode))
            .filter(|(from, to, _)| from < to)
    }

    /// `segment` was sent again at `at`; that it would be, the sender knew since `since`; `nxt` is the highest offset sent.
    pub fn resent(
        &mut self,
        at: Instant,
        since: Instant,
        segment: &Segment,
        placed: &Placed,
        timeout: bool,
        nxt: StreamOffset,
    ) {
        self.timeouts += u32::from(timeout);
        let (episode, point) = self.open.get_or_insert_with(|| {
            self.count += 1;
            let ended = self.done.last().map(|episode| episode.to);
            let episode = Episode {
                from: ended.map_or(since, |ended| since.max(ended)),
                to: at,
                resent: 0,
                needless: 0,
                timeout: false,
                repeated: false,
                tail: placed.tail,
                reneged: false,
                taken_back: false,
            };
            (episode, nxt)
        });
        episode.to = at;
        episode.resent += 1;
        // It had arrived already.
        episode.needless += u32::from(placed.label == Label::Spurious);
        episode.timeout |= timeout;
        episode.repeated |= placed.repeated;
        *point = (*point).max(segment.end());
    }

    /// The sender knows that all below `una` has arrived.
    #[inline]
    pub fn reached(&mut self, at: Instant, una: StreamOffset) {
        if self.is_open() {
            self.close(at, una);
        }
    }

    #[inline(never)]
    fn close(&mut self, at: Instant, una: StreamOffset) {
        // A sender that learns that all its retransmissions were needless undoes the recovery (`tcp_may_undo`, 6.18).
        if let Some((episode, point)) = &mut self.open
            && (una >= *point || episode.needless >= episode.resent)
        {
            episode.to = at;
            let episode = *episode;
            self.open = None;
            if self.done.len() == MOST {
                self.join();
            }
            self.done.push(episode);
        }
    }

    /// Retransmissions of the present or last episode were needless.
    pub fn needless(&mut self, count: u32) {
        let latest = self.open.as_mut().map(|(episode, _)| episode).or(self.done.last_mut());
        if let Some(episode) = latest {
            episode.needless = episode.needless.saturating_add(count).min(episode.resent.max(1));
        }
    }

    /// The receiver took back what it had SACKed.
    pub const fn reneged(&mut self) {
        if let Some((episode, _)) = &mut self.open {
            episode.reneged = true;
        }
    }

    /// The receiver took back a part of its window.
    pub const fn taken_back(&mut self) {
        if let Some((episode, _)) = &mut self.open {
            episode.taken_back = true;
        }
    }

    /// Joins each two neighbours into one, the longer one's kind winning.
    fn join(&mut self) {
        let joined = self.done.chunks(2).map(|pair| {
            let (first, last) = (pair[0], pair[pair.len() - 1]);
            let longer = if first.lasted() >= last.lasted() { first } else { last };
            Episode { from: first.from, to: last.to, ..longer }
        });
        self.done = joined.collect();
        self.joined = true;
    }
}
