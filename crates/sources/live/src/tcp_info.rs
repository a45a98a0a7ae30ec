//! `struct tcp_info` of a socket, as it is stored with a run.

use serde::{Deserialize, Serialize};
use slowpath_uapi::TcpInfo as Raw;
use slowpath_uapi::tcp_info::filled_by;
use std::io;
use std::os::fd::AsRawFd;

/// The fields that show what limited a transfer, with their units. Kernels before 5.4 do not fill all of them and are
/// refused; fields added after 6.1 are `None` if the kernel lacks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the kernel's, with the unit appended")]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub options: u8,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    pub backoff: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss_bytes: u32,
    pub rcv_mss_bytes: u32,
    pub advmss_bytes: u32,
    pub unacked_packets: u32,
    pub sacked_packets: u32,
    pub lost_packets: u32,
    pub retrans_packets: u32,
    pub rcv_ssthresh_bytes: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub min_rtt_us: u32,
    pub snd_ssthresh_packets: u32,
    pub snd_cwnd_packets: u32,
    pub reordering_packets: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space_bytes: u32,
    pub total_retrans_packets: u32,
    pub pacing_rate_byte_per_s: u64,
    /// All bits are set where there is no limit (`SO_MAX_PACING_RATE`).
    #[serde(default = "unlimited")]
    pub max_pacing_rate_byte_per_s: u64,
    pub delivery_rate_byte_per_s: u64,
    pub delivery_rate_app_limited: bool,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub notsent_bytes: u32,
    /// Time with unacknowledged data or data to send; includes the two below.
    pub busy_time_us: u64,
    /// Time in which the peer's window limited it, by the kernel's count.
    pub rwnd_limited_us: u64,
    /// Time in which its own send buffer limited it, by the kernel's count.
    pub sndbuf_limited_us: u64,
    pub delivered_packets: u32,
    pub delivered_ce_packets: u32,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd_bytes: u32,
    pub rcv_wnd_bytes: Option<u32>,
    pub total_rto: Option<u16>,
    pub total_rto_recoveries: Option<u16>,
    pub total_rto_time_ms: Option<u32>,
}

/// The kernel's value for no limit; runs stored before this field was read lack it.
const fn unlimited() -> u64 {
    u64::MAX
}

impl TcpInfo {
    /// Reads it from a TCP socket.
    ///
    /// # Errors
    /// If it is not a TCP socket, or the kernel is older than 5.4.
    pub fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        let mut bytes = [0_u8; Raw::LENGTH];
        let mut filled = Raw::LENGTH as libc::socklen_t;
        // SAFETY: the bytes are live and their true number is passed with them.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut filled,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let too_old = || io::Error::other(format!("the kernel fills {filled} bytes of TCP_INFO only"));
        bytes.get(..filled as usize).and_then(Self::read).ok_or_else(too_old)
    }

    /// The struct as the kernel wrote it, shorter or longer than here.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let filled = bytes.len();
        (filled >= filled_by::LINUX_5_4).then(|| Self::from_raw(&Raw::decode(bytes), filled))
    }

    fn from_raw(raw: &Raw, filled: usize) -> Self {
        let has_rcv_wnd = filled >= filled_by::LINUX_6_2;
        let has_rto = filled >= filled_by::LINUX_6_7;
        Self {
            state: raw.state,
            ca_state: raw.ca_state,
            options: raw.options,
            snd_wscale: raw.snd_wscale,
            rcv_wscale: raw.rcv_wscale,
            backoff: raw.backoff,
            rto_us: raw.rto,
            ato_us: raw.ato,
            snd_mss_bytes: raw.snd_mss,
            rcv_mss_bytes: raw.rcv_mss,
            advmss_bytes: raw.advmss,
            unacked_packets: raw.unacked,
            sacked_packets: raw.sacked,
            lost_packets: raw.lost,
            retrans_packets: raw.retrans,
            rcv_ssthresh_bytes: raw.rcv_ssthresh,
            rtt_us: raw.rtt,
            rttvar_us: raw.rttvar,
            min_rtt_us: raw.min_rtt,
            snd_ssthresh_packets: raw.snd_ssthresh,
            snd_cwnd_packets: raw.snd_cwnd,
            reordering_packets: raw.reordering,
            rcv_rtt_us: raw.rcv_rtt,
            rcv_space_bytes: raw.rcv_space,
            total_retrans_packets: raw.total_retrans,
            pacing_rate_byte_per_s: raw.pacing_rate,
            max_pacing_rate_byte_per_s: raw.max_pacing_rate,
            delivery_rate_byte_per_s: raw.delivery_rate,
            delivery_rate_app_limited: raw.delivery_rate_app_limited,
            bytes_acked: raw.bytes_acked,
            bytes_received: raw.bytes_received,
            bytes_sent: raw.bytes_sent,
            bytes_retrans: raw.bytes_retrans,
            segs_out: raw.segs_out,
            segs_in: raw.segs_in,
            data_segs_in: raw.data_segs_in,
            data_segs_out: raw.data_segs_out,
            notsent_bytes: raw.notsent_bytes,
            busy_time_us: raw.busy_time,
            rwnd_limited_us: raw.rwnd_limited,
            sndbuf_limited_us: raw.sndbuf_limited,
            delivered_packets: raw.delivered,
            delivered_ce_packets: raw.delivered_ce,
            dsack_dups: raw.dsack_dups,
            reord_seen: raw.reord_seen,
            rcv_ooopack: raw.rcv_ooopack,
            snd_wnd_bytes: raw.snd_wnd,
            rcv_wnd_bytes: has_rcv_wnd.then_some(raw.rcv_wnd),
            total_rto: has_rto.then_some(raw.total_rto),
            total_rto_recoveries: has_rto.then_some(raw.total_rto_recoveries),
            total_rto_time_ms: has_rto.then_some(raw.total_rto_time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn loopback_connection_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = TcpInfo::of(&client).unwrap();
        assert_eq!(info.state, 1, "established");
        assert!(info.snd_cwnd_packets >= 10 && info.snd_mss_bytes > 500, "{info:?}");
        assert!(TcpInfo::of(&std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
