//! The relay between the two hosts: reads packets, asks the emulated path, and delivers them when due.
//!
//! It stands in the path's namespace with one packet socket per side. Arrival times are the kernel's own
//! receive stamps, so that a late relay does not shift the schedule; how late deliveries were is counted.

use crate::clock;
use crate::error::LabError;
use crate::frame::{self, Parsed, Streams, VNET_HEADER_BYTES};
use crate::path::{DropReason, Packet, Path, Segment, Totals, Verdict};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the path did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was lost.
    Dropped(DropReason),
    /// It arrived twice.
    Duplicated,
    /// It was held back so that later packets overtook it.
    HeldBack,
}

/// A packet to which the path did something other than to carry it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// When it came to the path, `CLOCK_REALTIME`.
    pub at_ns: u64,
    /// What happened.
    pub fate: Fate,
    /// IPv4 identification; 0 for IPv6.
    pub ip_id: u16,
    /// Port it came from.
    pub from_port: u16,
    /// Port it was sent to.
    pub to_port: u16,
    /// TCP sequence number as on the wire.
    pub sequence: u32,
    /// Offset of its first payload byte in the stream, which begins with 0 after the SYN.
    pub offset: u64,
    /// TCP payload bytes.
    pub payload_bytes: u32,
    /// IP bytes.
    pub length_bytes: u32,
}

/// How late deliveries were against the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Half of the packets were no later than this.
    pub p50_ns: u64,
    /// 99 of 100 packets were no later than this.
    pub p99_ns: u64,
    /// The latest.
    pub max_ns: u64,
}

impl Lateness {
    fn of(mut late_ns: Vec<u64>) -> Self {
        late_ns.sort_unstable();
        let at = |share: usize| late_ns.get(late_ns.len() * share / 100).copied().unwrap_or(0);
        Self { p50_ns: at(50), p99_ns: at(99), max_ns: late_ns.last().copied().unwrap_or(0) }
    }
}

/// What one direction of the relay did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// The path's own counts.
    pub totals: Totals,
    /// Packets handed to the far side.
    pub delivered_packets: u64,
    /// Packets still on the path when the relay stopped.
    pub left_packets: u64,
    /// Packets the far side's device refused; should be 0.
    pub refused_packets: u64,
    /// Packets the relay's own socket lost before reading; should be 0.
    pub missed_packets: u64,
    /// Super-packets that the relay cut into packets.
    pub cut_super_packets: u64,
    /// How late deliveries were.
    pub lateness: Lateness,
    /// Every packet that was dropped, duplicated or held back.
    pub faults: Vec<Fault>,
}

impl DirectionReport {
    /// Whether every packet is accounted for.
    pub fn is_conserved(&self) -> bool {
        self.totals.are_conserved()
            && self.totals.scheduled_packets
                == self.delivered_packets + self.left_packets + self.refused_packets
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    due_ns: u64,
    order: u64,
    frame: Vec<u8>,
}

struct Direction {
    input: OwnedFd,
    output: OwnedFd,
    path: Path,
    streams: Streams,
    pending: BinaryHeap<Reverse<Pending>>,
    order: u64,
    late_ns: Vec<u64>,
    report: DirectionReport,
}

/// Both directions, ready to run.
pub struct Relay {
    directions: [Direction; 2],
    buffer: Vec<u8>,
    realtime_minus_monotonic_ns: u64,
}

const BUFFER_BYTES: usize = 70_000;
const SOCKET_BUFFER_BYTES: i32 = 64 << 20;
/// Packets read, or delivered, before the other gets its turn.
const BATCH: usize = 64;

impl Relay {
    /// Opens the sockets; call it on a thread inside the path's namespace.
    ///
    /// # Errors
    /// If a device is missing or packet sockets are not allowed.
    pub fn open(left: &str, right: &str, forward: Path, backward: Path) -> Result<Self, LabError> {
        let [left_in, right_in] = [packet_socket(left)?, packet_socket(right)?];
        let again = |fd: &OwnedFd| fd.try_clone().map_err(LabError::system("duplicate a packet socket"));
        let (left_out, right_out) = (again(&left_in)?, again(&right_in)?);
        let direction = |input, output, path| Direction {
            input,
            output,
            path,
            streams: Streams::default(),
            pending: BinaryHeap::new(),
            order: 0,
            late_ns: Vec::new(),
            report: DirectionReport::default(),
        };
        Ok(Self {
            directions: [direction(left_in, right_out, forward), direction(right_in, left_out, backward)],
            buffer: vec![0; BUFFER_BYTES],
            realtime_minus_monotonic_ns: clock::realtime_ns() - clock::monotonic_ns(),
        })
    }

    /// Carries packets until `stop` is set; gives the reports of the forward and the backward direction.
    pub fn run(mut self, stop: &AtomicBool) -> [DirectionReport; 2] {
        while !stop.load(Ordering::Relaxed) {
            let mut worked = false;
            for direction in &mut self.directions {
                for _ in 0..BATCH {
                    if !direction.read_one(&mut self.buffer) {
                        break;
                    }
                    worked = true;
                }
                let now_ns = clock::monotonic_ns() + self.realtime_minus_monotonic_ns;
                for _ in 0..BATCH {
                    if !direction.deliver_one(now_ns) {
                        break;
                    }
                    worked = true;
                }
            }
            if !worked {
                self.wait();
            }
        }
        self.directions.map(Direction::finish)
    }

    fn wait(&self) {
        let now_ns = clock::monotonic_ns() + self.realtime_minus_monotonic_ns;
        let due_ns = self.directions.iter().filter_map(|d| d.pending.peek()).map(|p| p.0.due_ns).min();
        // Look at the stop flag at least every 20 ms.
        let nap_ns = due_ns.map_or(u64::MAX, |due| due.saturating_sub(now_ns)).min(20_000_000);
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: nap_ns.cast_signed() };
        let mut sockets = [0, 1].map(|n: usize| libc::pollfd {
            fd: self.directions[n].input.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: `sockets` holds two pollfds and outlives the call; no signal mask is given.
        unsafe { libc::ppoll(sockets.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
    }
}

impl Direction {
    fn read_one(&mut self, buffer: &mut [u8]) -> bool {
        let Some((bytes, stamp_ns)) = receive(&self.input, buffer) else { return false };
        let arrival_ns = stamp_ns.unwrap_or_else(clock::realtime_ns);
        let mut packets = 0;
        frame::cut(&buffer[..bytes], |packet| {
            packets += 1;
            self.schedule(arrival_ns, packet);
        });
        self.report.cut_super_packets += u64::from(packets > 1);
        true
    }

    fn schedule(&mut self, arrival_ns: u64, frame: Vec<u8>) {
        let parsed = frame::parse(&frame);
        let located = parsed.and_then(|p| p.tcp).map(|tcp| self.streams.locate(&tcp));
        let packet = Packet {
            length_bytes: parsed.map_or(frame.len(), |p| p.ip_bytes) as u32,
            segment: parsed.and_then(|p| p.tcp).zip(located).map(|(tcp, (flow, offset))| Segment {
                flow,
                offset,
                payload_bytes: tcp.payload_bytes as u32,
                syn: tcp.is_syn(),
            }),
        };
        let fate = match self.path.schedule(arrival_ns, &packet) {
            Verdict::Drop(reason) => Some(Fate::Dropped(reason)),
            Verdict::Deliver { due_ns, held_back_ns, twice } => {
                if twice {
                    self.order += 1;
                    self.pending.push(Reverse(Pending { due_ns, order: self.order, frame: frame.clone() }));
                }
                self.order += 1;
                self.pending.push(Reverse(Pending { due_ns, order: self.order, frame }));
                match (twice, held_back_ns) {
                    (true, _) => Some(Fate::Duplicated),
                    (false, 0) => None,
                    (false, _) => Some(Fate::HeldBack),
                }
            }
        };
        if let Some((fate, parsed)) = fate.zip(parsed) {
            self.report.faults.push(fault(arrival_ns, fate, &parsed, &packet));
        }
    }

    fn deliver_one(&mut self, now_ns: u64) -> bool {
        if self.pending.peek().is_none_or(|p| p.0.due_ns > now_ns) {
            return false;
        }
        let Some(Reverse(pending)) = self.pending.pop() else { return false };
        if send(&self.output, &pending.frame) {
            self.report.delivered_packets += 1;
        } else {
            self.report.refused_packets += 1;
        }
        self.late_ns.push(now_ns - pending.due_ns);
        true
    }

    fn finish(self) -> DirectionReport {
        DirectionReport {
            totals: self.path.totals().clone(),
            left_packets: self.pending.len() as u64,
            missed_packets: missed_packets(&self.input),
            lateness: Lateness::of(self.late_ns),
            ..self.report
        }
    }
}

fn fault(at_ns: u64, fate: Fate, parsed: &Parsed, packet: &Packet) -> Fault {
    Fault {
        at_ns,
        fate,
        ip_id: parsed.ip_id,
        from_port: parsed.tcp.map_or(0, |t| t.key.1),
        to_port: parsed.tcp.map_or(0, |t| t.key.3),
        sequence: parsed.tcp.map_or(0, |t| t.sequence),
        offset: packet.segment.map_or(0, |s| s.offset),
        payload_bytes: packet.segment.map_or(0, |s| s.payload_bytes),
        length_bytes: packet.length_bytes,
    }
}

fn set(fd: &OwnedFd, level: i32, option: i32, value: i32, name: &str) -> Result<(), LabError> {
    // SAFETY: the value is a live i32 and its size is passed with it.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(LabError::last_os(format!("set {name} on a packet socket"))) }
}

fn packet_socket(device: &str) -> Result<OwnedFd, LabError> {
    // SAFETY: no pointers are passed; the result is checked before it is owned.
    let raw = unsafe {
        libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
    };
    if raw < 0 {
        return Err(LabError::last_os("open a packet socket"));
    }
    // SAFETY: the descriptor was just made and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    set(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1, "PACKET_VNET_HDR")?;
    set(&fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1, "PACKET_AUXDATA")?;
    set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING")?;
    set(&fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS")?;
    set(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS")?;
    set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES, "SO_RCVBUFFORCE")?;
    set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SOCKET_BUFFER_BYTES, "SO_SNDBUFFORCE")?;
    let name =
        CString::new(device).map_err(|e| LabError::System { doing: device.to_owned(), source: e.into() })?;
    // SAFETY: the name is a valid C string for the duration of the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(LabError::last_os(format!("find device {device}")));
    }
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    // SAFETY: the address is live and its true size is passed with it.
    let bound = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if bound == 0 { Ok(fd) } else { Err(LabError::last_os(format!("bind a packet socket to {device}"))) }
}

/// `struct tpacket_auxdata` (include/uapi/linux/if_packet.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct AuxData {
    status: u32,
    length: u32,
    captured: u32,
    mac_at: u16,
    net_at: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;

/// One frame with its vnet header, and the kernel's stamp. A VLAN tag that the kernel took out is put back.
fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> Option<(usize, Option<u64>)> {
    const TAG_BYTES: usize = 4;
    const ADDRESSES_BYTES: usize = 12;
    let mut control = [0_u64; 32];
    let room = buffer.len() - TAG_BYTES;
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
    // SAFETY: all-zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the message points at live buffers of the sizes it states.
    let received = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    let mut bytes = usize::try_from(received).ok().filter(|n| *n > 0)?;
    let mut stamp_ns = None;
    let mut tag = None;
    // SAFETY: the kernel filled the control buffer; the macros walk it within msg_controllen, and each record
    // is read as the type that its level and type say.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let stamp = data.cast::<libc::timespec>().read_unaligned();
                    stamp_ns =
                        Some(stamp.tv_sec.cast_unsigned() * 1_000_000_000 + stamp.tv_nsec.cast_unsigned());
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let aux = data.cast::<AuxData>().read_unaligned();
                    if aux.status & TP_STATUS_VLAN_VALID != 0 {
                        tag = Some(aux.vlan_tci);
                    }
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    if let Some(tci) = tag {
        let at = VNET_HEADER_BYTES + ADDRESSES_BYTES;
        buffer.copy_within(at..bytes, at + TAG_BYTES);
        buffer[at..at + 2].copy_from_slice(&0x8100_u16.to_be_bytes());
        buffer[at + 2..at + 4].copy_from_slice(&tci.to_be_bytes());
        bytes += TAG_BYTES;
    }
    Some((bytes, stamp_ns))
}

/// Hands a complete packet to the device; whether it took it.
fn send(fd: &OwnedFd, frame: &[u8]) -> bool {
    let no_offload = [0_u8; VNET_HEADER_BYTES];
    let parts = [
        libc::iovec { iov_base: no_offload.as_ptr().cast_mut().cast(), iov_len: no_offload.len() },
        libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
    ];
    // SAFETY: both parts are live for the duration of the call, which only reads them.
    let written = unsafe { libc::writev(fd.as_raw_fd(), parts.as_ptr(), 2) };
    written >= 0
}

/// Packets that the socket's buffer had no room for since it was opened.
fn missed_packets(fd: &OwnedFd) -> u64 {
    // `struct tpacket_stats`: packets, drops.
    let mut counts = [0_u32; 2];
    let mut size = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: the buffer is live and its true size is passed with it.
    unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    u64::from(counts[1])
}
