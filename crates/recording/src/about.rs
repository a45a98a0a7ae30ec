//! A recording's description in the metadata of each file.

use crate::schema::VERSION;
use crate::table::key_value;
use parquet::file::metadata::{KeyValue, ParquetMetaData};

/// A recording's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The program that made it, such as `simulated`.
    pub source: String,
    /// Its title, in one line.
    pub title: String,
    /// The host it was made on.
    pub host: String,
    /// The seed of a simulation.
    pub seed: Option<u64>,
    /// The side of that host, if it is the same in all flows.
    pub side: Option<Side>,
    /// Whether this is the recording to read if there are others next to it.
    pub main: bool,
}

/// The side of a host in a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It sends the data.
    Sender,
    /// It receives the data.
    Receiver,
}

/// How a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything was recorded.
    Complete,
    /// The user stopped it.
    Interrupted,
}

const SCHEMA: &str = "slowpath.schema";
const TABLE: &str = "slowpath.table";
const FIRST: &str = "slowpath.first_nr";
const NEXT: &str = "slowpath.next_nr";
const END: &str = "slowpath.end";
const SOURCE: &str = "slowpath.source";
const TITLE: &str = "slowpath.title";
const HOST: &str = "slowpath.host";
const SEED: &str = "slowpath.seed";
const SIDE: &str = "slowpath.side";
const MAIN: &str = "slowpath.main";

const SIDES: [(Side, &str); 2] = [(Side::Sender, "sender"), (Side::Receiver, "receiver")];
const ENDINGS: [(Ending, &str); 2] = [(Ending::Complete, "complete"), (Ending::Interrupted, "interrupted")];

/// The part of a file's metadata that describes its segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub table: String,
    /// The number of its first event, and the one after its last.
    pub first: u64,
    pub next: u64,
    /// How the recording ended; only in its last segment.
    pub end: Option<Ending>,
}

/// Converts to a file's metadata.
pub(crate) fn to_metadata(about: &About, part: &Part) -> Vec<KeyValue> {
    let name_of = |side: Side| SIDES.iter().find(|(one, _)| *one == side).map(|(_, name)| (*name).to_owned());
    let end = part.end.and_then(|end| ENDINGS.iter().find(|(one, _)| *one == end));
    let optional = [
        (SEED, about.seed.map(|seed| seed.to_string())),
        (SIDE, about.side.and_then(name_of)),
        (MAIN, about.main.then(|| "yes".to_owned())),
        (END, end.map(|(_, name)| (*name).to_owned())),
    ];
    let always = [
        (SCHEMA, VERSION.to_owned()),
        (TABLE, part.table.clone()),
        (FIRST, part.first.to_string()),
        (NEXT, part.next.to_string()),
        (SOURCE, about.source.clone()),
        (TITLE, about.title.clone()),
        (HOST, about.host.clone()),
    ];
    let always = always.into_iter().map(|(key, value)| key_value(key, value));
    always.chain(optional.into_iter().filter_map(|(key, value)| Some(key_value(key, value?)))).collect()
}

/// Parses a file's metadata.
///
/// # Errors
///
/// What is missing or wrong.
pub(crate) fn from_metadata(metadata: &ParquetMetaData) -> Result<(About, Part), String> {
    let all = metadata.file_metadata().key_value_metadata();
    let get = |key: &str| {
        let found = all.into_iter().flatten().find(|one| one.key == key);
        found.and_then(|one| one.value.as_deref())
    };
    let must = |key: &str| get(key).ok_or_else(|| format!("its metadata has no {key}"));
    let schema = must(SCHEMA)?;
    if schema != VERSION {
        return Err(format!("is written as {schema:?}, and this program reads {VERSION:?}"));
    }
    let number = |key: &str| must(key)?.parse().map_err(|_| format!("its {key} is no number"));
    let part = Part {
        table: must(TABLE)?.to_owned(),
        first: number(FIRST)?,
        next: number(NEXT)?,
        end: get(END).and_then(|end| ENDINGS.iter().find(|(_, name)| *name == end)).map(|(end, _)| *end),
    };
    let about = About {
        source: must(SOURCE)?.to_owned(),
        title: must(TITLE)?.to_owned(),
        host: must(HOST)?.to_owned(),
        seed: get(SEED).and_then(|seed| seed.parse().ok()),
        side: get(SIDE).and_then(|side| SIDES.iter().find(|(_, name)| *name == side)).map(|(side, _)| *side),
        main: get(MAIN).is_some(),
    };
    Ok((about, part))
}
