//! The kernel's view of every socket, sampled regularly while the transfer runs.

use crate::clock;
use slowpath_live::TcpInfo;
use std::fmt::Write;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The columns of the samples file, in order.
pub const COLUMNS: &str = "at_ns,local,remote,ca_state,snd_cwnd,snd_ssthresh,unacked,sacked,lost,retrans,\
notsent_bytes,snd_wnd_bytes,rcv_wnd_bytes,rcv_space_bytes,rtt_us,rto_us,backoff,busy_us,rwnd_limited_us,\
sndbuf_limited_us,bytes_acked,bytes_received,total_retrans";

struct Watched {
    fd: RawFd,
    local: SocketAddr,
    remote: SocketAddr,
    last: Option<String>,
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.fd
    }
}

/// The sockets to sample. A socket leaves the list before it is closed.
#[derive(Default)]
pub struct Sampler {
    watched: Mutex<Vec<Watched>>,
}

impl Sampler {
    /// Puts a connected socket on the list until the guard is dropped.
    pub fn watch(&self, socket: &socket2::Socket) -> Watching<'_> {
        let address = |a: std::io::Result<socket2::SockAddr>| a.ok().and_then(|a| a.as_socket());
        let fd = socket.as_raw_fd();
        if let (Some(local), Some(remote), Ok(mut watched)) =
            (address(socket.local_addr()), address(socket.peer_addr()), self.watched.lock())
        {
            watched.push(Watched { fd, local, remote, last: None });
        }
        Watching { sampler: self, fd }
    }

    /// Samples every `every_ns` until `stop`; returns a CSV text. A row is left out if only the time has changed since
    /// the socket's last row.
    pub fn run(&self, every_ns: u64, stop: &AtomicBool) -> String {
        let mut text = format!("{COLUMNS}\n");
        let mut next_ns = clock::monotonic_ns();
        while !stop.load(Ordering::Relaxed) {
            if let Ok(mut watched) = self.watched.lock() {
                for socket in watched.iter_mut() {
                    let Ok(info) = TcpInfo::of(socket) else { continue };
                    let row = row(socket, &info);
                    if socket.last.as_ref() != Some(&row) {
                        let _ = writeln!(text, "{},{row}", clock::realtime_ns());
                        socket.last = Some(row);
                    }
                }
            }
            next_ns += every_ns;
            clock::sleep_until_monotonic(next_ns);
        }
        text
    }
}

fn row(socket: &Watched, i: &TcpInfo) -> String {
    let rcv_wnd = i.rcv_wnd_bytes.map_or(String::new(), |w| w.to_string());
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{rcv_wnd},{},{},{},{},{},{},{},{},{},{}",
        socket.local,
        socket.remote,
        i.ca_state,
        i.snd_cwnd_packets,
        i.snd_ssthresh_packets,
        i.unacked_packets,
        i.sacked_packets,
        i.lost_packets,
        i.retrans_packets,
        i.notsent_bytes,
        i.snd_wnd_bytes,
        i.rcv_space_bytes,
        i.rtt_us,
        i.rto_us,
        i.backoff,
        i.busy_time_us,
        i.rwnd_limited_us,
        i.sndbuf_limited_us,
        i.bytes_acked,
        i.bytes_received,
        i.total_retrans_packets,
    )
}

/// Keeps a socket on the sampler's list.
pub struct Watching<'a> {
    sampler: &'a Sampler,
    fd: RawFd,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if let Ok(mut watched) = self.sampler.watched.lock() {
            watched.retain(|w| w.fd != self.fd);
        }
    }
}
