//! The tables of a recording and their columns.

use slowpath_model::SocketSample;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

/// The version of the schema that is written, and the only one that is read.
pub const VERSION: &str = "slowpath/recording/1";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Numbers of 64 bits with a sign.
    Signed,
    /// Numbers of 64 bits without a sign.
    Unsigned,
    /// Text.
    Text,
    /// Lists of numbers of 64 bits with a sign.
    List,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it holds.
    pub holds: Holds,
    /// Rows may be without.
    pub optional: bool,
    /// What it means, with its unit.
    pub meaning: Cow<'static, str>,
}

/// A table: a file in each segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Which table it is.
    pub table: Table,
    /// Its name: the file's, without `.parquet`.
    pub name: &'static str,
    /// What a row of it is.
    pub meaning: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<ColumnSpec>,
}

/// The place of each table in [`TABLES`].
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
    number("nr", "The event's number, from 0 and counted over all tables: the order of what happened");
const AT: ColumnSpec = signed("at_ns", "When, in nanoseconds since the recording's start");
const FLOW: ColumnSpec = number("flow", "The flow's number, as in the table `flows`");
const END: ColumnSpec =
    text("end", "On whose host: `a` of the end that opened the connection, `b` of the other");

/// The tables.
pub static TABLES: LazyLock<[TableSpec; 7]> =
    LazyLock::new(|| [flows(), packets(), calls(), waits(), holds(), marks(), samples()]);

fn flows() -> TableSpec {
    TableSpec {
        table: Table::Flows,
        name: "flows",
        meaning: "A flow that appears, or of which no more is said.",
        columns: vec![
            NR,
            number("flow", "The flow's number, from 1 in order of appearance"),
            text("event", "`opened` or `closed`"),
            maybe_text(
                "a_address",
                "The IP address of end A, which opened the connection; absent where it closes",
            ),
            maybe("a_port", "Its TCP port"),
            maybe_text("b_address", "The IP address of end B"),
            maybe("b_port", "Its TCP port"),
            maybe("occurrence", "How many connections between the same two were seen before"),
            maybe_text(
                "why",
                "Why no more is said: `end-of-recording`, `replaced` by another of the same ports, `gone` as its socket is, or `evicted` to save memory",
            ),
        ],
    }
}

fn packets() -> TableSpec {
    TableSpec {
        table: Table::Packets,
        name: "packets",
        meaning: "A TCP segment that passed the host's network card, or that the host dropped.",
        columns: vec![
            NR,
            AT,
            FLOW,
            text("end", "Which end sent it, `a` or `b`"),
            number("frame", "Its number in the recording, from 1; 0 if it was dropped without being seen"),
            number(
                "flags",
                "Control bits: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128, AE 256",
            ),
            signed(
                "seq",
                "Its first sequence number, counted from the SYN of its direction, without wrapping",
            ),
            number("len_bytes", "Its payload; more than the MSS for a super-packet"),
            column(
                "ack",
                Holds::Signed,
                true,
                "Up to where the other direction is acknowledged; absent without ACK",
            ),
            number("window", "The window field as on the wire: unscaled"),
            maybe("mss", "MSS option, in bytes"),
            maybe("window_scale", "Window scale option: the shift"),
            number("sack_permitted", "1 with the SACK-permitted option, else 0"),
            maybe("ts_val", "Timestamp option: the sender's clock, in its ticks"),
            maybe("ts_ecr", "Timestamp option: the echo"),
            column("sack", Holds::List, false, "SACK blocks: first byte and the one after the last, of each"),
            maybe("ip_id", "IPv4 identification"),
            number("ttl", "TTL or hop limit"),
            number("ecn", "ECN field: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
            maybe_text(
                "dropped",
                "Why the host dropped it: `ring`, `cpu-backlog`, `socket-backlog` or `qdisc` was full; absent if it did not",
            ),
        ],
    }
}

fn calls() -> TableSpec {
    TableSpec {
        table: Table::Calls,
        name: "calls",
        meaning: "A system call of the application that has returned.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text("call", "`write` or `read`"),
            number("amount_bytes", "What it moved; a read of 0 is the end of the stream"),
        ],
    }
}

fn waits() -> TableSpec {
    TableSpec {
        table: Table::Waits,
        name: "waits",
        meaning: "A wait on a host that is over.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text(
                "place",
                "Where: `ring` until the driver took the packet, `cpu-backlog` until the softirq did, `prequeue` until the reader \
                 did, `socket-backlog` until the socket was unlocked (`holder-off-cpu` if its holder had no CPU), `receive-queue` until the data was read, `run-queue` \
                 until the process had a CPU",
            ),
            number("lasted_ns", "How long, in nanoseconds"),
            number("amount_bytes", "The payload that waited; 0 for a packet without, and for a process"),
            number(
                "times",
                "How many packets waited so long, or times a process did; more than 1 where a source adds up",
            ),
        ],
    }
}

fn holds() -> TableSpec {
    TableSpec {
        table: Table::Holds,
        name: "holds",
        meaning: "What held a sender since the row before of the same end, as its own host's kernel sees it.",
        columns: vec![
            NR,
            AT,
            FLOW,
            END,
            text(
                "by",
                "`idle`: all was acknowledged and nothing written; `drained`: all that was written was on its way; `send-buffer`: \
                 the same, and the writer waited for room; `receive-window`; `slow-start`, `congestion-window`: the \
                 congestion window below ssthresh, or above; `recovery`; `loss`: after a timeout, its wait included; \
                 `local`: pacing, small queues, Nagle",
            ),
            number("lasted_ns", "How long, in nanoseconds"),
        ],
    }
}

fn marks() -> TableSpec {
    TableSpec {
        table: Table::Marks,
        name: "marks",
        meaning: "A turn that a socket took, or events that the source lost.",
        columns: vec![
            NR,
            AT,
            FLOW,
            maybe_text("end", "On whose host, `a` or `b`; absent with `missed`"),
            text(
                "mark",
                "`ca-open`, `ca-disorder`, `ca-cwr`, `ca-recovery`, `ca-loss`: the new state of the congestion machine; `timeout`; \
                 `undo`, `spurious-timeout`: a reduction was taken back; `zero-window`, `window-opened`: what this end advertises; \
                 `rcvbuf`, `sndbuf`: the new size of a buffer; `throttled`: the CPU's queue; `missed`",
            ),
            maybe("value", "The size in bytes, or how many events were missed"),
        ],
    }
}

fn samples() -> TableSpec {
    let ca_state = maybe_text(
        "ca_state",
        "State of the congestion machine: `open`, `disorder`, `cwr`, `recovery`, `loss`",
    );
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
        meaning: "The state of a socket, by interval. What the source could not see is absent.",
        columns: [NR, AT, FLOW, END, ca_state].into_iter().chain(fields).collect(),
    }
}

/// The tables as a page of the handbook.
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

<!-- Written by `cargo run -p slowpath-recording --example recording-reference`; a test compares. -->

`slowpath run --record DIR` writes, for each host of the scenario that is recorded, what a probe on that host would tell: \
every packet, call, wait and turn, and samples if the scenario asks for them (`record.samples`). `slowpath diagnose`, \
`show` and `flows` read it like a capture; of a folder with several hosts they read the one that sends.

```
DIR/sender/000001/packets.parquet     each host has a folder, in it one for each segment of a million events,
DIR/sender/000001/waits.parquet       in that a file for each table
DIR/sender/000002.part/               a segment that is being written, and cannot be read yet
```

A segment gets its name when it is complete. After Ctrl-C all of a recording can be read; after a crash all of it up to the \
last complete segment, and the reader says from when on it is missing.

Any program that knows Parquet can read it. With DuckDB:

```sql
select place, count(*), median(lasted_ns) / 1000 as median_us, max(lasted_ns) / 1000 as max_us
from 'DIR/receiver/*/waits.parquet' group by place;
```

With pandas: `pandas.concat(map(pandas.read_parquet, sorted(glob.glob('DIR/sender/*/packets.parquet'))))`.

Every event has a number, `nr`, over all tables: sorted by it, the rows of all tables are in the order in which things \
happened. The metadata of each file (`slowpath.*`) names the schema, the host, the scenario's title and seed, and in the last segment how the \
recording ended.
";
