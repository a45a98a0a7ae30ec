//! The input of every view.

use crate::rank::Ranking;
use crate::recording::Recording;
use slowpath_analyses::pairing::Pairing;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_remedies::Advice;

/// What `diagnose --help` teaches about the command.
pub const HELP: &str = "\
Where a capture was made (its vantage point) decides what it shows:
  sender    The best place. It shows all that the sender does, and when the
            sender learns of a loss. It does not show what the receiver does
            with the data.
  receiver  It shows what arrives and how it is acknowledged. Why the sender
            pauses can be unclear.
  between   It shows both ends from a distance.
slowpath infers the place from how fast each end answers, and prints its
confidence. --vantage overrides it.

Examples:
  slowpath diagnose transfer.pcapng
  slowpath diagnose transfer.pcapng --html report.html
  slowpath diagnose transfer.pcapng --flow 1 --json
  slowpath diagnose sender.pcapng receiver.pcapng
  tcpdump -i any -s 128 -w - tcp port 443 | slowpath diagnose -
  sudo slowpath diagnose --live --for 20s
  sudo slowpath diagnose --live --port 5201";

/// The result of a diagnosis: the recordings, the flows, and the source of advice.
pub struct Diagnosis<'a> {
    /// The recordings, one per file.
    pub recordings: Vec<Recording>,
    /// The flows, those that lost most time first.
    pub ranking: Ranking,
    /// Flows that were not kept, to save memory.
    pub flows_not_kept: u64,
    /// The comparison of two recordings of the same transfer; `None` for a single recording.
    pub paired: Option<Paired>,
    /// Returns the advice for a finding.
    pub advise: &'a Advise,
}

impl Diagnosis<'_> {
    /// The recording to which the flows' reports refer.
    pub fn reported(&self) -> Option<&Recording> {
        self.recordings.get(self.paired.as_ref().map_or(0, |paired| paired.base))
    }
}

/// The source of advice: `slowpath_remedies::advise`, except in tests.
pub type Advise = dyn Fn(&Finding, &FlowReport) -> Vec<Advice>;

/// A comparison of two recordings.
#[derive(Debug)]
pub struct Paired {
    /// The recording to which the flows' reports refer: 0 or 1.
    pub base: usize,
    /// The result of the comparison.
    pub pairing: Pairing,
}
