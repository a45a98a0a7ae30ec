//! Reading (`tcp_recvmsg_locked`, `tcp_ioctl`; net/ipv4/tcp.c, 6.18).

use crate::connection::{Connection, State};
use crate::errno::Errno;
use crate::receive::receiver::UrgentByte;
use slowpath_model::{Instant, StreamOffset};

/// The flags of `recvmsg` that change what is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadFlags {
    /// The data stays in the queue (`MSG_PEEK`).
    pub peek: bool,
    /// The urgent byte, out of band (`MSG_OOB`).
    pub out_of_band: bool,
}

impl Connection {
    /// Reads at most `max` bytes; 0 is EOF.
    ///
    /// Never waits. A reader that blocks, or wants all bytes (`MSG_WAITALL`), sleeps until
    /// [`Wakeups::readable`](crate::Wakeups) or a state change, and calls again.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there is no data yet, `ENOTCONN` if there never was a connection, `EINVAL` if there is no urgent
    /// byte, or the connection's pending error, once.
    pub fn read(&mut self, now: Instant, max: u32, flags: ReadFlags) -> Result<u32, Errno> {
        if flags.out_of_band {
            return self.read_urgent(flags.peek);
        }
        let copied = self.copy(now, max, flags.peek);
        if copied == 0 && max > 0 && !self.passes_fin(flags.peek) {
            return self.read_nothing();
        }
        if !flags.peek {
            self.passes_fin(false);
            self.cleanup_rbuf(now, copied);
        }
        Ok(copied)
    }

    /// Takes bytes off the queue, buffer by buffer.
    fn copy(&mut self, now: Instant, max: u32, peek: bool) -> u32 {
        let mut at = self.rcv.copied;
        let mut copied = 0;
        while copied < max {
            if copied > 0 && self.is_urgent_at(at) {
                break;
            }
            let (skip, amount) = self.next_piece(at, max - copied);
            if skip == 0 && amount == 0 {
                break;
            }
            at = at + skip + amount;
            copied += amount;
            if !peek {
                self.rcv.copied = at;
                let freed = self.rcv.queue.release(at);
                self.uncharge(freed);
                if amount > 0 {
                    self.adjust_receive_space(now);
                }
                self.pass_urgent();
            }
        }
        copied
    }

    /// How many bytes of the buffer at `at` are skipped as urgent, and how many are read.
    fn next_piece(&self, at: StreamOffset, max: u32) -> (u32, u32) {
        let end = self.rcv.queue.buffer_end(at).unwrap_or(at).min(self.data_end());
        let available = u32::try_from(end.distance_from(at).max(0)).unwrap_or(u32::MAX).min(max);
        if available == 0 || !self.has_urgent() {
            return (0, available);
        }
        let urgent = self.rcv.urgent.seq.distance_from(at);
        match u32::try_from(urgent) {
            Ok(0) if !self.options.oob_inline => (1, available - 1),
            Ok(distance) if distance > 0 && distance < available => (0, distance),
            _ => (0, available),
        }
    }

    /// The end of the data received in order, without the FIN.
    fn data_end(&self) -> StreamOffset {
        self.rcv.nxt - u32::from(self.rcv.fin)
    }

    fn is_urgent_at(&self, at: StreamOffset) -> bool {
        self.has_urgent() && self.rcv.urgent.seq == at
    }

    /// The reader has passed the urgent byte: the fast path may resume.
    fn pass_urgent(&mut self) {
        if self.has_urgent() && self.rcv.copied > self.rcv.urgent.seq {
            self.rcv.urgent.byte = UrgentByte::None;
            self.check_fast_path();
        }
    }

    /// Whether the reader is at the FIN; passes it unless peeking (`found_fin_ok`).
    fn passes_fin(&mut self, peek: bool) -> bool {
        let at_fin = self.rcv.fin && self.rcv.copied == self.data_end();
        if at_fin && !peek {
            self.rcv.copied = self.rcv.nxt;
            let freed = self.rcv.queue.release(self.rcv.nxt);
            self.uncharge(freed);
        }
        at_fin
    }

    /// The result of a read that finds no data.
    fn read_nothing(&mut self) -> Result<u32, Errno> {
        if self.rcv.fin {
            return Ok(0);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.receive_shutdown {
            return Ok(0);
        }
        Err(if self.state == State::Closed { Errno::ENOTCONN } else { Errno::EAGAIN })
    }

    /// `tcp_recv_urg`.
    fn read_urgent(&mut self, peek: bool) -> Result<u32, Errno> {
        if self.options.oob_inline || matches!(self.rcv.urgent.byte, UrgentByte::None | UrgentByte::Read) {
            return Err(Errno::EINVAL);
        }
        if self.rcv.urgent.byte == UrgentByte::Here {
            if !peek {
                self.rcv.urgent.byte = UrgentByte::Read;
            }
            return Ok(1);
        }
        if self.state == State::Closed || self.receive_shutdown { Ok(0) } else { Err(Errno::EAGAIN) }
    }

    /// Bytes that can be read (`SIOCINQ`, `tcp_inq`): up to the urgent byte, if one is ahead.
    pub fn inq(&self) -> u32 {
        let opening =
            matches!(self.state, State::SynSent | State::SynReceived) && self.rcv.fast_open.is_none();
        if opening {
            return 0;
        }
        let mut end = self.data_end();
        if self.has_urgent()
            && !self.options.oob_inline
            && self.rcv.urgent.seq >= self.rcv.copied
            && self.rcv.urgent.seq < end
        {
            end = self.rcv.urgent.seq;
        }
        u32::try_from(end.distance_from(self.rcv.copied).max(0)).unwrap_or(u32::MAX)
    }

    /// What `recvmsg` reports as left to read (`tcp_inq_hint`): at the FIN 1, so that the application reads on.
    pub fn inq_hint(&self) -> u32 {
        let left = u32::try_from(self.rcv.nxt.distance_from(self.rcv.copied)).unwrap_or(0);
        if left == 0 { u32::from(self.rcv.fin) } else { left }
    }

    /// The oldest unacknowledged sequence number, and the one after the last written (`snd_una`, `write_seq`).
    pub const fn written(&self) -> (StreamOffset, StreamOffset) {
        (self.snd.una, self.snd.write_seq)
    }

    /// The start of the last unsent buffer: the next write may extend it.
    pub fn unsent_tail(&self) -> Option<StreamOffset> {
        self.snd.queue.unsent_tail().map(|id| self.snd.queue[id].seq)
    }

    /// Bytes written and not acknowledged (`SIOCOUTQ`).
    pub fn outq(&self) -> u32 {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let held = if opening { 0 } else { self.snd.write_seq.distance_from(self.snd.una) };
        u32::try_from(held).unwrap_or(0)
    }

    /// Bytes written and not sent (`SIOCOUTQNSD`).
    pub fn outq_nsd(&self) -> u32 {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let held = if opening { 0 } else { self.snd.write_seq.distance_from(self.snd.nxt) };
        u32::try_from(held).unwrap_or(0)
    }
}
