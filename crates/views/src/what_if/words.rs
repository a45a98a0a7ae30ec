//! The sentences of a fit and of a refusal.

use crate::quantity::{count, counted, duration, share};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::units::range;
use slowpath_model::{Rate, Vantage};
use slowpath_remedies::percent;
use slowpath_runs::what_if::Stage;
use slowpath_whatif::scenario::Subject;
use slowpath_whatif::{Basis, Control, Difference, Fitted, Known, LossProcess, ReceiveBuffer, Refusal};
use std::fmt::Display;

/// What is going on, for a progress bar.
pub fn stage(stage: Stage) -> String {
    match stage {
        Stage::Checking => "fitting, and checking the fit".to_owned(),
        Stage::Trying(done, all) => format!("simulating, {done} of {all} runs"),
    }
}

/// Why nothing is predicted, without a full stop.
pub(crate) fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NotAtSender(Vantage::Between | Vantage::Unknown) => {
            "the capture was not made on the sending host, as far as it shows".to_owned()
        }
        Refusal::NotAtSender(_) => "the capture was made on the receiving host".to_owned(),
        Refusal::NoHandshake => {
            "the handshake is not in the capture, so the options are not known".to_owned()
        }
        Refusal::TooLittle { segments, least } => {
            format!("{} with data are too few: a path shows from {least} on", counted(*segments, "segment"))
        }
        Refusal::TwoWay { answered } => {
            format!("the receiver sent data too, {answered}; only transfers in one direction are predicted")
        }
        Refusal::Shared { flows } => {
            format!(
                "{} moved data at the same time, over the same path for all one knows",
                counted(*flows, "other flow")
            )
        }
        Refusal::Gaps(data) => format!("the capture lacks {data} that was acknowledged"),
        Refusal::LostSyns(syns) => format!("{} lost in the handshake", was(u64::from(*syns), "packet")),
        Refusal::Marked(segments) => {
            format!(
                "congestion marks reduced the window, {}; what their device does to packets that are not ECN-capable does not show",
                counted(*segments, "segment")
            )
        }
        Refusal::Disturbed(segments) => format!("{} out of order or twice", came(*segments)),
        Refusal::NotModelled { cause, share: part } => {
            format!(
                "{} of the time has a limit that a fit does not have, above all {}",
                share(*part),
                cause.title()
            )
        }
        Refusal::RateUnknown => {
            "the rate of the path does not show: no bursts of ACKs agree on one pace".to_owned()
        }
        Refusal::NoRtt => "no RTT was measured".to_owned(),
        Refusal::TooManyLosses => "there are too many losses to simulate them again".to_owned(),
        Refusal::BurstyLoss { adjacent, lost } => format!(
            "losses come in bursts: {} of {} lost segments follow another one; a fit has single losses by chance",
            count(*adjacent),
            count(*lost)
        ),
        Refusal::LossUnclear => {
            "data was lost once, when the RTT was longest: by chance, or because the queue was full"
                .to_owned()
        }
        Refusal::NoSack => {
            "data was lost without SACK; what happens then depends on single packets".to_owned()
        }
        Refusal::NoScenario(why) => format!("the fit is not a scenario: {why}"),
        Refusal::Differs(differences) => {
            let all: Vec<String> = differences.iter().map(difference).collect();
            format!("the simulated transfer is not the captured one: {}", all.join("; "))
        }
        Refusal::Interrupted => "it was interrupted".to_owned(),
    }
}

fn was(number: u64, thing: &str) -> String {
    format!("{} {}", counted(number, thing), if number == 1 { "was" } else { "were" })
}

fn came(number: u64) -> String {
    format!("{} came", counted(number, "segment"))
}

/// What to record, so that it can be predicted; `None` if no other recording of this transfer could.
pub(super) fn record(refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::NotAtSender(_) => {
            Some("Record on the sending host; --vantage sender says so if slowpath cannot tell.")
        }
        Refusal::NoHandshake => Some("Start the capture before the connection opens."),
        Refusal::TooLittle { .. } | Refusal::RateUnknown | Refusal::LossUnclear => {
            Some("Record a longer transfer.")
        }
        Refusal::Gaps(_) => {
            Some("Record with a larger buffer (tcpdump -B 65536) and fewer bytes of each packet (-s 128).")
        }
        Refusal::Shared { .. } => Some("Record one transfer at a time."),
        Refusal::LostSyns(_) | Refusal::TooManyLosses => Some("Record another transfer."),
        Refusal::Differs(_) => Some(
            "Something has a part in it that this capture does not show. Record it again while nothing else uses the path.",
        ),
        _ => None,
    }
}

pub(super) fn difference(difference: &Difference) -> String {
    let of = |what: &str, captured: &dyn Display, simulated: &dyn Display| {
        format!("{what} {simulated} instead of {captured}")
    };
    match difference {
        Difference::Rate { captured, simulated } => of("rate", captured, simulated),
        Difference::MeanRtt { captured, simulated } => {
            of("mean RTT", &duration(*captured), &duration(*simulated))
        }
        Difference::Retransmitted { captured, simulated } => {
            of("retransmitted", &percent(*captured), &percent(*simulated))
        }
        Difference::Sacked { captured, simulated } => {
            of("SACK blocks", &count(*captured), &count(*simulated))
        }
        Difference::Limit { limit, captured, simulated } => {
            of(&format!("time limited by the {}:", limit.title()), &share(*captured), &share(*simulated))
        }
        Difference::Pace { off } => {
            format!("the pace of ACKs is off by a factor of {:.1} on average", 1.0 + off)
        }
        Difference::Chance { captured, low, high } => {
            format!("with losses drawn by chance, the rate is {low} to {high}, and was {captured}")
        }
    }
}

/// What would limit it: `receive window, 97 %`.
pub(crate) fn limited_by((limit, cause, part): (Limit, Cause, f64)) -> String {
    let what = if cause == Cause::SlowStart { "slow start" } else { limit.title() };
    format!("{what}, {}", share(part))
}

/// The change of a rate: `×5.2`, `+12 %`; if the range holds the captured rate, `up to ×1.7` or `none`.
pub(super) fn gain(captured: Rate, [low, middle, high]: [Rate; 3]) -> String {
    /// A gain below this part is not worth a number: the range of an unchanged transfer is about as wide.
    const LEAST: f64 = 0.1;
    let shown = |rate: Rate| {
        let factor = rate.get() as f64 / captured.get().max(1) as f64;
        if factor >= 2.0 { format!("×{factor:.1}") } else { format!("{:+.0} %", (factor - 1.0) * 100.0) }
    };
    let most = high.get() as f64 / captured.get().max(1) as f64 - 1.0;
    match (low..=high).contains(&captured) {
        false => shown(middle),
        true if most > LEAST => format!("up to {}", shown(high)),
        true => "none".to_owned(),
    }
}

/// The rows of a fit: what, its value with its range, and where it is from.
pub(super) fn rows(fitted: &Fitted) -> Vec<(Subject, &'static str, String, String)> {
    let mut rows = Vec::new();
    let mut row = |subject, what, value, from| rows.push((subject, what, value, from));
    let kernel = format!("{} on both hosts", fitted.kernel.name());
    row(Subject::Kernel, "kernel", kernel, "not shown by a capture; --from names another".to_owned());
    row(Subject::Rate, "bottleneck", value(&fitted.rate, |rate| rate.to_string()), from(&fitted.rate));
    row(Subject::Rtt, "RTT", value(&fitted.rtt, |rtt| duration(*rtt)), from(&fitted.rtt));
    row(
        Subject::Queue,
        "queue",
        value(&fitted.queue, |queue| counted(u64::from(*queue), "packet")),
        from(&fitted.queue),
    );
    match &fitted.loss {
        LossProcess::None => {
            row(Subject::Loss, "loss", "only where the queue is full".to_owned(), basis(Basis::Captured));
        }
        LossProcess::Chance(ppm) => {
            row(Subject::Loss, "loss", value(ppm, |ppm| percent(ppm / 1e6)), from(ppm));
        }
        LossProcess::Policer { rate, burst } => {
            row(Subject::Loss, "policer", value(rate, |rate| rate.to_string()), from(rate));
            row(Subject::Loss, "policer's burst", value(burst, |burst| burst.to_string()), from(burst));
        }
    }
    match &fitted.receive {
        ReceiveBuffer::Fixed { size, .. } => {
            row(Subject::ReceiveBuffer, "SO_RCVBUF", value(size, |size| size.to_string()), from(size));
        }
        ReceiveBuffer::Tuned(most) => {
            row(
                Subject::ReceiveBuffer,
                "receive buffer, most",
                value(most, |most| most.to_string()),
                from(most),
            );
        }
        ReceiveBuffer::Untuned { size, .. } => {
            let what = "receive buffer, not tuned";
            row(Subject::ReceiveBuffer, what, value(size, |size| size.to_string()), from(size));
        }
    }
    if fitted.scaling != [true; 2] {
        let who = match fitted.scaling {
            [false, false] => "neither end offers it",
            [false, true] => "the sender does not offer it",
            _ => "the receiver does not offer it",
        };
        row(Subject::ReceiveBuffer, "window scaling", who.to_owned(), basis(Basis::Captured));
    }
    match &fitted.send {
        Some(size) => {
            row(Subject::SendBuffer, "SO_SNDBUF", value(size, |size| size.to_string()), from(size));
            let nic = match fitted.writing.waits_for_nic {
                true => "slower than the writer",
                false => "takes each packet as it is written",
            };
            row(Subject::SendBuffer, "sender's NIC", nic.to_owned(), basis(Basis::Assumed));
        }
        None => row(
            Subject::SendBuffer,
            "send buffer",
            format!("tuned, up to {}", fitted.send_most),
            basis(Basis::Assumed),
        ),
    }
    let controls: Vec<&str> = fitted.controls.iter().copied().map(Control::name).collect();
    row(Subject::Control, "congestion control", controls.join(" or "), basis(fitted.control_basis));
    let segments = |segments: &u32| counted(u64::from(*segments), "segment");
    row(
        Subject::InitialWindow,
        "initial window",
        value(&fitted.initial_window, segments),
        from(&fitted.initial_window),
    );
    if fitted.merges != fitted.super_packets {
        row(Subject::Packets, "GRO at the receiver", "off".to_owned(), basis(Basis::Assumed));
    }
    row(Subject::Packets, "largest packet", format!("{} B", count(fitted.mtu.get())), basis(Basis::Captured));
    row(Subject::Amount, "data", fitted.amount.to_string(), basis(Basis::Captured));
    if let Some(requests) = &fitted.requests {
        let text = format!(
            "{} of {}, {} later each",
            counted(requests.count, "response"),
            requests.response,
            duration(requests.client_time)
        );
        row(Subject::Amount, "requests", text, basis(Basis::Captured));
    }
    rows
}

fn value<T: Copy + PartialEq>(known: &Known<T>, shown: impl Fn(&T) -> String) -> String {
    let (middle, low, high) = (shown(&known.value), shown(&known.low), shown(&known.high));
    if low == high || (low == middle && high == middle) {
        middle
    } else {
        format!("{middle} ({})", range(&low, &high))
    }
}

/// Where a value is from.
fn from<T: Copy>(known: &Known<T>) -> String {
    let text = basis(known.basis);
    if known.is_adjusted { format!("{text}; adjusted") } else { text }
}

fn basis(basis: Basis) -> String {
    match basis {
        Basis::AckPace { share: part } => format!("pace of ACKs, {} of the data", share(part)),
        Basis::ShortestRtt => "the shortest".to_owned(),
        Basis::DelayAtLoss { delay, .. } => format!("RTT {} longer at losses", duration(delay)),
        Basis::NeverFull { delay } => format!("never full; held {}", duration(delay)),
        Basis::LossesCounted { lost, of } => format!("{} of {} segments", count(lost), count(of)),
        Basis::RateAtLoss => "rate at which losses began".to_owned(),
        Basis::LargestWindow { window } => format!("window of {window} at most"),
        Basis::WindowScale { shift } => format!("window scale of {shift}"),
        Basis::FlightPlateau { flight } => format!("{flight} in flight at most"),
        Basis::FirstFlight { flight } => format!("{flight} before the first ACK"),
        Basis::Reproduces => "other controls do not give this capture".to_owned(),
        Basis::Captured => "as captured".to_owned(),
        Basis::Assumed => "assumed: it does not show".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gain_is_told_from_none() {
        let gain = |rates: [u64; 3]| gain(Rate::mbit(10), rates.map(Rate::mbit));
        assert_eq!(gain([40, 52, 60]), "×5.2");
        assert_eq!(gain([11, 12, 13]), "+20 %");
        assert_eq!(gain([7, 8, 9]), "-20 %");
        assert_eq!(gain([9, 15, 17]), "up to +70 %");
        assert_eq!(gain([9, 10, 10]), "none");
    }
}
