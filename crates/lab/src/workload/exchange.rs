//! Requests and responses, over few or many connections.

use super::end::{self, End, EndRecord, Surroundings, become_application};
use super::stream::Hosts;
use super::{Exchange, SocketOptions};
use crate::clock;
use crate::error::LabError;
use crate::namespaces::{Namespaces, Place};
use crate::task::TaskRecord;
use socket2::Socket;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

const PORT: u16 = 8080;

/// Runs the exchange to its end; gives the records of server (the sender) and client, paired, if wanted.
///
/// # Errors
/// The first failure of any end.
pub fn run(
    namespaces: &Namespaces,
    hosts: &Hosts,
    plan: &Exchange,
    around: Surroundings,
) -> Result<Vec<(EndRecord, EndRecord)>, LabError> {
    let address = SocketAddr::new(hosts.sender, PORT);
    let listener = namespaces.inside(Place::Sender, || end::listener(address, &hosts.sender_options))?;
    let records = std::thread::scope(|scope| {
        let mut servers = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..plan.clients {
            let (listener, options) = (&listener, &hosts.sender_options);
            servers.push(scope.spawn(move || {
                become_application(plan.server.as_ref())?;
                repeat(plan, || serve(listener, options, plan, around))
            }));
            clients.push(scope.spawn(move || {
                become_application(plan.client.as_ref())?;
                namespaces.enter(Place::Receiver)?;
                repeat(plan, || ask(address, &hosts.receiver_options, plan, around))
            }));
        }
        let panicked = |_| Err(LabError::Panicked { role: "runs an application" });
        let mut served = Vec::new();
        let mut asked = Vec::new();
        for client in clients {
            asked.append(&mut client.join().unwrap_or_else(panicked)?);
        }
        for server in servers {
            served.append(&mut server.join().unwrap_or_else(panicked)?);
        }
        Ok::<_, LabError>((served, asked))
    });
    let (served, mut asked) = records?;
    asked.sort_by_key(|r| r.opened_ns);
    let pair = |client: EndRecord| {
        let server = served.iter().find(|s| s.remote == client.local && s.local == client.remote)?;
        Some((server.clone(), client))
    };
    Ok(asked.into_iter().filter_map(pair).collect())
}

fn repeat(
    plan: &Exchange,
    mut once: impl FnMut() -> Result<EndRecord, LabError>,
) -> Result<Vec<EndRecord>, LabError> {
    let mut records = Vec::new();
    for _ in 0..plan.connections_per_client {
        let record = once()?;
        if plan.recorded {
            records.push(record);
        }
    }
    Ok(records)
}

fn serve(
    listener: &Socket,
    options: &SocketOptions,
    plan: &Exchange,
    around: Surroundings,
) -> Result<EndRecord, LabError> {
    let mut end = End::accept(listener, options, around)?;
    let watching = plan.recorded.then(|| around.sampler.watch(&end.socket));
    for _ in 0..plan.rounds_per_connection {
        end.read(plan.request_bytes, around)?;
        if plan.server_ns > 0 {
            std::thread::sleep(Duration::from_nanos(plan.server_ns));
        }
        end.record.messages_ns.push(clock::realtime_ns());
        end.write(plan.response_bytes, None, around)?;
    }
    // The client closes first, once it has everything.
    end.read_as(&super::Reader::Greedy, around)?;
    end.inquire()?;
    drop(watching);
    end.record.reader = TaskRecord::of_this_thread();
    Ok(end.record)
}

fn ask(
    address: SocketAddr,
    options: &SocketOptions,
    plan: &Exchange,
    around: Surroundings,
) -> Result<EndRecord, LabError> {
    let mut end = End::connect(end::socket(address, options)?, address, around)?;
    let watching = plan.recorded.then(|| around.sampler.watch(&end.socket));
    for round in 0..plan.rounds_per_connection {
        if round > 0 {
            std::thread::sleep(Duration::from_nanos(plan.think_ns));
        }
        end.record.messages_ns.push(clock::realtime_ns());
        end.write(plan.request_bytes, None, around)?;
        end.read(plan.response_bytes, around)?;
    }
    end.record.read_ended_ns = Some(clock::realtime_ns());
    end.inquire()?;
    drop(watching);
    end.socket.shutdown(Shutdown::Write).map_err(LabError::system("end the stream"))?;
    // Wait for the server's end of file, so that the last acknowledgement is on its way too.
    end.read_to_the_end(around)?;
    end.record.reader = TaskRecord::of_this_thread();
    Ok(end.record)
}
