//! What moves on a data connection, and what bounds it.

use super::Progress;
use super::session::LOOK;
use crate::error::FtpError;
use slowpath_analyses::Limit;
use slowpath_copy::account::{Bound, Shares, Spent, divide};
use slowpath_copy::real::Stop;
use slowpath_copy::real::sockets::tcp_info;
use slowpath_uapi::TcpInfo;
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A transfer in which nothing has moved for so long is given up.
pub const STALL: Duration = Duration::from_secs(60);
/// The time between two looks at the connection.
const INTERVAL: Duration = Duration::from_millis(200);
/// A receiver that gets so much of its window in an RTT is bound by it, in percent: packets are counted a little late.
const WINDOW_PERCENT: u128 = 75;

/// Watches a data connection.
pub struct Watch<'a> {
    data: &'a TcpStream,
    receives: bool,
    server: &'a str,
    stop: Stop<'a>,
    total: Option<u64>,
    before: (Instant, TcpInfo, Spent, u64),
    last_moved: (Instant, u64),
    /// What the thread spent its time on.
    pub spent: Spent,
    shares: Shares,
    unknown_ns: u64,
}

impl<'a> Watch<'a> {
    /// A connection that begins now.
    pub fn new(
        data: &'a TcpStream,
        receives: bool,
        server: &'a str,
        stop: Stop<'a>,
        total: Option<u64>,
    ) -> Self {
        let (now, info) = (Instant::now(), tcp_info(data));
        let before = (now, info, Spent::default(), 0);
        let shares = Shares::default();
        Self {
            data,
            receives,
            server,
            stop,
            total,
            before,
            last_moved: (now, 0),
            spent: Spent::default(),
            shares,
            unknown_ns: 0,
        }
    }

    /// The server's name.
    pub const fn server(&self) -> &'a str {
        self.server
    }

    /// Takes stock after so many bytes. `kept` is what was there before.
    pub fn look(
        &mut self,
        kept: u64,
        moved: u64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), FtpError> {
        let now = Instant::now();
        if moved > self.last_moved.1 {
            self.last_moved = (now, moved);
        } else if now - self.last_moved.0 > STALL {
            return Err(FtpError::Stalled { server: self.server.to_owned(), patience: STALL });
        }
        let (at, before, spent, moved_before) = self.before;
        let lasted = now - at;
        if lasted < INTERVAL {
            return Ok(());
        }
        if (self.stop)() {
            return Err(FtpError::Stopped);
        }
        let info = tcp_info(self.data);
        let lasted_ns = lasted.as_nanos() as u64;
        let (of_interval, unknown_ns) = if self.receives {
            received(lasted_ns, [&before, &info], self.spent.since(spent))
        } else {
            let network = Spent { socket_ns: 1, ..Spent::default() };
            (divide(lasted_ns, [&before, &info], self.spent.since(spent), network), 0)
        };
        self.unknown_ns += unknown_ns;
        self.shares.extend(of_interval);
        self.before = (now, info, self.spent, moved);
        let rate = u128::from(moved - moved_before) * 1_000_000_000 / u128::from(lasted_ns.max(1));
        progress(Progress::Moves {
            done: self.total.map_or(kept + moved, |total| total.min(kept + moved)),
            total: self.total,
            rate: u64::try_from(rate).unwrap_or(u64::MAX),
            bound: of_interval.longest().filter(|_| unknown_ns < lasted_ns / 2),
        });
        Ok(())
    }

    /// What bound it, the longest first; `None` is what a receiver cannot tell.
    pub fn bound(&self) -> Vec<(Option<Bound>, u32)> {
        let known = Bound::ALL.into_iter().map(Some).zip(self.shares.0);
        let all = known.chain([(None, self.unknown_ns)]);
        let whole: u128 = all.clone().map(|(_, ns)| u128::from(ns)).sum();
        let share = |ns: u64| (u128::from(ns) * 1000).checked_div(whole).map_or(0, |share| share as u32);
        let mut shares: Vec<_> =
            all.map(|(bound, ns)| (bound, share(ns))).filter(|(_, share)| *share > 0).collect();
        shares.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
        shares
    }
}

/// What a receiver can tell: its disk, and its window. The rest, in ns, is the sender's or the path's, and unknown here.
fn received(lasted_ns: u64, [before, now]: [&TcpInfo; 2], spent: Spent) -> (Shares, u64) {
    let mut shares = Shares::default();
    let disk_ns = spent.disk_ns.min(lasted_ns);
    let rtt_us = if now.min_rtt == 0 || now.min_rtt == u32::MAX { now.rcv_rtt } else { now.min_rtt };
    let bytes = u128::from(now.bytes_received.saturating_sub(before.bytes_received));
    let in_rtt = bytes * u128::from(rtt_us) * 1000 / u128::from(lasted_ns.max(1));
    // Unknown before Linux 6.2.
    let window = u128::from(before.rcv_wnd);
    let is_window = window > 0 && in_rtt * 100 >= window * WINDOW_PERCENT;
    let window_ns = if is_window { lasted_ns - disk_ns } else { 0 };
    shares.add(Bound::DestinationDisk, disk_ns);
    shares.add(Bound::Limit(Limit::ReceiveWindow), window_ns);
    (shares, lasted_ns - disk_ns - window_ns)
}

/// Whether a call is to be made again.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Waits until the server has acknowledged all that was written.
pub fn drain(
    watch: &mut Watch<'_>,
    kept: u64,
    sent: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), FtpError> {
    loop {
        let info = tcp_info(watch.data);
        if info.unacked == 0 && info.notsent_bytes == 0 {
            return Ok(());
        }
        // What is acknowledged counts as movement here: all was written already.
        watch.look(kept, sent.saturating_add(info.bytes_acked), progress)?;
        std::thread::sleep(LOOK / 50);
    }
}
