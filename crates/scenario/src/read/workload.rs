//! The data that a flow transfers.

use crate::flow::{Bulk, Datagrams, Messages, RequestResponse, Workload};
use crate::schema::quantity::Connection;
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// Bulk data by amount.
pub static AMOUNT: Key<Bytes> = Key::new("amount", "Bulk data: the amount that each connection sends.")
    .range("1 B", "1048576 GiB")
    .absent("no limit");
/// Bulk data by time.
pub static LASTS: Key<Duration> = Key::new("lasts", "Bulk data: the time that each connection sends.")
    .range("1 us", "24 h")
    .absent("no limit");
/// Messages.
pub static MESSAGES_OF: Sub = Sub::table("messages", "Messages of one size over each connection.");
/// Requests and responses.
pub static REQUESTS_OF: Sub =
    Sub::table("requests", "The client sends a request, the server a response. The server is the sender.");

/// Datagrams.
pub static DATAGRAMS_OF: Sub = Sub::table("datagrams", "UDP at a fixed rate, without congestion control.");

static SIZE: Key<Bytes> = Key::new("size", "Length of a message.").range("1 B", "1024 GiB");
static COUNT: Key<u64> =
    Key::new("count", "Number per stream.").range("1", "1000000000").absent("until the run ends");
static INTERVAL: Key<Duration> = Key::new(
    "interval",
    "Time between the starts of two messages. A message that is written late delays the following ones.",
)
.range("0 s", "1 h")
.default("0 s", "the next as soon as the previous one is written");

/// Messages of one size.
pub static MESSAGES: Section = Section {
    heading: "[flows.messages]",
    meaning: "Messages of one size, from the client, over each connection.",
    keys: &[&SIZE, &COUNT, &INTERVAL],
    also: None,
};

static REQUEST: Key<Bytes> = Key::new("request", "Length of a request.")
    .range("1 B", "1024 GiB")
    .default("300 B", "an HTTP request with few headers");
static RESPONSE: Key<Vec<Bytes>> = Key::new(
    "response",
    "Length of the response, or a list of lengths that are used in turn, such as the sizes of files.",
);
static SERVER_TIME: Key<Duration> =
    Key::new("server-time", "Time that the server waits before its response.")
        .range("0 s", "1 h")
        .default("0 s", "the response is in memory");
static CLIENT_TIME: Key<Duration> =
    Key::new("client-time", "Time that the client waits before its next request.")
        .range("0 s", "1 h")
        .default("0 s", "the client is a program, not a person");
static CONNECTION: Key<Connection> =
    Key::new("connection", "Whether all requests use one connection (`kept`), or each has its own (`each`).")
        .default("kept", "RFC 9112, 9.3: persistent connections are the default");

/// Requests and responses.
pub static REQUESTS: Section = Section {
    heading: "[flows.requests]",
    meaning: "The client sends a request, the server a response, and only then the client sends its next request.",
    keys: &[&REQUEST, &RESPONSE, &COUNT, &SERVER_TIME, &CLIENT_TIME, &CONNECTION],
    also: None,
};

static PAYLOAD: Key<Bytes> = Key::new("size", "Payload of a datagram, in one packet.")
    .range("1 B", "65507 B")
    .default("1472 B", "a packet of 1500 bytes with the headers of IP and UDP");
static PACKET_RATE: Key<Rate> = Key::new(
    "rate",
    "Rate, in bits of IP packets per second. The sender checks the clock between two datagrams. A datagram that is sent \
     late delays the following ones.",
)
.range("1 kbit/s", "1 Tbit/s");
static SENDS_FOR: Key<Duration> =
    Key::new("lasts", "Duration of sending.").range("1 us", "24 h").absent("until the run ends");

/// Datagrams.
pub static DATAGRAMS: Section = Section {
    heading: "[flows.datagrams]",
    meaning: "UDP from the client to the server at a fixed rate, as load or to measure what a path and its hosts carry \
              (RUDE and CRUDE). UDP has the CPU costs of TCP's send and receive paths. Its packets are counted and \
              captured, but not diagnosed.",
    keys: &[&PAYLOAD, &PACKET_RATE, &SENDS_FOR],
    also: None,
};

/// More lengths than this should be in a file.
const MOST_RESPONSES: usize = 10_000;

/// Reads the data that a flow transfers.
pub fn read(flow: &Reader<'_>) -> Workload {
    flow.refuse_all_but_one(&[&AMOUNT, &LASTS, &MESSAGES_OF, &REQUESTS_OF, &DATAGRAMS_OF]);
    if let Some((table, place)) = flow.table(&DATAGRAMS_OF) {
        let prefix = flow.prefix_of(&DATAGRAMS_OF);
        let reader = Reader::new(flow.context(), &DATAGRAMS, Some(table), place, &prefix);
        return Workload::Datagrams(Datagrams {
            size: reader.get(&PAYLOAD),
            rate: reader.required(&PACKET_RATE).unwrap_or(Rate::bits_per_second(1)),
            lasts: reader.optional(&SENDS_FOR),
        });
    }
    if let Some((table, place)) = flow.table(&REQUESTS_OF) {
        let prefix = flow.prefix_of(&REQUESTS_OF);
        let reader = Reader::new(flow.context(), &REQUESTS, Some(table), place, &prefix);
        return Workload::RequestResponse(requests(&reader));
    }
    if let Some((table, place)) = flow.table(&MESSAGES_OF) {
        let prefix = flow.prefix_of(&MESSAGES_OF);
        let reader = Reader::new(flow.context(), &MESSAGES, Some(table), place, &prefix);
        return Workload::Messages(Messages {
            size: reader.required(&SIZE).unwrap_or_default(),
            count: reader.optional(&COUNT),
            interval: reader.get(&INTERVAL),
        });
    }
    Workload::Bulk(match (flow.optional(&AMOUNT), flow.optional(&LASTS)) {
        (Some(amount), _) => Bulk::Amount(amount),
        (None, Some(time)) => Bulk::Time(time),
        (None, None) => Bulk::Endless,
    })
}

fn requests(reader: &Reader<'_>) -> RequestResponse {
    let responses = reader.required(&RESPONSE).unwrap_or_default();
    let wrong = responses.is_empty() || responses.len() > MOST_RESPONSES || responses.contains(&Bytes::ZERO);
    if wrong && reader.has(&RESPONSE) {
        let hint = format!("write 1 to {MOST_RESPONSES} lengths of at least 1 B");
        reader.refuse(&RESPONSE, "these are no lengths of answers", hint);
    }
    RequestResponse {
        request: reader.get(&REQUEST),
        responses,
        count: reader.optional(&COUNT),
        server_time: reader.get(&SERVER_TIME),
        client_time: reader.get(&CLIENT_TIME),
        connection_each: reader.get(&CONNECTION) == Connection::Each,
    }
}
