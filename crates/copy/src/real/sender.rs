//! The end that has the source.

use super::link::Link;
use super::sockets::{send_buffer, tcp_info};
use super::source::Source;
use super::stream::{Stream, larger_send_buffer, write_patiently};
use super::threads::{Board, Clock, Ends, Movement, Watched, stops};
use super::{INTERVAL, Phase, Progress, Stop};
use crate::account::{Bound, Shares, Spent, divide};
use crate::error::CopyError;
use crate::protocol::block::{self, BLOCK, HEADER, Record, TAG, blocks};
use crate::protocol::{Arrived, Digest, Message, Sent, Tuning};
use rustix::net::sockopt;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// How long a write may make no progress at all.
const WRITE: Duration = Duration::from_secs(120);
/// A send buffer limits its connection if it does so for a tenth of an interval.
const BUFFER_SHARE: u128 = 10;
/// It is made larger at once if there is one connection, and after so many intervals (5 s) if there are several: more
/// connections help as much, and do not overflow the path's queue as far.
const BUFFER_LOOKS: u32 = 25;
/// Between two looks at the messages.
const TURN: Duration = Duration::from_millis(20);

/// What the source's end knows when the copy has its name.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: Sent,
    pub arrived: Arrived,
    /// Files that were copied.
    pub files: u64,
    /// Files that changed while they were read.
    pub changed: Vec<Vec<u8>>,
    /// What was not copied, and why.
    pub skipped: Vec<(Vec<u8>, String)>,
}

/// The next block to send.
#[derive(Clone, Copy, Default)]
struct Cursor {
    file: usize,
    block: u64,
}

/// What all threads take blocks from.
struct Work<'a> {
    source: &'a Source,
    have: HashMap<u32, Vec<Digest>>,
    cursor: Mutex<Cursor>,
    lost: Mutex<HashMap<usize, String>>,
    board: Board,
    stop: Stop<'a>,
}

impl Work<'_> {
    fn next(&self) -> Option<(usize, u64, u64)> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let entry = self.source.entries.get(cursor.file)?;
            let size = entry.size.unwrap_or(0);
            if cursor.block < blocks(size) && !self.is_lost(cursor.file) {
                let block = cursor.block;
                cursor.block += 1;
                return Some((cursor.file, block, size));
            }
            *cursor = Cursor { file: cursor.file + 1, block: 0 };
        }
    }

    fn is_exhausted(&self) -> bool {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner).file >= self.source.entries.len()
    }

    fn is_lost(&self, file: usize) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&file)
    }

    /// Gives up a file. Returns whether it was not given up before.
    fn lose(&self, file: usize, why: String) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).insert(file, why).is_none()
    }

    /// Sends blocks until there are no more.
    fn send(&self, mut stream: Stream, clock: &Clock) -> Result<(), CopyError> {
        let stop = stops(&self.board, self.stop);
        let mut buffer = Vec::with_capacity(4 + HEADER + BLOCK as usize + TAG);
        let mut open: Option<(usize, File)> = None;
        while let Some((file, number, size)) = self.next() {
            if stop() {
                return Err(CopyError::Stopped);
            }
            let length = block::length(size, number) as usize;
            buffer.resize(4 + HEADER + length, 0);
            let data = &mut buffer[4 + HEADER..];
            let read = clock.disk(|| -> io::Result<()> {
                if open.as_ref().is_none_or(|(own, _)| *own != file) {
                    open = Some((file, self.source.open(file)?));
                }
                open.as_ref().map_or(Ok(()), |(_, open)| open.read_exact_at(data, number * BLOCK))
            });
            if let Err(error) = read {
                let why = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "it became shorter while it was copied".to_owned(),
                    _ => error.to_string(),
                };
                if self.lose(file, why) {
                    let bytes = stream.seal.bare(&Record::Lost { file: file as u32 })?;
                    clock.socket(|| write_patiently(&stream.tcp, &bytes, WRITE, &stop))?;
                }
                continue;
            }
            let digest = clock.cpu(|| *blake3::hash(data).as_bytes());
            let file = file as u32;
            let have = self.have.get(&file).and_then(|digests| digests.get(number as usize));
            if have == Some(&digest) {
                let bytes = stream.seal.bare(&Record::Same { file, block: number })?;
                clock.socket(|| write_patiently(&stream.tcp, &bytes, WRITE, &stop))?;
                continue;
            }
            let header = block::header(&Record::Data { file, block: number, digest, data: &[] });
            buffer[4..4 + HEADER].copy_from_slice(&header);
            clock.cpu(|| stream.seal.seal(&mut buffer))?;
            clock.socket(|| write_patiently(&stream.tcp, &buffer, WRITE, &stop))?;
            clock.moved(length as u64);
        }
        stream.prove(&stop)?;
        // The other end reads to here; the connection may be gone by then.
        let _ = stream.tcp.shutdown(Shutdown::Write);
        Ok(())
    }
}

/// Sends the source to the other end.
pub fn run(link: &mut Link<'_, '_, '_>, source: &Source, tuning: Tuning) -> Result<Outcome, CopyError> {
    let total = source.bytes();
    let mut skipped = source.skipped.clone();
    offer(link, source)?;
    let have = answered(link, source, total)?;
    let work = Work {
        source,
        have,
        cursor: Mutex::default(),
        lost: Mutex::default(),
        board: Board::default(),
        stop: link.stop,
    };
    link.show(Progress { phase: Phase::Moves, done: 0, total, rate: 0, bound: None, streams: 0 });
    let (sent, mut arrived) = std::thread::scope(|scope| {
        let _ends = Ends(&work.board);
        Sending::new(&work, tuning, total).run(link, scope)
    })?;
    let lost = work.lost.into_inner().unwrap_or_else(PoisonError::into_inner);
    if source.is_file()
        && let Some(why) = lost.get(&0)
    {
        return Err(CopyError::Nothing(why.clone()));
    }
    let mut changed = Vec::new();
    for (file, entry) in source.entries.iter().enumerate() {
        if entry.size.is_some() && !lost.contains_key(&file) && source.has_changed(file) {
            link.control.say(&Message::Changed(file as u32))?;
            changed.push(entry.path.clone());
        }
    }
    link.control.say(&Message::Done(sent))?;
    let mut moving = Movement::new();
    loop {
        match link.control.wait()? {
            Message::Arrived(now) => {
                arrived = now;
                moving.check(now.done().wrapping_add(now.sync_ns))?;
                link.show(Progress {
                    phase: Phase::Syncs,
                    done: now.done(),
                    total,
                    rate: 0,
                    bound: None,
                    streams: sent.streams as u16,
                });
            }
            Message::Window { .. } => {}
            Message::Finished(now) => {
                arrived = Arrived { socket_ns: arrived.socket_ns, ..now };
                break;
            }
            _ => return Err(CopyError::OutOfTurn),
        }
    }
    let mut lost: Vec<(usize, String)> = lost.into_iter().collect();
    lost.sort_unstable();
    let files = source.entries.iter().filter(|entry| entry.size.is_some()).count() - lost.len();
    skipped.extend(lost.into_iter().map(|(file, why)| (source.entries[file].path.clone(), why)));
    Ok(Outcome { sent, arrived, files: files as u64, changed, skipped })
}

/// Sends the list of entries.
fn offer(link: &mut Link<'_, '_, '_>, source: &Source) -> Result<(), CopyError> {
    link.control.say(&Message::Root(source.name.clone()))?;
    for entry in &source.entries {
        link.control.say(&Message::Entry(entry.clone()))?;
    }
    for (path, why) in &source.skipped {
        link.control.say(&Message::Skipped { path: path.clone(), why: why.clone() })?;
    }
    link.control.say(&Message::Listed)?;
    link.control.excuse();
    Ok(())
}

/// Waits until the destination is ready, with the digests of what it has.
fn answered(
    link: &mut Link<'_, '_, '_>,
    source: &Source,
    total: u64,
) -> Result<HashMap<u32, Vec<Digest>>, CopyError> {
    let mut have: HashMap<u32, Vec<Digest>> = HashMap::new();
    loop {
        match link.control.wait()? {
            Message::Have { file, first, digests } => {
                let size = source.entries.get(file as usize).and_then(|entry| entry.size);
                let own = have.entry(file).or_default();
                let count = own.len() as u64 + digests.len() as u64;
                if first != own.len() as u64 || size.is_none_or(|size| count > blocks(size)) {
                    return Err(CopyError::OutOfTurn);
                }
                own.extend(digests);
            }
            Message::Arrived(now) => link.show(Progress {
                phase: Phase::Begins,
                done: now.examined_bytes,
                total,
                rate: 0,
                bound: None,
                streams: 0,
            }),
            Message::Go => return Ok(have),
            _ => return Err(CopyError::OutOfTurn),
        }
    }
}

/// The state of a source's session while blocks move.
struct Sending<'a, 'w> {
    work: &'a Work<'w>,
    tuning: Tuning,
    total: u64,
    streams: Vec<Watched>,
    arrived: Arrived,
    /// At the last look.
    arrived_before: Arrived,
    moved_before: u64,
    shares: Shares,
    looked: Instant,
    moving: Movement,
}

impl<'a, 'w> Sending<'a, 'w> {
    fn new(work: &'a Work<'w>, tuning: Tuning, total: u64) -> Self {
        Self {
            work,
            tuning,
            total,
            streams: Vec::new(),
            arrived: Arrived::default(),
            arrived_before: Arrived::default(),
            moved_before: 0,
            shares: Shares::default(),
            looked: Instant::now(),
            moving: Movement::new(),
        }
    }

    fn run<'s>(
        mut self,
        link: &mut Link<'_, '_, '_>,
        scope: &'s Scope<'s, '_>,
    ) -> Result<(Sent, Arrived), CopyError>
    where
        'a: 's,
        'w: 's,
    {
        loop {
            while let Ok(stream) = link.streams.try_recv() {
                let work = self.work;
                let begin = move |stream, clock: &Clock| work.send(stream, clock);
                self.streams.push(Watched::begin(stream?, scope, &work.board, begin)?);
            }
            if let Some(message) = link.control.next(TURN)? {
                self.hear(message)?;
            }
            if let Some(error) = self.work.board.failure() {
                return Err(link.why(error));
            }
            let has_sent = self.has_sent();
            if has_sent || self.looked.elapsed() >= INTERVAL {
                let sent = self.look(link)?;
                link.control.say(&Message::Sent(sent))?;
                if has_sent {
                    return Ok((sent, self.arrived));
                }
            }
        }
    }

    fn hear(&mut self, message: Message) -> Result<(), CopyError> {
        match message {
            Message::Arrived(now) => self.arrived = now,
            Message::Window { stream, bytes } => {
                let own = self.streams.iter().find(|own| own.number == stream);
                if let Some(own) = own {
                    send_buffer(&own.tcp, bytes);
                }
            }
            _ => return Err(CopyError::OutOfTurn),
        }
        Ok(())
    }

    /// Whether all blocks have left this host.
    fn has_sent(&self) -> bool {
        let has_left = |own: &Watched| {
            let info = tcp_info(&own.tcp);
            own.clock.has_ended() && info.unacked == 0 && info.notsent_bytes == 0
        };
        self.work.is_exhausted() && self.streams.iter().all(has_left)
    }

    /// Takes stock of the last interval.
    fn look(&mut self, link: &mut Link<'_, '_, '_>) -> Result<Sent, CopyError> {
        let mut interval = Shares::default();
        let mut sent = Sent { streams: self.streams.len() as u64, ..Sent::default() };
        let whole = |arrived: Arrived| Spent {
            disk_ns: arrived.write_ns,
            cpu_ns: arrived.cpu_ns,
            socket_ns: arrived.socket_ns,
        };
        let there = whole(self.arrived).since(whole(self.arrived_before));
        self.arrived_before = self.arrived;
        let count = self.streams.len();
        for own in &mut self.streams {
            let (info, spent, now) = (tcp_info(&own.tcp), own.clock.spent(), Instant::now());
            let (info_before, spent_before, before) = &own.before;
            let busy_ns = info.busy_time.saturating_sub(info_before.busy_time).saturating_mul(1000);
            let lasted_ns = (now - *before).as_nanos() as u64;
            // A connection that has nothing more to send is not limited by anything.
            let lasted_ns = if own.clock.has_ended() { lasted_ns.min(busy_ns) } else { lasted_ns };
            interval.extend(divide(lasted_ns, [info_before, &info], spent.since(*spent_before), there));
            let limited_us = info.sndbuf_limited.saturating_sub(info_before.sndbuf_limited);
            let is_limited = u128::from(limited_us) * BUFFER_SHARE >= (now - *before).as_micros();
            own.limited = if is_limited { own.limited + 1 } else { 0 };
            let patience = if count == 1 { 1 } else { BUFFER_LOOKS };
            if self.tuning == Tuning::Kernel && own.limited >= patience {
                larger_send_buffer(&own.tcp);
                own.limited = 0;
            }
            own.before = (info, spent, now);
            sent.bytes += own.clock.bytes();
            sent.read_ns += spent.disk_ns;
            sent.cpu_ns += spent.cpu_ns;
            sent.socket_ns += spent.socket_ns;
            sent.retransmitted += u64::from(info.total_retrans);
            let rtt = u64::from(info.min_rtt);
            sent.min_rtt_us = if sent.min_rtt_us == 0 { rtt } else { sent.min_rtt_us.min(rtt) };
            let buffer = sockopt::socket_send_buffer_size(&own.tcp).unwrap_or(0) as u64;
            sent.buffer_bytes = sent.buffer_bytes.max(buffer);
        }
        self.shares.extend(interval);
        sent.bound_ns = self.shares.0;
        let bound = interval.longest();
        let index = bound.and_then(|bound| Bound::ALL.iter().position(|one| *one == bound));
        sent.now = index.map_or(u8::MAX, |index| index as u8);
        sent.kept_bytes = self.arrived.kept_bytes;
        let passed = self.looked.elapsed();
        self.looked = Instant::now();
        let moved = sent.bytes.saturating_sub(self.moved_before);
        self.moved_before = sent.bytes;
        self.moving.check(sent.bytes.wrapping_add(self.arrived.done()).wrapping_add(sent.read_ns))?;
        link.grow(self.arrived.bytes, sent.min_rtt_us, bound)?;
        link.show(Progress {
            phase: Phase::Moves,
            done: self.arrived.done(),
            total: self.total,
            rate: (u128::from(moved) * 1_000_000_000 / passed.as_nanos().max(1)) as u64,
            bound,
            streams: sent.streams as u16,
        });
        Ok(sent)
    }
}

/// A path as a report names it.
pub fn shown(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(path).into()
}
