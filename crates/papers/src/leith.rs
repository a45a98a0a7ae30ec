//! Leith 2004, Linux TCP implementation issues in high-speed networks: why the 2.4 sender does not fill a long fat
//! path, with and without each change.
//!
//! The paper's text has no numbers but RTTs, and its figures are pictures of cwnd, so only its claims can be compared.
//! How often packets are reordered, and the measure of figure 5, were chosen with results in view (`docs/src/leith.md`).
//!
//! - `apart`: the changes that the paper describes without a figure, each by itself.
//! - `figures`: cwnd and ssthresh over time, before and after.

mod apart;
mod figures;

use crate::PaperCase;
use crate::measure::{FlowMeasures, spread};
use crate::report::{Claim, Report};
use crate::trace::Trace;
use slowpath_model::statistics;

const SACK: (&str, &str) = ("scenarios/leith/sack.toml", include_str!("../../../scenarios/leith/sack.toml"));
const CERN_SLAC: (&str, &str) =
    ("scenarios/leith/cern-slac.toml", include_str!("../../../scenarios/leith/cern-slac.toml"));
const DUBLIN_SLAC: (&str, &str) =
    ("scenarios/leith/dublin-slac.toml", include_str!("../../../scenarios/leith/dublin-slac.toml"));
const DUBLIN_LBL: (&str, &str) =
    ("scenarios/leith/dublin-lbl.toml", include_str!("../../../scenarios/leith/dublin-lbl.toml"));
const RENEGING: (&str, &str) =
    ("scenarios/leith/reneging.toml", include_str!("../../../scenarios/leith/reneging.toml"));
const DUBLIN_CERN: (&str, &str) =
    ("scenarios/leith/dublin-cern.toml", include_str!("../../../scenarios/leith/dublin-cern.toml"));

/// Figure 1: the sender's SACK of 2.4, Kelly's and Leith's; 2.4's without the throttle, and with a longer backlog.
const WALKED: usize = 0;
const REPEATS: usize = 1;
const HOLES: usize = 2;
const UNTHROTTLED: usize = 3;
const LONGER: usize = 4;
/// Figure 2: from CERN to Stanford, and without the effect in the figure.
const CERN: usize = 5;
const CERN_CHANGED: usize = 6;
/// Figures 8, 3, 4 and 5, 6 and 7: from Dublin to Stanford.
const ALL: usize = 7;
const THREE_QUARTERS: usize = 8;
const CAPPED: usize = 9;
const MODERATED: usize = 10;
/// The other two paths of section 2.
const LBL: usize = 11;
const CERN_FROM_DUBLIN: usize = 12;
/// Figure 1's path, where one ACK in ten is lost: Kelly's SACK and Leith's.
const REPEATS_LOSSY: usize = 13;
const HOLES_LOSSY: usize = 14;

/// The cases that are traced for the figures, from the first.
pub const TRACED: usize = 13;

/// The paper's experiments.
pub fn cases() -> Vec<PaperCase> {
    let cases = [
        case("SACK of 2.4.23", SACK, &[]),
        case("SACK by what repeats", SACK, &["sack-walk=repeats"]),
        case("SACK over holes", SACK, &["sack-walk=holes"]),
        case("SACK of 2.4.23, no throttle", SACK, &["throttle=none"]),
        case("SACK of 2.4.23, a longer backlog", SACK, &["netdev-max-backlog=3000"]),
        case("CERN to SLAC", CERN_SLAC, &[]),
        case("CERN to SLAC, changed", CERN_SLAC, &["throttle=none", "sack-walk=holes"]),
        case("Dublin to SLAC", DUBLIN_SLAC, &[]),
        case("Dublin to SLAC, htcp_undo=0", DUBLIN_SLAC, &["prior-threshold=three-quarters"]),
        case("Dublin to SLAC, htcp_cap=0", DUBLIN_SLAC, &["reduction-cap=yes"]),
        case("Dublin to SLAC, htcp_moderation=0", DUBLIN_SLAC, &["burst-moderation=in-flight"]),
        case("Dublin to LBL", DUBLIN_LBL, &[]),
        case("Dublin to CERN", DUBLIN_CERN, &[]),
        lossy(case("SACK by what repeats, ACKs lost", SACK, &["sack-walk=repeats"])),
        lossy(case("SACK over holes, ACKs lost", SACK, &["sack-walk=holes"])),
    ];
    cases.into_iter().chain(apart::cases()).collect()
}

/// A scenario with choices of the sender's kernel.
fn case(name: &str, (file, text): (&'static str, &'static str), choices: &[&str]) -> PaperCase {
    let sets = choices.iter().map(|choice| format!("hosts.sender.kernel.{choice}")).collect();
    PaperCase { name: name.to_owned(), file, text, sets, flow: 0 }
}

/// The case on a path that loses one ACK in ten.
fn lossy(mut case: PaperCase) -> PaperCase {
    case.sets.push("path.reverse.loss=10%".to_owned());
    case
}

/// The paper's figures and claims next to the results of each case's runs, one of which is traced.
pub fn report(runs: &[Vec<FlowMeasures>], traces: &[Trace]) -> Report {
    Report {
        tables: apart::tables(runs),
        figures: figures::figures(traces),
        claims: claims(runs)
            .into_iter()
            .chain(apart::claims(runs))
            .chain(figures::claims(runs, traces))
            .collect(),
        runs: cases().iter().map(|case| (case.name.clone(), case.command())).collect(),
        ..Report::simulated(
            "leith",
            "Leith 2004, Linux TCP implementation issues in high-speed networks",
            runs,
        )
    }
}

fn claims(runs: &[Vec<FlowMeasures>]) -> Vec<Claim> {
    let median = |case: usize, of: &dyn Fn(&FlowMeasures) -> f64| spread(&runs[case], of)[1];
    let rates = |case: usize| median(case, &FlowMeasures::rate);
    let dropped = |case: usize| median(case, &|run| run.sender_backlog.dropped as f64);
    let throttled = |case: usize| median(case, &|run| run.sender_backlog.throttled as f64);
    let timeouts = |case: usize| median(case, &|run| f64::from(run.timeouts));
    // The same losses on the path in both.
    let kelly =
        runs[REPEATS_LOSSY].iter().zip(&runs[HOLES_LOSSY]).map(|(one, other)| one.rate() / other.rate());
    let kelly = statistics::median(kelly).unwrap_or(f64::NAN);
    vec![
        Claim {
            place: "section 1.1",
            says: "the walks take too long to be done between two ACKs, and the softirq queue throttles",
            seen: format!(
                "ACKs dropped: {:.0}; throttled: {:.0}; {:.1} Mbit/s",
                dropped(WALKED),
                throttled(WALKED),
                rates(WALKED)
            ),
            holds: Some(dropped(WALKED) > 0.0 && throttled(WALKED) > 0.0),
        },
        Claim {
            place: "figure 1(a)",
            says: "repeated timeouts during loss recovery",
            seen: format!("timeouts: {:.0}", timeouts(WALKED)),
            holds: Some(timeouts(WALKED) >= 2.0),
        },
        Claim {
            place: "figure 1(b)",
            says: "none of that with the more efficient algorithm",
            seen: format!(
                "ACKs dropped: {:.0}; timeouts: {:.0}; {:.1} Mbit/s",
                dropped(HOLES),
                timeouts(HOLES),
                rates(HOLES)
            ),
            holds: Some(dropped(HOLES) == 0.0 && timeouts(HOLES) == 0.0 && rates(HOLES) > rates(WALKED)),
        },
        Claim {
            place: "section 1.1",
            says: "what goes by redundancy between ACKs (Kelly) fails where ACKs are lost",
            seen: format!(
                "with one ACK in ten lost on the path, further ACKs dropped: {:.0}, {:.0} over holes; timeouts: {:.0} and {:.0}; \
                 {:.1} and {:.1} Mbit/s; seed by seed × {kelly:.2}",
                dropped(REPEATS_LOSSY),
                dropped(HOLES_LOSSY),
                timeouts(REPEATS_LOSSY),
                timeouts(HOLES_LOSSY),
                rates(REPEATS_LOSSY),
                rates(HOLES_LOSSY)
            ),
            holds: Some(kelly < 0.95),
        },
        Claim {
            place: "section 1.1",
            says: "dropped ACKs are common on such paths, from the softirq queue of a sender that walks",
            seen: format!(
                "without any loss of ACKs on the path: {:.0} from the head, {:.0} by what repeats, {:.0} over holes",
                dropped(WALKED),
                dropped(REPEATS),
                dropped(HOLES)
            ),
            holds: Some(dropped(WALKED) > 1000.0),
        },
        Claim {
            place: "section 1.2",
            says: "the throttle leads to timeouts",
            seen: format!(
                "timeouts: {:.0} with it, {:.0} without; {:.1} and {:.1} Mbit/s",
                timeouts(WALKED),
                timeouts(UNTHROTTLED),
                rates(WALKED),
                rates(UNTHROTTLED)
            ),
            holds: Some(throttled(WALKED) > 0.0 && timeouts(WALKED) > timeouts(UNTHROTTLED)),
        },
        Claim {
            place: "section 1.2",
            says: "without it but with the walk, the CPU is as busy and many ACKs are dropped",
            seen: format!("ACKs dropped: {:.0}; {:.1} Mbit/s", dropped(UNTHROTTLED), rates(UNTHROTTLED)),
            holds: Some(dropped(UNTHROTTLED) > 1000.0 && rates(UNTHROTTLED) < rates(HOLES)),
        },
        Claim {
            place: "section 1.2",
            says: "a longer queue is often no good alternative: its delay leads to timeouts",
            seen: format!(
                "with 3000 packets, ACKs dropped: {:.0}; timeouts: {:.0}; {:.1} Mbit/s",
                dropped(LONGER),
                timeouts(LONGER),
                rates(LONGER)
            ),
            holds: Some(timeouts(LONGER) > 0.0),
        },
        Claim {
            place: "section 1.4, figure 3",
            says: "an undo to three quarters performs poorly where packets are reordered again and again",
            seen: format!("{:.1} Mbit/s, {:.1} with the exact one", rates(THREE_QUARTERS), rates(ALL)),
            holds: Some(rates(THREE_QUARTERS) < 0.95 * rates(ALL)),
        },
        Claim {
            place: "section 1.5, figure 4",
            says: "the cap on cwnd costs throughput",
            seen: format!("{:.1} Mbit/s, {:.1} without", rates(CAPPED), rates(ALL)),
            holds: Some(rates(CAPPED) < 0.95 * rates(ALL)),
        },
        Claim {
            place: "section 1.5, figures 6 and 7",
            says: "and so does the moderation of bursts by what is in flight",
            seen: format!("{:.1} Mbit/s, {:.1} without", rates(MODERATED), rates(ALL)),
            holds: Some(rates(MODERATED) < 0.95 * rates(ALL)),
        },
    ]
}
