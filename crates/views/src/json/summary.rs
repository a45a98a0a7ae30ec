//! What `slowpath diagnose --summary --json` prints.

use super::Recording;
use super::finding::cause_names_or_null;
use crate::services::{By, Listed, Name, Totals};
use crate::summary;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use slowpath_analyses::Limit;
use slowpath_model::{Rate, nanos};

/// Flows of recordings, or of this host, summed up by service.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/summary/1")]
pub struct Summary<'a> {
    /// `slowpath/summary/1`.
    schema: &'static str,
    /// What was read, one per file; empty with `--live`.
    recordings: Vec<Recording>,
    /// How long this host's connections were watched; `null` for recordings.
    watched_ns: Option<u64>,
    /// What the flows of a service have in common.
    #[schemars(extend("enum" = By::ALL.map(By::name)))]
    by: &'static str,
    /// The expression that selected flows; `null` without one.
    filter: Option<String>,
    /// All flows, those that were not selected included.
    flows: u64,
    /// Flows that were not selected. With `--live`, they are not counted.
    flows_left_out: u64,
    /// Flows that were seen, but not kept, to save memory.
    flows_not_kept: u64,
    /// The services, those that lost most time first.
    #[serde(serialize_with = "services")]
    #[schemars(with = "Vec<Service>")]
    services: Services<'a>,
    /// Flows of services of which there were too many; `null` if there were none.
    beyond: Option<ServiceTotals>,
}

/// Services that are serialised one by one, since there can be a hundred thousand.
struct Services<'a> {
    listed: Listed,
    files: Vec<&'a str>,
}

/// Flows that have something in common.
#[derive(Serialize, JsonSchema)]
struct Service {
    /// Its name as in the table.
    name: String,
    /// The address that its flows have in common: by service and server, the server's; by client, the client's; by peer,
    /// the one away from the capture. `null` otherwise.
    address: Option<String>,
    /// The server's port, by service and port; `null` otherwise.
    port: Option<u16>,
    /// The addresses of client and server, by hosts; `null` otherwise.
    hosts: Option<[String; 2]>,
    /// The process on this host, by process; `null` otherwise, or if it is unknown.
    process: Option<String>,
    /// The file, by its place in `recordings` from 0, by file; `null` otherwise.
    recording: Option<usize>,
    /// Its flows.
    #[serde(flatten)]
    totals: ServiceTotals,
}

/// Flows, summed up.
#[derive(Serialize, JsonSchema)]
struct ServiceTotals {
    /// The number of flows.
    flows: u64,
    /// Unique payload of the direction of each flow that carried more.
    bytes: u64,
    /// The first packet of the first flow, in nanoseconds after the first frame of the first recording. Where two recordings
    /// have no wall-clock times, each begins at 0.
    first_ns: i64,
    /// The last packet of the last flow.
    last_ns: i64,
    /// Bytes over that time, in bits a second; `null` without data or time.
    rate_bits_per_second: Option<u64>,
    /// The time that could be recovered, of all flows together: not limited by the application, the path's capacity or the
    /// unknown.
    lost_ns: u64,
    /// What limited the flows, the longest first. The shares add up to 1. Empty if no flow carried data.
    limits: Vec<LimitTime>,
    /// The flow that lost most time; of those that lost as much, the one with the most data.
    worst: WorstFlow,
}

/// The time under one limit.
#[derive(Serialize, JsonSchema)]
struct LimitTime {
    /// The limit.
    #[schemars(extend("enum" = Limit::ALL.map(Limit::slug)))]
    limit: &'static str,
    /// Its time, of all flows together.
    lasted_ns: u64,
    /// Its share of the time under all limits, 0 to 1.
    share: f64,
}

/// The flow of a service that lost most.
#[derive(Serialize, JsonSchema)]
struct WorstFlow {
    /// The recording that it is of, by its place in `recordings` from 0.
    recording: usize,
    /// Its number in there: what `--flow` takes.
    flow: u32,
    /// The time that it lost.
    lost_ns: u64,
    /// Its data.
    bytes: u64,
    /// What limited it for the most part; `null` if it carried no data.
    #[schemars(extend("enum" = cause_names_or_null()))]
    main_cause: Option<String>,
}

impl<'a> Summary<'a> {
    /// The document of a summary.
    pub fn of(summary: &'a summary::Summary) -> Self {
        let listed = summary.listed();
        Self {
            schema: "slowpath/summary/1",
            recordings: summary.recordings.iter().map(Recording::of).collect(),
            watched_ns: summary.watched.map(nanos),
            by: listed.by.name(),
            filter: summary.selection.filter.as_ref().map(ToString::to_string),
            flows: summary.flows,
            flows_left_out: summary.left_out,
            flows_not_kept: summary.not_kept,
            beyond: listed.beyond.as_ref().map(ServiceTotals::of),
            services: Services { listed, files: summary.files() },
        }
    }
}

fn services<S: Serializer>(services: &Services<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let all = services.listed.services.iter();
    serializer.collect_seq(all.map(|(name, totals)| Service::of(name, totals, &services.files)))
}

impl Service {
    fn of(name: &Name, totals: &Totals, files: &[&str]) -> Self {
        let mut service = Self {
            name: name.text(files),
            address: None,
            port: None,
            hosts: None,
            process: None,
            recording: None,
            totals: ServiceTotals::of(totals),
        };
        match name {
            Name::Endpoint(end) => {
                (service.address, service.port) = (Some(end.address.to_string()), Some(end.port))
            }
            Name::Port(port) => service.port = Some(*port),
            Name::Host(address) => service.address = Some(address.to_string()),
            Name::Hosts(client, server) => service.hosts = Some([client.to_string(), server.to_string()]),
            Name::Process(process) => service.process = process.as_deref().map(str::to_owned),
            // There is no document of the host that `watch` shows.
            Name::Group(_) => {}
            Name::File(place) => service.recording = Some(*place),
        }
        service
    }
}

impl ServiceTotals {
    fn of(totals: &Totals) -> Self {
        let limits = totals.limits().into_iter().map(|(limit, lasted, share)| LimitTime {
            limit: limit.slug(),
            lasted_ns: nanos(lasted),
            share,
        });
        let worst = totals.worst;
        Self {
            flows: totals.flows,
            bytes: totals.bytes.get(),
            first_ns: totals.first.nanos(),
            last_ns: totals.last.nanos(),
            rate_bits_per_second: totals.rate().map(Rate::get),
            lost_ns: nanos(totals.lost),
            limits: limits.collect(),
            worst: WorstFlow {
                recording: worst.file,
                flow: worst.flow.0,
                lost_ns: nanos(worst.lost),
                bytes: worst.bytes.get(),
                main_cause: worst.cause.map(|cause| cause.to_string()),
            },
        }
    }
}
