//! The end that has the destination.

use super::destination::{Destination, full};
use super::link::Link;
use super::sockets::{now, receive_buffer, tcp_info};
use super::stream::{Stream, record};
use super::threads::{Board, Clock, Ends, Movement, Watched, stops};
use super::tree::Base;
use super::{INTERVAL, Phase, Progress, Stop};
use crate::account::{Bound, Spent};
use crate::arrivals::Arrivals;
use crate::drs::Sizer;
use crate::error::CopyError;
use crate::protocol::block::{self, BLOCK, MOST_RECORD, Record};
use crate::protocol::{Arrived, Digest, MOST_DIGESTS, Message, Request, Sent, Tuning};
use rustix::net::sockopt;
use slowpath_model::Instant as Moment;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Between two looks at the messages.
const TURN: Duration = Duration::from_millis(10);
/// Blocks of a file that are written before the disk is asked to begin with them (sync_file_range(2)), so that fsync has
/// little left to do at the end.
const WRITE_BEHIND: u64 = 8;

/// How much later than the source's last word a data connection may be handed over here.
const LATE: Duration = Duration::from_secs(10);

/// Paths that are not copied, and why.
type Skipped = Vec<(Vec<u8>, String)>;

/// What the destination's end knows when the copy has its name.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: Sent,
    pub arrived: Arrived,
    /// Files that were copied.
    pub files: u64,
    pub total: u64,
    pub changed: Vec<Vec<u8>>,
    pub skipped: Vec<(Vec<u8>, String)>,
}

/// What all threads write to.
struct Work<'a> {
    destination: &'a Destination,
    arrivals: Mutex<Arrivals>,
    lost: Mutex<Vec<u32>>,
    kept: AtomicU64,
    board: Board,
    stop: Stop<'a>,
}

impl Work<'_> {
    fn arrivals(&self) -> std::sync::MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes blocks until the connection ends.
    fn receive(&self, mut stream: Stream, clock: &Clock) -> Result<(), CopyError> {
        let stop = stops(&self.board, self.stop);
        let mut buffer = Vec::with_capacity(4 + MOST_RECORD);
        let mut open: Option<(u32, File)> = None;
        let mut behind = 0;
        stream.prove(&stop)?;
        loop {
            let waits_before = clock.spent().socket_ns;
            let began = Instant::now();
            let read =
                record(&stream.tcp, &mut buffer, &mut stream.unseal, &stop, &|time| clock.waited(time))?;
            // What was not waiting was decryption.
            let waited = Duration::from_nanos(clock.spent().socket_ns - waits_before);
            clock.computed(began.elapsed().saturating_sub(waited));
            let Some(record) = read else { return Ok(()) };
            match block::read(record) {
                Some(Record::Data { file, block, digest, data }) => {
                    let is_right = clock.cpu(|| *blake3::hash(data).as_bytes() == digest);
                    if !is_right {
                        return Err(CopyError::Damaged);
                    }
                    if self.arrivals().claim(file, block, Some(data.len() as u64))?.is_none() {
                        continue;
                    }
                    clock.disk(|| self.write(&mut open, file, block, data, &mut behind))?;
                    clock.moved(data.len() as u64);
                    self.arrivals().written(file);
                }
                Some(Record::Same { file, block }) => {
                    let claimed = self.arrivals().claim(file, block, None)?;
                    if let Some(length) = claimed {
                        self.kept.fetch_add(length, Ordering::Relaxed);
                        self.arrivals().written(file);
                    }
                }
                Some(Record::Lost { file }) => {
                    self.arrivals().lose(file)?;
                    self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(file);
                }
                Some(Record::Hello) | None => return Err(CopyError::OutOfTurn),
            }
        }
    }

    fn write(
        &self,
        open: &mut Option<(u32, File)>,
        file: u32,
        block: u64,
        data: &[u8],
        behind: &mut u64,
    ) -> Result<(), CopyError> {
        if open.as_ref().is_none_or(|(own, _)| *own != file) {
            *open = Some((file, self.destination.open(file as usize)?));
            *behind = 0;
        }
        let Some((_, to)) = open else { return Ok(()) };
        let failed =
            |error| CopyError::File { path: self.destination.path_of(file as usize), source: full(error) };
        to.write_all_at(data, block * BLOCK).map_err(failed)?;
        *behind += 1;
        if *behind >= WRITE_BEHIND {
            *behind = 0;
            // SAFETY: the descriptor is open. It only starts what fsync waits for, which reports errors.
            unsafe { libc::sync_file_range(to.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
        }
        Ok(())
    }
}

/// Receives a copy.
pub fn run(
    link: &mut Link<'_, '_, '_>,
    base: &Base,
    path: &Path,
    name: &[u8],
    request: &Request,
) -> Result<Outcome, CopyError> {
    let (destination, skipped) = listed(link, base, path, name, request.force)?;
    let files = destination.entries.iter().filter(|entry| entry.size.is_some()).count() as u64;
    let total = destination.entries.iter().filter_map(|entry| entry.size).fold(0, u64::saturating_add);
    let examined = examine(link, &destination, total)?;
    let mut arrivals = Arrivals::default();
    destination.entries.iter().for_each(|entry| arrivals.add(entry.size));
    let work = Work {
        destination: &destination,
        arrivals: Mutex::new(arrivals),
        lost: Mutex::default(),
        kept: AtomicU64::new(0),
        board: Board::default(),
        stop: link.stop,
    };
    let mut receiving = Receiving {
        work: &work,
        tuning: request.tuning,
        total,
        streams: Vec::new(),
        sizers: HashMap::new(),
        sent: Sent::default(),
        changed: Vec::new(),
        done: None,
        arrived: Arrived { examined_bytes: examined, ..Arrived::default() },
        before: (0, Instant::now()),
        moving: Movement::new(),
    };
    link.control.say(&Message::Go)?;
    link.show(Progress { phase: Phase::Moves, done: 0, total, rate: 0, bound: None, streams: 0 });
    std::thread::scope(|scope| {
        let _ends = Ends(&work.board);
        receiving.run(link, scope)
    })?;
    let Receiving { sent, changed, mut arrived, .. } = receiving;
    sync(link, &work, &mut arrived, total)?;
    link.control.say(&Message::Finished(arrived))?;
    let paths = |file: u32| destination.entries.get(file as usize).map(|entry| entry.path.clone());
    let changed = changed.into_iter().filter_map(paths).collect();
    let lost = std::mem::take(&mut *work.lost.lock().unwrap_or_else(PoisonError::into_inner));
    let files = files.saturating_sub(lost.len() as u64);
    let lost = lost.into_iter().filter_map(paths);
    let lost = lost.map(|path| (path, "the far end could not read it to its end".to_owned()));
    let skipped = skipped.into_iter().chain(lost).collect();
    Ok(Outcome { sent, arrived, files, total, changed, skipped })
}

/// Hears what the source has, and finds the place for it.
fn listed(
    link: &mut Link<'_, '_, '_>,
    base: &Base,
    path: &Path,
    name: &[u8],
    force: bool,
) -> Result<(Destination, Skipped), CopyError> {
    // First, so that a destination that cannot be is known before a large folder is listed.
    let mut destination = Destination::find(base, path, name, force)?;
    let mut skipped = Vec::new();
    // What the source calls itself decides nothing: the user has named it.
    let Message::Root(_) = link.control.wait()? else { return Err(CopyError::OutOfTurn) };
    loop {
        match link.control.wait()? {
            Message::Entry(entry) => destination.add(entry)?,
            Message::Skipped { path, why } if skipped.len() < crate::protocol::MOST_ENTRIES => {
                skipped.push((path, why));
            }
            Message::Listed => break,
            _ => return Err(CopyError::OutOfTurn),
        }
    }
    link.control.busy(|| destination.begin())??;
    Ok((destination, skipped))
}

/// Tells the source the digests of what an interrupted copy left.
fn examine(link: &mut Link<'_, '_, '_>, destination: &Destination, total: u64) -> Result<u64, CopyError> {
    let (mut examined, mut told) = (0, Instant::now());
    let mut buffer = vec![0; BLOCK as usize];
    for file in 0..destination.entries.len() {
        let Some((left, length)) = destination.left(file)? else { continue };
        let (mut digests, mut first): (Vec<Digest>, u64) = (Vec::new(), 0);
        let mut tell = |link: &mut Link<'_, '_, '_>, digests: &mut Vec<Digest>| {
            let count = digests.len() as u64;
            if count > 0 {
                let digests = std::mem::take(digests);
                link.control.say(&Message::Have { file: file as u32, first, digests })?;
            }
            first += count;
            Ok::<(), CopyError>(())
        };
        for block in 0..block::blocks(length) {
            let data = &mut buffer[..block::length(length, block) as usize];
            left.read_exact_at(data, block * BLOCK).map_err(CopyError::file(&destination.path_of(file)))?;
            digests.push(*blake3::hash(data).as_bytes());
            examined += data.len() as u64;
            if digests.len() == MOST_DIGESTS {
                tell(link, &mut digests)?;
            }
            if told.elapsed() >= INTERVAL {
                told = Instant::now();
                link.control
                    .say(&Message::Arrived(Arrived { examined_bytes: examined, ..Arrived::default() }))?;
                let phase = Phase::Begins;
                link.show(Progress { phase, done: examined, total, rate: 0, bound: None, streams: 0 });
                if (link.stop)() {
                    return Err(CopyError::Stopped);
                }
            }
        }
        tell(link, &mut digests)?;
    }
    link.control.excuse();
    Ok(examined)
}

/// Gives the copy its name, and tells the source meanwhile that this end is there.
fn sync(
    link: &mut Link<'_, '_, '_>,
    work: &Work<'_>,
    arrived: &mut Arrived,
    total: u64,
) -> Result<(), CopyError> {
    let began = Instant::now();
    let streams = link.streams.try_iter().count() as u16;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| work.destination.finish(&|file| work.arrivals().is_whole(file)));
        let mut told = Instant::now();
        while !thread.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
            if told.elapsed() >= INTERVAL {
                told = Instant::now();
                arrived.sync_ns = began.elapsed().as_nanos() as u64;
                link.control.say(&Message::Arrived(*arrived))?;
                let done = arrived.done();
                link.show(Progress { phase: Phase::Syncs, done, total, rate: 0, bound: None, streams });
            }
        }
        thread.join().unwrap_or(Err(CopyError::Incomplete))
    })?;
    arrived.sync_ns = began.elapsed().as_nanos() as u64;
    Ok(())
}

/// The state of a destination's session while blocks move.
struct Receiving<'a, 'w> {
    work: &'a Work<'w>,
    tuning: Tuning,
    total: u64,
    streams: Vec<Watched>,
    sizers: HashMap<u16, Sizer>,
    sent: Sent,
    changed: Vec<u32>,
    /// When the source said that it has sent all.
    done: Option<Instant>,
    arrived: Arrived,
    before: (u64, Instant),
    moving: Movement,
}

impl<'a, 'w> Receiving<'a, 'w> {
    fn run<'s>(&mut self, link: &mut Link<'_, '_, '_>, scope: &'s Scope<'s, '_>) -> Result<(), CopyError>
    where
        'a: 's,
        'w: 's,
    {
        loop {
            while let Ok(stream) = link.streams.try_recv() {
                let work = self.work;
                let begin = move |stream, clock: &Clock| work.receive(stream, clock);
                self.streams.push(Watched::begin(stream?, scope, &work.board, begin)?);
            }
            if let Some(message) = link.control.next(TURN)? {
                self.hear(message)?;
            }
            if let Some(error) = self.work.board.failure() {
                return Err(link.why(error));
            }
            self.resize(link)?;
            let is_complete = self.done.is_some() && self.work.arrivals().are_complete();
            if is_complete || self.before.1.elapsed() >= INTERVAL {
                self.look(link)?;
            }
            if is_complete {
                return Ok(());
            }
            if self.done.is_some_and(|done| done.elapsed() > LATE)
                && self.streams.iter().all(|own| own.clock.has_ended())
            {
                return Err(CopyError::Incomplete);
            }
        }
    }

    fn hear(&mut self, message: Message) -> Result<(), CopyError> {
        match message {
            Message::Sent(sent) if self.done.is_none() => self.sent = sent,
            Message::Changed(file)
                if self.done.is_none() && self.changed.len() < self.work.destination.entries.len() =>
            {
                self.changed.push(file);
            }
            Message::Done(sent) if self.done.is_none() => {
                self.sent = sent;
                self.done = Some(Instant::now());
            }
            _ => return Err(CopyError::OutOfTurn),
        }
        Ok(())
    }

    /// Dynamic Right-Sizing: both buffers of each connection, from what arrived in an RTT.
    fn resize(&mut self, link: &mut Link<'_, '_, '_>) -> Result<(), CopyError> {
        if self.tuning != Tuning::Drs {
            return Ok(());
        }
        let now: Moment = now();
        for own in &self.streams {
            let info = tcp_info(&own.tcp);
            let sizer = self.sizers.entry(own.number).or_insert_with(|| Sizer::new(now));
            let rtt = if info.min_rtt > 0 && info.min_rtt < u32::MAX { info.min_rtt } else { info.rcv_rtt };
            let rtt = Duration::from_micros(u64::from(rtt));
            if let Some(bytes) = sizer.arrived(info.bytes_received, rtt, now) {
                receive_buffer(&own.tcp, bytes);
                link.control.say(&Message::Window { stream: own.number, bytes })?;
            }
        }
        Ok(())
    }

    /// Takes stock of the last interval.
    fn look(&mut self, link: &mut Link<'_, '_, '_>) -> Result<(), CopyError> {
        let mut arrived = Arrived {
            kept_bytes: self.work.kept.load(Ordering::Relaxed),
            examined_bytes: self.arrived.examined_bytes,
            ..Arrived::default()
        };
        for own in &self.streams {
            let Spent { disk_ns, cpu_ns, socket_ns } = own.clock.spent();
            arrived.bytes += own.clock.bytes();
            arrived.write_ns += disk_ns;
            arrived.cpu_ns += cpu_ns;
            arrived.socket_ns += socket_ns;
            let buffer = sockopt::socket_recv_buffer_size(&own.tcp).unwrap_or(0) as u64;
            arrived.buffer_bytes = arrived.buffer_bytes.max(buffer);
        }
        self.arrived = arrived;
        self.moving.check(arrived.done().wrapping_add(self.sent.read_ns))?;
        link.control.say(&Message::Arrived(arrived))?;
        let (before, at) = self.before;
        let passed = at.elapsed().as_nanos().max(1);
        let rate = u128::from(arrived.bytes.saturating_sub(before)) * 1_000_000_000 / passed;
        self.before = (arrived.bytes, Instant::now());
        let bound = Bound::ALL.get(usize::from(self.sent.now)).copied();
        link.grow(arrived.bytes, self.sent.min_rtt_us, bound)?;
        link.show(Progress {
            phase: Phase::Moves,
            done: arrived.done(),
            total: self.total,
            rate: u64::try_from(rate).unwrap_or(u64::MAX),
            bound,
            streams: self.streams.len() as u16,
        });
        Ok(())
    }
}

/// A path from the other end.
pub fn path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsStr::from_bytes(bytes).into()
}
