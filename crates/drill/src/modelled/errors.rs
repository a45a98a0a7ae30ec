//! The error queue of a socket (`sk_error_queue`): timestamps of sent data, and zero-copy completions.

use super::sockets::{File, Ports};
use super::transfer::ERROR_QUEUE;
use super::{Modelled, info};
use crate::call::{ControlMessage, ErrorReport, Output, Returned, Statistic};
use slowpath_model::{Instant, StreamOffset};
use slowpath_tcp::packet::Packet;
use slowpath_tcp::{Errno, State};
use slowpath_uapi::TcpInfo;
use std::collections::VecDeque;

/// Flags of `SO_TIMESTAMPING` (include/uapi/linux/net_tstamp.h).
const TX_SOFTWARE: u32 = 1 << 1;
const SOFTWARE: u32 = 1 << 4;
const OPT_ID: u32 = 1 << 7;
const TX_SCHED: u32 = 1 << 8;
const TX_ACK: u32 = 1 << 9;
const OPT_TSONLY: u32 = 1 << 11;
const OPT_STATS: u32 = 1 << 12;
const OPT_ID_TCP: u32 = 1 << 16;
/// All flags of 6.18 (`SOF_TIMESTAMPING_MASK`): 19 bits.
const ALL_FLAGS: u32 = (1 << 19) - 1;
/// `SOF_TIMESTAMPING_TX_RECORD_MASK`: the flags that a single message may set.
const RECORD: u32 = 1 | TX_SOFTWARE | TX_SCHED | TX_ACK | 1 << 18;

/// `SCM_TSTAMP_SND`, `SCM_TSTAMP_SCHED`, `SCM_TSTAMP_ACK` (include/uapi/linux/errqueue.h).
const STAMP_SENT: u32 = 0;
const STAMP_SCHEDULED: u32 = 1;
const STAMP_ACKNOWLEDGED: u32 = 2;
const ENOMSG: u32 = 42;
const ORIGIN_TIMESTAMPING: u8 = 4;
const ORIGIN_ZEROCOPY: u8 = 5;
/// `SO_EE_CODE_ZEROCOPY_COPIED`: every device of a script copies, since its reader needs bytes.
const COPIED: u8 = 1;
/// The maximum bytes and messages per completion (`msg_zerocopy_realloc`).
const MOST_BYTES: i64 = 1 << 19;
const MOST_MESSAGES: u32 = u16::MAX as u32 - 1;
const TRUNCATED: i32 = 0x20;

/// Queued and future reports.
#[derive(Debug, Default)]
pub struct Errors {
    queue: VecDeque<Entry>,
    /// `SO_TIMESTAMPING`.
    pub flags: u32,
    /// Where byte numbers start (`sk_tskey`).
    base: StreamOffset,
    stamps: Vec<Stamp>,
    /// `SO_ZEROCOPY`, the number of the next message, and messages with buffers still in use.
    pub zero_copy: bool,
    next_message: u32,
    lent: VecDeque<Lent>,
}

#[derive(Clone, Debug)]
struct Entry {
    len: u32,
    report: ErrorReport,
    stamp: Option<i64>,
    statistics: Vec<Statistic>,
}

/// A byte whose transmission is to be timestamped.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    at: StreamOffset,
    flags: u32,
    /// Payload of the packet that carried it, once sent.
    sent_in: Option<u32>,
}

/// Messages with buffers in use (`MSG_ZEROCOPY`): their numbers, and the end of their data.
#[derive(Clone, Copy, Debug)]
struct Lent {
    first: u32,
    last: u32,
    start: StreamOffset,
    end: StreamOffset,
    sent: bool,
}

impl Errors {
    /// Whether there is something to read.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The state that a connection inherits from its listener.
    pub fn of_child(listener: &Self) -> Self {
        Self { flags: listener.flags, zero_copy: listener.zero_copy, ..Self::default() }
    }

    /// Sets `SO_TIMESTAMPING` (`sock_set_timestamping`); `written` is the connection's position, if there is one.
    pub fn set_timestamping(
        &mut self,
        flags: u32,
        written: Option<(StreamOffset, StreamOffset)>,
    ) -> Result<(), Errno> {
        let lacks = |flag: u32, needs: u32| flags & flag != 0 && flags & needs == 0;
        if flags & !ALL_FLAGS != 0 || lacks(OPT_ID_TCP, OPT_ID) || lacks(OPT_STATS, OPT_TSONLY) {
            return Err(Errno::EINVAL);
        }
        if flags & OPT_ID != 0 && self.flags & OPT_ID == 0 {
            let (una, next) = written.ok_or(Errno::EINVAL)?;
            self.base = if flags & OPT_ID_TCP != 0 { next } else { una };
        }
        self.flags = flags;
        Ok(())
    }

    /// A message was written that ends at `end` (`tcp_tx_timestamp`).
    pub fn note_written(&mut self, end: StreamOffset, own: Option<u32>) {
        let flags = match own {
            Some(own) => self.flags & !RECORD | own & RECORD,
            None => self.flags,
        };
        if flags & (TX_SOFTWARE | TX_SCHED | TX_ACK) != 0 {
            self.stamps.push(Stamp { at: end - 1, flags, sent_in: None });
        }
    }

    /// A message's buffers are in use; `tail` is where the last unsent buffer began before it (`msg_zerocopy_realloc`).
    pub fn note_lent(&mut self, start: StreamOffset, end: StreamOffset, tail: Option<StreamOffset>) {
        let number = self.next_message;
        self.next_message = self.next_message.wrapping_add(1);
        if let (Some(last), Some(tail)) = (self.lent.back_mut(), tail)
            && last.end > tail
            && last.last.wrapping_add(1) == number
            && end.distance_from(last.start) <= MOST_BYTES
            && number.wrapping_sub(last.first) < MOST_MESSAGES
        {
            (last.last, last.end) = (number, end);
            return;
        }
        self.lent.push_back(Lent { first: number, last: number, start, end, sent: false });
    }

    /// A packet is sent: timestamps of its last message, by qdisc and device. Returns whether there were any.
    pub fn packet_left(&mut self, packet: &Packet, header: u32, micros: i64, info: &TcpInfo) -> bool {
        let (start, end) = (packet.seq, packet.seq + packet.len);
        for lent in self.lent.iter_mut().filter(|lent| lent.start < end && start < lent.end) {
            lent.sent = true;
        }
        let inside = |stamp: &Stamp| stamp.at >= start && stamp.at < end;
        // A buffer has room for one message's timestamps: the last one's.
        let Some(last) = self.stamps.iter().filter(|stamp| inside(stamp)).map(|stamp| stamp.at).max() else {
            return false;
        };
        self.stamps.retain(|stamp| !inside(stamp) || stamp.at == last || stamp.sent_in.is_some());
        let Some(stamp) = self.stamps.iter_mut().find(|stamp| stamp.at == last) else { return false };
        stamp.sent_in = Some(packet.len);
        let (flags, at) = (stamp.flags, stamp.at);
        if flags & TX_SCHED != 0 {
            self.stamp(at, STAMP_SCHEDULED, header + packet.len, micros, info);
        }
        if flags & TX_SOFTWARE != 0 {
            // The device sees the segment of a super-packet that contains the byte.
            let size = if packet.gso_size == 0 { packet.len } else { u32::from(packet.gso_size) }.max(1);
            let before = u32::try_from(at.distance_from(start)).unwrap_or(0) / size * size;
            let len = (packet.len - before).min(size);
            self.stamp(at, STAMP_SENT, header + len, micros, info);
        }
        flags & (TX_SCHED | TX_SOFTWARE) != 0
    }

    /// Data up to `una` was acknowledged or purged. Returns whether that gave reports.
    pub fn acknowledged(&mut self, una: StreamOffset, gone: bool, micros: i64, info: &TcpInfo) -> bool {
        let before = self.queue.len();
        let (done, left) = std::mem::take(&mut self.stamps).into_iter().partition(|stamp| stamp.at < una);
        self.stamps = left;
        let done: Vec<Stamp> = done;
        for stamp in done.into_iter().filter(|stamp| stamp.flags & TX_ACK != 0) {
            if let Some(len) = stamp.sent_in {
                self.stamp(stamp.at, STAMP_ACKNOWLEDGED, len, micros, info);
            }
        }
        let mut freed = false;
        while let Some(lent) = self.lent.front().copied().filter(|lent| gone || lent.end <= una) {
            self.lent.pop_front();
            self.give_back(lent);
            freed = true;
        }
        freed || self.queue.len() != before
    }

    fn stamp(&mut self, at: StreamOffset, kind: u32, len: u32, micros: i64, info: &TcpInfo) {
        let key = if self.flags & OPT_ID != 0 { at.distance_from(self.base) as u32 } else { 0 };
        let statistics = match self.flags & OPT_STATS {
            0 => Vec::new(),
            _ => info::statistics(info, kind == STAMP_ACKNOWLEDGED),
        };
        self.queue.push_back(Entry {
            // Statistics replace the packet.
            len: match self.flags & OPT_TSONLY {
                0 => len,
                _ => statistics.iter().map(info::attribute_bytes).sum(),
            },
            report: ErrorReport {
                errno: ENOMSG,
                origin: ORIGIN_TIMESTAMPING,
                info: kind,
                data: key,
                ..ErrorReport::default()
            },
            stamp: (self.flags & SOFTWARE != 0).then_some(micros),
            statistics,
        });
    }

    /// A message's buffers are free; one report covers several consecutive messages (`__msg_zerocopy_callback`).
    fn give_back(&mut self, lent: Lent) {
        if let Some(last) = self.queue.back_mut()
            && last.report.origin == ORIGIN_ZEROCOPY
            && last.report.data.wrapping_add(1) == lent.first
        {
            last.report.data = lent.last;
            return;
        }
        let report = ErrorReport {
            origin: ORIGIN_ZEROCOPY,
            code: if lent.sent { COPIED } else { 0 },
            info: lent.first,
            data: lent.last,
            ..ErrorReport::default()
        };
        self.queue.push_back(Entry { len: 0, report, stamp: None, statistics: Vec::new() });
    }

    /// Takes the first report (`inet_recv_error`).
    pub fn receive(&mut self, room: u32) -> Returned {
        let Some(entry) = self.queue.pop_front() else {
            return Returned::error(Errno::EAGAIN.number());
        };
        let mut control = Vec::new();
        control.extend(entry.stamp.map(|micros| ControlMessage::Stamp { micros }));
        if !entry.statistics.is_empty() {
            control.push(ControlMessage::Statistics(entry.statistics));
        }
        control.push(ControlMessage::Error(entry.report));
        let truncated = if entry.len > room { TRUNCATED } else { 0 };
        let output = Output::Message { flags: ERROR_QUEUE | truncated, control };
        Returned { result: Ok(i64::from(entry.len.min(room))), output }
    }
}

impl Modelled {
    /// Notifies a connection's socket that a packet is sent.
    pub(super) fn note_left(&mut self, ports: Ports, packet: &Packet, now: Instant) {
        let micros = now.nanos() / 1000;
        let header = self.settings.ip_header + 20 + packet.option_bytes();
        let model_now = self.now;
        let Some(socket) = self.socket_of(ports) else { return };
        let Some(connection) = socket.connection() else { return };
        let info = connection.info(model_now);
        let rehashes = info.rehash;
        if socket.errors.packet_left(packet, header, micros, &info) {
            socket.generation += 1;
        }
        self.note_rehashes(ports, rehashes);
    }

    /// Notifies every socket which of its bytes were acknowledged.
    pub(super) fn note_acknowledged(&mut self) {
        let now = self.now;
        let micros = self.script_time(now).nanos() / 1000;
        for file in self.files.values_mut() {
            let File::Socket(socket) = file else { continue };
            if socket.errors.stamps.is_empty() && socket.errors.lent.is_empty() {
                continue;
            }
            let Some((una, gone, info)) = socket.connection().map(|connection| {
                (connection.written().0, connection.state() == State::Closed, connection.info(now))
            }) else {
                continue;
            };
            if socket.errors.acknowledged(una, gone, micros, &info) {
                socket.generation += 1;
            }
        }
    }
}
