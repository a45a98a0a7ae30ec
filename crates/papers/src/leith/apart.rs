//! Changes that the paper describes without a figure, each by itself: the throttle where the walk is efficient (section
//! 1.2), SACK reneging (1.3), and the undo of a recovery that begins during another reduction (1.4).
//!
//! The paper has no numbers for them. The tables show what each costs, the claims its direction.

use super::{ALL, CERN_FROM_DUBLIN, DUBLIN_CERN, DUBLIN_SLAC, HOLES, RENEGING, SACK, case};
use crate::PaperCase;
use crate::measure::{FlowMeasures, spread};
use crate::report::{Cell, Claim, Judged, Table};
use slowpath_model::statistics;

/// The first of these cases.
const FIRST: usize = 15;
/// Leith's walk on figure 1's path without the throttle, and on two others with it: to SLAC and to CERN.
const SACK_UNTHROTTLED: usize = FIRST;
const SLAC_THROTTLED: usize = FIRST + 1;
const CERN_THROTTLED: usize = FIRST + 2;
/// A receiver that reneges, with a buffer of twice rate times RTT: as a timeout, and with cwnd kept.
const AS_TIMEOUT: usize = FIRST + 3;
const FORGOTTEN: usize = FIRST + 4;
/// That receiver with the buffer of the other scenarios.
const AS_TIMEOUT_LARGE: usize = FIRST + 5;
const FORGOTTEN_LARGE: usize = FIRST + 6;
/// Figure 8's case without `undo-again`.
const ONCE: usize = FIRST + 7;
/// A sender whose own NIC is the bottleneck, with and without `undo-again`.
const NIC_AGAIN: usize = FIRST + 8;
const NIC_ONCE: usize = FIRST + 9;

/// The experiments, in the order of the numbers above.
pub fn cases() -> [PaperCase; 10] {
    let throttled = ["throttle=until-empty"];
    [
        case("SACK over holes, no throttle", SACK, &["sack-walk=holes", "throttle=none"]),
        case("Dublin to SLAC, throttle", DUBLIN_SLAC, &throttled),
        case("Dublin to CERN, throttle", DUBLIN_CERN, &throttled),
        case("Reneging as timeout", RENEGING, &["reneging=as-timeout"]),
        case("Reneging, cwnd kept", RENEGING, &[]),
        large(case("Reneging as timeout, 64 MiB", RENEGING, &["reneging=as-timeout"])),
        large(case("Reneging, cwnd kept, 64 MiB", RENEGING, &[])),
        case("Dublin to SLAC, undo once", DUBLIN_SLAC, &["undo-again=no"]),
        own_nic(case("Dublin to SLAC, own NIC", DUBLIN_SLAC, &[])),
        own_nic(case("Dublin to SLAC, own NIC, undo once", DUBLIN_SLAC, &["undo-again=no"])),
    ]
}

fn large(mut case: PaperCase) -> PaperCase {
    case.sets.push("flows.receiver.socket.SO_RCVBUF=64 MiB".to_owned());
    case
}

/// The path has the rate of the sender's NIC, and a sender whose CPU can fill it: its qdisc drops packets.
fn own_nic(mut case: PaperCase) -> PaperCase {
    case.sets.push("path.rate=1 Gbit/s".to_owned());
    case.sets.push("hosts.sender.machine=server-2020".to_owned());
    case
}

type Quantity = (&'static str, fn(&FlowMeasures) -> f64);

const RATE: Quantity = ("throughput, Mbit/s", FlowMeasures::rate);
const TIMEOUTS: Quantity = ("timeouts", |run| f64::from(run.timeouts));
const THROTTLED: Quantity = ("throttled", |run| run.sender_backlog.throttled as f64);
const RENEGED: Quantity = ("reneging found by the sender", |run| run.sack_renegings as f64);
const RETRANSMITS: Quantity = ("retransmitted segments", |run| f64::from(run.retransmits));
const UNDOS: Quantity = ("undos", |run| run.undos as f64);
const LOCAL_DROPS: Quantity = ("drops of the local queue", |run| run.local_drops as f64);

/// A table for each of the three.
pub fn tables(runs: &[Vec<FlowMeasures>]) -> Vec<Table> {
    let names = super::cases();
    let table = |name, about, cases: &[usize], quantities: &[Quantity]| {
        let cells = cases.iter().flat_map(|&case| {
            let row = &names[case].name;
            quantities.iter().map(move |&(quantity, of)| {
                Cell::new(row.clone(), quantity, None, spread(&runs[case], of), Judged::Shown)
            })
        });
        Table { name, about, cells: cells.collect() }
    };
    vec![
        table(
            "Section 1.2",
            "the throttle where the walk is efficient",
            &[HOLES, SACK_UNTHROTTLED, SLAC_THROTTLED, ALL, CERN_THROTTLED, CERN_FROM_DUBLIN],
            &[RATE, THROTTLED, TIMEOUTS],
        ),
        table(
            "Section 1.3",
            "a receiver that reneges",
            &[AS_TIMEOUT, FORGOTTEN, AS_TIMEOUT_LARGE, FORGOTTEN_LARGE],
            &[RATE, RENEGED, RETRANSMITS, TIMEOUTS],
        ),
        table(
            "Section 1.4",
            "undo of a recovery that begins during another reduction",
            &[ONCE, ALL, NIC_ONCE, NIC_AGAIN],
            &[RATE, UNDOS, LOCAL_DROPS],
        ),
    ]
}

/// The paper's claims about them.
pub fn claims(runs: &[Vec<FlowMeasures>]) -> [Claim; 4] {
    let median = |case: usize, (_, of): Quantity| spread(&runs[case], of)[1];
    // Of the runs with the same seed.
    let factor = |one: usize, other: usize| {
        let factors = runs[one].iter().zip(&runs[other]).map(|(one, other)| one.rate() / other.rate());
        statistics::median(factors).unwrap_or(f64::NAN)
    };
    let pairs = [(SLAC_THROTTLED, ALL), (CERN_THROTTLED, CERN_FROM_DUBLIN)];
    let [slac, cern] = pairs.map(|(with, without)| factor(with, without));
    let renegings = [AS_TIMEOUT, FORGOTTEN, AS_TIMEOUT_LARGE, FORGOTTEN_LARGE];
    let [hand, large] = [(FORGOTTEN, AS_TIMEOUT), (FORGOTTEN_LARGE, AS_TIMEOUT_LARGE)]
        .map(|(kept, collapsed)| factor(kept, collapsed));
    let [again, nic_again] =
        [(ALL, ONCE), (NIC_AGAIN, NIC_ONCE)].map(|(with, without)| factor(with, without));
    [
        Claim {
            place: "section 1.2",
            says: "the throttle invariably leads to a timeout (here alone, with the efficient walk)",
            seen: format!(
                "throttled {:.0} times on figure 1's path; {:.0} times and {:.0} timeouts to SLAC, × {slac:.2}; {:.0} times and \
                 {:.0} timeouts to CERN, × {cern:.2}",
                median(HOLES, THROTTLED),
                median(SLAC_THROTTLED, THROTTLED),
                median(SLAC_THROTTLED, TIMEOUTS),
                median(CERN_THROTTLED, THROTTLED),
                median(CERN_THROTTLED, TIMEOUTS),
            ),
            holds: Some(
                pairs.iter().all(|&(with, without)| median(with, TIMEOUTS) > median(without, TIMEOUTS)),
            ),
        },
        Claim {
            place: "section 1.3",
            says: "receivers renege on high-speed paths, presumably under pressure",
            seen: format!(
                "found by the sender: {}, with a receiver that was chosen because it reneges; those of 2.4 and later do not here",
                renegings.map(|case| format!("{:.0}", median(case, RENEGED))).join(", ")
            ),
            holds: None,
        },
        Claim {
            place: "section 1.3",
            says: "to treat reneging as a timeout is unnecessarily severe",
            seen: format!(
                "with cwnd kept × {hand:.2} ({:.1} and {:.1} Mbit/s); with a receive buffer of 64 MiB × {large:.2} ({:.1} and \
                 {:.1} Mbit/s)",
                median(FORGOTTEN, RATE),
                median(AS_TIMEOUT, RATE),
                median(FORGOTTEN_LARGE, RATE),
                median(AS_TIMEOUT_LARGE, RATE)
            ),
            holds: Some(hand > 1.0 && large > 1.0),
        },
        Claim {
            place: "section 1.4",
            says: "without undo after the first entry to recovery, repeated reordering cannot be undone",
            seen: format!(
                "undos in a minute without the change: {:.0}, with it {:.0}, × {again:.2}; where the local queue drops packets × \
                 {nic_again:.2}",
                median(ONCE, UNDOS),
                median(ALL, UNDOS)
            ),
            holds: Some(median(ONCE, UNDOS) < median(ALL, UNDOS) && again > 1.0),
        },
    ]
}
