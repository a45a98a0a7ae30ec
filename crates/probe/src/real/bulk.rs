//! A TCP transfer, and its `TCP_INFO` at the end.

use super::ProbeError;
use super::clock::monotonic_ns;
use super::stream::{gives_up_after, is_passing};
use crate::measure::Direction;
use crate::measure::channel::rate_of;
use crate::protocol::{Bulk, TcpEnd};
use slowpath_uapi::TcpInfo;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How long to wait for buffered data when the time is over.
pub const AFTERWARDS: Duration = Duration::from_secs(5);
/// How long a call may take before checking whether to continue.
const ASK: Duration = Duration::from_millis(100);
/// The size of a read or write.
const CHUNK_BYTES: usize = 256 << 10;

/// The result of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The direction of its data.
    pub direction: Direction,
    /// Bytes that the receiver read.
    pub bytes: u64,
    /// From the receiver's first read to its last, in nanoseconds.
    pub lasted_ns: u64,
    /// The rate of reading in that time, in bit/s; `None` for zero time.
    pub rate: Option<u64>,
    /// The sender's smoothed RTT at the end, in nanoseconds.
    pub rtt_ns: u64,
    /// The shortest RTT that the sender has seen, in nanoseconds.
    pub min_rtt_ns: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// The sender's congestion window at the end, in bytes.
    pub cwnd_bytes: u64,
    /// How long it had something to send, in nanoseconds (`tcpi_busy_time`).
    pub busy_ns: u64,
    /// Of that, how long the receive window held it (`tcpi_rwnd_limited`).
    pub rwnd_limited_ns: u64,
    /// Of that, how long its send buffer held it (`tcpi_sndbuf_limited`).
    pub sndbuf_limited_ns: u64,
}

impl Transfer {
    /// Computed from the reports of both ends.
    pub fn of(direction: Direction, sender: &Bulk, receiver: &Bulk) -> Self {
        let end = &sender.end;
        Self {
            direction,
            bytes: receiver.bytes,
            lasted_ns: receiver.lasted_ns,
            rate: rate_of(receiver.bytes, receiver.lasted_ns),
            rtt_ns: end.rtt_us.saturating_mul(1000),
            min_rtt_ns: end.min_rtt_us.saturating_mul(1000),
            retransmitted: end.retransmitted,
            cwnd_bytes: end.cwnd.saturating_mul(end.mss),
            busy_ns: end.busy_us.saturating_mul(1000),
            rwnd_limited_ns: end.rwnd_limited_us.saturating_mul(1000),
            sndbuf_limited_ns: end.sndbuf_limited_us.saturating_mul(1000),
        }
    }
}

/// Writes for this long.
///
/// # Errors
/// If the connection breaks, or `goes_on` returns a reason to stop.
pub fn write(
    stream: &TcpStream,
    duration_ns: u64,
    goes_on: &dyn Fn() -> Result<(), ProbeError>,
) -> Result<Bulk, ProbeError> {
    stream.set_write_timeout(Some(ASK)).map_err(ProbeError::system("set a time-out"))?;
    // An interruption of the path is part of the result.
    gives_up_after(stream, Duration::from_nanos(duration_ns).saturating_add(AFTERWARDS))?;
    let chunk = vec![0; CHUNK_BYTES];
    let (begin_ns, mut bytes) = (monotonic_ns(), 0);
    while monotonic_ns() - begin_ns < duration_ns {
        goes_on()?;
        match { stream }.write(&chunk) {
            Ok(count) => bytes += count as u64,
            Err(error) if is_passing(&error) => {}
            Err(source) => return Err(ProbeError::System { what: "write to the connection", source }),
        }
    }
    let lasted_ns = monotonic_ns() - begin_ns;
    let end = asked(stream)?;
    gives_up_after(stream, AFTERWARDS)?;
    // The other end may already have closed it; then there is nothing to shut down.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(Bulk { bytes, lasted_ns, end })
}

/// Reads until the other end has no more, or its time plus a margin is over; `begun` bytes of it have already been
/// read.
///
/// # Errors
/// If the connection breaks, or `goes_on` returns a reason to stop.
pub fn read(
    stream: &TcpStream,
    begun: u64,
    duration_ns: u64,
    goes_on: &dyn Fn() -> Result<(), ProbeError>,
) -> Result<Bulk, ProbeError> {
    stream.set_read_timeout(Some(ASK)).map_err(ProbeError::system("set a time-out"))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let begin_ns = monotonic_ns();
    let most_ns = duration_ns.saturating_add(AFTERWARDS.as_nanos() as u64);
    let (mut bytes, mut first_ns, mut last_ns) = (begun, (begun > 0).then_some(begin_ns), begin_ns);
    while monotonic_ns() - begin_ns < most_ns {
        goes_on()?;
        match { stream }.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                bytes += count as u64;
                last_ns = monotonic_ns();
                first_ns.get_or_insert(last_ns);
            }
            Err(error) if is_passing(&error) => {}
            Err(source) => return Err(ProbeError::System { what: "read from the connection", source }),
        }
    }
    Ok(Bulk { bytes, lasted_ns: last_ns - first_ns.unwrap_or(last_ns), end: asked(stream)? })
}

/// The `TCP_INFO` of this end.
fn asked(stream: &TcpStream) -> Result<TcpEnd, ProbeError> {
    let mut bytes = [0_u8; TcpInfo::LENGTH];
    let mut length = TcpInfo::LENGTH as libc::socklen_t;
    // SAFETY: both are live and have the stated sizes.
    let result = unsafe {
        let to = bytes.as_mut_ptr().cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if result != 0 {
        return Err(ProbeError::System { what: "ask for TCP_INFO", source: io::Error::last_os_error() });
    }
    let info = TcpInfo::decode(&bytes[..length as usize]);
    Ok(TcpEnd {
        rtt_us: info.rtt.into(),
        min_rtt_us: info.min_rtt.into(),
        retransmitted: info.total_retrans.into(),
        busy_us: info.busy_time,
        rwnd_limited_us: info.rwnd_limited,
        sndbuf_limited_us: info.sndbuf_limited,
        cwnd: info.snd_cwnd.into(),
        mss: info.snd_mss.into(),
    })
}
