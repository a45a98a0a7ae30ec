//! Recordings and the results of sweeps, as Parquet.

use crate::{Bomb, at, bomb};
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use slowpath_model::{Bytes, End, Endpoint, Event, EventKind, FlowEnd, FlowId, FlowKey, Mark, Sink};
use slowpath_recording::{About, Ending, Writer};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const ARGS: &[&str] = &["diagnose", "@/r"];

pub const BOMBS: &[Bomb] = &[
    bomb(
        "Parquet: pages of text",
        ARGS,
        |to| table(to, "packets", &Filled { text: 16 << 10, rows: 40_000, ..Filled::NOTHING }),
        "slowpath writes no more than",
    ),
    bomb(
        "Parquet: a dictionary",
        ARGS,
        |to| table(to, "packets", &Filled { text: 400 << 20, rows: 2, dictionary: true, ..Filled::NOTHING }),
        "slowpath writes no more than",
    ),
    bomb(
        "Parquet: a list without end",
        ARGS,
        |to| table(to, "packets", &Filled { list: 80_000_000, rows: 1, ..Filled::NOTHING }),
        "slowpath writes no more than",
    ),
    bomb(
        "Parquet: row groups without end",
        ARGS,
        |to| table(to, "marks", &Filled { rows: 65_536, groups: 300, ..Filled::NOTHING }),
        "",
    ),
];

/// The contents of a table.
struct Filled {
    rows: usize,
    groups: usize,
    /// Bytes of each text.
    text: usize,
    dictionary: bool,
    /// Numbers in each list.
    list: usize,
}

impl Filled {
    const NOTHING: Self = Self { rows: 1, groups: 1, text: 4, dictionary: false, list: 0 };
}

/// A valid recording in which one table is replaced.
fn table(folder: &Path, name: &str, filled: &Filled) {
    let recording = at(folder, "r");
    let mut writer = Writer::create(&recording, About::default()).expect("a folder");
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    writer.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
    let packet = "0.000 > S 0:0(0) win 64240 // frame 1 id 4660 ttl 64".parse::<Event>().expect("a packet");
    writer.accept(FlowId(1), &packet);
    writer.accept(
        FlowId(1),
        &Event { kind: EventKind::Marked { end: End::A, mark: Mark::SendBuffer(Bytes::kib(16)) }, ..packet },
    );
    writer.close(FlowId(1), FlowEnd::EndOfRecording);
    writer.finish(Ending::Complete).expect("a disk with room");
    replace(&recording.join("000001").join(format!("{name}.parquet")), filled);
}

/// Writes another file with the same columns and metadata.
fn replace(path: &Path, filled: &Filled) {
    let sound = SerializedFileReader::new(File::open(path).expect("it was written")).expect("it is sound");
    let about = sound.metadata().file_metadata();
    let schema = about.schema_descr().root_schema_ptr();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("a level")))
        .set_dictionary_enabled(filled.dictionary)
        .set_encoding(Encoding::PLAIN)
        .set_dictionary_page_size_limit(2 << 30)
        .set_data_page_size_limit(2 << 30)
        .set_key_value_metadata(about.key_value_metadata().cloned())
        .build();
    let file = File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    for _ in 0..filled.groups {
        let mut group = writer.next_row_group().expect("a row group");
        while let Some(mut column) = group.next_column().expect("a column") {
            fill(&mut column, filled);
            column.close().expect("memory");
        }
        group.close().expect("memory");
    }
    writer.close().expect("memory");
}

fn fill(column: &mut parquet::file::writer::SerializedColumnWriter<'_>, filled: &Filled) {
    // A column's type is known by its writer.
    let about = match column.untyped() {
        parquet::column::writer::ColumnWriter::Int64ColumnWriter(writer) => writer.get_descriptor().clone(),
        parquet::column::writer::ColumnWriter::ByteArrayColumnWriter(writer) => {
            writer.get_descriptor().clone()
        }
        _ => panic!("a column of another type"),
    };
    let (there, goes_on) = (about.max_def_level(), about.max_rep_level());
    let count = if goes_on > 0 { filled.rows * filled.list.max(1) } else { filled.rows };
    let is_empty = goes_on > 0 && filled.list == 0;
    let there = (there > 0).then(|| vec![if is_empty { 0 } else { there }; count]);
    let goes_on = (goes_on > 0)
        .then(|| (0..count).map(|at| i16::from(at % filled.list.max(1) > 0)).collect::<Vec<_>>());
    let values = if is_empty { 0 } else { count };
    if about.physical_type() == Type::INT64 {
        let numbers = vec![0; values];
        column
            .typed::<Int64Type>()
            .write_batch(&numbers, there.as_deref(), goes_on.as_deref())
            .expect("memory");
    } else {
        let text = ByteArray::from(vec![b' '; filled.text]);
        let texts = vec![text; values];
        column
            .typed::<ByteArrayType>()
            .write_batch(&texts, there.as_deref(), goes_on.as_deref())
            .expect("memory");
    }
}
