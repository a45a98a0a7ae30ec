//! Labels of data segments: new, retransmitted, reordered, captured twice.

use crate::report::LabelCounts;

/// The label of one segment with payload, or of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// Data never seen before, in order or behind a hole.
    New,
    /// Retransmitted because it was lost, or believed to be.
    Retransmission,
    /// Retransmitted though it had arrived.
    Spurious,
    /// Sent in order and reordered on the way.
    OutOfOrder,
    /// A copy of a frame: from a second interface or a mirror port, or doubled by the network.
    Duplicate,
    /// Sequence numbers just below what is acknowledged, on an idle connection.
    KeepAlive,
    /// Sequence numbers just below what is acknowledged, while the peer's window is closed.
    WindowProbe,
}

/// How a segment was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Its label, where it had payload or was a probe.
    pub label: Option<Label>,
    /// Earlier retransmissions that it shows to have been spurious.
    pub spurious: u32,
}

impl Label {
    /// All of them, new data first.
    pub const ALL: [Self; 7] = [
        Self::New,
        Self::Retransmission,
        Self::Spurious,
        Self::OutOfOrder,
        Self::Duplicate,
        Self::KeepAlive,
        Self::WindowProbe,
    ];

    /// The name in JSON: `out-of-order`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Spurious => "spurious-retransmission",
            Self::OutOfOrder => "out-of-order",
            Self::Duplicate => "duplicate-frame",
            Self::KeepAlive => "keep-alive",
            Self::WindowProbe => "window-probe",
        }
    }
}

impl LabelCounts {
    /// The counter of `label`.
    pub const fn of(&mut self, label: Label) -> &mut u64 {
        match label {
            Label::New => &mut self.new,
            Label::Retransmission => &mut self.retransmission,
            Label::Spurious => &mut self.spurious,
            Label::OutOfOrder => &mut self.out_of_order,
            Label::Duplicate => &mut self.duplicate,
            Label::KeepAlive => &mut self.keep_alive,
            Label::WindowProbe => &mut self.window_probe,
        }
    }
}
