//! This host's connections without privilege: `TCP_INFO` of each, sampled repeatedly.
//!
//! The kernel itself counts the time that a sender was busy, and how much of that the peer's window or the send buffer
//! held it (`tcp_chrono_set`, net/ipv4/tcp_output.c), in ticks of its timer. Other limits of a busy sender show in its
//! state at each sample. Where packets waited cannot be seen this way.

mod listeners;
mod netlink;

pub use listeners::{Listener, listeners};

use crate::decoder::{MOST_TIMEOUTS, growth};
use crate::error::LiveError;
use crate::table::{Owner, Table};
use netlink::{Described, Netlink};
use slowpath_model::{
    CaState, End, Event, EventKind, FlowId, Hold, Instant, Mark, Sink, SocketSample, measured,
};
use std::time::{self, Duration};

/// What this source cannot see.
pub const UNSEEN: &[&str] = &[
    "where packets, data and readers waited: only the probe does (without --own)",
    "connections that began and ended between two looks, and what the others did after the last look",
    "connections of other network namespaces",
    "spurious timeouts and recoveries, and what the kernel dropped",
];

/// This namespace's connections.
pub struct Own {
    netlink: Netlink,
    port: Option<u16>,
    table: Table<Described>,
    began: time::Instant,
    last: Option<Instant>,
}

impl Own {
    /// Starts watching all connections, or those with a port.
    ///
    /// # Errors
    /// If the kernel lacks `NETLINK_SOCK_DIAG` (CONFIG_INET_DIAG).
    pub fn start(port: Option<u16>) -> Result<Self, LiveError> {
        let netlink = Netlink::open()?;
        Ok(Self { netlink, port, table: Table::default(), began: time::Instant::now(), last: None })
    }

    /// Reports what happened since the last time.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn tell(&mut self, sink: &mut impl Sink) -> Result<(), LiveError> {
        let Self { netlink, port, table, began, last } = self;
        table.begin();
        let at = Instant::START + began.elapsed();
        let since = last.and_then(|last| at.since(last));
        *last = Some(at);
        netlink.each(|now| {
            if port.is_none_or(|port| now.ends.iter().any(|end| end.port == port)) {
                describe(table, now, at, since, sink);
            }
        })?;
        table.sweep(sink);
        Ok(())
    }

    /// Ends reporting.
    pub fn finish(self, sink: &mut impl Sink) {
        self.table.finish(sink).for_each(drop);
    }

    /// The processes of the sockets that were reported last, by flow and end.
    pub fn owners(&self) -> impl Iterator<Item = (FlowId, End, Owner)> {
        self.table.owners()
    }
}

/// Reports what a socket did since its last sample.
fn describe(
    table: &mut Table<Described>,
    now: Described,
    at: Instant,
    since: Option<Duration>,
    sink: &mut impl Sink,
) {
    // A socket that was absent from the last sample is new, and so is everything that it did.
    let begun = || if since.is_some() { now.begun() } else { now.clone() };
    let (socket, was_known) = table.seen(now.cookie, now.ends, begun, sink);
    socket.owner = Owner { inode: now.inode, ..Owner::default() };
    let (end, before) = (socket.end, &socket.before);
    let mut tell = |kind| sink.accept(socket.flow, &Event { at, kind });
    if let Some(amount) = growth(now.written(), before.written()) {
        tell(EventKind::Written { end, amount });
    }
    if let Some(amount) = growth(now.read(), before.read()) {
        tell(EventKind::Read { end, amount });
    }
    if let Some(since) = since.filter(|_| was_known) {
        for (by, lasted) in now.held(before, since).into_iter().filter(|(_, lasted)| !lasted.is_zero()) {
            tell(EventKind::Held { end, by, lasted });
        }
    }
    let timeouts = |described: &Described| described.info.total_rto.unwrap_or(0);
    for _ in 0..u32::from(timeouts(&now).wrapping_sub(timeouts(before))).min(MOST_TIMEOUTS) {
        tell(EventKind::Marked { end, mark: Mark::Timeout });
    }
    if let Some(state) = now.ca_state().filter(|state| Some(*state) != before.ca_state()) {
        tell(EventKind::Marked { end, mark: Mark::State(state) });
    }
    tell(EventKind::Sampled(now.sample(end)));
    socket.before = now;
}

impl Described {
    /// The socket's state before it did anything.
    fn begun(&self) -> Self {
        let mut begun = self.clone();
        let info = &mut begun.info;
        (info.bytes_sent, info.bytes_retrans, info.notsent_bytes, info.bytes_received) = (0, 0, 0, 0);
        (begun.receive_queue, info.total_rto) = (0, Some(0));
        begun
    }

    fn ca_state(&self) -> Option<CaState> {
        CaState::ALL.get(usize::from(self.info.ca_state)).copied()
    }

    /// What the process has written so far.
    fn written(&self) -> u64 {
        let info = &self.info;
        (info.bytes_sent + u64::from(info.notsent_bytes)).saturating_sub(info.bytes_retrans)
    }

    /// What the process has read so far.
    fn read(&self) -> u64 {
        const CLOSE_WAIT: u8 = 8;
        const LAST_ACK: u8 = 9;
        const CLOSING: u8 = 11;
        // Both numbers count the peer's FIN, until it is read.
        let fin = u64::from(matches!(self.state, CLOSE_WAIT | LAST_ACK | CLOSING));
        self.info.bytes_received.saturating_sub(fin.max(self.receive_queue.into()))
    }

    /// What held the sender since its last sample.
    fn held(&self, before: &Self, since: Duration) -> [(Hold, Duration); 4] {
        let (now, before) = (&self.info, &before.info);
        let grown = |now: u64, before: u64| Duration::from_micros(now.saturating_sub(before));
        // The counted ticks may have begun earlier.
        let busy = grown(now.busy_time_us, before.busy_time_us).min(since);
        let window = grown(now.rwnd_limited_us, before.rwnd_limited_us).min(busy);
        let buffer = grown(now.sndbuf_limited_us, before.sndbuf_limited_us).min(busy - window);
        [
            (Hold::Idle, since - busy),
            (Hold::ReceiveWindow, window),
            (Hold::SendBuffer, buffer),
            (self.hold(), busy - window - buffer),
        ]
    }

    /// What holds a busy sender, other than the peer's window and its own buffer: as `hold_of`, bpf/hold.h.
    fn hold(&self) -> Hold {
        let info = &self.info;
        let flight = info
            .unacked_packets
            .saturating_add(info.retrans_packets)
            .saturating_sub(info.sacked_packets.saturating_add(info.lost_packets));
        match self.ca_state() {
            Some(CaState::Loss) => Hold::Loss,
            Some(CaState::Recovery) => Hold::Recovery,
            _ if info.notsent_bytes == 0 => Hold::Drained,
            // The pacing rate is the one that the application set (tcp_update_pacing_rate takes the smaller).
            _ if flight < info.snd_cwnd_packets
                && info.pacing_rate_byte_per_s >= info.max_pacing_rate_byte_per_s =>
            {
                Hold::Paced
            }
            _ if flight < info.snd_cwnd_packets => Hold::Local,
            _ if info.snd_cwnd_packets < info.snd_ssthresh_packets => Hold::SlowStart,
            _ => Hold::CongestionWindow,
        }
    }

    fn sample(&self, end: End) -> SocketSample {
        let info = &self.info;
        let [rmem_alloc, rcvbuf, wmem_alloc, sndbuf, _, wmem_queued, _, backlog, _] =
            self.memory.map_or([None; 9], |memory| memory.map(Some));
        SocketSample {
            ca_state: self.ca_state(),
            snd_cwnd: Some(info.snd_cwnd_packets),
            snd_ssthresh: Some(info.snd_ssthresh_packets),
            srtt: measured(info.rtt_us),
            rttvar: measured(info.rtt_us).map(|_| info.rttvar_us),
            min_rtt: measured(info.min_rtt_us),
            rto: measured(info.rto_us),
            snd_wnd: Some(info.snd_wnd_bytes),
            // The kernel's window may exceed what the header can express (tcp_select_window).
            rcv_wnd: info.rcv_wnd_bytes.map(|window| window.min(65_535 << info.rcv_wscale)),
            packets_out: Some(info.unacked_packets),
            sacked_out: Some(info.sacked_packets),
            lost_out: Some(info.lost_packets),
            retrans_out: Some(info.retrans_packets),
            notsent: Some(info.notsent_bytes),
            receive_queue: Some(self.receive_queue),
            snd_mss: Some(info.snd_mss_bytes),
            rcv_rtt: measured(info.rcv_rtt_us),
            total_retrans: Some(info.total_retrans_packets),
            data_segs_in: Some(info.data_segs_in),
            max_pacing_rate: u32::try_from(info.max_pacing_rate_byte_per_s).ok(),
            rmem_alloc,
            wmem_alloc,
            rcvbuf,
            sndbuf,
            wmem_queued,
            backlog,
            ..SocketSample::unknown(end)
        }
    }
}
