//! Connections over which one end, or both, send in bulk or in messages.

use super::end::{self, End, EndRecord, Surroundings, become_application};
use super::sequence::Sequence;
use super::{Reader, SocketOptions, Stream, Writer};
use crate::clock;
use crate::error::LabError;
use crate::flush;
use crate::namespaces::{Namespaces, Place};
use crate::task::{Scheduling, TaskRecord};
use socket2::Socket;
use std::net::{IpAddr, SocketAddr};

const FIRST_PORT: u16 = 5001;

/// Both hosts' addresses and their applications' socket options.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The sender's address.
    pub sender: IpAddr,
    /// The receiver's address.
    pub receiver: IpAddr,
    /// Options of sockets on the sender's host.
    pub sender_options: SocketOptions,
    /// Options of sockets on the receiver's host.
    pub receiver_options: SocketOptions,
}

/// Which of all streams, counting equal ones, a connection is, by its record at either end.
pub fn number_of(record: &EndRecord) -> usize {
    // The connecting end has a port assigned by the kernel, which is higher.
    usize::from(record.local.port().min(record.remote.port()).saturating_sub(FIRST_PORT))
}

struct Plan<'a> {
    stream: &'a Stream,
    opener: Socket,
    listener: Socket,
    listener_options: &'a SocketOptions,
    to: SocketAddr,
    /// Bytes passed when the connection is opened.
    first_bytes: Option<usize>,
}

/// What an application has ready when it opens a connection: a request.
const FIRST_BYTES: u64 = 1000;

/// A writer's bytes that may go with the SYN; one that writes for a time, or messages, is not counted in bytes.
fn first_bytes(writer: Writer, options: &SocketOptions) -> Option<usize> {
    match writer {
        Writer::Total { bytes } if options.fast_open => Some(bytes.min(FIRST_BYTES) as usize),
        _ => None,
    }
}

/// Runs all streams to their ends; returns the records of the ends at the sender's host and at the receiver's, paired,
/// of those that were connected before it was time to stop.
///
/// # Errors
/// The first failure of any end.
pub fn run(
    namespaces: &Namespaces,
    hosts: &Hosts,
    streams: &[Stream],
    around: Surroundings,
) -> Result<Vec<(EndRecord, EndRecord)>, LabError> {
    let mut plans = Vec::new();
    for stream in streams {
        for _ in 0..stream.count {
            let port = FIRST_PORT + plans.len() as u16;
            plans.push(plan(namespaces, hosts, stream, port)?);
        }
    }
    let start_ns = clock::monotonic_ns();
    let sequence = &Sequence::new(plans.len());
    std::thread::scope(|scope| {
        let pairs: Vec<_> = plans
            .into_iter()
            .enumerate()
            .map(|(number, plan)| {
                let stream = plan.stream;
                let reversed = stream.reversed;
                let (listener, options) = (plan.listener, plan.listener_options);
                let processes = [sequence.process(number), sequence.process(number)];
                let [accepting, opening] = processes;
                let acceptor = scope.spawn(move || {
                    let _ends = accepting;
                    let task = stream.acceptor.as_ref();
                    become_application(task)?;
                    let Some(end) = End::accept(&listener, options, around)? else { return Ok(None) };
                    let end = End { calls: stream.calls, ..end };
                    run_end(end, task, stream.answer, &stream.reader, around).map(Some)
                });
                let (opener, to, first) = (plan.opener, plan.to, plan.first_bytes);
                let opener = scope.spawn(move || {
                    let _ends = opening;
                    let task = stream.opener.as_ref();
                    become_application(task)?;
                    let from_ns = match stream.follows {
                        None => Some(start_ns),
                        Some(follows) => sequence.wait_for(follows, around),
                    };
                    let Some(from_ns) = from_ns else { return Ok(None) };
                    clock::sleep_until_monotonic(around.until(from_ns.saturating_add(stream.after_ns)));
                    if stream.flush {
                        flush::parameter_caches(namespaces)?;
                    }
                    let end = match first {
                        Some(bytes) => End::connect_with_data(opener, to, bytes, around)?,
                        None => End::connect(opener, to, around)?,
                    };
                    let Some(end) = end else { return Ok(None) };
                    let end = End { calls: stream.calls, ..end };
                    run_end(end, task, Some(stream.writer), &Reader::Greedy, around).map(Some)
                });
                if reversed { (acceptor, opener) } else { (opener, acceptor) }
            })
            .collect();
        let panicked = |_| Err(LabError::Panicked { role: "runs an application" });
        let both: Result<Vec<_>, LabError> = pairs
            .into_iter()
            .map(|(s, r)| Ok((s.join().unwrap_or_else(panicked)?, r.join().unwrap_or_else(panicked)?)))
            .collect();
        Ok(both?.into_iter().filter_map(|(sender, receiver)| sender.zip(receiver)).collect())
    })
}

fn plan<'a>(
    namespaces: &Namespaces,
    hosts: &'a Hosts,
    stream: &'a Stream,
    port: u16,
) -> Result<Plan<'a>, LabError> {
    let sender = (Place::Sender, &hosts.sender_options, hosts.sender);
    let receiver = (Place::Receiver, &hosts.receiver_options, hosts.receiver);
    let (from, to) = if stream.reversed { (receiver, sender) } else { (sender, receiver) };
    let address = SocketAddr::new(to.2, port);
    let opener_options = stream.opener_socket.as_ref().unwrap_or(from.1);
    let listener_options = stream.acceptor_socket.as_ref().unwrap_or(to.1);
    let listener = namespaces.inside(to.0, || end::listener(address, listener_options))?;
    let opener = namespaces.inside(from.0, || end::socket(address, opener_options))?;
    let first_bytes = first_bytes(stream.writer, opener_options);
    Ok(Plan { stream, opener, listener, listener_options, to: address, first_bytes })
}

/// Writes and reads at the same time, both as planned.
fn run_end(
    end: End,
    task: Option<&Scheduling>,
    writer: Option<Writer>,
    reader: &Reader,
    around: Surroundings,
) -> Result<EndRecord, LabError> {
    let watching = around.sampler.watch(&end.socket);
    let Some(writer) = writer else {
        let mut end = end;
        end.read_as(reader, around)?;
        end.inquire()?;
        drop(watching);
        end.record.reader = TaskRecord::of_this_thread();
        return Ok(end.record);
    };
    let second = end.socket.try_clone().map_err(LabError::system("duplicate a socket"))?;
    let mut reading = End { socket: second, record: end.record.clone(), calls: end.calls, polls: end.polls };
    let mut writing = end;
    let (read, written) = std::thread::scope(|scope| {
        let read = scope.spawn(|| {
            become_application(task)?;
            let read = reading.read_as(reader, around);
            reading.record.reader = TaskRecord::of_this_thread();
            read
        });
        let written = writing.write_as(writer, around);
        (read.join().unwrap_or(Err(LabError::Panicked { role: "reads" })), written)
    });
    writing.record.writer = TaskRecord::of_this_thread();
    written.and(read)?;
    drop(watching);
    Ok(EndRecord {
        read_bytes: reading.record.read_bytes,
        read_ended_ns: reading.record.read_ended_ns,
        stops_ns: reading.record.stops_ns,
        broken: writing.record.broken.or(reading.record.broken),
        reader: reading.record.reader,
        ..writing.record
    })
}
