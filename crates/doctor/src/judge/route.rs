//! The route's attributes for its connections (`RTAX_*`, ip-route(8)).

use super::Examination;
use crate::finding::{Check, Finding, Severity, set};
use crate::host::Route;
use slowpath_model::Bytes;
use slowpath_remedies::setting::NO_ROUTE;
use slowpath_remedies::{Fix, Setting, arithmetic};

pub(super) fn all(exam: &Examination<'_>, found: &mut Vec<Finding>) {
    let Some(route) = &exam.host.route else { return };
    if exam.goal.role.receives() {
        found.extend(window(exam, route));
        found.extend(first_window(exam, route));
        found.extend(segment(exam, route));
    }
    if exam.goal.role.sends() {
        found.extend(congestion_window(exam, route));
        found.extend(threshold(exam, route));
        found.extend(first_flight(exam, route));
        found.extend(least_timeout(exam, route));
    }
    found.extend(packet_size(exam, route));
}

/// The route as in `ip route`.
fn place(route: &Route) -> String {
    route.to.map_or_else(|| "the default route".to_owned(), |to| format!("the route to {to}"))
}

/// A route without an attribute: only to the destination, so that other routes keep theirs; the default route itself if
/// no destination is known. Its other attributes are kept.
pub(super) fn without(exam: &Examination<'_>, attribute: &str) -> Option<Fix> {
    let route = exam.host.route.as_ref()?;
    let device = &exam.host.outgoing()?.name;
    let is_v6 = route.to.or(route.gateway).is_some_and(|address| address.is_ipv6());
    let length = if is_v6 { 128 } else { 32 };
    let to = route.to.map_or_else(|| "default".to_owned(), |to| format!("{to}/{length}"));
    let via = route.gateway.map_or_else(String::new, |gateway| format!("via {gateway} "));
    let value = |attributes: &str| format!("{via}dev {device}{attributes}");
    let then = value(&attributes(route, attribute));
    let now = if route.to.is_some() { NO_ROUTE.to_owned() } else { value(&attributes(route, "")) };
    Some(set(Setting::Route { is_v6, to }, then, now))
}

/// The attributes of a route except one, as `ip route` arguments.
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
    exam: &Examination<'_>,
    route: &Route,
    check: Check,
    severity: Severity,
    attribute: &str,
    title: &str,
) -> Finding {
    let value = route.attributes.get(attribute).copied().unwrap_or(0);
    let lock = if route.locked.iter().any(|locked| locked == attribute) { "lock " } else { "" };
    let mut finding =
        Finding::new(check, severity, title).seen(format!("{attribute} {lock}{value} on {}", place(route)));
    finding.fixes.extend(without(exam, attribute));
    finding
}

fn window(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let window = Bytes::new(attribute(route, "window")?);
    let severity = exam.limits(exam.goal.rate_with(window)?)?;
    let why = format!(
        "Connections over this route advertise at most {window}, whatever tcp_rmem says; the transfer needs {}.",
        exam.product()
    );
    let title = "the route limits the window";
    Some(
        finding(exam, route, Check::RouteWindow, severity, "window", title)
            .because(why, "ip-route(8), window; tcp_connect_init, tcp_openreq_init_rwin (6.18)"),
    )
}

/// A host's default initial window is at least ten segments (`tcp_default_init_rwnd`, 6.18).
fn first_window(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let segments =
        attribute(route, "initrwnd").filter(|segments| *segments < arithmetic::INITIAL_SEGMENTS)?;
    let title = "the route sets a small initial receive window";
    let why = format!(
        "The sender's first flight is at most {segments} segments, and its slow start waits for window updates."
    );
    let severity =
        (exam.goal.window_of_each().get() > segments * u64::from(exam.mss())).then_some(Severity::Hint)?;
    Some(
        finding(exam, route, Check::RouteInitrwnd, severity, "initrwnd", title)
            .because(why, "ip-route(8), initrwnd; RFC 6928; tcp_select_initial_window (6.18)"),
    )
}

/// The minimum segment size: smaller ones have more headers and packets than any path requires (IPv6's minimum MTU, RFC
/// 8200).
const LEAST_PACKET: u64 = 1280;

fn segment(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let bytes = attribute(route, "advmss").filter(|bytes| *bytes < LEAST_PACKET - 60)?;
    let why = format!(
        "The peer sends segments of at most {bytes} bytes, so it needs more packets for the same \
                       data."
    );
    let title = "the route advertises a small MSS";
    Some(
        finding(exam, route, Check::RouteAdvmss, Severity::Costs, "advmss", title)
            .because(why, "ip-route(8), advmss; RFC 9293, section 3.7.1"),
    )
}

fn congestion_window(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    // Without the lock it has no effect (`tcp_init_metrics`, 6.18).
    let packets = attribute(route, "cwnd").filter(|_| route.locked.iter().any(|name| name == "cwnd"))?;
    let window = Bytes::new(packets.saturating_mul(u64::from(exam.mss())));
    let severity = exam.limits(exam.goal.rate_with(window)?)?;
    let why = format!(
        "No connection over this route has more than {packets} packets in flight, {window}; the transfer needs \
         {}. The parameter cache keeps the old value for up to an hour after the route is changed, unless you run \
         ip tcp_metrics flush.",
        exam.product()
    );
    Some(
        finding(exam, route, Check::RouteCwnd, severity, "cwnd", "the route limits the congestion window")
            .because(why, "ip-route(8), cwnd; tcp_init_metrics, tcpm_check_stamp (6.18)"),
    )
}

fn threshold(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let packets = attribute(route, "ssthresh").filter(|_| exam.takes_ssthresh())?;
    let window = exam.goal.window_of_each().get().div_ceil(u64::from(exam.mss()));
    (packets < window / 2).then_some(())?;
    let why =
        format!("Slow start ends at {packets} packets on every connection; growth to {window} is slow.");
    Some(
        finding(
            exam,
            route,
            Check::RouteSsthresh,
            Severity::Costs,
            "ssthresh",
            "the route ends slow start early",
        )
        .because(why, "ip-route(8), ssthresh; tcp_init_metrics (6.18); ubik V"),
    )
}

fn first_flight(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let segments =
        attribute(route, "initcwnd").filter(|segments| *segments < arithmetic::INITIAL_SEGMENTS)?;
    let rounds = |initial| arithmetic::slow_start_rounds(exam.goal.window_of_each(), exam.mss(), initial);
    let more = rounds(segments).saturating_sub(rounds(arithmetic::INITIAL_SEGMENTS));
    (more > 0).then_some(())?;
    let why = format!("Slow start takes {more} RTTs more than from ten segments, once per connection.");
    Some(
        finding(
            exam,
            route,
            Check::RouteInitcwnd,
            Severity::Hint,
            "initcwnd",
            "the route sets a small initial congestion window",
        )
        .because(why, "ip-route(8), initcwnd; RFC 6928; tcp_init_cwnd (6.18)"),
    )
}

/// The RFC's minimum RTO is one second; more has no benefit.
const LONG_TIMEOUT_MS: u64 = 1000;

fn least_timeout(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let ms = attribute(route, "rto_min").filter(|ms| *ms > LONG_TIMEOUT_MS)?;
    let why = format!("A retransmission timeout takes at least {ms} ms, in which nothing is sent.");
    Some(
        finding(
            exam,
            route,
            Check::RouteRtoMin,
            Severity::Costs,
            "rto_min",
            "the route sets a long minimum RTO",
        )
        .because(why, "ip-route(8), rto_min; RFC 6298, rule 2.4; tcp_rto_min (6.18)"),
    )
}

/// A small MTU of the route: configured, or learned from an ICMP message.
fn packet_size(exam: &Examination<'_>, route: &Route) -> Option<Finding> {
    let bytes = attribute(route, "mtu").filter(|bytes| *bytes < LEAST_PACKET)?;
    let device = u64::from(exam.host.outgoing()?.mtu?);
    (bytes < device).then_some(())?;
    let why = format!(
        "Packets are at most {bytes} bytes where the interface carries {device}: {} % of each is headers. If no \
         route sets it, the path reported it (ICMP Fragmentation Needed): ip route flush cache forgets it, until \
         the path reports it again.",
        u64::from(super::HEADERS) * 100 / bytes
    );
    Some(
        finding(exam, route, Check::RouteMtu, Severity::Costs, "mtu", "packets of this route are small")
            .because(why, "RFC 1191, section 3; RFC 8200, section 5; ip-route(8), mtu"),
    )
}
