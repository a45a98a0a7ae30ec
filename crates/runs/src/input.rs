//! Reads the input at a path into a sink: a capture, a folder of recorded events, or a scenario, which is simulated
//! while it is read.

mod simulated;

use crate::Error;
use simulated::Simulated;
use slowpath_analyses::clock_steps::{ClockCorrection, ClockStep, ClockWatch, CorrectedTimes};
use slowpath_analyses::in_order::InOrder;
use slowpath_analyses::pairing::{Both, Collector};
use slowpath_analyses::picture::{PictureOptions, Pictures};
use slowpath_analyses::{Analysis, AnalysisOptions, Labels, VantageOverride};
use slowpath_capture::Capture;
use slowpath_model::{End, FlowId, Sink};
use slowpath_recording::Recording;
use slowpath_recording::about::Side;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// Why files are not as many recordings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDistinct {
    /// Several come from standard input.
    #[error("only one of the recordings can be standard input")]
    Stdin,
    /// Two are one file.
    #[error("{}: is given twice; give each recording once", .0.display())]
    Twice(PathBuf),
}

/// Whether the names are those of as many recordings.
///
/// # Errors
/// If two are the same.
pub fn are_distinct(files: &[PathBuf]) -> Result<(), NotDistinct> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(NotDistinct::Stdin);
    }
    let mut known = HashSet::new();
    let twice = files.iter().find(|file| file.canonicalize().is_ok_and(|real| !known.insert(real)));
    twice.map_or(Ok(()), |file| Err(NotDistinct::Twice(file.clone())))
}

/// What was read, as its reader summarises it.
#[derive(Clone, Debug)]
pub enum Input {
    /// A capture, or the capture that a scenario's sending host would make.
    Capture(slowpath_capture::CaptureSummary),
    /// A recording of events.
    Recording(slowpath_recording::RecordingSummary),
}

impl Input {
    /// Its name as given.
    pub fn name(&self) -> &str {
        match self {
            Self::Capture(summary) => &summary.name,
            Self::Recording(summary) => &summary.name,
        }
    }

    /// The number of its flows.
    pub fn flows(&self) -> u64 {
        match self {
            Self::Capture(summary) => summary.flows,
            Self::Recording(summary) => summary.flows,
        }
    }

    /// The reference of its times, in nanoseconds since 1970; `None` if unknown.
    pub fn epoch_ns(&self) -> Option<i64> {
        match self {
            Self::Capture(summary) => summary.epoch_ns,
            Self::Recording(_) => None,
        }
    }

    /// The largest step back from one frame's timestamp to the next, in nanoseconds.
    fn largest_back_ns(&self) -> u64 {
        let Self::Capture(summary) = self else { return 0 };
        summary.steps_back.largest_ns
    }
}

/// The largest step back in timestamps, in nanoseconds, if it shows reordering: several queues of one interface explain
/// a smaller one, and a clock that was set explains a larger one.
fn out_of_order(largest_back_ns: u64) -> Option<i64> {
    const EXPLAINED: u64 = 20_000;
    const MOST: u64 = 1_000_000_000;
    i64::try_from(largest_back_ns).ok().filter(|_| (EXPLAINED..MOST).contains(&largest_back_ns))
}

/// Segments from one end of a flow whose timestamps are late, and by how many nanoseconds.
pub type StampedLate = (FlowId, End, i64);

/// Timestamp problems of a recording, and their corrections.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    /// Segments with late timestamps; their times were corrected.
    pub late: Vec<StampedLate>,
    /// The steps of the capture's clock.
    pub clock_steps: Vec<ClockStep>,
    /// The times without the steps; `None` if they are as recorded.
    pub corrected: Option<CorrectedTimes>,
}

/// Called with the bytes read so far, and with the total if it is known.
pub type Progress = Box<dyn FnMut(u64, Option<u64>) + Send>;

/// Reads all of `path` into `sink`: a folder as a recording, a scenario by running it, anything else as a capture, `-` from
/// standard input. For a scenario, reads what its sending host would capture.
///
/// # Errors
///
/// If nothing of it can be read.
pub fn read(path: &Path, sink: &mut impl Sink, mut progress: Progress) -> Result<Input, Error> {
    if path.is_dir() {
        let recording = Recording::open(path)?;
        let summary = recording.run(sink, |done, total| progress(done, Some(total)))?;
        return Ok(Input::Recording(summary));
    }
    let capture = if path.as_os_str() == "-" {
        Capture::from_reader("-", io::stdin())
    } else if path.extension().is_some_and(|extension| extension == "toml") {
        Capture::from_reader(path.display().to_string(), Simulated::of(path)?)
    } else {
        Capture::open(path)?
    };
    Ok(Input::Capture(capture.on_progress(progress).run(sink)?))
}

/// Reads all of `path` into `sink` as it was recorded, and finds the steps of its clock.
///
/// # Errors
///
/// If nothing of it can be read.
pub fn read_as_recorded(
    path: &Path,
    sink: &mut impl Sink,
    progress: Progress,
) -> Result<(Input, Stamps), Error> {
    let mut watch = ClockWatch::new(sink);
    let input = read(path, &mut watch, progress)?;
    Ok((input, Stamps { clock_steps: watch.finish(), ..Stamps::default() }))
}

/// Reads all of `path` into an analysis made by `fresh`, and into `collector`. If the capture's clock was set, the file
/// is read again without the steps. If data comes after its own acknowledgment, the file is read again in timestamp
/// order. Also returns the timestamp problems.
///
/// # Errors
///
/// If nothing of it can be read.
pub fn analyse<L: Labels>(
    path: &Path,
    mut collector: Option<&mut Collector>,
    progress: &dyn Fn() -> Progress,
    fresh: impl Fn() -> Analysis<L>,
) -> Result<(Input, Stamps, Analysis<L>), Error> {
    let mut analysis = fresh();
    let (input, mut stamps) = match &mut collector {
        Some(collector) => read_as_recorded(path, &mut Both(&mut analysis, *collector), progress())?,
        None => read_as_recorded(path, &mut analysis, progress())?,
    };
    if !path.is_file() {
        return Ok((input, stamps, analysis));
    }
    let steps = stamps.clock_steps.as_slice();
    if !steps.is_empty() {
        analysis = fresh();
        stamps.corrected = match collector {
            Some(collector) => {
                collector.restart();
                read_corrected(path, &mut Both(&mut analysis, collector), steps, progress())?
            }
            None => read_corrected(path, &mut analysis, steps, progress())?,
        };
    }
    stamps.late = analysis.stamped_late();
    let largest_back =
        stamps.corrected.map_or_else(|| input.largest_back_ns(), |times| times.largest_back_ns);
    let out_of_order = out_of_order(largest_back);
    let in_disorder = out_of_order.is_some() && analysis.is_out_of_order();
    if !in_disorder && stamps.late.is_empty() {
        return Ok((input, stamps, analysis));
    }
    analysis = fresh();
    let mut in_order = InOrder::new(&mut analysis, out_of_order.unwrap_or(0)).with_stamped_late(&stamps.late);
    read_corrected(path, &mut in_order, steps, progress())?;
    in_order.finish();
    Ok((input, stamps, analysis))
}

/// The pictures of all flows that are `shown`. Which these are is known only when all was read: where one of them had to
/// make room for others, a file is read once more for their pictures alone.
///
/// # Errors
///
/// If the file cannot be read again.
pub fn all_pictures(
    path: &Path,
    options: AnalysisOptions,
    shown: &[(FlowId, End)],
    pictures: Pictures,
    progress: &dyn Fn() -> Progress,
) -> Result<Pictures, Error> {
    let all_there = shown.iter().all(|(flow, sender)| pictures.picture(*flow, *sender).is_some());
    if all_there || !(path.is_file() || path.is_dir()) {
        return Ok(pictures);
    }
    let wanted = PictureOptions::only(Some(shown.iter().map(|(flow, _)| *flow).collect()));
    let fresh = || Analysis::with_labels(options, Pictures::new(wanted.clone()));
    Ok(analyse(path, None, progress, fresh)?.2.finish_each(|_| ()).1)
}

/// Reads all of `path` into `sink` as if its clock had not been set at `steps`.
fn read_corrected(
    path: &Path,
    sink: &mut impl Sink,
    steps: &[ClockStep],
    progress: Progress,
) -> Result<Option<CorrectedTimes>, Error> {
    let mut correction = ClockCorrection::new(sink, steps);
    read(path, &mut correction, progress)?;
    Ok(correction.finish())
}

/// How to analyse a recording that was made where the user or the recording itself says.
pub fn options(vantage: Option<VantageOverride>, file: &Path) -> AnalysisOptions {
    AnalysisOptions { vantage: vantage.or_else(|| self::vantage(file)), ..AnalysisOptions::default() }
}

/// The vantage point stored in a recording; `None` for other inputs.
pub fn vantage(path: &Path) -> Option<VantageOverride> {
    // Errors are reported when the recording is read.
    let recording = path.is_dir().then(|| Recording::open(path).ok()).flatten()?;
    recording.about().side.map(|side| match side {
        Side::Sender => VantageOverride::Sender,
        Side::Receiver => VantageOverride::Receiver,
    })
}
