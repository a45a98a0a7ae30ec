//! The path of a scenario, to be measured like a real one; and the far end of a real one.

mod asked;

pub use asked::{Asked, Unneeded, What};

use crate::lines::{Log, listening};
use slowpath_model::nanos;
use slowpath_model::units::duration_text;
use slowpath_probe::findings::{Found, Wanted};
use slowpath_probe::measure::Progress;
use slowpath_probe::real::{self, Caps, Happened, Measured, ProbeError, Server};
use slowpath_probe::simulated::{Ends, Simulated};
use slowpath_scenario::Scenario;
use std::net::SocketAddr;
use std::time::Duration;

/// The path of a scenario's first flow, starting at its sender, and the length of its packets. With `is_reversed`, the
/// direction to its sender. `None` if the flow's path does not end at its hosts.
pub fn channel(scenario: &Scenario, is_reversed: bool) -> Option<(Simulated, u32)> {
    let flow = &scenario.flows[0];
    let path = scenario.path(flow.path);
    let ends = [flow.sender_host(), flow.receiver_host()];
    let [there, back] = ends.map(|end| path.direction(end));
    let (there, back) = there.zip(back)?;
    let mut draws = scenario.draws();
    let mut seeds = [draws.bits(), draws.bits()];
    if path.ends[0] != ends[0] {
        seeds.swap(0, 1);
    }
    let nics = ends.map(|end| &scenario.host(end).nic);
    let ends = Ends {
        card_bit_per_s: nics.map(|nic| nic.rate.get()),
        joined_within_ns: nanos(nics[usize::from(!is_reversed)].interrupt_delay),
    };
    let packet_bytes = u32::try_from(nics[0].mtu.min(nics[1].mtu).get()).unwrap_or(u32::MAX);
    Some((Simulated::new(there, back, seeds, ends), packet_bytes))
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// It could not begin.
    #[error(transparent)]
    Begin(#[from] ProbeError),
    /// It ended before anything was measured.
    #[error("nothing was measured")]
    Nothing(#[source] ProbeError),
    /// The scenario's path leads elsewhere.
    #[error("a flow's path ends at its hosts")]
    NoPath,
}

/// Measures the path to a far end. `warn` gets what ended the measurement early.
///
/// # Errors
/// If nothing was measured.
pub fn measured(
    addresses: &[SocketAddr],
    wanted: Wanted,
    transfers: Option<Duration>,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(Progress),
    warn: &dyn Fn(&str),
) -> Result<Found, NotMeasured> {
    let Measured { found, ended_by } = real::measure(addresses, wanted, transfers, stop, progress)?;
    let Some(error) = ended_by else { return Ok(found) };
    let Some(found) = found.or_nothing() else { return Err(NotMeasured::Nothing(error)) };
    if !matches!(error, ProbeError::Stopped) {
        warn(&format!("{error}; measured before that:"));
    }
    Ok(found)
}

/// Measures the path of a scenario in simulated time.
///
/// # Errors
/// If the flow's path does not end at its hosts.
pub fn simulated(
    scenario: &Scenario,
    wanted: Wanted,
    is_reversed: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Found, NotMeasured> {
    let (mut channel, packet_bytes) = channel(scenario, is_reversed).ok_or(NotMeasured::NoPath)?;
    let mut found = Found::new(wanted, packet_bytes);
    let Ok(()) = found.fill(&mut channel, progress);
    Ok(found)
}

/// Serves as the far end until a stop is requested; `say` gets a line about each session, as far as there are not too many.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(
    listen: SocketAddr,
    caps: Caps,
    has_ended: &(dyn Fn() -> bool + Sync),
    say: &(dyn Fn(&str) + Sync),
) -> Result<(), ProbeError> {
    let server = Server::bind(listen, caps)?;
    let at = server.address()?;
    let (at, rate, time) = (listening(at), caps.rate, duration_text(caps.duration));
    say(&format!("Listening on {at}, up to {rate} for {time}. Ctrl-C stops it."));
    let log = Log::new(say);
    let report = |happened: Happened<'_>| {
        log.line(|| match happened {
            Happened::Began(client) => format!("{client}: session started"),
            Happened::Ended(client) => format!("{client}: session ended"),
            Happened::Broke(client, error) => format!("{client}: {error}"),
        });
    };
    let stop = || {
        log.summary();
        has_ended()
    };
    server.run(&stop, &report)?;
    log.end();
    Ok(())
}
