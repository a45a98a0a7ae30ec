//! What is kept of a capture, and in which format: recording faults, made afterwards, so that what is missing is known
//! exactly.

use crate::error::LabError;
use crate::host::{self, Host};
use crate::pcap::{self, Frame};
use crate::pcapng;
use serde::{Deserialize, Serialize};

/// The format of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// With nanosecond timestamps.
    #[default]
    Pcap,
    /// With an interface for each host's packets, each with its own resolution and origin of time.
    Pcapng,
}

/// Frames left out of a recording. Times count from the capture's first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Omission {
    /// All of a period, as when a capture's buffer overflows, or before it starts.
    Between {
        /// From here on.
        from_ns: u64,
        /// Up to here.
        to_ns: u64,
    },
    /// Everything from an instant on: the capture was stopped.
    After {
        /// The instant.
        from_ns: u64,
    },
    /// Everything sent by one host, as with a filter or a mirror port of one direction.
    SentBy {
        /// The host.
        host: Host,
    },
}

impl Omission {
    fn takes(self, since_first_ns: u64, frame: &Frame) -> bool {
        match self {
            Self::Between { from_ns, to_ns } => (from_ns..to_ns).contains(&since_first_ns),
            Self::After { from_ns } => since_first_ns >= from_ns,
            Self::SentBy { host } => host::sent_by(frame.bytes) == Some(host),
        }
    }
}

/// How both captures of a run are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// What is left out.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub omissions: Vec<Omission>,
    /// The format.
    pub format: Format,
}

impl Recording {
    /// Whether the recording is the unchanged capture.
    pub fn is_as_captured(&self) -> bool {
        *self == Self::default()
    }
}

/// What is missing from a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingReport {
    /// Captured frames that were left out.
    pub left_out_frames: u64,
    /// Times inside the recording without frames, `CLOCK_REALTIME`: from the last frame before to the first after.
    pub gaps_ns: Vec<(u64, u64)>,
}

/// The recording of a capture.
///
/// # Errors
/// If it is not a capture by the lab.
pub fn make(captured: &[u8], wanted: &Recording) -> Result<(Vec<u8>, RecordingReport), LabError> {
    let capture = pcap::read(captured)?;
    let first_ns = capture.frames.first().map_or(0, |frame| frame.at_ns);
    let mut kept: Vec<Frame> = Vec::with_capacity(capture.frames.len());
    let mut report = RecordingReport::default();
    let mut in_gap = false;
    for frame in capture.frames {
        let since_ns = frame.at_ns.saturating_sub(first_ns);
        let taken_by = wanted.omissions.iter().find(|omission| omission.takes(since_ns, &frame));
        if let Some(omission) = taken_by {
            report.left_out_frames += 1;
            in_gap |= matches!(omission, Omission::Between { .. });
            continue;
        }
        if std::mem::take(&mut in_gap)
            && let Some(before) = kept.last()
        {
            report.gaps_ns.push((before.at_ns, frame.at_ns));
        }
        kept.push(frame);
    }
    let bytes = match wanted.format {
        Format::Pcap => pcap::write(&capture.header, &kept),
        Format::Pcapng => pcapng::write(&kept, |frame| match host::sent_by(frame.bytes) {
            Some(Host::Receiver) => 1,
            Some(Host::Sender) | None => 0,
        }),
    };
    Ok((bytes, report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::tests::{capture_of, frame_from};

    #[test]
    fn recording_without_omissions_is_unchanged() {
        let captured = capture_of(&[(5, &frame_from(1)), (9, &frame_from(2))]);
        let (made, report) = make(&captured, &Recording::default()).unwrap();
        assert_eq!((made, report), (captured, RecordingReport::default()));
    }

    #[test]
    fn omitted_period_is_reported_with_its_gap() {
        let frame = frame_from(1);
        let stamps = [100, 110, 120, 130, 140, 150];
        let captured = capture_of(&stamps.map(|at_ns| (at_ns, &frame)));
        let omissions = vec![Omission::Between { from_ns: 20, to_ns: 35 }, Omission::After { from_ns: 45 }];
        let (made, report) = make(&captured, &Recording { omissions, format: Format::Pcap }).unwrap();
        let kept: Vec<u64> = pcap::read(&made).unwrap().frames.iter().map(|frame| frame.at_ns).collect();
        assert_eq!(kept, [100, 110, 140]);
        assert_eq!(report, RecordingReport { left_out_frames: 3, gaps_ns: vec![(110, 140)] });
    }

    #[test]
    fn omitting_a_host_leaves_the_other_direction() {
        let captured = capture_of(&[(1, &frame_from(1)), (2, &frame_from(2)), (3, &frame_from(1))]);
        let omissions = vec![Omission::SentBy { host: Host::Receiver }];
        let (made, report) = make(&captured, &Recording { omissions, format: Format::Pcap }).unwrap();
        let kept: Vec<u64> = pcap::read(&made).unwrap().frames.iter().map(|frame| frame.at_ns).collect();
        assert_eq!((kept, report.left_out_frames), (vec![1, 3], 1));
    }
}
