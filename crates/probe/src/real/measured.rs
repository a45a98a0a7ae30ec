//! The wanted measurements of a path to a host, one after the other.

use super::{Client, ProbeError, Stop};
use crate::findings::{Found, Wanted};
use crate::measure::metered::{Metered, Refusal};
use crate::measure::{Direction, Progress};
use slowpath_model::Bytes;
use std::net::SocketAddr;
use std::time::Duration;

/// The results, and why they are incomplete.
pub struct Measured {
    /// The results; perhaps none ([`Found::or_nothing`]).
    pub found: Found,
    /// Why measuring ended early; `None` if it was completed.
    pub ended_by: Option<ProbeError>,
}

/// Measures the path to the first of these addresses that answers; a TCP transfer of this duration in each direction
/// comes last, the measured direction first. `on_progress` is called for each step.
///
/// # Errors
///
/// If no address answers (the last one's reason), or the far end refuses.
pub fn measure(
    addresses: &[SocketAddr],
    wanted: Wanted,
    transfers: Option<Duration>,
    stop: Stop<'_>,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Measured, ProbeError> {
    let mut last = ProbeError::NoAddress;
    for to in addresses {
        let (mut client, connected) = match Client::connect(*to, stop) {
            Ok(connected) => connected,
            Err(error @ ProbeError::NoServer { .. }) => {
                last = error;
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut found = Found::new(wanted, connected.packet_bytes);
        found.far_end = Some(connected.to);
        let filled = found.fill(&mut client, on_progress);
        let ended_by = filled.and_then(|()| transfer(&mut client, &mut found, transfers, on_progress)).err();
        if ended_by.is_none() {
            // Everything has been measured, even if closing the session fails.
            let _ = client.close();
        }
        return Ok(Measured { found, ended_by });
    }
    Err(last)
}

/// The results of a measurement with a budget.
pub struct Within {
    /// The results, or why no far end answered.
    pub measured: Result<Measured, ProbeError>,
    /// IP bytes of the trains, in both directions.
    pub bytes: Bytes,
}

/// Measures the path to this address with trains of at most `most` IP bytes in all, without a transfer. What was measured when the
/// budget ended stays.
pub fn measure_within(
    to: SocketAddr,
    wanted: Wanted,
    most: Bytes,
    stop: Stop<'_>,
    on_progress: &mut dyn FnMut(Progress),
) -> Within {
    let (mut client, connected) = match Client::connect(to, stop) {
        Ok(connected) => connected,
        Err(error) => return Within { measured: Err(error), bytes: Bytes::ZERO },
    };
    let mut found = Found::new(wanted, connected.packet_bytes);
    found.far_end = Some(connected.to);
    let mut metered = Metered::new(&mut client, most.get());
    let filled = found.fill(&mut metered, on_progress);
    let bytes = most.saturating_sub(Bytes::new(metered.left()));
    let ended_by = filled.err().map(|refusal| match refusal {
        Refusal::Spent => ProbeError::Spent,
        Refusal::Channel(error) => error,
    });
    if matches!(ended_by, None | Some(ProbeError::Spent)) {
        // What was measured is there, even if closing the session fails.
        let _ = client.close();
    }
    Within { measured: Ok(Measured { found, ended_by }), bytes }
}

fn transfer(
    client: &mut Client<'_>,
    found: &mut Found,
    duration: Option<Duration>,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<(), ProbeError> {
    let Some(duration) = duration else { return Ok(()) };
    on_progress(Progress::Transfers);
    for direction in [Direction::There, Direction::Back] {
        found.transfers.push(client.transfer(direction, duration)?);
    }
    Ok(())
}
