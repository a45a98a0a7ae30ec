//! What the route lays on its connections (`RTAX_*`, ip-route(8)).

use super::Case;
use crate::finding::{Finding, Fix, Severity};
use crate::host::Route;
use slowpath_model::Bytes;
use slowpath_remedies::arithmetic;
use std::net::IpAddr;

pub(super) fn all(case: &Case<'_>, found: &mut Vec<Finding>) {
    let Some(route) = &case.host.route else { return };
    if case.goal.role.receives() {
        found.extend(window(case, route));
        found.extend(first_window(case, route));
        found.extend(segment(case, route));
    }
    if case.goal.role.sends() {
        found.extend(congestion_window(case, route));
        found.extend(threshold(case, route));
        found.extend(first_flight(case, route));
        found.extend(least_timeout(case, route));
    }
    found.extend(packet_size(case, route));
}

/// The route as `ip route` names it.
fn place(route: &Route) -> String {
    route.to.map_or_else(|| "the default route".to_owned(), |to| format!("the route to {to}"))
}

/// A route without an attribute: to the destination alone, so that others keep theirs; the default route itself
/// where no destination is known. What else the route lays on its connections stays.
pub(super) fn without(case: &Case<'_>, attribute: &str) -> Option<Fix> {
    let route = case.host.route.as_ref()?;
    let device = &case.host.outgoing()?.name;
    let (family, prefix) = match route.to.or(route.gateway) {
        Some(IpAddr::V6(_)) => (" -6", 128),
        _ => ("", 32),
    };
    let prefix = route.to.map_or_else(|| "default".to_owned(), |to| format!("{to}/{prefix}"));
    let via = route.gateway.map_or_else(String::new, |gateway| format!(" via {gateway}"));
    let line = |attributes: &str| format!("ip{family} route replace {prefix}{via} dev {device}{attributes}");
    let fix = Fix::command(line(&attributes(route, attribute)));
    Some(if route.to.is_some() {
        fix.undone_by(format!("ip{family} route del {prefix}{via} dev {device}"))
    } else {
        fix.undone_by(line(&attributes(route, "")))
    })
}

/// The attributes of a route but one, as `ip route` takes them.
fn attributes(route: &Route, but: &str) -> String {
    let mut text = String::new();
    for (name, value) in route.attributes.iter().filter(|(name, _)| *name != but) {
        let lock = if route.locked.contains(name) { "lock " } else { "" };
        let unit = if name == "rto_min" { "ms" } else { "" };
        text += &format!(" {name} {lock}{value}{unit}");
    }
    if let Some(control) = route.congestion_control.as_ref().filter(|_| but != "congctl") {
        text += &format!(" congctl {control}");
    }
    text
}

fn attribute(route: &Route, name: &str) -> Option<u64> {
    route.attributes.get(name).map(|value| u64::from(*value)).filter(|value| *value > 0)
}

fn finding(
    case: &Case<'_>,
    route: &Route,
    name: &'static str,
    severity: Severity,
    attribute: &str,
    title: &str,
) -> Finding {
    let value = route.attributes.get(attribute).copied().unwrap_or(0);
    let lock = if route.locked.iter().any(|locked| locked == attribute) { "lock " } else { "" };
    let mut finding =
        Finding::new(name, severity, title).seen(format!("{attribute} {lock}{value} on {}", place(route)));
    finding.fixes.extend(without(case, attribute));
    finding
}

fn window(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let window = Bytes::new(attribute(route, "window")?);
    let severity = case.limits(case.goal.rate_with(window)?)?;
    let why = format!(
        "Connections of this route advertise {window} at most, whatever tcp_rmem says; the transfer needs {}.",
        case.product()
    );
    let title = "the route bounds the window";
    Some(
        finding(case, route, "route-window", severity, "window", title)
            .because(why, "ip-route(8), window; tcp_connect_init, tcp_openreq_init_rwin (6.18)"),
    )
}

/// Ten segments are the least that a host offers by itself (`tcp_default_init_rwnd`, 6.18).
fn first_window(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let segments =
        attribute(route, "initrwnd").filter(|segments| *segments < arithmetic::INITIAL_SEGMENTS)?;
    let title = "the route begins with a small receive window";
    let why = format!(
        "The sender's first flight is {segments} segments at most, and its slow start waits for windows."
    );
    let severity =
        (case.goal.window_of_each().get() > segments * u64::from(case.mss())).then_some(Severity::Hint)?;
    Some(
        finding(case, route, "route-initrwnd", severity, "initrwnd", title)
            .because(why, "ip-route(8), initrwnd; RFC 6928; tcp_select_initial_window (6.18)"),
    )
}

/// Segments below this are more headers and more packets than any path asks for: what IPv6 guarantees (RFC 8200).
const LEAST_PACKET: u64 = 1280;

fn segment(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let bytes = attribute(route, "advmss").filter(|bytes| *bytes < LEAST_PACKET - 60)?;
    let why = format!("The peer sends segments of {bytes} bytes at most: more packets for the same data.");
    let title = "the route has the peer send small segments";
    Some(
        finding(case, route, "route-advmss", Severity::Costs, "advmss", title)
            .because(why, "ip-route(8), advmss; RFC 9293, section 3.7.1"),
    )
}

fn congestion_window(case: &Case<'_>, route: &Route) -> Option<Finding> {
    // Without the lock it binds nothing (`tcp_init_metrics`, 6.18).
    let packets = attribute(route, "cwnd").filter(|_| route.locked.iter().any(|name| name == "cwnd"))?;
    let window = Bytes::new(packets.saturating_mul(u64::from(case.mss())));
    let severity = case.limits(case.goal.rate_with(window)?)?;
    let why = format!(
        "No connection of this route has more than {packets} packets outstanding, {window}; the transfer needs {}. \
         The parameter cache keeps it for up to an hour after the route was changed: ip tcp_metrics flush.",
        case.product()
    );
    Some(
        finding(case, route, "route-cwnd", severity, "cwnd", "the route bounds the congestion window")
            .because(why, "ip-route(8), cwnd; tcp_init_metrics, tcpm_check_stamp (6.18)"),
    )
}

fn threshold(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let packets = attribute(route, "ssthresh").filter(|_| case.takes_ssthresh())?;
    let window = case.goal.window_of_each().get().div_ceil(u64::from(case.mss()));
    (packets < window / 2).then_some(())?;
    let why = format!(
        "Slow start ends at {packets} packets on every connection; the rest of {window} grows slowly."
    );
    Some(
        finding(
            case,
            route,
            "route-ssthresh",
            Severity::Costs,
            "ssthresh",
            "the route ends slow start early",
        )
        .because(why, "ip-route(8), ssthresh; tcp_init_metrics (6.18); ubik V"),
    )
}

fn first_flight(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let segments =
        attribute(route, "initcwnd").filter(|segments| *segments < arithmetic::INITIAL_SEGMENTS)?;
    let rounds = |initial| arithmetic::slow_start_rounds(case.goal.window_of_each(), case.mss(), initial);
    let more = rounds(segments).saturating_sub(rounds(arithmetic::INITIAL_SEGMENTS));
    (more > 0).then_some(())?;
    let why =
        format!("Slow start takes {more} round trips more than from ten segments, once per connection.");
    Some(
        finding(
            case,
            route,
            "route-initcwnd",
            Severity::Hint,
            "initcwnd",
            "the route begins with few segments",
        )
        .because(why, "ip-route(8), initcwnd; RFC 6928; tcp_init_cwnd (6.18)"),
    )
}

/// Of the timeout's least, a second is what the RFC asks for; more helps nobody.
const LONG_TIMEOUT_MS: u64 = 1000;

fn least_timeout(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let ms = attribute(route, "rto_min").filter(|ms| *ms > LONG_TIMEOUT_MS)?;
    let why = format!("A retransmission timeout takes {ms} ms at least, in which nothing is sent.");
    Some(
        finding(case, route, "route-rto-min", Severity::Costs, "rto_min", "the route has timeouts take long")
            .because(why, "ip-route(8), rto_min; RFC 6298, rule 2.4; tcp_rto_min (6.18)"),
    )
}

/// A small packet size of the route: put there, or learned from an ICMP message on the way.
fn packet_size(case: &Case<'_>, route: &Route) -> Option<Finding> {
    let bytes = attribute(route, "mtu").filter(|bytes| *bytes < LEAST_PACKET)?;
    let device = u64::from(case.host.outgoing()?.mtu?);
    (bytes < device).then_some(())?;
    let why = format!(
        "Packets are {bytes} bytes at most where the interface carries {device}: {} % of each is headers. Where no \
         route says so, a message of the path did (Fragmentation Needed): ip route flush cache forgets it, unless \
         the path means it.",
        u64::from(super::HEADERS) * 100 / bytes
    );
    Some(
        finding(case, route, "route-mtu", Severity::Costs, "mtu", "packets of this route are small")
            .because(why, "RFC 1191, section 3; RFC 8200, section 5; ip-route(8), mtu"),
    )
}
