//! `explain buffer` compared with this machine's kernel: sockets on loopback with the same sizes.

use crate::captures::Captures;
use crate::{json, outcome, run};
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The MSS of 1500-byte frames: 1460 in the SYN option, 12 less with timestamps.
const SYN_MSS: i32 = 1460;
const PAYLOAD: usize = 1448;
/// The truesize of a segment that was written alone on loopback: 832 bytes of overhead and the payload, charged to the
/// sender's buffer.
const TRUESIZE: u32 = 832 + PAYLOAD as u32;

fn sysctl(name: &str) -> String {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    fs::read_to_string(path)
        .expect("a sysctl of every Linux")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The output of `explain buffer` for a size, with this machine's sysctls.
fn explained(folder: &Captures, size: Option<i64>) -> Value {
    let mut args: Vec<String> = ["explain", "buffer", "--kernel", "6.18", "--json"].map(str::to_owned).into();
    args.extend(size.map(|size| format!("{size}B")));
    args.extend(["--truesize".to_owned(), TRUESIZE.to_string()]);
    let names = ["net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
    let more = ["net.ipv4.tcp_app_win", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_timestamps"];
    for name in names.into_iter().chain(more) {
        args.extend(["--sysctl".to_owned(), format!("{name}={}", sysctl(name))]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, out, err) = outcome(&run(folder, &args));
    assert_eq!((code, err.as_str()), (0, ""));
    let document = json(&out);
    document["kernels"][0].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

fn socket() -> OwnedFd {
    // SAFETY: the call takes no pointers; the result is checked.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(fd >= 0, "{}", io::Error::last_os_error());
    // SAFETY: the descriptor is new, and nothing else closes it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn set(socket: &impl AsRawFd, level: i32, option: i32, value: i32) {
    let (at, size) = ((&raw const value).cast(), size_of::<i32>() as u32);
    // SAFETY: `at` points to a live `int` of the given size.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, size) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

/// Reads an option, up to the size of `room`.
fn get(socket: &impl AsRawFd, level: i32, option: i32, room: &mut [u8]) -> usize {
    let mut size = room.len() as u32;
    // SAFETY: the kernel writes at most `size` bytes, the size of `room`.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, room.as_mut_ptr().cast(), &raw mut size)
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    size as usize
}

fn buffer(socket: &impl AsRawFd, option: i32) -> u64 {
    let mut bytes = [0; 4];
    get(socket, libc::SOL_SOCKET, option, &mut bytes);
    u64::from(u32::from_ne_bytes(bytes))
}

/// Fields of `struct tcp_info` (include/uapi/linux/tcp.h): our window scale, the window last advertised, and the peer's
/// window.
struct Info {
    shift: u64,
    advertised: u64,
    peer: u64,
}

fn info(socket: &impl AsRawFd) -> Info {
    let mut bytes = [0; 240];
    let size = get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes);
    assert!(size >= 236, "tcpi_rcv_wnd came with 6.2; this kernel has {size} bytes");
    let word = |at: usize| u64::from(u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four")));
    Info { shift: u64::from(bytes[6] >> 4), advertised: word(232), peer: word(228) }
}

/// Buffer sizes to request: 0, the minimum and its neighbours, multiples of pages, and sizes beyond all limits.
fn sizes() -> Vec<i64> {
    let most: i64 = sysctl("net.core.rmem_max").parse().expect("a number");
    let fixed = [0, 1, 1151, 1152, 1153, 2303, 2304, 4096, 65_536, 262_144, 1 << 20, i64::from(i32::MAX)];
    fixed.into_iter().chain([most - 1, most, most + 1, 2 * most]).collect()
}

/// `getsockopt` returns the predicted size, to the byte; a negative size counts as the largest.
#[test]
fn getsockopt_matches_explain_buffer() {
    let folder = Captures::new();
    for size in sizes() {
        let said = explained(&folder, Some(size));
        for (way, option) in [("receive", libc::SO_RCVBUF), ("send", libc::SO_SNDBUF)] {
            let socket = socket();
            set(&socket, libc::SOL_SOCKET, option, i32::try_from(size).expect("an int"));
            assert_eq!(buffer(&socket, option), number(&said[way]["getsockopt_bytes"]), "{way} of {size}");
        }
    }
    let most = explained(&folder, Some(i64::from(i32::MAX)));
    for (way, option) in [("receive", libc::SO_RCVBUF), ("send", libc::SO_SNDBUF)] {
        let socket = socket();
        set(&socket, libc::SOL_SOCKET, option, -1);
        assert_eq!(buffer(&socket, option), number(&most[way]["getsockopt_bytes"]), "{way} of -1");
    }
    let untouched = explained(&folder, None);
    for (way, option) in [("receive", libc::SO_RCVBUF), ("send", libc::SO_SNDBUF)] {
        assert_eq!(buffer(&socket(), option), number(&untouched[way]["getsockopt_bytes"]), "{way}");
    }
}

/// A loopback connection whose client has this receive buffer, with segments as on a link with an MTU of 1500 bytes.
fn connected(size: Option<i64>) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let client = socket();
    set(&client, libc::IPPROTO_TCP, libc::TCP_MAXSEG, SYN_MSS);
    if let Some(size) = size {
        set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, i32::try_from(size).expect("an int"));
    }
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let raw = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&raw) as u32;
    // SAFETY: `raw` is a live IPv4 address of that length.
    let result = unsafe { libc::connect(client.as_raw_fd(), (&raw const raw).cast(), length) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    let (server, _) = listener.accept().expect("it has connected");
    server.set_nodelay(true).expect("TCP");
    (TcpStream::from(client), server)
}

/// Whether this kernel measures the share of a buffer that is window, as 6.18 does (since 6.6).
fn measures_ratio() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut parts = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(6), Some(6))
}

/// The window scale in the SYN and the window of the first ACK are exact. The largest window is exact to a segment: an
/// ACK may be sent before the reader has read its segment, and windows without scaling are whole segments.
#[test]
fn advertised_windows_match_explain_buffer() {
    assert!(measures_ratio(), "this test needs Linux 6.6 or newer, whose arithmetic it is about");
    let folder = Captures::new();
    let most: i64 = sysctl("net.core.rmem_max").parse().expect("a number");
    for size in [None, Some(8192), Some(65_536), Some(262_144), Some(1 << 20), Some(most), Some(2 * most)] {
        let said = &explained(&folder, size)["receive"];
        let (mut client, mut server) = connected(size);
        let (first, shift) = (info(&client), said["window_scale"].as_u64().unwrap_or(0));
        assert_eq!(first.shift, shift, "scale of {size:?}");
        assert_eq!(first.advertised, number(&said["first_bytes"]), "first window of {size:?}");
        let peers = info(&server).peer;
        assert_eq!(peers, first.advertised, "as the peer has it, {size:?}");
        if size.is_none() {
            // The limit of autotuning depends on the transfer.
            continue;
        }
        // Each segment is written and read alone, so that none are merged and none wait.
        let mut segment = [0; PAYLOAD];
        let mut largest = 0;
        for _ in 0..3000 {
            server.write_all(&segment).expect("room");
            client.read_exact(&mut segment).expect("a segment");
            largest = largest.max(info(&client).advertised);
        }
        let most = number(&said["most_bytes"]);
        let near = most.saturating_sub(PAYLOAD as u64)..=most;
        assert!(near.contains(&largest), "largest window of {size:?}: {largest}, and {most} is said");
    }
}

/// Data in flight to a reader that reads nothing, beyond what its buffer took: at least what fits in separate segments,
/// at most what fits in whole super-packets plus one.
#[test]
fn data_in_flight_matches_explain_buffer() {
    let folder = Captures::new();
    for size in [65_536, 262_144, 1 << 20] {
        let said = &explained(&folder, Some(size))["send"];
        // A window large enough for full segments (`tcp_bound_to_half_wnd`) that fills quickly.
        let (reader, mut writer) = connected(Some(65_536));
        set(&writer, libc::SOL_SOCKET, libc::SO_SNDBUF, i32::try_from(size).expect("an int"));
        writer.set_nonblocking(true).expect("a socket");
        let chunk = vec![0; 1 << 20];
        let mut written = 0;
        // The first window is acknowledged and frees space, so write until nothing more is accepted for a while.
        let mut quiet = 0;
        while quiet < 20 {
            match writer.write(&chunk) {
                Ok(amount) => (written, quiet) = (written + amount as u64, 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    quiet += 1;
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                Err(error) => panic!("{error}"),
            }
        }
        let queued = unacknowledged(&writer);
        let super_packets = said["steps"].as_array().expect("steps").last().expect("the last");
        let (least, most) = (number(&said["most_bytes"]), number(&super_packets["to"]));
        assert!(
            (least..=most + 65_536).contains(&queued),
            "{size}: {queued} of {written}, and {least} to {most} is said"
        );
        drop(reader);
    }
}

/// Bytes written but not acknowledged (`SIOCOUTQ`).
fn unacknowledged(socket: &impl AsRawFd) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one `int`, which `bytes` is.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    u64::try_from(bytes).expect("an amount")
}
