//! `[flows.sender]` and `[flows.receiver]`.

use crate::file::Place;
use crate::flow::{Pause, Process, SocketOptions};
use crate::host::Host;
use crate::read::{cpu, priority};
use crate::schema::quantity::Control;
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

static CPU: Key<u32> = Key::new("cpu", "The CPU it is bound to.").absent("any");
static CALL_SIZE: Key<Bytes> = Key::new("call-size", "Size of one write or read call.")
    .range("1 B", "1 GiB")
    .default("128 KiB", "iperf3 --length");
static RATE: Key<Rate> = Key::new(
    "rate",
    "Rate at which it produces or consumes data. It sleeps between its calls to keep that rate.",
)
.range("1 bit/s", "1 Tbit/s")
.absent("no limit");
static PAUSES: Sub = Sub::tables("pauses", "Pauses in which it neither writes nor reads.");
static OPTIONS: Sub = Sub::table("socket", "Its socket options.");

/// One of a flow's two processes.
pub static PROCESS: Section = Section {
    heading: "[flows.sender], [flows.receiver]",
    meaning: "The processes that send and receive a flow's data. Each stream has its own two.",
    keys: &[&priority::NICE, &priority::CLASS, &CPU, &CALL_SIZE, &RATE, &PAUSES, &OPTIONS],
    also: None,
};

static AT: Key<Duration> =
    Key::new("at", "Start time, from the opening of the connection.").range("0 s", "24 h");
static LASTS: Key<Duration> =
    Key::new("lasts", "Duration.").range("1 us", "24 h").absent("until the run ends");

/// A pause of a process.
pub static PAUSE: Section = Section {
    heading: "[[flows.sender.pauses]], [[flows.receiver.pauses]]",
    meaning: "A pause in which a process neither writes nor reads. The call in progress is finished first.",
    keys: &[&AT, &LASTS],
    also: None,
};

static SO_SNDBUF: Key<Bytes> =
    Key::new("SO_SNDBUF", "As passed to setsockopt; the kernel doubles it. Disables send buffer autotuning.")
        .range("1 B", "1073741823 B")
        .absent("tcp_wmem and autotuning");
static SO_RCVBUF: Key<Bytes> = Key::new(
    "SO_RCVBUF",
    "As passed to setsockopt; the kernel doubles it. Disables receive buffer autotuning.",
)
.range("1 B", "1073741823 B")
.absent("tcp_rmem and autotuning");
static TCP_NODELAY: Key<bool> =
    Key::new("TCP_NODELAY", "Whether Nagle's algorithm is disabled.").default("false", "tcp(7)");
static TCP_CORK: Key<bool> =
    Key::new("TCP_CORK", "Whether only full segments are sent.").default("false", "tcp(7)");
static TCP_QUICKACK: Key<bool> =
    Key::new("TCP_QUICKACK", "Whether ACKs are sent immediately.").absent("the kernel decides");
static TCP_CONGESTION: Key<Control> =
    Key::new("TCP_CONGESTION", "Congestion control.").absent("the kernel's");
static TCP_MAXSEG: Key<Bytes> =
    Key::new("TCP_MAXSEG", "Largest segment (MSS).").range("88 B", "32767 B").absent("from the path's MTU");
static TCP_WINDOW_CLAMP: Key<Bytes> = Key::new("TCP_WINDOW_CLAMP", "Largest window to advertise.")
    .range("1 B", "1073741823 B")
    .absent("no limit");
static TCP_NOTSENT_LOWAT: Key<Bytes> =
    Key::new("TCP_NOTSENT_LOWAT", "Amount of unsent data from which the socket is not writable.")
        .range("1 B", "1073741823 B")
        .absent("no limit");
static SO_MAX_PACING_RATE: Key<Rate> =
    Key::new("SO_MAX_PACING_RATE", "Largest pacing rate.").range("1 kbit/s", "1 Tbit/s").absent("no limit");
static SO_BUSY_POLL: Key<Duration> = Key::new(
    "SO_BUSY_POLL",
    "How long a reader of an empty socket polls the NIC before it sleeps, in whole microseconds.",
)
.range("0 us", "2147 s")
.absent("net.core.busy_read");

/// A socket's options.
pub static SOCKET: Section = Section {
    heading: "[flows.sender.socket], [flows.receiver.socket]",
    meaning: "Options that a process sets on its socket before it connects or listens, with the names of socket(7) and \
              tcp(7).",
    keys: &[
        &SO_SNDBUF,
        &SO_RCVBUF,
        &TCP_NODELAY,
        &TCP_CORK,
        &TCP_QUICKACK,
        &TCP_CONGESTION,
        &TCP_MAXSEG,
        &TCP_WINDOW_CLAMP,
        &TCP_NOTSENT_LOWAT,
        &SO_MAX_PACING_RATE,
        &SO_BUSY_POLL,
    ],
    also: None,
};

/// Reads one process; `host` is where it runs, if known.
pub fn read(flow: &Reader<'_>, key: &'static Sub, host: Option<&Host>) -> Process {
    let start = Place::in_file(0..0);
    let (table, place) = flow.table(key).map_or((None, &start), |(table, place)| (Some(table), place));
    let prefix = flow.prefix_of(key);
    let reader = Reader::new(flow.context(), &PROCESS, table, place, &prefix);
    let cpu = reader.optional(&CPU);
    if let Some(host) = host {
        cpu::check(&reader, &CPU, cpu, host.cpus);
    }
    Process {
        priority: priority::read(&reader, host.map(|host| &host.kernel)),
        cpu,
        socket: read_socket(&reader, host),
        call_size: reader.get(&CALL_SIZE),
        rate: reader.optional(&RATE),
        pauses: read_pauses(&reader),
    }
}

/// More pauses than this should be a rate.
const MOST_PAUSES: usize = 10_000;

fn read_pauses(process: &Reader<'_>) -> Vec<Pause> {
    let prefix = process.prefix_of(&PAUSES);
    let mut pauses = Vec::new();
    for (number, (table, place)) in process.tables_up_to(&PAUSES, MOST_PAUSES).into_iter().enumerate() {
        let prefix = format!("{prefix}{number}.");
        let reader = Reader::new(process.context(), &PAUSE, Some(table), place, &prefix);
        let (at, lasts) = (reader.required(&AT), reader.optional(&LASTS));
        pauses.extend(at.map(|at| Pause { at, lasts }));
    }
    pauses.sort_by_key(|pause| pause.at);
    let overlap =
        |pair: &[Pause]| pair[0].lasts.is_none_or(|lasts| pair[0].at.saturating_add(lasts) > pair[1].at);
    if pauses.windows(2).any(overlap) {
        process.refuse(&PAUSES, "two of these pauses overlap", "make one of them");
    }
    pauses
}

fn read_socket(process: &Reader<'_>, host: Option<&Host>) -> SocketOptions {
    let start = Place::in_file(0..0);
    let (table, place) =
        process.table(&OPTIONS).map_or((None, &start), |(table, place)| (Some(table), place));
    let prefix = process.prefix_of(&OPTIONS);
    let reader = Reader::new(process.context(), &SOCKET, table, place, &prefix);
    let max_segment = reader.optional(&TCP_MAXSEG);
    // IPv4 and TCP headers take at least 40 bytes.
    if let (Some(segment), Some(host)) = (max_segment, host)
        && segment.get() + 40 > host.nic.mtu.get()
    {
        let message =
            format!("a segment of {} B fits in no packet of {} B", segment.get(), host.nic.mtu.get());
        reader.refuse(
            &TCP_MAXSEG,
            message,
            format!("write at most \"{} B\", or raise the mtu", host.nic.mtu.get() - 40),
        );
    }
    SocketOptions {
        send_buffer: reader.optional(&SO_SNDBUF),
        receive_buffer: reader.optional(&SO_RCVBUF),
        no_delay: reader.get(&TCP_NODELAY),
        cork: reader.get(&TCP_CORK),
        quick_ack: reader.optional(&TCP_QUICKACK),
        congestion_control: reader.optional(&TCP_CONGESTION).map(|control| control.0),
        max_segment,
        window_clamp: reader.optional(&TCP_WINDOW_CLAMP),
        not_sent_low_water: reader.optional(&TCP_NOTSENT_LOWAT),
        max_pacing_rate: reader.optional(&SO_MAX_PACING_RATE),
        busy_poll: read_busy_poll(&reader, host),
    }
}

fn read_busy_poll(socket: &Reader<'_>, host: Option<&Host>) -> Option<Duration> {
    let asked = socket.optional(&SO_BUSY_POLL)?;
    if asked.subsec_nanos() % 1000 != 0 {
        socket.refuse(&SO_BUSY_POLL, "the kernel counts whole microseconds here", "write \"50 us\"");
    }
    if let Some(host) = host.filter(|host| !host.kernel.receive.busy_poll) {
        let message = format!("{} has no SO_BUSY_POLL, which came with 3.11", host.kernel.name);
        socket.refuse(&SO_BUSY_POLL, message, "leave it out, or write another kernel");
    }
    Some(asked)
}
