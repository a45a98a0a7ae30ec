//! The probe's records, as bytes: the layout of `bpf/record.h`, field by field. See there for meanings and units.

use crate::address::{address, bytes_like};
use bytemuck::{Pod, Zeroable};
use slowpath_model::{Bytes, CaState, Endpoint, Hold, Mark, Wait};
use std::iter::zip;
use std::sync::LazyLock;
use std::time::Duration;

const BUCKETS: usize = 101;
const PLACES: usize = 5;
const HOLDS: usize = 9;
/// With HOLD_PACED and HOLD_QUEUED.
const ALL_HOLDS: usize = HOLDS + 2;
const ARRIVALS: usize = 64;
const DROPS: usize = 8;
const NAME_BYTES: usize = 16;

/// Where something waited, in the order of `enum place`.
pub const WAITS: [Wait; PLACES] =
    [Wait::CpuBacklog, Wait::SocketBacklog, Wait::HolderOffCpu, Wait::ReceiveQueue, Wait::RunQueue];

/// Network namespaces that can be selected at once.
pub const NETNSES: usize = 4;

/// The probe's settings, written before it is loaded; 0 is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Config {
    pub tai_minus_realtime_ns: i64,
    pub netns: [u32; NETNSES],
    pub port: u16,
    pub is_exact: u8,
    pub drops_name_socket: u8,
    pub tick_ns: u32,
    pub has_iterator: u8,
    pub pads: [u8; 7],
}

/// What held a sender, in the order of `enum hold`.
pub const HELD: [Hold; ALL_HOLDS] = [
    Hold::Idle,
    Hold::Drained,
    Hold::SendBuffer,
    Hold::ReceiveWindow,
    Hold::SlowStart,
    Hold::CongestionWindow,
    Hold::Recovery,
    Hold::Loss,
    Hold::Local,
    Hold::Paced,
    Hold::OutputQueue,
];

/// How long packets, bytes or a process waited. The counts wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Waits {
    pub counts: [u32; BUCKETS],
    pad: u32,
    pub longest_ns: u64,
}

/// A CPU's receive softirqs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Softirqs {
    raised_ns: u64,
    /// How long they waited to run.
    pub waits: Waits,
}

/// The start of the buckets that are no quarter of an octave: the boundaries of Wu et al.'s classes.
const CLASSES_NS: [u64; 5] = [1_000_000, 10_000_000, 100_000_000, 200_000_000, 1_000_000_000];
const QUARTERS: u64 = 96;

/// The start of each bucket: the inverse of `quarter_of` and `class_of` of bpf/waits.h.
static BEGINS_NS: LazyLock<[u64; BUCKETS]> = LazyLock::new(|| {
    let quarter = |n: u64| if n == 0 { 0 } else { (4 + n % 4) << (n / 4 + 8) };
    let mut begins: Vec<u64> = (0..QUARTERS).map(quarter).chain(CLASSES_NS).collect();
    begins.sort_unstable();
    begins.try_into().unwrap_or([0; BUCKETS])
});

impl Waits {
    /// The drops at two places.
    pub(crate) fn join(self, other: &Self) -> Self {
        let mut counts = self.counts;
        zip(&mut counts, other.counts).for_each(|(count, other)| *count = count.wrapping_add(other));
        Self { counts, longest_ns: self.longest_ns.max(other.longest_ns), ..self }
    }

    /// The waits since `before`, with their number: the middle of a bucket, within 13 %; the longest is exact.
    pub fn since(&self, before: &Self) -> impl Iterator<Item = (Duration, u32)> {
        let counts = zip(self.counts, before.counts).map(|(now, before)| now.wrapping_sub(before));
        let times = counts.enumerate().filter(|(_, count)| *count > 0);
        let longest = (self.longest_ns > before.longest_ns).then_some(self.longest_ns);
        let in_the_middle = times.flat_map(move |(bucket, count)| {
            let begins = BEGINS_NS[bucket];
            let ends = BEGINS_NS.get(bucket + 1).copied().unwrap_or(begins);
            let exact = longest.filter(|longest| *longest >= begins && (*longest < ends || ends == begins));
            let rest = count - u32::from(exact.is_some());
            [((begins + ends) / 2, rest), (exact.unwrap_or(0), u32::from(exact.is_some()))]
        });
        in_the_middle
            .filter(|(_, count)| *count > 0)
            .map(|(nanos, count)| (Duration::from_nanos(nanos), count))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Arrival {
    at_ns: u64,
    end: u32,
    pad: u32,
}

/// Packets dropped for one of the kernel's reasons (`enum skb_drop_reason`); 0 is none. The count wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Drop {
    pub reason: u32,
    pub packets: u32,
}

/// What the probe added up next to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct FlowRecord {
    pub last_ns: u64,
    pub segments: u64,
    pub unstamped: u64,
    arrival_head: u32,
    arrival_tail: u32,
    quantum_ns: u32,
    is_closed: u8,
    is_idle: u8,
    again: u16,
    arrivals: [Arrival; ARRIVALS],
    pub cookie: u64,
    pub cgroup: u64,
    pub read: u64,
    reader_run_delay: u64,
    grown_ns: u64,
    rcvbuf: u32,
    pub reader: u32,
    read_to: u32,
    has_reader: u8,
    has_fin: u8,
    pad: u16,
    pub zero_windows: u32,
    pub timeouts: u32,
    pub timeouts_undone: u32,
    pub netns: u32,
    written_before: u64,
    pub segments_before: u32,
    pub family: u16,
    pub local_port: u16,
    pub remote_port: u16,
    pads: [u16; 3],
    local: [u8; 16],
    remote: [u8; 16],
    pub drops: [Drop; DROPS],
    held_ns: [u64; HOLDS],
    pub waits: [Waits; PLACES],
    paced_ns: u64,
    queued_ns: u64,
    resent: u32,
    pub resent_smallest: u32,
    pub delivered_largest: u32,
    mss_largest: u32,
    pub resent_answered: u32,
    last_pad: u32,
}

/// A socket's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct SampleRecord {
    pub at_ns: u64,
    pub inode: u64,
    pub bytes_acked: u64,
    ca_state: u32,
    pub snd_cwnd: u32,
    pub snd_ssthresh: u32,
    pub srtt_us: u32,
    pub rttvar_us: u32,
    pub min_rtt_us: u32,
    pub rto_us: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    pub notsent: u32,
    pub unacked: u32,
    pub wmem_queued: u32,
    pub sndbuf: u32,
    pub receive_queue: u32,
    pub rmem_alloc: u32,
    pub rcvbuf: u32,
    pub backlog: u32,
    pub mss: u32,
    pub rcv_rtt_us: u32,
    pub data_segs_in: u32,
    pub total_retrans: u32,
    hold: u16,
    state: u16,
}

/// Where a socket's packets leave the host, and what limits their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Output {
    pub max_pacing_rate: u64,
    pub rate: u64,
    pub wmem_alloc: u32,
    pub ifindex: u32,
    pub backlog: u32,
    pub overlimits: u32,
    has_queue: u32,
    pub soft_error: u32,
    pub pmtu: u32,
    is_known: u32,
    device: [u8; NAME_BYTES],
    qdisc: [u8; NAME_BYTES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Head {
    kind: u32,
    pad: u32,
}

/// A live flow, or one that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Account {
    head: Head,
    /// Its socket.
    pub sample: SampleRecord,
    /// What was added up.
    pub flow: FlowRecord,
    /// Where its packets leave.
    pub output: Output,
}

impl Account {
    /// Its length in a file of version 2, which ends before the flow's last numbers and the output.
    pub(crate) const BYTES_OF_2: usize =
        std::mem::offset_of!(Self, flow) + std::mem::offset_of!(FlowRecord, paced_ns);
}

const ALIVE: u32 = 1;
const ENDED: u32 = 2;
const TURN: u32 = 3;

/// A change of a socket's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Turn {
    kind: u32,
    turn: u32,
    pub cookie: u64,
    pub at_ns: u64,
    pub value: u64,
}

/// The oracle's counts: each segment by its own arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Exact {
    pub waits: [Waits; 3],
    pub arrived: u64,
    pub taken: u64,
    pub unknown_bytes: u64,
    pub evicted: u64,
}

/// Counts of the whole host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
#[expect(missing_docs, reason = "bpf/record.h")]
pub struct Totals {
    pub ring_full: u64,
    pub no_memory: u64,
}

impl Account {
    /// The account when the probe first saw the socket: nothing was added up.
    pub(crate) fn begun(&self) -> Self {
        let FlowRecord { segments_before, cgroup, netns, .. } = self.flow;
        Self {
            flow: FlowRecord { segments_before, cgroup, netns, ..Zeroable::zeroed() },
            ..Zeroable::zeroed()
        }
    }

    /// Without numbers of processes, control groups and sockets, and with other addresses, ports and names of devices.
    fn renamed(&self, rename: &mut dyn FnMut(Endpoint) -> Endpoint) -> Self {
        let mut after = *self;
        after.head.pad = 0;
        after.sample.inode = 0;
        let flow = &mut after.flow;
        (flow.cgroup, flow.reader, flow.pad, flow.pads, flow.last_pad) = (0, 0, 0, [0; 3], 0);
        flow.arrivals.iter_mut().for_each(|arrival| arrival.pad = 0);
        flow.waits.iter_mut().for_each(|waits| waits.pad = 0);
        let [local, remote] = self.flow.ends().map(rename);
        (flow.local, flow.local_port) = (bytes_like(self.flow.family, local.address), local.port);
        (flow.remote, flow.remote_port) = (bytes_like(self.flow.family, remote.address), remote.port);
        let output = &mut after.output;
        output.device =
            name_bytes(if output.is_known == 0 { String::new() } else { format!("dev{}", output.ifindex) });
        let [_, qdisc] = self.output.names();
        // Names of the kernel's modules: `fq_codel`, `mq`.
        let is_one = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        output.qdisc = name_bytes(if qdisc.bytes().all(is_one) { qdisc } else { String::new() });
        after
    }

    /// What the process has written since the probe first saw the socket.
    pub fn written(&self) -> u64 {
        let numbers = self.sample.bytes_acked.saturating_add(self.sample.unacked.into());
        numbers.saturating_sub(self.flow.written_before).saturating_sub(self.flow.has_fin.into())
    }
}

/// A name, ended by a zero.
fn name_bytes(name: String) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    zip(&mut bytes[..NAME_BYTES - 1], name.into_bytes()).for_each(|(byte, of_name)| *byte = of_name);
    bytes
}

impl Output {
    /// Itself, if it is known.
    pub(crate) fn known(&self) -> Option<&Self> {
        (self.is_known != 0).then_some(self)
    }

    /// The numbers of the queueing discipline, if they can be read: bytes waiting, and how often it held packets back.
    pub(crate) fn queue(&self) -> Option<[u32; 2]> {
        (self.has_queue != 0).then_some([self.backlog, self.overlimits])
    }

    /// Whether packets leave by a device of the same name, with the same queueing discipline.
    pub(crate) fn leaves_as(&self, other: &Self) -> bool {
        (self.device, self.qdisc) == (other.device, other.qdisc)
    }

    /// The name of the device, and of its queueing discipline; empty if unknown.
    pub fn names(&self) -> [String; 2] {
        [self.device, self.qdisc].map(|name| {
            let text = name.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        })
    }
}

impl FlowRecord {
    /// What held the sender so far, in the order of [`HELD`].
    pub fn held_ns(&self) -> [u64; ALL_HOLDS] {
        let mut held = [0; ALL_HOLDS];
        held[..HOLDS].copy_from_slice(&self.held_ns);
        held[HOLDS..].copy_from_slice(&[self.paced_ns, self.queued_ns]);
        held
    }

    /// The socket's own end, and its peer's.
    pub fn ends(&self) -> [Endpoint; 2] {
        [
            Endpoint { address: address(self.family, self.local), port: self.local_port },
            Endpoint { address: address(self.family, self.remote), port: self.remote_port },
        ]
    }
}

impl SampleRecord {
    /// What has held the sender since the last segment; `None` if the file does not have it.
    pub fn hold(&self) -> Option<Hold> {
        HELD.get(usize::from(self.hold.checked_sub(1)?)).copied()
    }

    /// Whether either end has begun to close the connection: its segments then no longer pass the probe's hook
    /// (`tcp_rcv_state_process`). `false` if the file does not have it.
    pub const fn is_closing(&self) -> bool {
        const ESTABLISHED: u16 = 1;
        self.state > ESTABLISHED
    }

    /// The congestion machine's state.
    pub fn ca_state(&self) -> Option<CaState> {
        CaState::ALL.get(self.ca_state as usize).copied()
    }
}

impl Turn {
    /// The change; `None` for one that this version does not know.
    pub fn mark(&self) -> Option<Mark> {
        match self.turn {
            0 => CaState::ALL.get(usize::try_from(self.value).ok()?).copied().map(Mark::State),
            1 => Some(Mark::SpuriousTimeout),
            2 => Some(Mark::Undo),
            3 => Some(Mark::ZeroWindow),
            4 => Some(Mark::WindowOpened),
            5 => Some(Mark::ReceiveBuffer(Bytes::new(self.value))),
            _ => None,
        }
    }
}

const _: () = {
    assert!(size_of::<Waits>() == 416, "bpf/record.h");
    assert!(size_of::<FlowRecord>() == 3448, "bpf/record.h");
    assert!(size_of::<SampleRecord>() == 128, "bpf/record.h");
    assert!(size_of::<Output>() == 80, "bpf/record.h");
    assert!(size_of::<Exact>() == 1280, "bpf/record.h");
};

/// A record of the ring buffer or the iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A live flow.
    Alive(&'a Account),
    /// A flow that ended.
    Ended(&'a Account),
    /// A change of state.
    Turn(&'a Turn),
}

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes of kind {kind} are no record of the probe")]
pub struct NoRecord {
    /// How many there are.
    pub bytes: usize,
    /// The type that they claim.
    pub kind: u32,
}

/// Converts records of version 2 to this version: missing fields are 0. Bytes that are no record stay unchanged.
pub(crate) fn of_version_2(mut bytes: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    loop {
        let kind = bytes.first_chunk().map_or(0, |first| u32::from_ne_bytes(*first));
        let (size, lacks) = match kind {
            TURN => (size_of::<Turn>(), 0),
            _ => (Account::BYTES_OF_2, size_of::<Account>() - Account::BYTES_OF_2),
        };
        let Some((record, rest)) = bytes.split_at_checked(size).filter(|_| (ALIVE..=TURN).contains(&kind))
        else {
            records.extend_from_slice(bytes);
            return records;
        };
        records.extend_from_slice(record);
        records.resize(records.len() + lacks, 0);
        bytes = rest;
    }
}

/// Calls `take` with each of several consecutive records.
///
/// # Errors
/// At the first invalid record, after all before it.
pub fn each(mut bytes: &[u8], mut take: impl FnMut(Record<'_>)) -> Result<(), NoRecord> {
    while !bytes.is_empty() {
        let kind = bytes.first_chunk().map_or(0, |first| u32::from_ne_bytes(*first));
        let size = if kind == TURN { size_of::<Turn>() } else { size_of::<Account>() };
        let Some((record, rest)) = bytes.split_at_checked(size).filter(|_| (ALIVE..=TURN).contains(&kind))
        else {
            return Err(NoRecord { bytes: bytes.len(), kind });
        };
        match kind {
            TURN => take(Record::Turn(&bytemuck::pod_read_unaligned(record))),
            ENDED => take(Record::Ended(&bytemuck::pod_read_unaligned(record))),
            _ => take(Record::Alive(&bytemuck::pod_read_unaligned(record))),
        }
        bytes = rest;
    }
    Ok(())
}

/// Replaces what identifies hosts, processes and people in each of several consecutive records.
///
/// # Errors
/// At the first invalid record.
pub(crate) fn renamed(
    bytes: &mut [u8],
    rename: &mut dyn FnMut(Endpoint) -> Endpoint,
) -> Result<(), NoRecord> {
    let mut after = Vec::with_capacity(bytes.len());
    each(bytes, |record| match record {
        Record::Turn(turn) => after.extend_from_slice(bytemuck::bytes_of(turn)),
        Record::Alive(account) | Record::Ended(account) => {
            after.extend_from_slice(bytemuck::bytes_of(&account.renamed(rename)));
        }
    })?;
    bytes.copy_from_slice(&after);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::iter::repeat_n;

    /// `bucket_of`, bpf/waits.h.
    fn bucket_of(nanos: u64) -> usize {
        let units = nanos >> 8;
        let quarter = match units.checked_ilog2() {
            Some(log) if log >= 2 => u64::from(log - 2) * 4 + ((units >> (log - 2)) & 3),
            _ => 0,
        };
        let class = CLASSES_NS.iter().filter(|bound| nanos >= **bound).count();
        quarter.min(QUARTERS - 1) as usize + class
    }

    #[test]
    fn bucket_bounds_match_the_probes_bucket_of() {
        for (bucket, begins) in BEGINS_NS.iter().enumerate() {
            assert_eq!(bucket_of(*begins), bucket, "{begins} ns");
            assert!(bucket == 0 || bucket_of(begins - 1) == bucket - 1, "before {begins} ns");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    proptest! {
        /// Wherever the counts are and wrap, and however long the waits are.
        #[test]
        fn waits_since_a_sample_are_within_bucket_precision(
            before in any::<u32>(), longest: u32,
            mut waits in prop::collection::vec(prop_oneof![0..10_000_u64, 0..10_000_000_u64, 0..15_000_000_000_u64], 1..50),
        ) {
            let longest = u64::from(longest);
            let start = Waits { counts: [before; BUCKETS], longest_ns: longest, ..Zeroable::zeroed() };
            let mut now = start;
            for nanos in &waits {
                let count = &mut now.counts[bucket_of(*nanos)];
                *count = count.wrapping_add(1);
                now.longest_ns = now.longest_ns.max(*nanos);
            }
            let found: Vec<(Duration, u32)> = now.since(&start).collect();
            let nanos = found.iter().flat_map(|(time, count)| repeat_n(time.as_nanos() as u64, *count as usize));
            let mut nanos: Vec<u64> = nanos.collect();
            nanos.sort_unstable();
            waits.sort_unstable();
            prop_assert_eq!(nanos.len(), waits.len());
            for (found, exact) in zip(&nanos, &waits) {
                prop_assert!(found.abs_diff(*exact) <= exact / 8 + 1280, "{} reported as {}", exact, found);
            }
            let most = waits[waits.len() - 1];
            prop_assert!(most <= longest || nanos.contains(&most), "the longest is reported exactly: {}", most);
        }

        #[test]
        fn any_record_bytes_are_parsed(bytes in prop::collection::vec(any::<u8>(), 0..9000), kind in 0_u32..5) {
            let mut bytes = bytes;
            bytes.splice(..bytes.len().min(4), kind.to_ne_bytes());
            let mut records = 0;
            let _ = each(&bytes, |record| {
                if let Record::Turn(turn) = record {
                    let _ = turn.mark();
                }
                records += 1;
            });
            prop_assert!(records <= bytes.len() / size_of::<Turn>());
        }
    }
}
