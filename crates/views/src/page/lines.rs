//! All flows of a recording in columns, a row each, for the page's list.

use super::names::place;
use crate::flow_line::Line;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::{End, nanos};
use std::collections::HashMap;
use std::net::IpAddr;

/// All flows, those that lost most time first. A row is a flow; the client is the end that opened the connection.
#[derive(Serialize, JsonSchema)]
pub struct FlowLines {
    /// Addresses; other columns name one by its place here.
    pub hosts: Vec<String>,
    /// The flow's number.
    pub flow: Vec<u32>,
    /// The client's address.
    pub client: Vec<usize>,
    /// The client's port.
    pub client_port: Vec<u16>,
    /// The server's address.
    pub server: Vec<usize>,
    /// The server's port.
    pub server_port: Vec<u16>,
    /// Whether the client sent more than the server: 1, otherwise 0; `null` if no client did.
    pub upload: Option<Vec<u8>>,
    /// Payload without retransmissions, in bytes.
    pub bytes: Vec<u64>,
    /// When it began, in microseconds since the recording's first frame.
    pub first_us: Vec<i64>,
    /// How long it lasted, in microseconds.
    pub lasted_us: Vec<u64>,
    /// The time that could be recovered, in microseconds.
    pub lost_us: Vec<u64>,
    /// Segments retransmitted; `null` if there are none.
    pub retransmitted: Option<Vec<u64>>,
    /// What limited it, as a place in `causes`; -1 if it carried no data.
    pub cause: Vec<i64>,
    /// That cause's part of its time, in percent.
    pub share: Vec<u8>,
}

impl FlowLines {
    pub(crate) fn of(lines: &[Line]) -> Self {
        let mut lines: Vec<&Line> = lines.iter().collect();
        lines.sort_by_key(|line| line.rank());
        let mut hosts = Hosts::default();
        let ends: Vec<_> = lines
            .iter()
            .map(|line| (hosts.place(line.key.a.address), hosts.place(line.key.b.address)))
            .collect();
        let upload: Vec<_> = lines.iter().map(|line| u8::from(line.sender == End::A)).collect();
        let retransmitted: Vec<_> = lines.iter().map(|line| line.retransmitted).collect();
        Self {
            hosts: hosts.names,
            flow: lines.iter().map(|line| line.id.0).collect(),
            client: ends.iter().map(|(client, _)| *client).collect(),
            client_port: lines.iter().map(|line| line.key.a.port).collect(),
            server: ends.iter().map(|(_, server)| *server).collect(),
            server_port: lines.iter().map(|line| line.key.b.port).collect(),
            upload: upload.contains(&1).then_some(upload),
            bytes: lines.iter().map(|line| line.bytes.get()).collect(),
            first_us: lines.iter().map(|line| line.first.nanos() / 1000).collect(),
            lasted_us: lines.iter().map(|line| nanos(line.lasted) / 1000).collect(),
            lost_us: lines.iter().map(|line| nanos(line.lost) / 1000).collect(),
            retransmitted: retransmitted.iter().any(|number| *number > 0).then_some(retransmitted),
            cause: lines.iter().map(|line| line.main.map_or(-1, |(cause, _)| place(cause))).collect(),
            share: lines
                .iter()
                .map(|line| line.main.map_or(0, |(_, share)| (share * 100.0).round() as u8))
                .collect(),
        }
    }
}

/// Addresses in the order in which they were met.
#[derive(Default)]
struct Hosts {
    names: Vec<String>,
    places: HashMap<IpAddr, usize>,
}

impl Hosts {
    fn place(&mut self, address: IpAddr) -> usize {
        *self.places.entry(address).or_insert_with(|| {
            self.names.push(address.to_string());
            self.names.len() - 1
        })
    }
}
