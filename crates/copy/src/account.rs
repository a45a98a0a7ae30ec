//! What bound a copy: the time of its data connections, divided among the limits that `slowpath diagnose` names too, and
//! the disks. Pure.
//!
//! The source looks at each connection several times a second. Of the time since the last look:
//!
//! - what the kernel counts as limited by the receive window (`tcpi_rwnd_limited`) is the receive window's, or the
//!   destination disk's or CPU's, if the destination's threads spent that time there;
//! - what it counts as limited by the send buffer (`tcpi_sndbuf_limited`) is the send buffer's;
//! - the rest of the time with data in flight (`tcpi_busy_time`) is the path's, if the RTT shows a queue, also while losses of
//!   that queue are repaired; without one, loss recovery's, if the connection recovers, and otherwise the congestion window's;
//! - the time without data in flight is the source disk's, or the sending host's CPU's, whichever the thread was busy with
//!   for longer.

use slowpath_analyses::Limit;
use slowpath_uapi::TcpInfo;

/// What bound a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Reading the source's files.
    SourceDisk,
    /// Writing the destination's files.
    DestinationDisk,
    /// A limit that `slowpath diagnose` names too.
    Limit(Limit),
}

impl Bound {
    /// All of them, in the order of reports and of the protocol.
    pub const ALL: [Self; 9] = [
        Self::SourceDisk,
        Self::Limit(Limit::SendingHost),
        Self::Limit(Limit::SendBuffer),
        Self::Limit(Limit::ReceiveWindow),
        Self::Limit(Limit::ReceiverProcessing),
        Self::DestinationDisk,
        Self::Limit(Limit::CongestionWindow),
        Self::Limit(Limit::LossRecovery),
        Self::Limit(Limit::Path),
    ];

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::SourceDisk => "source disk",
            Self::DestinationDisk => "destination disk",
            Self::Limit(limit) => limit.title(),
        }
    }

    /// Its name in JSON.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::SourceDisk => "source-disk",
            Self::DestinationDisk => "destination-disk",
            Self::Limit(limit) => limit.slug(),
        }
    }

    fn index(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or(0)
    }
}

/// `TCP_CA_Recovery` and `TCP_CA_Loss` (include/uapi/linux/tcp.h): the states from 3 on repair losses.
const RECOVERS_FROM: u8 = 3;
/// The RTT shows a queue from this many times its minimum on, in percent, and this much more, in microseconds.
const QUEUE_PERCENT: u64 = 125;
const QUEUE_US: u64 = 1_000;

/// What a thread has spent its time on, in ns since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Reading or writing files.
    pub disk_ns: u64,
    /// Digests and encryption.
    pub cpu_ns: u64,
    /// Reading or writing the socket.
    pub socket_ns: u64,
}

impl Spent {
    /// What was spent since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            disk_ns: self.disk_ns.saturating_sub(before.disk_ns),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            socket_ns: self.socket_ns.saturating_sub(before.socket_ns),
        }
    }
}

/// Nanoseconds by what bound, in the order of [`Bound::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares(pub [u64; 9]);

impl Shares {
    /// Adds the time that something bound.
    pub fn add(&mut self, bound: Bound, ns: u64) {
        let place = &mut self.0[bound.index()];
        *place = place.saturating_add(ns);
    }

    /// Adds others.
    pub fn extend(&mut self, others: Self) {
        for (own, other) in self.0.iter_mut().zip(others.0) {
            *own = own.saturating_add(other);
        }
    }

    /// What bound for the longest; `None` if nothing did.
    pub fn longest(&self) -> Option<Bound> {
        let (place, ns) = self.0.iter().enumerate().max_by_key(|(_, ns)| **ns)?;
        (*ns > 0).then(|| Bound::ALL[place])
    }

    /// All with their shares of the whole, in thousandths.
    pub fn permille(&self) -> Vec<(Bound, u32)> {
        let whole: u128 = self.0.iter().map(|ns| u128::from(*ns)).sum();
        let share = |ns: u64| (u128::from(ns) * 1000).checked_div(whole).map_or(0, |share| share as u32);
        Bound::ALL.into_iter().zip(self.0).map(|(bound, ns)| (bound, share(ns))).collect()
    }
}

/// Divides the time of one interval of a connection: `lasted_ns` between two looks at its `TCP_INFO`, in which the source's
/// thread and those of the destination spent so much.
pub fn divide(lasted_ns: u64, [before, now]: [&TcpInfo; 2], source: Spent, destination: Spent) -> Shares {
    let mut shares = Shares::default();
    let since = |now: u64, before: u64| now.saturating_sub(before).saturating_mul(1000);
    let busy_ns = since(now.busy_time, before.busy_time).min(lasted_ns);
    let window_ns = since(now.rwnd_limited, before.rwnd_limited).min(busy_ns);
    let buffer_ns = since(now.sndbuf_limited, before.sndbuf_limited).min(busy_ns - window_ns);
    let Spent { disk_ns, cpu_ns, socket_ns } = destination;
    let window = match () {
        () if disk_ns >= cpu_ns.max(socket_ns) && disk_ns > 0 => Bound::DestinationDisk,
        () if cpu_ns > socket_ns => Bound::Limit(Limit::ReceiverProcessing),
        () => Bound::Limit(Limit::ReceiveWindow),
    };
    shares.add(window, window_ns);
    shares.add(Bound::Limit(Limit::SendBuffer), buffer_ns);
    let (rtt, least) = (u64::from(now.rtt), u64::from(now.min_rtt));
    let has_queue = least > 0 && rtt * 100 > least * QUEUE_PERCENT && rtt > least + QUEUE_US;
    let network = match () {
        () if has_queue => Limit::Path,
        () if now.ca_state >= RECOVERS_FROM => Limit::LossRecovery,
        () => Limit::CongestionWindow,
    };
    shares.add(Bound::Limit(network), busy_ns - window_ns - buffer_ns);
    let idle =
        if source.disk_ns >= source.cpu_ns { Bound::SourceDisk } else { Bound::Limit(Limit::SendingHost) };
    shares.add(idle, lasted_ns - busy_ns);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn info(busy_ms: u64, window_ms: u64, buffer_ms: u64) -> TcpInfo {
        TcpInfo {
            busy_time: busy_ms * 1000,
            rwnd_limited: window_ms * 1000,
            sndbuf_limited: buffer_ms * 1000,
            rtt: 10_000,
            min_rtt: 10_000,
            ..TcpInfo::default()
        }
    }

    fn of(now: &TcpInfo, source: Spent, destination: Spent) -> Vec<(Bound, u32)> {
        let shares = divide(SECOND, [&TcpInfo::default(), now], source, destination).permille();
        shares.into_iter().filter(|(_, share)| *share > 0).collect()
    }

    #[test]
    fn every_instant_has_one_limit() {
        let reads = Spent { disk_ns: 9, ..Spent::default() };
        let network = Spent { socket_ns: 9, ..Spent::default() };
        assert_eq!(
            of(&info(700, 200, 100), reads, network),
            [
                (Bound::SourceDisk, 300),
                (Bound::Limit(Limit::SendBuffer), 100),
                (Bound::Limit(Limit::ReceiveWindow), 200),
                (Bound::Limit(Limit::CongestionWindow), 400)
            ]
        );
        // Counters that exceed the interval, as the kernel's granularity makes them.
        let sum: u64 =
            divide(SECOND, [&TcpInfo::default(), &info(2000, 1500, 900)], reads, network).0.iter().sum();
        assert_eq!(sum, SECOND);
    }

    #[test]
    fn closed_window_is_the_destination_disks_if_its_threads_write() {
        let writes = Spent { disk_ns: 9, cpu_ns: 3, socket_ns: 1 };
        assert_eq!(of(&info(1000, 1000, 0), Spent::default(), writes), [(Bound::DestinationDisk, 1000)]);
        let decrypts = Spent { disk_ns: 2, cpu_ns: 9, socket_ns: 1 };
        let bound = Bound::Limit(Limit::ReceiverProcessing);
        assert_eq!(of(&info(1000, 1000, 0), Spent::default(), decrypts), [(bound, 1000)]);
    }

    #[test]
    fn queue_is_the_paths_and_recovery_without_one_is_loss() {
        let queued = TcpInfo { rtt: 30_000, ..info(1000, 0, 0) };
        assert_eq!(of(&queued, Spent::default(), Spent::default()), [(Bound::Limit(Limit::Path), 1000)]);
        let overflowed = TcpInfo { ca_state: 3, ..queued };
        assert_eq!(of(&overflowed, Spent::default(), Spent::default()), [(Bound::Limit(Limit::Path), 1000)]);
        let recovers = TcpInfo { ca_state: 3, ..info(1000, 0, 0) };
        assert_eq!(
            of(&recovers, Spent::default(), Spent::default()),
            [(Bound::Limit(Limit::LossRecovery), 1000)]
        );
    }
}
