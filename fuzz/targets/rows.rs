//! Rows of a recording, whatever is in their cells: they are read to the first that makes no sense, only flows that are open are reported,
//! and the summary counts what was passed on.
//!
//! The input is a list of rows: which table, and the cells in the order of its columns. They are written as sound Parquet, so
//! that what is fuzzed is the reading of rows and not of pages, which is that of `recording`.

use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use slowpath_recording::Recording;
use slowpath_recording::schema::{Holds, TABLES, TableSpec, VERSION};
use slowpath_recording::table::{Row, Rows, key_value, parquet_type, properties};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Text that cells have, and some that none has.
const NAMES: &[&str] = &[
    "a",
    "b",
    "opened",
    "closed",
    "192.0.2.1",
    "2001:db8::1",
    "replaced",
    "gone",
    "evicted",
    "end-of-recording",
    "write",
    "read",
    "missed",
    "open",
    "disorder",
    "cwr",
    "recovery",
    "loss",
    "ring",
    "cpu-backlog",
    "socket-backlog",
    "qdisc",
    "prequeue",
    "holder-off-cpu",
    "receive-queue",
    "run-queue",
    "idle",
    "drained",
    "send-buffer",
    "receive-window",
    "slow-start",
    "congestion-window",
    "local",
    "ca-open",
    "ca-disorder",
    "ca-cwr",
    "ca-recovery",
    "ca-loss",
    "timeout",
    "undo",
    "spurious-timeout",
    "zero-window",
    "window-opened",
    "rcvbuf",
    "sndbuf",
    "throttled",
    "",
    "\u{9b}",
];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("slowpath-fuzz-rows-{}", std::process::id()));
    fs::create_dir_all(folder.join("000001")).expect("a folder to write to");
    folder
});

/// The number behind that of the last event, as files say: more than there are, so that tables without rows need not be written again.
const NEXT: &str = "1000";

thread_local! {
    /// Which tables have rows on the disk, or are not there yet.
    static WRITTEN: RefCell<[bool; 7]> = const { RefCell::new([true; 7]) };
}

static PROPERTIES: LazyLock<Vec<WriterPropertiesPtr>> =
    LazyLock::new(|| TABLES.iter().map(|table| properties(table).expect("ours")).collect());

/// Bytes that cells are made of; zeros when they are used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Small numbers by one byte, any by nine.
    fn number(&mut self) -> i64 {
        match self.next() {
            byte @ 0..=0xef => byte.into(),
            _ => i64::from_le_bytes(std::array::from_fn(|_| self.next())),
        }
    }

    fn name(&mut self) -> &'static str {
        NAMES[usize::from(self.next()) % NAMES.len()]
    }
}

/// A row's cells but for its number.
fn fill(row: &mut Row<'_>, table: &TableSpec, number: i64, bytes: &mut Bytes<'_>) {
    for (place, column) in table.columns.iter().enumerate() {
        let is_there = !column.optional || bytes.next().is_multiple_of(2);
        match column.holds {
            _ if place == 0 => row.signed(number),
            Holds::Text if column.optional => row.maybe_name(is_there.then(|| bytes.name())),
            Holds::Text => row.name(bytes.name()),
            Holds::List => {
                let count = bytes.next() % 10;
                row.list((0..count).map(|_| bytes.number()))
            }
            Holds::Signed | Holds::Unsigned if column.optional => {
                row.maybe_signed(is_there.then(|| bytes.number()))
            }
            Holds::Signed | Holds::Unsigned => row.signed(bytes.number()),
        };
    }
}

fn write(folder: &Path, place: usize, rows: &mut Rows) -> parquet::errors::Result<()> {
    let table = &TABLES[place];
    let file = BufWriter::new(File::create(folder.join(format!("{}.parquet", table.name)))?);
    let mut writer = SerializedFileWriter::new(file, parquet_type(table)?, PROPERTIES[place].clone())?;
    if !rows.is_empty() {
        rows.write(&mut writer)?;
    }
    let about = [("schema", VERSION), ("table", table.name), ("first_nr", "0"), ("next_nr", NEXT)];
    for (key, value) in
        about.into_iter().chain([("end", "complete"), ("source", "x"), ("title", "x"), ("host", "x")])
    {
        writer.append_key_value_metadata(key_value(&format!("slowpath.{key}"), value));
    }
    writer.close().map(drop)
}

#[derive(Default)]
struct Checked {
    live: HashSet<FlowId>,
    flows: u64,
    passed: u64,
}

impl Sink for Checked {
    fn open(&mut self, flow: FlowId, _: &FlowKey) {
        (self.flows, self.passed) = (self.flows + 1, self.passed + 1);
        assert!(self.live.insert(flow));
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        self.passed += 1;
        assert!(self.live.contains(&flow));
        // What was read has its line of notation.
        let _ = event.to_string();
    }
    fn close(&mut self, flow: FlowId, _: FlowEnd) {
        self.passed += 1;
        assert!(self.live.remove(&flow));
    }
}

pub fn try_input(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut all: Vec<Rows> = TABLES.iter().map(Rows::new).collect();
    let mut count = 0;
    while !bytes.0.is_empty() && count < 200 {
        let place = usize::from(bytes.next()) % TABLES.len();
        fill(&mut all[place].add(), &TABLES[place], count, &mut bytes);
        count += 1;
    }
    WRITTEN.with_borrow_mut(|written| {
        for (place, rows) in all.iter_mut().enumerate() {
            let has_rows = !rows.is_empty();
            if has_rows || written[place] {
                write(&FOLDER.join("000001"), place, rows).expect("a disk with room");
            }
            written[place] = has_rows;
        }
    });
    let mut sink = Checked::default();
    let recording = Recording::open(&FOLDER).expect("it was just written");
    let summary = recording.run(&mut sink, |_, _| ()).expect("it was just written");
    assert!(sink.live.is_empty(), "what is open at the end is closed");
    assert_eq!(summary.flows, sink.flows);
    // What is read last is the row before the first that makes no sense, or the last one.
    assert!(summary.events <= count.unsigned_abs() && summary.damage.is_some());
    assert!((summary.events..=summary.events + summary.flows).contains(&sink.passed));
}
