//! The namespace's counters (`nstat`) that the model supports.

use super::Modelled;
use super::sockets::{File, Stage};
use crate::counters::Counters;
use crate::kernel::KernelError;
use slowpath_model::Instant;
use slowpath_tcp::Connection;
use slowpath_tcp::socket::{Counters as Received, Listener};
use slowpath_uapi::TcpInfo;

/// Reads one counter of a connection.
type Count = fn(&TcpInfo, &Received) -> u32;

/// The supported counters.
const KEPT: &[(&str, Count)] = &[
    ("TcpRetransSegs", |info, _| info.total_retrans),
    ("TcpExtTCPTimeouts", |info, _| info.total_rto.into()),
    ("TcpExtTCPOFOQueue", |_, received| received.ofo_segments),
    ("TcpExtTCPHPHits", |_, received| received.predicted_data),
    ("TcpExtTCPHPAcks", |_, received| received.predicted_acks),
    ("TcpExtDelayedACKs", |_, received| received.delayed_acks),
    ("TcpExtTCPAckCompressed", |_, received| received.acks_compressed),
    ("TcpExtTCPChallengeACK", |_, received| received.challenge_acks),
    ("TcpExtPAWSEstab", |_, received| received.paws_rejected),
    ("TcpExtPruneCalled", |_, received| received.prune_called),
    ("TcpExtOfoPruned", |_, received| received.ofo_pruned),
    ("TcpExtOutOfWindowIcmps", |_, received| received.icmp_out_of_window),
    ("TcpExtTCPToZeroWindowAdv", |_, received| received.to_zero_window),
    ("TcpExtTCPFromZeroWindowAdv", |_, received| received.from_zero_window),
];

/// Adds the counters of a connection.
pub fn add(counters: &mut Counters, connection: &Connection, now: Instant) {
    let (info, received) = (connection.info(now), connection.counters());
    for (name, count) in KEPT {
        *counters.entry((*name).to_owned()).or_insert(0) += u64::from(count(&info, &received));
    }
}

impl Modelled {
    /// The counters, for a script that queries some.
    pub(super) fn counted(&self, asked: &[String]) -> Result<Counters, KernelError> {
        let mut counters = self.counted.clone();
        let sockets = self.files.values().filter_map(|file| match file {
            File::Socket(socket) => Some(&socket.stage),
            _ => None,
        });
        let listeners = sockets.clone().filter_map(|stage| match stage {
            Stage::Listening(listener) => Some(listener),
            Stage::Fresh(_) | Stage::Connected(_) => None,
        });
        let connected = sockets.filter_map(|stage| match stage {
            Stage::Connected(connection) => Some(&**connection),
            Stage::Fresh(_) | Stage::Listening(_) => None,
        });
        let held = connected.chain(listeners.clone().flat_map(Listener::children));
        for listener in listeners {
            let own = listener.counters();
            let of_handshakes = [
                ("TcpExtOutOfWindowIcmps", own.icmp_out_of_window),
                ("TcpExtTCPChallengeACK", own.challenge_acks),
            ];
            for (name, count) in of_handshakes {
                *counters.entry(name.to_owned()).or_insert(0) += u64::from(count);
            }
        }
        let orphans = self.orphans.iter().map(|(_, connection)| connection);
        for connection in held.chain(orphans) {
            add(&mut counters, connection, self.now);
        }
        let unknown = asked.iter().find(|name| !KEPT.iter().any(|(kept, _)| kept.contains(name.as_str())));
        let Some(name) = unknown else { return Ok(counters) };
        let kept = KEPT.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let fix = "leave the line out, or run the script with --lab";
        Err(KernelError::new(format!("the model does not count {name}: {fix}; it counts {kept}")))
    }
}
