//! The HTML page: its data, and the page itself.
//!
//! The data ([`Page`], schema `slowpath/page/1`) is embedded as JSON and is independent of the drawing; the drawing
//! (`web/` in the repository, built into `assets/`) is independent of the analyses. Times are nanoseconds since the
//! recording's first frame. Long series are columns of numbers; a column named `…_delta` has each value's difference to
//! the one before, starting from zero. A column that would have the same value throughout (an end equal to the start, a
//! count of one) is `null`.

mod build;
mod embed;
mod lines;
mod names;
mod picture;
mod queueing;

pub use build::{Pictures, page};
pub(crate) use embed::html;
pub use embed::{PageSize, STYLE, of_pictures, write};
pub use lines::FlowLines;
pub(crate) use names::{causes, limits, place};
pub use picture::PictureData;
pub use queueing::QueueingData;

use crate::json::Advice;
use schemars::JsonSchema;
use serde::Serialize;

/// The name of the schema of the page's data.
pub(crate) const SCHEMA: &str = "slowpath/page/1";

/// Everything the page shows.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/page/1")]
pub struct Page {
    /// `slowpath/page/1`.
    pub schema: &'static str,
    /// The version of slowpath that made it.
    pub version: &'static str,
    /// What it is about: the names of the recordings, without their folders.
    pub title: String,
    /// The command that reads it again; `null` if it came from a stream.
    pub command: Option<String>,
    /// What was read.
    pub recordings: Vec<RecordingText>,
    /// The limits, in the order of tables; colours are the drawing's.
    pub limits: Vec<LimitName>,
    /// The causes; other parts name a cause by its place here.
    pub causes: Vec<CauseName>,
    /// The labels of data; pictures name a label by its place here. The first is new data. Empty where no packets were
    /// seen.
    pub labels: Vec<&'static str>,
    /// How many flows the recording has.
    pub flow_count: u64,
    /// Flows shown in full, those that lost most time first.
    pub flows: Vec<FlowData>,
    /// All flows, a row each.
    pub lines: FlowLines,
    /// What was left out or merged, and why, in sentences.
    pub remarks: Vec<String>,
}

/// What was read from one file or stream.
#[derive(Serialize, JsonSchema)]
pub struct RecordingText {
    /// Its name.
    pub name: String,
    /// The time of its first frame, in UTC; `null` if that is not recorded.
    pub began: Option<String>,
    /// Format, duration, frames.
    pub facts: String,
    /// What is wrong with it.
    pub warnings: Vec<String>,
    /// What was skipped.
    pub notes: Vec<String>,
}

/// A limit's names.
#[derive(Serialize, JsonSchema)]
pub struct LimitName {
    /// `receive-window`
    pub slug: &'static str,
    /// `receive window`
    pub title: &'static str,
}

/// A cause's names.
#[derive(Serialize, JsonSchema)]
pub struct CauseName {
    /// `receive-window/slow-reader`
    pub name: String,
    /// Its limit's place in `limits`.
    pub limit: usize,
    /// For people.
    pub title: &'static str,
    /// Its page of the handbook, as Markdown; `null` if no flow that is shown has this cause.
    pub page: Option<&'static str>,
}

/// One flow.
#[derive(Serialize, JsonSchema)]
pub struct FlowData {
    /// Its number.
    pub flow: u32,
    /// Source and destination.
    pub ends: String,
    /// The data that it carried, and the time.
    pub moved: String,
    /// What limited it, in a sentence or two.
    pub verdict: String,
    /// What limited it, in a few words.
    pub verdict_in_short: String,
    /// How it ended, if that matters.
    pub ending: Option<String>,
    /// First packet.
    pub first_ns: i64,
    /// Last packet.
    pub last_ns: i64,
    /// The time that could be recovered.
    pub lost_ns: u64,
    /// What limited it over time.
    pub spells: Spells,
    /// The findings, the longest first.
    pub findings: Vec<FindingData>,
    /// Retransmitted data, in a sentence.
    pub repetition: Option<String>,
    /// Where it was recorded, and how that is known.
    pub vantage: String,
    /// The fate of its packets on the path, where two recordings were compared.
    pub on_the_way: Vec<String>,
    /// What that vantage point cannot show.
    pub blind_spots: Vec<String>,
    /// Measures, as name and value.
    pub measures: Vec<(String, String)>,
    /// The command that shows its packets; `null` if they came from a stream.
    pub show: Option<String>,
    /// The command that shows them as the other recording has them; `null` if there is none, or it came from a stream.
    pub show_other: Option<String>,
    /// What the other recording says of it by itself; `null` if there is none.
    pub other_end: Option<OtherEnd>,
    /// Long pauses, the longest 64.
    pub stalls: Vec<StallData>,
    /// The time–sequence plot; `null` if none was kept.
    pub picture: Option<PictureData>,
    /// The queueing delay on the path to the receiver; `null` without two recordings with aligned clocks.
    pub queueing: Option<QueueingData>,
}

/// What limited a flow over time: contiguous from the flow's first packet on.
#[derive(Serialize, JsonSchema)]
pub struct Spells {
    /// How long each lasted.
    pub lasted_ns: Vec<u64>,
    /// What limited it, as a place in `causes`; -1 where nothing did, or it was not seen.
    pub cause: Vec<i64>,
    /// Whether short spells were merged into what limited most of the time around them.
    pub merged: bool,
}

/// What the other of two recordings says of a flow by itself.
#[derive(Serialize, JsonSchema)]
pub struct OtherEnd {
    /// The recording's name.
    pub recording: String,
    /// Where it was made: `at the receiver`.
    pub vantage: &'static str,
    /// What limited the flow, in a sentence or two.
    pub verdict: String,
    /// The findings, the longest first, without advice. Instants are on the clock of the reported recording; those that
    /// it cannot show are left out.
    pub findings: Vec<FindingData>,
}

/// A pause that is long for this flow (TAPO, section 3).
#[derive(Serialize, JsonSchema)]
pub struct StallData {
    /// Its start.
    pub from_ns: i64,
    /// How long it lasted.
    pub lasted_ns: u64,
    /// Why, in TAPO's words: `tail-retransmission`.
    pub cause: &'static str,
    /// The frame that ended it.
    pub frame: u64,
}

/// One cause, over the life of the flow.
#[derive(Serialize, JsonSchema)]
pub struct FindingData {
    /// Its place in `causes`.
    pub cause: i64,
    /// 0 to 1.
    pub share: f64,
    /// The share and the time, for people: `91 %, 11.2 s`.
    pub amount: String,
    /// `low`, `medium` or `high`; empty where a kernel reported it.
    pub confidence: &'static str,
    /// Its evidence.
    pub evidence: Vec<String>,
    /// Where to look.
    pub instants_ns: Vec<i64>,
    /// Advice on how to recover the time.
    pub advice: Vec<Advice>,
}
