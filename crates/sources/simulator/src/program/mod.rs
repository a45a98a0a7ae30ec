//! Programs of processes: they make system calls, compute and sleep.
//!
//! A program is asked for its next operation, and gets the result of the last one. It has no access to the host.

mod compile;
mod datagrams;
mod exchange;
mod load;
mod transfer;

pub use compile::Compile;
pub use datagrams::{Counter, Generator};
pub use exchange::{Client, Server};
pub use load::{Hog, Job};
pub use transfer::{Receiver, Sender};

use slowpath_model::Instant;
use slowpath_path::chance::Draws;
use slowpath_scenario::{Cost, Pause, Process};
use std::time::Duration;

/// The next operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `connect`, on a new socket.
    Connect,
    /// `accept`.
    Accept,
    /// `write` of this many bytes; returns when all are in the send buffer.
    Write(u64),
    /// `read` of at most this many bytes; returns when there are any.
    Read(u64),
    /// `close`.
    Close,
    /// Sleeps until this instant.
    Sleep(Instant),
    /// Waits for a disk until this instant.
    WaitForDisk(Instant),
    /// Forks, and waits for the child, which does the following operations.
    Fork {
        /// By `vfork`: the child shares the parent's memory until it executes another program.
        is_vfork: bool,
    },
    /// Exits; its waiting parent continues.
    Reap,
    /// Reads the clock repeatedly until this instant.
    Watch(Instant),
    /// Computes for this much CPU time.
    Compute(Cost),
    /// Sleeps until softirqs are left to it (`ksoftirqd`).
    Park,
    /// It is over.
    Exit,
}

/// The result of the last operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// There was none.
    Nothing,
    /// The connection is established.
    Connected,
    /// Bytes written.
    Wrote(u64),
    /// Bytes read; 0 at the end of the stream.
    Read(u64),
    /// The operation failed: the connection is broken.
    Failed,
}

/// A process's program.
#[derive(Debug)]
pub enum Program {
    /// Writes a stream or messages.
    Sender(Sender),
    /// Reads a stream to its end.
    Receiver(Receiver),
    /// Sends requests and reads the responses.
    Client(Client),
    /// Sends responses.
    Server(Server),
    /// Sends datagrams at a rate.
    Generator(Generator),
    /// Reads datagrams.
    Counter(Counter),
    /// Computes without a pause.
    Hog(Hog),
    /// `make` jobs, each as one task.
    Job(Job),
    /// `make` jobs, with all their processes.
    Compile(Compile),
    /// `ksoftirqd`.
    Softirqs,
}

impl Program {
    /// The number of forks from a process that nearly always sleeps: at least a shell.
    pub fn forks(&self) -> u32 {
        if matches!(self, Self::Job(_)) { load::JOB_FORKS } else { 1 }
    }

    /// Whether it belongs to a flow and is not load.
    pub fn is_of_a_flow(&self) -> bool {
        matches!(
            self,
            Self::Sender(_)
                | Self::Receiver(_)
                | Self::Client(_)
                | Self::Server(_)
                | Self::Generator(_)
                | Self::Counter(_)
        )
    }

    /// Whether it belongs to the host's other load.
    pub fn is_of_the_load(&self) -> bool {
        matches!(self, Self::Hog(_) | Self::Job(_) | Self::Compile(_))
    }

    /// Its next operation, given the result of the last one.
    pub fn next(&mut self, now: Instant, done: Done, draws: &mut Draws) -> Op {
        match self {
            Self::Sender(sender) => sender.next(now, done),
            Self::Receiver(receiver) => receiver.next(now, done),
            Self::Client(client) => client.next(now, done),
            Self::Server(server) => server.next(now, done),
            Self::Generator(generator) => generator.next(now, done),
            Self::Counter(counter) => counter.next(now, done),
            Self::Hog(hog) => hog.next(now),
            Self::Job(job) => job.next(now, draws),
            Self::Compile(compile) => compile.next(now, draws),
            Self::Softirqs => Op::Park,
        }
    }
}

/// Applies a process's rate limit and pauses.
#[derive(Clone, Debug)]
pub struct Pace {
    process: Process,
    /// When the connection was opened.
    opened: Option<Instant>,
    moved: u64,
    next_pause: usize,
}

impl Pace {
    /// A process before its first call.
    pub fn new(process: &Process) -> Self {
        Self { process: process.clone(), opened: None, moved: 0, next_pause: 0 }
    }

    /// Bytes per call.
    pub fn call_size(&self) -> u64 {
        self.process.call_size.get()
    }

    /// The connection is established.
    pub fn open(&mut self, now: Instant) {
        self.opened.get_or_insert(now);
    }

    /// `bytes` were written or read.
    pub fn moved(&mut self, bytes: u64) {
        self.moved += bytes;
    }

    /// Until when it sleeps before its next call; `None` if it continues.
    pub fn sleeps(&mut self, now: Instant) -> Option<Instant> {
        let opened = self.opened?;
        if let Some(Pause { at, lasts }) = self.process.pauses.get(self.next_pause).copied()
            && opened + at <= now
        {
            self.next_pause += 1;
            let end = lasts.map_or(Instant::from_nanos(i64::MAX), |lasts| opened + at + lasts);
            if end > now {
                return Some(end);
            }
        }
        let rate = self.process.rate?;
        let due = opened + rate.time_for(slowpath_model::Bytes::new(self.moved)).unwrap_or(Duration::MAX);
        (due > now).then_some(due)
    }
}
