//! The application writes (`tcp_sendmsg`, tcp.c, 6.18).

use super::skb::Skb;
use crate::choices::SendTuning;
use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::sysctl::MIN_SEND_BUFFER;
use slowpath_model::{Flags, Instant};

/// The flags of `sendmsg` that change what is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteFlags {
    /// More data follows: do not send a small segment yet (`MSG_MORE`).
    pub more: bool,
    /// A record ends here: later data gets a new segment (`MSG_EOR`).
    pub end_of_record: bool,
    /// The last byte is urgent (`MSG_OOB`).
    pub out_of_band: bool,
}

/// How the sender treats small segments (`TCP_NAGLE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nagle {
    /// Send small segments even with others in flight (`TCP_NODELAY`).
    pub off: bool,
    /// Hold every small segment (`TCP_CORK`).
    pub cork: bool,
    /// Send everything, whatever the other two say.
    pub push: bool,
}

impl Nagle {
    pub const OFF: Self = Self { off: true, cork: false, push: false };
    pub const PUSH: Self = Self { off: false, cork: false, push: true };
}

impl Connection {
    /// The socket's Nagle setting.
    pub(super) const fn nagle(&self) -> Nagle {
        Nagle { off: self.options.nodelay, cork: self.options.cork, push: false }
    }

    /// Writes `len` bytes to the socket. Returns how many it accepted; fewer than `len` if the buffer is full.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there is no room or the connection is not established yet, `EPIPE` after a shutdown or RST, or the
    /// connection's pending error.
    pub fn write(&mut self, now: Instant, len: u32, flags: WriteFlags) -> Result<u32, Errno> {
        match self.state {
            State::Established | State::CloseWait => {}
            // The answer to a Fast Open SYN need not wait for the end of the handshake.
            State::SynReceived if self.is_fast_open_child() => {}
            State::SynSent | State::SynReceived if self.error.is_none() && !self.send_shutdown => {
                return Err(Errno::EAGAIN);
            }
            _ => return Err(self.write_error()),
        }
        if self.error.is_some() || self.send_shutdown {
            return Err(self.write_error());
        }
        self.check_app_limited();
        let mss = self.mss_now();
        let goal = if flags.out_of_band { mss } else { self.size_goal(mss) };
        let copied = self.fill_buffers(now, len, flags, mss, goal);
        if copied == 0 && len > 0 {
            self.snd.no_space = true;
            return Err(Errno::EAGAIN);
        }
        let full = copied < len;
        if full {
            self.snd.no_space = true;
            let flags = WriteFlags { more: false, ..flags };
            self.push(now, flags, mss, goal, Nagle::PUSH);
        } else if copied > 0 {
            self.push(now, flags, mss, goal, self.nagle());
        }
        Ok(copied)
    }

    /// A process waits for the connection to be established, to write: the ACK of the SYN-ACK waits for its data
    /// (`inet_wait_for_connect`, `sk_stream_wait_connect`).
    pub fn note_blocked_write(&mut self) {
        self.snd.write_pending = true;
    }

    /// The error of a failed write (`sk_stream_error`): the pending error, once; `EPIPE` without one.
    fn write_error(&mut self) -> Errno {
        self.error.take().unwrap_or(Errno::EPIPE)
    }

    fn fill_buffers(&mut self, now: Instant, len: u32, flags: WriteFlags, mss: u32, goal: u32) -> u32 {
        let mut copied = 0;
        while copied < len {
            let Some((id, room)) = self.buffer_with_room(now, goal) else { break };
            let amount = room.min(len - copied);
            let skb = &mut self.snd.queue[id];
            if copied == 0 {
                skb.flags = skb.flags.without(Flags::PSH);
            }
            skb.end_seq = skb.end_seq + amount;
            skb.segments = 0;
            let filled = skb.len() >= goal;
            self.snd.write_seq = self.snd.write_seq + amount;
            self.snd.wmem_queued += amount;
            copied += amount;
            if copied == len {
                self.snd.queue[id].eor = flags.end_of_record;
            } else if filled {
                self.send_while_filling(now, mss);
            }
        }
        copied
    }

    /// The last unsent buffer if it may be extended, or a new one if memory allows.
    fn buffer_with_room(&mut self, now: Instant, goal: u32) -> Option<(super::skb::SkbId, u32)> {
        if let Some(id) = self.snd.queue.unsent_tail() {
            let skb = &self.snd.queue[id];
            if skb.len() < goal && !skb.eor && !skb.flags.has(Flags::FIN) {
                return Some((id, goal - skb.len()));
            }
        }
        if !self.has_send_memory() {
            return None;
        }
        // `tcp_skb_entail`.
        let seq = self.snd.write_seq;
        let empty = self.snd.queue.is_all_sent();
        let id = self.snd.queue.push_unsent(Skb::new(seq, seq, Flags::ACK));
        self.charge_head();
        self.restart_after_idle(now);
        if empty {
            self.snd.chrono.start(now, super::chrono::Waiting::Busy);
        }
        Some((id, goal))
    }

    /// A buffer is full and the write continues: sends if half a window is waiting, or nothing is ahead of it.
    fn send_while_filling(&mut self, now: Instant, mss: u32) {
        if self.is_push_forced() {
            self.mark_push();
            self.push_frames(now, mss, Nagle::PUSH);
        } else if self.snd.queue.unsent_count() == 1 {
            self.push_one(now, mss);
        }
    }

    /// `forced_push`.
    fn is_push_forced(&self) -> bool {
        self.snd.write_seq > self.snd.pushed_seq + (self.snd.max_window >> 1)
    }

    /// `tcp_mark_push`.
    pub(super) fn mark_push(&mut self) {
        if let Some(id) = self.snd.queue.unsent_tail() {
            let skb = &mut self.snd.queue[id];
            skb.flags = skb.flags.with(Flags::PSH);
            self.snd.pushed_seq = self.snd.write_seq;
        }
    }

    /// `tcp_push`.
    fn push(&mut self, now: Instant, flags: WriteFlags, mss: u32, goal: u32, nagle: Nagle) {
        let Some(id) = self.snd.queue.unsent_tail() else { return };
        if !flags.more || self.is_push_forced() {
            self.mark_push();
        }
        if flags.out_of_band {
            self.snd.urgent = self.snd.write_seq;
        }
        let skb = self.snd.queue[id];
        if self.should_cork(&skb, goal) {
            return;
        }
        let nagle = if flags.more { Nagle { cork: true, ..nagle } } else { nagle };
        self.push_frames(now, mss, nagle);
    }

    /// `sk_stream_memory_free`, with `TCP_NOTSENT_LOWAT`.
    pub(super) fn has_send_memory(&self) -> bool {
        self.snd.wmem_queued < self.snd.sndbuf && self.unsent() < self.notsent_lowat()
    }

    /// `tcp_notsent_lowat`: 0 stands for the sysctl.
    fn notsent_lowat(&self) -> i64 {
        let own = self.options.notsent_lowat.filter(|low| *low != 0);
        own.unwrap_or(self.settings.sysctls.tcp_notsent_lowat).into()
    }

    /// Bytes written and not sent.
    fn unsent(&self) -> i64 {
        self.snd.write_seq.distance_from(self.snd.nxt)
    }

    /// Whether `poll` would report writable, and a waiting writer is woken (`__sk_stream_is_writeable` with `wake`): a
    /// third of the buffer is free, and less than half of what may be unsent is.
    pub(crate) fn is_writable(&self) -> bool {
        let free = self.snd.sndbuf.saturating_sub(self.snd.wmem_queued);
        free >= self.snd.wmem_queued >> 1
            && self.has_send_memory()
            && self.unsent() << 1 < self.notsent_lowat()
    }

    /// The memory of a buffer's head.
    fn head_memory(&self) -> u32 {
        self.settings.choices.send_head()
    }

    /// The memory that a buffer takes (`skb->truesize`).
    pub(super) fn memory(&self, skb: &Skb) -> u32 {
        self.head_memory() + skb.len()
    }

    /// Charges another buffer's head.
    pub(super) fn charge_head(&mut self) {
        self.snd.wmem_queued += self.head_memory();
    }

    /// A merged buffer's head is freed (`sk_wmem_free_skb`).
    pub(super) fn free_head(&mut self) {
        self.free_send_memory(self.head_memory());
    }

    /// Frees the memory of acknowledged data (`sk_wmem_free_skb`).
    pub(super) const fn free_send_memory(&mut self, bytes: u32) {
        self.snd.wmem_queued = self.snd.wmem_queued.saturating_sub(bytes);
    }

    /// After an ACK: sends more, and expands the buffer or reports room (`tcp_data_snd_check`).
    pub(crate) fn data_snd_check(&mut self, now: Instant) {
        // Memory freed by the ACK is counted before it is used again, as in the live kernel (the buffer grows though
        // the window is full afterwards).
        self.check_space(now);
        self.push_pending(now);
    }

    /// `tcp_check_space`.
    pub(super) fn check_space(&mut self, now: Instant) {
        if !self.snd.no_space {
            return;
        }
        if self.may_expand_buffer() {
            self.expand_send_buffer();
            self.snd.cwnd_stamp = now;
        }
        if self.is_writable() {
            self.snd.no_space = false;
            self.wakeups.writable = true;
            let idle = self.snd.is_idle();
            self.snd.chrono.stop(now, super::chrono::Waiting::SendBuffer, idle);
        }
    }

    /// `tcp_should_expand_sndbuf`: not while cwnd is full.
    fn may_expand_buffer(&self) -> bool {
        self.options.send_buffer.is_none() && self.snd.in_flight() < self.snd.window.cwnd
    }

    /// `tcp_sndbuf_expand`: room for a number of congestion windows.
    pub(crate) fn expand_send_buffer(&mut self) {
        let SendTuning::Windows(windows) = self.settings.choices.send_tuning else { return };
        if self.options.send_buffer.is_some() {
            return;
        }
        let mss = self.snd.mss.max(u32::from(self.negotiated.mss)).max(crate::packet::DEFAULT_MSS);
        let per_segment = self.settings.choices.buffer_memory.expected_segment(mss);
        let segments = self.initial_cwnd().max(self.snd.window.cwnd).max(self.snd.reordering + 1);
        let windows = self.congestion.buffer_windows().unwrap_or(windows);
        let wanted = windows.saturating_mul(segments).saturating_mul(per_segment);
        if self.snd.sndbuf < wanted {
            self.snd.sndbuf = wanted.min(self.settings.sysctls.tcp_wmem.max).max(MIN_SEND_BUFFER);
        }
    }

    /// Bytes of memory in the send queue (`sk_wmem_queued`).
    pub const fn send_memory(&self) -> u32 {
        self.snd.wmem_queued
    }

    /// Whether that is exactly the memory of the queued buffers. It always is: no ACK would free an extra charge.
    pub fn accounts_for_send_memory(&self) -> bool {
        self.snd.wmem_queued == self.snd.queue.all().map(|skb| self.memory(skb)).sum::<u32>()
    }

    /// The send buffer size (`sk_sndbuf`).
    pub const fn send_buffer(&self) -> u32 {
        self.snd.sndbuf
    }
}
