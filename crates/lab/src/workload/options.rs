//! Socket options of an application.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use std::os::fd::AsRawFd;

/// Socket options of an application; `None` leaves the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOptions {
    /// `SO_SNDBUF`; the kernel doubles it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub so_sndbuf_bytes: Option<u32>,
    /// `SO_RCVBUF`, set before the connection is made; the kernel doubles it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub so_rcvbuf_bytes: Option<u32>,
    /// `TCP_WINDOW_CLAMP`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_clamp_bytes: Option<u32>,
    /// `TCP_WINDOW_CLAMP` of a listening socket, which determines the window scale; it is lifted from each connection
    /// once established, when the scale can no longer change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_clamp_at_handshake_bytes: Option<u32>,
    /// `TCP_CONGESTION`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// `TCP_CORK`.
    #[serde(skip_serializing_if = "super::is_false", default)]
    pub cork: bool,
    /// `TCP_QUICKACK`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quickack: Option<bool>,
    /// `TCP_MAXSEG`, set before the connection is made.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub maxseg_bytes: Option<u32>,
    /// `TCP_NOTSENT_LOWAT`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub notsent_lowat_bytes: Option<u32>,
    /// `SO_MAX_PACING_RATE`, in bits a second; the kernel takes bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_pacing_rate_bit_per_s: Option<u64>,
    /// `SO_BUSY_POLL`, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_poll_us: Option<u32>,
    /// The connecting end passes its first data with the connection request (`MSG_FASTOPEN`, RFC 7413), if it writes.
    /// The hosts' `net.ipv4.tcp_fastopen` decides whether the SYN carries it.
    #[serde(skip_serializing_if = "super::is_false", default)]
    pub fast_open: bool,
}

impl SocketOptions {
    /// Sets options that are needed before the connection: on the connecting socket, and on the listening one, from
    /// which connections inherit them.
    ///
    /// # Errors
    /// If the kernel refuses an option.
    pub(super) fn set_before(&self, socket: &Socket) -> Result<(), LabError> {
        if let Some(bytes) = self.so_sndbuf_bytes {
            socket.set_send_buffer_size(bytes as usize).map_err(LabError::system("set SO_SNDBUF"))?;
        }
        if let Some(bytes) = self.so_rcvbuf_bytes {
            socket.set_recv_buffer_size(bytes as usize).map_err(LabError::system("set SO_RCVBUF"))?;
        }
        if let Some(bytes) = self.window_clamp_at_handshake_bytes.or(self.window_clamp_bytes) {
            set_window_clamp(socket, bytes)?;
        }
        if let Some(bytes) = self.maxseg_bytes {
            socket.set_tcp_mss(bytes).map_err(LabError::system("set TCP_MAXSEG"))?;
        }
        if let Some(name) = &self.congestion_control {
            socket
                .set_tcp_congestion(name.as_bytes())
                .map_err(LabError::system(format!("set TCP_CONGESTION to {name}")))?;
        }
        Ok(())
    }

    /// Sets options of a connection itself: on the connecting and on the accepted socket.
    ///
    /// # Errors
    /// As [`Self::set_before`].
    pub(super) fn set_on_connection(&self, socket: &Socket) -> Result<(), LabError> {
        if self.nodelay {
            socket.set_tcp_nodelay(true).map_err(LabError::system("set TCP_NODELAY"))?;
        }
        if self.cork {
            socket.set_tcp_cork(true).map_err(LabError::system("set TCP_CORK"))?;
        }
        if let Some(quickack) = self.quickack {
            socket.set_tcp_quickack(quickack).map_err(LabError::system("set TCP_QUICKACK"))?;
        }
        if let Some(bytes) = self.notsent_lowat_bytes {
            socket.set_tcp_notsent_lowat(bytes).map_err(LabError::system("set TCP_NOTSENT_LOWAT"))?;
        }
        if let Some(rate) = self.max_pacing_rate_bit_per_s {
            set(socket, (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), rate / 8, "SO_MAX_PACING_RATE")?;
        }
        if let Some(time_us) = self.busy_poll_us {
            set(socket, (libc::SOL_SOCKET, libc::SO_BUSY_POLL), time_us, "SO_BUSY_POLL")?;
        }
        Ok(())
    }

    /// Lifts options that apply to the handshake only.
    pub(super) fn lift(&self, socket: &Socket) -> Result<(), LabError> {
        match self.window_clamp_at_handshake_bytes {
            // RFC 7323, section 2.2: no window is larger than 2^30 bytes.
            Some(_) => set_window_clamp(socket, 1 << 30),
            None => Ok(()),
        }
    }
}

/// Whether this process may let a socket poll for longer than `net.core.busy_read`: kernels that require
/// `CAP_NET_ADMIN` require the whole machine's (`sk_setsockopt`, `capable`); 6.18 requires nothing.
///
/// # Errors
/// The kernel's error.
pub(crate) fn may_busy_poll() -> Result<(), LabError> {
    let socket =
        Socket::new(Domain::IPV4, Type::STREAM, None).map_err(LabError::system("make a socket to try"))?;
    set(&socket, (libc::SOL_SOCKET, libc::SO_BUSY_POLL), i32::MAX, "SO_BUSY_POLL")
}

fn set_window_clamp(socket: &Socket, bytes: u32) -> Result<(), LabError> {
    set(socket, (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP), bytes, "TCP_WINDOW_CLAMP")
}

/// Sets an option that socket2 lacks, to a number of the size that it takes.
fn set<Number>(
    socket: &Socket,
    (level, option): (libc::c_int, libc::c_int),
    value: Number,
    name: &str,
) -> Result<(), LabError> {
    let bytes = size_of::<Number>() as libc::socklen_t;
    // SAFETY: the value is live and its true size is passed with it.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), bytes) };
    if result == 0 { Ok(()) } else { Err(LabError::last_os(format!("set {name}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Options read back as they were set.
    #[test]
    fn socket_options_read_back_as_set() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let options = SocketOptions {
            so_sndbuf_bytes: Some(20_000),
            so_rcvbuf_bytes: Some(30_000),
            window_clamp_bytes: Some(40_000),
            congestion_control: Some("reno".into()),
            nodelay: true,
            cork: true,
            quickack: Some(false),
            maxseg_bytes: Some(1000),
            notsent_lowat_bytes: Some(50_000),
            max_pacing_rate_bit_per_s: Some(80_000),
            // No more than any kernel allows everybody.
            busy_poll_us: Some(0),
            fast_open: false,
            window_clamp_at_handshake_bytes: None,
        };
        options.set_before(&socket).expect("options of any user");
        options.set_on_connection(&socket).expect("options of any user");
        let number = |level, option| {
            let (mut value, mut bytes) = (0_u32, size_of::<u32>() as libc::socklen_t);
            // SAFETY: the value is live and its true size is passed with it.
            let result = unsafe {
                libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut bytes)
            };
            assert_eq!(result, 0);
            value
        };
        // socket(7): buffers are doubled.
        assert_eq!(socket.send_buffer_size().expect("SO_SNDBUF"), 40_000);
        assert_eq!(socket.recv_buffer_size().expect("SO_RCVBUF"), 60_000);
        assert_eq!(socket.tcp_congestion().expect("TCP_CONGESTION")[..4], *b"reno");
        let tcp = libc::IPPROTO_TCP;
        assert_eq!(number(tcp, libc::TCP_WINDOW_CLAMP), 40_000);
        assert_eq!(number(tcp, libc::TCP_MAXSEG), 1000);
        assert_eq!((number(tcp, libc::TCP_NODELAY), number(tcp, libc::TCP_CORK)), (1, 1));
        assert_eq!(number(tcp, libc::TCP_QUICKACK), 0);
        assert_eq!(number(tcp, libc::TCP_NOTSENT_LOWAT), 50_000);
        assert_eq!(number(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), 10_000);
        if may_busy_poll().is_ok() {
            let polls = SocketOptions { busy_poll_us: Some(50), ..SocketOptions::default() };
            polls.set_on_connection(&socket).expect("it may");
        }
        let polls_us = if may_busy_poll().is_ok() { 50 } else { 0 };
        assert_eq!(number(libc::SOL_SOCKET, libc::SO_BUSY_POLL), polls_us);
    }
}
