//! What an observer of a socket can read besides `TCP_INFO`: a sample, and what reveals a state change.

use crate::connection::Connection;
use slowpath_model::{CaState, End, Instant, SocketSample, measured};

/// Values that change when the socket's state does. Cheap enough to compare after every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// The congestion state.
    pub ca_state: CaState,
    /// Retransmission timeouts so far.
    pub timeouts: u16,
    /// Reductions undone so far.
    pub undos: u32,
    /// How often the receiver was found to have discarded SACKed data (`TCPSACKReneging`).
    pub renegings: u32,
    /// How often the advertised window has closed and reopened.
    pub zero_windows: [u32; 2],
    /// Sizes of the send and the receive buffer, in bytes of memory.
    pub buffers: [u32; 2],
}

impl Connection {
    /// The socket's vitals.
    pub fn vitals(&self) -> Vitals {
        let counters = &self.rcv.counters;
        Vitals {
            ca_state: self.snd.ca_state,
            timeouts: self.snd.total_rto,
            undos: self.snd.totals.undos,
            renegings: self.snd.totals.renegings,
            zero_windows: [counters.to_zero_window, counters.from_zero_window],
            buffers: [self.snd.sndbuf, self.rcv.buffer],
        }
    }

    /// Range of the receive queue: from the next byte to read to the next byte expected.
    pub fn receive_queue(&self) -> std::ops::Range<slowpath_model::StreamOffset> {
        self.rcv.copied..self.rcv.nxt
    }

    /// The state of the socket as TCP knows it: the host adds what is queued before TCP.
    pub fn sample(&self, end: End, now: Instant) -> SocketSample {
        let info = self.info(now);
        let queue = self.receive_queue();
        SocketSample {
            ca_state: Some(self.snd.ca_state),
            snd_cwnd: Some(info.snd_cwnd),
            snd_ssthresh: Some(info.snd_ssthresh),
            srtt: measured(info.rtt),
            rttvar: measured(info.rtt).map(|_| info.rttvar),
            min_rtt: measured(info.min_rtt),
            rto: Some(info.rto),
            snd_wnd: Some(info.snd_wnd),
            rcv_wnd: Some(info.rcv_wnd),
            packets_out: Some(info.unacked),
            sacked_out: Some(info.sacked),
            lost_out: Some(info.lost),
            retrans_out: Some(info.retrans),
            notsent: Some(info.notsent_bytes),
            wmem_queued: Some(self.snd.wmem_queued),
            sndbuf: Some(self.snd.sndbuf),
            receive_queue: u32::try_from(queue.end.distance_from(queue.start)).ok(),
            ofo_queue: Some(self.rcv.ofo.bytes()),
            rmem_alloc: Some(self.rcv.rmem_alloc),
            rcvbuf: Some(self.rcv.buffer),
            snd_mss: Some(info.snd_mss),
            rcv_rtt: measured(info.rcv_rtt),
            total_retrans: Some(info.total_retrans),
            data_segs_in: Some(info.data_segs_in),
            ..SocketSample::unknown(end)
        }
    }
}
