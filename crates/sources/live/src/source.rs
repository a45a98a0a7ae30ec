//! What the probe added up, as events: of each socket the difference to the last time.

use crate::error::LiveError;
use crate::probe::{Filter, Probe};
use crate::record::{Account, Exact, HELD, Record, Sample, Turn, WAITS};
use crate::table::{Owner, Table};
use slowpath_model::{Bytes, End, Event, EventKind, FlowId, Instant, Mark, Sink, SocketSample, Wait};
use std::iter::zip;
use std::time::Duration;

/// What the probe should have seen, and what it saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Segments of data that the kernel counted for the watched sockets (`tcpi_data_segs_in`).
    pub kernel_segments: u64,
    /// Of these, those that the probe took into account.
    pub segments: u64,
    /// Of these, those that bore no stamp of their arrival.
    pub unstamped: u64,
    /// What the probe told, and there was no room to.
    pub untold: u64,
    /// Sockets for which the kernel had no memory.
    pub unwatched: u64,
    /// Sockets that were watched.
    pub sockets: u64,
}

/// Makes events of what the probe tells. It touches no kernel: records can be played to it again.
#[derive(Default)]
pub struct Decoder {
    table: Table<Box<Account>>,
    epoch_ns: Option<u64>,
    check: Check,
}

/// This host's connections.
pub struct Live {
    probe: Probe,
    decoder: Decoder,
}

impl Live {
    /// Begins to watch.
    ///
    /// # Errors
    /// As [`Probe::start`].
    pub fn start(filter: Filter) -> Result<Self, LiveError> {
        Ok(Self { probe: Probe::start(filter)?, decoder: Decoder::default() })
    }

    /// What this kernel does not let it see.
    pub fn unseen(&self) -> &[&'static str] {
        self.probe.unseen()
    }

    /// Tells what happened since the last time.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn tell(&mut self, sink: &mut impl Sink) -> Result<(), LiveError> {
        let Self { probe, decoder } = self;
        decoder.table.begin();
        probe.read(|record| decoder.take(record, sink))?;
        decoder.sweep(sink);
        Ok(())
    }

    /// Stops to watch, and tells the rest.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn finish(mut self, sink: &mut impl Sink) -> Result<Check, LiveError> {
        self.probe.stop();
        self.tell(sink)?;
        let totals = self.probe.totals()?;
        let check = self.decoder.finish(sink);
        Ok(Check { untold: totals.ring_full, unwatched: totals.no_memory, ..check })
    }

    /// Whose the sockets are of which was told last, by flow and end; those that are over since are among them.
    pub fn owners(&self) -> impl Iterator<Item = (FlowId, End, Owner)> {
        self.decoder.table.owners()
    }

    /// What the oracle found, one for each CPU, if it was asked for.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn exact(&self) -> Result<Vec<Exact>, LiveError> {
        self.probe.exact()
    }

    /// When the first event was, in nanoseconds since 1970; `None` before it.
    pub fn epoch_ns(&self) -> Option<u64> {
        self.decoder.epoch_ns
    }
}

impl Decoder {
    /// Takes a record.
    pub fn take(&mut self, record: Record<'_>, sink: &mut impl Sink) {
        match record {
            Record::Alive(account) => self.account(account, sink),
            Record::Ended(account) => {
                self.account(account, sink);
                if let Some(last) = self.table.forget(account.flow.cookie, sink) {
                    self.check.add(&last);
                }
            }
            Record::Turn(turn) => self.turn(turn, sink),
        }
    }

    /// All that live were told: a socket that was not is gone, and its end could not be told.
    fn sweep(&mut self, sink: &mut impl Sink) {
        self.table.sweep(sink).iter().for_each(|last| self.check.add(last));
    }

    /// Nothing more comes.
    pub fn finish(mut self, sink: &mut impl Sink) -> Check {
        self.table.finish(sink).for_each(|last| self.check.add(&last));
        self.check
    }

    fn at(&mut self, nanos: u64) -> Instant {
        let epoch = *self.epoch_ns.get_or_insert(nanos);
        Instant::from_nanos(nanos.cast_signed().wrapping_sub(epoch.cast_signed()))
    }

    fn turn(&mut self, turn: &Turn, sink: &mut impl Sink) {
        let at = self.at(turn.at_ns);
        let Some((socket, mark)) = self.table.get(turn.cookie).zip(turn.mark()) else { return };
        sink.accept(socket.flow, &Event { at, kind: EventKind::Marked { end: socket.end, mark } });
    }

    fn account(&mut self, account: &Account, sink: &mut impl Sink) {
        let Account { flow, sample, .. } = account;
        let at = self.at(sample.at_ns);
        let begun = || Box::new(account.begun());
        let (socket, was_known) = self.table.seen(flow.cookie, flow.ends(), begun, sink);
        self.check.sockets += u64::from(!was_known);
        socket.owner = Owner { inode: sample.inode, cgroup: flow.cgroup, netns: flow.netns };
        let (end, before) = (socket.end, &socket.before);
        let mut tell = |kind| sink.accept(socket.flow, &Event { at, kind });
        if let Some(amount) = growth(account.written(), before.written()) {
            tell(EventKind::Written { end, amount });
        }
        for (on, (now, before)) in zip(WAITS, zip(&flow.waits, &before.flow.waits)) {
            for (lasted, count) in now.since(before) {
                let (amount, times) = if on == Wait::ReceiveQueue { (count, 1) } else { (0, count) };
                let amount = Bytes::new(amount.into());
                tell(EventKind::Waited { end, on, lasted, amount, times: times.into() });
            }
        }
        if let Some(amount) = growth(flow.read, before.flow.read) {
            tell(EventKind::Read { end, amount });
        }
        for (by, (now, before)) in zip(HELD, zip(flow.held_ns, before.flow.held_ns)) {
            if now > before {
                tell(EventKind::Held { end, by, lasted: Duration::from_nanos(now - before) });
            }
        }
        for _ in 0..flow.timeouts.wrapping_sub(before.flow.timeouts).min(MOST_TIMEOUTS) {
            tell(EventKind::Marked { end, mark: Mark::Timeout });
        }
        tell(EventKind::Sampled(sample.of(end)));
        *socket.before = *account;
    }
}

/// What came to an amount since the last time.
pub(crate) fn growth(now: u64, before: u64) -> Option<Bytes> {
    (now > before).then(|| Bytes::new(now - before))
}

/// Of one socket between two looks: a timeout takes 200 ms.
pub(crate) const MOST_TIMEOUTS: u32 = 1000;

impl Check {
    fn add(&mut self, Account { sample, flow, .. }: &Account) {
        self.kernel_segments += u64::from(sample.data_segs_in.wrapping_sub(flow.segments_before));
        self.segments += flow.segments;
        self.unstamped += flow.unstamped;
    }
}

impl Sample {
    /// As an event.
    fn of(&self, end: End) -> SocketSample {
        let measured = |micros: u32| (micros != 0 && micros != u32::MAX).then_some(micros);
        SocketSample {
            ca_state: self.ca_state(),
            snd_cwnd: Some(self.snd_cwnd),
            snd_ssthresh: Some(self.snd_ssthresh),
            srtt: measured(self.srtt_us),
            rttvar: measured(self.srtt_us).map(|_| self.rttvar_us),
            min_rtt: measured(self.min_rtt_us),
            rto: measured(self.rto_us),
            snd_wnd: Some(self.snd_wnd),
            rcv_wnd: Some(self.rcv_wnd),
            packets_out: Some(self.packets_out),
            sacked_out: Some(self.sacked_out),
            lost_out: Some(self.lost_out),
            retrans_out: Some(self.retrans_out),
            notsent: Some(self.notsent),
            wmem_queued: Some(self.wmem_queued),
            sndbuf: Some(self.sndbuf),
            receive_queue: Some(self.receive_queue),
            rmem_alloc: Some(self.rmem_alloc),
            rcvbuf: Some(self.rcvbuf),
            backlog: Some(self.backlog),
            snd_mss: Some(self.mss),
            rcv_rtt: measured(self.rcv_rtt_us),
            total_retrans: Some(self.total_retrans),
            data_segs_in: Some(self.data_segs_in),
            ..SocketSample::unknown(end)
        }
    }
}
