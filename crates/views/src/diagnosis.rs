//! The input of every view.

use crate::rank::Ranking;
use crate::recording::Recording;
use slowpath_analyses::pairing::Pairing;
use slowpath_analyses::report::{Finding, FlowReport};
use slowpath_model::FlowId;
use slowpath_remedies::Advice;
use std::collections::HashMap;

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

Several flows are shown as a table with a row for each service, and one flow in
full only with --flow N, or when it is the only one. The columns:
  flows   how many.
  bytes   Payload without retransmissions, in the direction that carried more.
  rate    These bytes over the time from the first packet of the service's first
          flow to the last packet of its last.
  lost    Time that could be recovered, of all its flows together: not limited
          by the application, the path's capacity or the unknown.
  limits  What limited the flows: a letter for each tenth of their time.
  worst   The flow that lost most. If there are several files, the number of the
          file comes first.
--by peer counts by the host away from the capture: the server, where it is not
known which that is.

--filter selects whole flows, in the words of tcpdump: host, net, port and
portrange, for either end; src and dst before them, for the end that opened the
connection and for the other; ip, ip6, and, or, not, and parentheses. As in
tcpdump, `and` and `or` bind equally, from left to right.

Examples:
  slowpath diagnose transfer.pcapng
  slowpath diagnose transfer.pcapng --html report.html
  slowpath diagnose transfer.pcapng --flow 1 --json
  slowpath diagnose sender.pcapng receiver.pcapng
  slowpath diagnose big.pcapng --summary --by port
  slowpath diagnose big.pcapng --filter 'host 192.0.2.1 and port 443'
  slowpath diagnose monday.pcap tuesday.pcap --summary --by file
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
    /// What each recording says alone of its flows, before they were compared: of those that lost most.
    pub alone: [HashMap<FlowId, Alone>; 2],
}

/// What one of two recordings says of a flow by itself.
#[derive(Clone, Debug)]
pub struct Alone {
    /// The verdict.
    pub verdict: String,
    /// Where it was recorded.
    pub vantage: &'static str,
    /// The findings with their evidence, the longest first.
    pub findings: Vec<Finding>,
}
