//! What the kernel says about a socket: `struct tcp_info` (include/uapi/linux/tcp.h, Linux 6.18).

use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;

#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    /// `snd_wscale` in the low four bits, `rcv_wscale` in the high ones.
    wscales: u8,
    /// `delivery_rate_app_limited` in the lowest bit.
    bits: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

/// The fields that say what bound a transfer, with their units. Kernels before 5.4 do not fill them all and
/// are refused; what came after 6.1 is `None` where the kernel does not have it.
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
    /// Time the kernel says it was the peer's window that stopped it.
    pub rwnd_limited_us: u64,
    /// Time the kernel says it was its own send buffer that stopped it.
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

impl TcpInfo {
    /// Asks the kernel about a TCP socket.
    ///
    /// # Errors
    /// If it is not a TCP socket, or the kernel is older than 5.4.
    pub fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        // SAFETY: the struct holds integers only, for which all-zero is valid.
        let mut raw: Raw = unsafe { std::mem::zeroed() };
        let mut size = size_of::<Raw>() as libc::socklen_t;
        // SAFETY: the struct is live and its true size is passed with it.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut raw).cast(),
                &raw mut size,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let too_old = || io::Error::other(format!("the kernel fills {size} bytes of TCP_INFO only"));
        Self::checked(&raw, size as usize).ok_or_else(too_old)
    }

    /// The struct as the kernel wrote it, shorter or longer than it is here.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        // SAFETY: the struct holds integers only, for which all-zero is valid.
        let mut raw: Raw = unsafe { std::mem::zeroed() };
        let filled = bytes.len().min(size_of::<Raw>());
        // SAFETY: both are valid for so many bytes, and any bytes are integers.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast(), filled) };
        Self::checked(&raw, filled)
    }

    fn checked(raw: &Raw, filled: usize) -> Option<Self> {
        (filled >= std::mem::offset_of!(Raw, rcv_wnd)).then(|| Self::from_raw(raw, filled))
    }

    fn from_raw(raw: &Raw, filled: usize) -> Self {
        let has = |end: usize| filled >= end;
        let has_rcv_wnd = has(std::mem::offset_of!(Raw, rehash));
        let has_rto = has(size_of::<Raw>());
        Self {
            state: raw.state,
            ca_state: raw.ca_state,
            options: raw.options,
            snd_wscale: raw.wscales & 15,
            rcv_wscale: raw.wscales >> 4,
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
            delivery_rate_byte_per_s: raw.delivery_rate,
            delivery_rate_app_limited: raw.bits & 1 != 0,
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
    fn layout_is_the_kernels() {
        // From pahole on the 6.18 header.
        assert_eq!(std::mem::offset_of!(Raw, pacing_rate), 104);
        assert_eq!(std::mem::offset_of!(Raw, busy_time), 168);
        assert_eq!(std::mem::offset_of!(Raw, bytes_sent), 200);
        assert_eq!(std::mem::offset_of!(Raw, snd_wnd), 228);
        assert_eq!(size_of::<Raw>(), 248);
    }

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
