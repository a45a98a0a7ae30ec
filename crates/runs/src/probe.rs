//! The path of a scenario, to be measured like a real one; and the far end of a real one.

use crate::lines::{Log, listening};
use slowpath_model::nanos;
use slowpath_model::units::duration_text;
use slowpath_probe::real::{Caps, Happened, ProbeError, Server};
use slowpath_probe::simulated::{Ends, Simulated};
use slowpath_scenario::Scenario;
use std::net::SocketAddr;

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
