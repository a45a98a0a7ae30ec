//! The tables of a recording and their columns.

use slowpath_model::SocketSample;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

/// The schema version that is written, and the only one that is read.
pub const VERSION: &str = "slowpath/recording/1";

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// 64-bit signed integers.
    Signed,
    /// 64-bit unsigned integers.
    Unsigned,
    /// Text.
    Text,
    /// Lists of 64-bit signed integers.
    List,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its type.
    pub holds: Holds,
    /// Whether rows may lack a value.
    pub optional: bool,
    /// What it means, with its unit.
    pub meaning: Cow<'static, str>,
}

/// A table: a file in each segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Which table it is.
    pub table: Table,
    /// Its name, and its file's without `.parquet`.
    pub name: &'static str,
    /// The meaning of a row.
    pub meaning: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnSpec>,
}

/// The index of each table in [`TABLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described in the table itself")]
pub enum Table {
    Flows,
    Packets,
    Calls,
    Waits,
    Holds,
    Marks,
    Samples,
}

const fn column(name: &'static str, holds: Holds, optional: bool, meaning: &'static str) -> ColumnSpec {
    ColumnSpec { name: Cow::Borrowed(name), holds, optional, meaning: Cow::Borrowed(meaning) }
}

const fn signed(name: &'static str, meaning: &'static str) -> ColumnSpec {
    column(name, Holds::Signed, false, meaning)
}

const fn number(name: &'static str, meaning: &'static str) -> ColumnSpec {
    column(name, Holds::Unsigned, false, meaning)
}

const fn maybe(name: &'static str, meaning: &'static str) -> ColumnSpec {
    column(name, Holds::Unsigned, true, meaning)
}

const fn text(name: &'static str, meaning: &'static str) -> ColumnSpec {
    column(name, Holds::Text, false, meaning)
}

const fn maybe_text(name: &'static str, meaning: &'static str) -> ColumnSpec {
    column(name, Holds::Text, true, meaning)
}

const NR: ColumnSpec =
    number("nr", "The event's number, from 0, counted over all tables: the order of events");
const AT: ColumnSpec = signed("at_ns", "Time, in nanoseconds since the start of the recording");
const FLOW: ColumnSpec = number("flow", "The flow's number, as in the table `flows`");
const END: ColumnSpec = text("end", "The host's end: `a` opened the connection, `b` is the other");

/// All tables.
pub static TABLES: LazyLock<[TableSpec; 7]> =
    LazyLock::new(|| [flows(), packets(), calls(), waits(), holds(), marks(), samples()]);

fn flows() -> TableSpec {
    TableSpec {
        table: Table::Flows,
        name: "flows",
        meaning: "A flow that begins or ends in the recording.",
        columns: vec![
            NR,
            number("flow", "The flow's number, from 1, in order of appearance"),
            text("event", "`opened` or `closed`"),
            maybe_text(
                "a_address",
                "The IP address of end A, which opened the connection; absent with `closed`",
            ),
            maybe("a_port", "Its TCP port"),
            maybe_text("b_address", "The IP address of end B"),
            maybe("b_port", "Its TCP port"),
            maybe("occurrence", "Number of earlier connections between the same addresses and ports"),
            maybe_text(
                "why",
                "Why it closed: `end-of-recording`, `replaced` by another connection of the same ports, `gone` with its \
                 socket, or `evicted` to save memory",
            ),
        ],
    }
}

fn packets() -> TableSpec {
    TableSpec {
        table: Table::Packets,
        name: "packets",
        meaning: "A TCP segment that passed the host's NIC, or that the host dropped.",
        columns: vec![
            NR,
            AT,
            FLOW,
            text("end", "Which end sent it, `a` or `b`"),
            number(
                "frame",
                "The frame's number in the recording, from 1; 0 if it was dropped before it was recorded",
            ),
            number(
                "flags",
                "Control bits: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256",
            ),
            signed(
                "seq",
                "Its first sequence number, relative to the SYN of its direction, without wrapping",
            ),
            number("len_bytes", "Its payload length; more than the MSS for a super-packet"),
            column(
                "ack",
                Holds::Signed,
                true,
                "The acknowledgment number, relative to the SYN of the other direction; absent without ACK",
            ),
            number("window", "The window field, unscaled"),
            maybe("mss", "MSS option, in bytes"),
            maybe("window_scale", "Window scale option: the shift"),
            number("sack_permitted", "1 with the SACK-permitted option, else 0"),
            maybe("ts_val", "Timestamp option: the sender's clock, in its ticks"),
            maybe("ts_ecr", "Timestamp option: the echo"),
            column(
                "sack",
                Holds::List,
                false,
                "SACK blocks: of each, the first byte and the byte after the last",
            ),
            maybe("ip_id", "IPv4 identification"),
            number("ttl", "TTL or hop limit"),
            number("ecn", "ECN field: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
            maybe_text(
                "dropped",
                "The full queue at which the host dropped it: `ring`, `cpu-backlog`, `socket-backlog` or `qdisc`; \
                 absent if not dropped",
            ),
        ],
    }
}

fn calls() -> TableSpec {
    TableSpec {
        table: Table::Calls,
        name: "calls",
        meaning: "A completed system call of the application.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text("call", "`write` or `read`"),
            number("amount_bytes", "Bytes written or read; a read of 0 is the end of the stream"),
        ],
    }
}

fn waits() -> TableSpec {
    TableSpec {
        table: Table::Waits,
        name: "waits",
        meaning: "A completed wait on a host.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text(
                "place",
                "Where: `ring`: until the driver took the packet; `cpu-backlog`: until the softirq did; `prequeue`: \
                 until the reader did; `socket-backlog`: until the socket was unlocked (`holder-off-cpu` if the lock \
                 holder was waiting for a CPU); `receive-queue`: until the data was read; `run-queue`: until the \
                 process got a CPU",
            ),
            number("lasted_ns", "Duration, in nanoseconds"),
            number(
                "amount_bytes",
                "The payload that waited; 0 for a packet without payload, and for a process",
            ),
            number(
                "times",
                "Number of packets, or of waits of a process, with this duration; more than 1 if the source aggregates",
            ),
        ],
    }
}

fn holds() -> TableSpec {
    TableSpec {
        table: Table::Holds,
        name: "holds",
        meaning: "What limited a sender since the previous row of the same end, according to its own kernel.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text(
                "by",
                "`idle`: all data was acknowledged and none written; `drained`: all written data was sent; \
                 `send-buffer`: all written data was sent, and the writer waited for room; `receive-window`; \
                 `slow-start`, `congestion-window`: the congestion window, below or above ssthresh; `recovery`; \
                 `loss`: a timeout, including its wait; `local`: pacing, TCP small queues, Nagle",
            ),
            number("lasted_ns", "Duration, in nanoseconds"),
        ],
    }
}

fn marks() -> TableSpec {
    TableSpec {
        table: Table::Marks,
        name: "marks",
        meaning: "A state change of a socket, or events that the source lost.",
        columns: vec![
            NR,
            AT,
            FLOW,
            maybe_text("end", "The host's end, `a` or `b`; absent with `missed`"),
            text(
                "mark",
                "`ca-open`, `ca-disorder`, `ca-cwr`, `ca-recovery`, `ca-loss`: the new congestion state; `timeout`; \
                 `undo`, `spurious-timeout`: a reduction was undone; `zero-window`, `window-opened`: what this end \
                 advertises; `rcvbuf`, `sndbuf`: the new size of a buffer; `throttled`: the CPU's backlog drops \
                 everything; `missed`: events were lost",
            ),
            maybe("value", "The size in bytes, or the number of missed events"),
        ],
    }
}

fn samples() -> TableSpec {
    let ca_state = maybe_text("ca_state", "Congestion state: `open`, `disorder`, `cwr`, `recovery`, `loss`");
    let units = |unit: &str| match unit {
        "µs" => "_us",
        "segments" => "_segments",
        _ => "_bytes",
    };
    let fields = SocketSample::FIELDS.iter().map(|(name, unit, meaning)| ColumnSpec {
        name: format!("{name}{}", units(unit)).into(),
        holds: Holds::Unsigned,
        optional: true,
        meaning: format!("{meaning}, in {unit}").into(),
    });
    TableSpec {
        table: Table::Samples,
        name: "samples",
        meaning: "The state of a socket, at intervals. Unknown values are absent.",
        columns: [NR, AT, FLOW, END, ca_state].into_iter().chain(fields).collect(),
    }
}

/// The handbook page that lists the tables.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    for table in TABLES.iter() {
        let _ = write!(
            page,
            "\n## `{}`\n\n{}\n\n| column | type | meaning |\n| --- | --- | --- |\n",
            table.name, table.meaning
        );
        for column in &table.columns {
            let kind = match column.holds {
                Holds::Signed => "int64",
                Holds::Unsigned => "uint64",
                Holds::Text => "string",
                Holds::List => "list of int64",
            };
            let optional = if column.optional { ", optional" } else { "" };
            let _ = writeln!(page, "| `{}` | {kind}{optional} | {}. |", column.name, column.meaning);
        }
    }
    page
}

const HEAD: &str = "\
# Recordings

<!-- Generated by `cargo run -p slowpath-recording --example recording-reference`; do not edit. -->

`slowpath run --record DIR` records, for each chosen host of the scenario, what a probe on that host would see: every \
packet, call, wait and mark, and samples if the scenario asks for them (`record.samples`). `slowpath diagnose`, `show` \
and `flows` read a recording like a capture. Given a folder with several hosts, they read the sending one.

```
DIR/sender/000001/packets.parquet     a folder per host, in it a folder per segment of a million events,
DIR/sender/000001/waits.parquet       in that a file per table
DIR/sender/000002.part/               a segment that is being written, and cannot be read yet
```

A segment gets its name when it is complete. After Ctrl-C the whole recording can be read. After a crash, everything up \
to the last complete segment can be read, and the reader reports from when on the recording is missing.

Any program that reads Parquet can read it. With DuckDB:

```sql
select place, count(*), median(lasted_ns) / 1000 as median_us, max(lasted_ns) / 1000 as max_us
from 'DIR/receiver/*/waits.parquet' group by place;
```

With pandas: `pandas.concat(map(pandas.read_parquet, sorted(glob.glob('DIR/sender/*/packets.parquet'))))`.

`nr` numbers the events over all tables. Sorted by it, the rows of all tables are in the order of events. The metadata of \
each file (`slowpath.*`) names the schema, the host, and the scenario's title and seed. In the last segment it also says \
how the recording ended.
";
