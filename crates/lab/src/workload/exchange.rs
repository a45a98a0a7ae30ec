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

const FIRST_PORT: u16 = 8080;

/// Runs the exchange to its end; returns the records of server (the sender) and client, paired, if wanted.
///
/// Each client has its own server, on its own port, which knows which response is next.
///
/// # Errors
/// The first failure of any end.
pub fn run(
    namespaces: &Namespaces,
    hosts: &Hosts,
    plan: &Exchange,
    around: Surroundings,
) -> Result<Vec<(EndRecord, EndRecord)>, LabError> {
    let address = |client: u32| SocketAddr::new(hosts.sender, FIRST_PORT + client as u16);
    let listen = |client| end::listener(address(client), &hosts.sender_options);
    let listeners: Result<Vec<_>, _> =
        namespaces.inside(Place::Sender, || (0..plan.clients).map(listen).collect());
    let start_ns = clock::monotonic_ns().saturating_add(plan.after_ns);
    let records = std::thread::scope(|scope| {
        let mut servers = Vec::new();
        let mut clients = Vec::new();
        for (client, listener) in (0..plan.clients).zip(listeners?) {
            servers.push(scope.spawn(move || {
                become_application(plan.server.as_ref())?;
                repeat(plan, |responses| serve(&listener, &hosts.sender_options, plan, responses, around))
            }));
            clients.push(scope.spawn(move || {
                become_application(plan.client.as_ref())?;
                namespaces.enter(Place::Receiver)?;
                let begins_ns = start_ns.saturating_add(plan.stagger_ns.saturating_mul(client.into()));
                clock::sleep_until_monotonic(around.until(begins_ns));
                repeat(plan, |responses| {
                    ask(address(client), &hosts.receiver_options, plan, responses, around)
                })
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

/// One end of all connections of a client, one after the other, until it is time to stop; `once` gets the number of
/// responses before, and increments it.
fn repeat(
    plan: &Exchange,
    mut once: impl FnMut(&mut u64) -> Result<Option<EndRecord>, LabError>,
) -> Result<Vec<EndRecord>, LabError> {
    let mut records = Vec::new();
    let mut responses = 0;
    for _ in 0..plan.connections_per_client {
        let Some(record) = once(&mut responses)? else { break };
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
    responses: &mut u64,
    around: Surroundings,
) -> Result<Option<EndRecord>, LabError> {
    let Some(mut end) = End::accept(listener, options, around)? else { return Ok(None) };
    let watching = plan.recorded.then(|| around.sampler.watch(&end.socket));
    for _ in 0..plan.rounds_per_connection {
        if !end.read(plan.request_bytes, around)? {
            break;
        }
        if plan.server_ns > 0 {
            clock::sleep_until_monotonic(around.until(clock::monotonic_ns().saturating_add(plan.server_ns)));
        }
        end.record.messages_ns.push(clock::realtime_ns());
        end.write(plan.response(*responses), None, around)?;
        *responses += 1;
    }
    // The client closes first, once it has received everything.
    end.read_as(&super::Reader::Greedy, around)?;
    end.inquire()?;
    drop(watching);
    end.record.reader = TaskRecord::of_this_thread();
    Ok(Some(end.record))
}

fn ask(
    address: SocketAddr,
    options: &SocketOptions,
    plan: &Exchange,
    responses: &mut u64,
    around: Surroundings,
) -> Result<Option<EndRecord>, LabError> {
    let think =
        || clock::sleep_until_monotonic(around.until(clock::monotonic_ns().saturating_add(plan.think_ns)));
    if *responses > 0 {
        think();
    }
    if around.is_cut() {
        return Ok(None);
    }
    let Some(mut end) = End::connect(end::socket(address, options)?, address, around)? else {
        return Ok(None);
    };
    let watching = plan.recorded.then(|| around.sampler.watch(&end.socket));
    let mut whole = true;
    for round in 0..plan.rounds_per_connection {
        if round > 0 {
            think();
        }
        end.record.messages_ns.push(clock::realtime_ns());
        end.write(plan.request_bytes, None, around)?;
        whole = end.read(plan.response(*responses), around)?;
        if !whole {
            break;
        }
        *responses += 1;
    }
    end.record.read_ended_ns = Some(clock::realtime_ns());
    end.inquire()?;
    drop(watching);
    if whole {
        end.socket.shutdown(Shutdown::Write).map_err(LabError::system("end the stream"))?;
        if !plan.hastens {
            // Wait for the server's end of file, so that the last acknowledgment is in flight too.
            end.read_to_the_end(around)?;
        }
    }
    end.record.reader = TaskRecord::of_this_thread();
    Ok(Some(end.record))
}
