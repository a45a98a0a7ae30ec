//! A recording read into an analysis, a second time where its order was wrong.

use super::{Read, read};
use crate::console::Console;
use slowpath_analyses::in_order::InOrder;
use slowpath_analyses::pairing::{Both, Collector};
use slowpath_analyses::{Analysis, Labels};
use slowpath_model::{End, FlowId};
use slowpath_views::Skipped;
use slowpath_views::quantity::duration;
use std::path::Path;
use std::time::Duration;

/// Reads all of `path` into an analysis that `fresh` makes, and into `collector`. Where data is in a file after its own
/// acknowledgment, it is read again, in the order of its stamps, into a fresh analysis.
pub fn analyse<L: Labels>(
    path: &Path,
    collector: Option<&mut Collector>,
    console: &Console,
    fresh: impl Fn() -> Analysis<L>,
) -> anyhow::Result<(Read, Analysis<L>)> {
    let mut analysis = fresh();
    let mut found = match collector {
        Some(collector) => read(path, &mut Both(&mut analysis, collector), console)?,
        None => read(path, &mut analysis, console)?,
    };
    let late = analysis.stamped_late();
    let in_disorder = found.out_of_order.is_some() && analysis.is_out_of_order();
    if path.is_file() && (in_disorder || !late.is_empty()) {
        analysis = fresh();
        let window = found.out_of_order.unwrap_or(0);
        let mut in_order = InOrder::new(&mut analysis, window).with_stamped_late(&late);
        read(path, &mut in_order, console)?;
        in_order.finish();
        found.recording.skipped.extend(late.iter().map(put_back));
    }
    Ok((found, analysis))
}

/// Says that segments were stamped too late, and that their times were corrected.
fn put_back((flow, end, by): &(FlowId, End, i64)) -> Skipped {
    let by = duration(Duration::from_nanos(by.unsigned_abs()));
    let what = format!("number {flow}: segments of {end} stamped {by} late, corrected");
    Skipped { count: 1, unit: "flow", what, matters: false }
}
