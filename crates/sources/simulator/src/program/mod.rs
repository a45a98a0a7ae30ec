//! Programs of processes: they make system calls, compute and sleep.
//!
//! A program is asked for its next operation and gets the result of the last one. It has no access to the host.

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
    /// `write` of so many bytes; returns when all are in the send buffer.
    Write(u64),
    /// `read` of at most so many bytes; returns when there are any.
    Read(u64),
    /// `close`.
    Close,
    /// Sleeps until then.
    Sleep(Instant),
    /// Waits for a disk until then.
    WaitForDisk(Instant),
    /// Forks, and waits for the child, whose operations are those that follow.
    Fork {
        /// By `vfork`: the parent's memory is the child's too until that executes another program.
        is_vfork: bool,
    },
    /// Exits; its parent, which waited for that, goes on.
    Reap,
    /// Looks at the clock until then.
    Watch(Instant),
    /// Computes for so long, in CPU time.
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
    /// The connection stands.
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
    /// Asks and reads the answers.
    Client(Client),
    /// Answers.
    Server(Server),
    /// Sends datagrams at a rate.
    Generator(Generator),
    /// Reads datagrams.
    Counter(Counter),
    /// Computes without a pause.
    Hog(Hog),
    /// One of `make`'s jobs, and those that follow it.
    Job(Job),
    /// One of `make`'s jobs, with each process that it is made of.
    Compile(Compile),
    /// `ksoftirqd`.
    Softirqs,
}

impl Program {
    /// How many forks away it is from a process that nearly always sleeps: a shell, if nothing else.
    pub fn forks(&self) -> u32 {
        if matches!(self, Self::Job(_)) { load::JOB_FORKS } else { 1 }
    }

    /// Whether it is a flow's, and no load.
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

/// Keeps a process to its rate and its pauses.
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

    /// Bytes of one call.
    pub fn call_size(&self) -> u64 {
        self.process.call_size.get()
    }

    /// The connection stands.
    pub fn open(&mut self, now: Instant) {
        self.opened.get_or_insert(now);
    }

    /// So much was written or read.
    pub fn moved(&mut self, bytes: u64) {
        self.moved += bytes;
    }

    /// Until when it sleeps before its next call; `None` if it goes on.
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
