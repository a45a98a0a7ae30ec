//! Figures 8 to 10, the receiver's queues, and plates 1 and 2, a capture at the sender.

use super::{IDLE, NEW, OLD};
use crate::figure::{Axis, Drawn, Figure, Series};
use crate::report::Claim;
use crate::trace::{Queue, Queues, Trace};

const TIME: Axis = Axis::linear("time since the transfer began", "s");
const MEGA: f64 = 1e6;
const KILO: f64 = 1e3;

/// What the paper says about a case's queues and plate.
struct FigureText {
    case: usize,
    receive: Part,
    others: Part,
    plate: Part,
}

/// A part of a figure: its name, its subject, and what the paper says about it.
type Part = [&'static str; 3];

const FIGURES: [FigureText; 3] = [
    FigureText {
        case: IDLE,
        receive: [
            "Figure 8, receive queue",
            "the receive queue without background load (BL0)",
            "it is nearly full, since the sender is the faster machine",
        ],
        others: [
            "Figure 8, other queues",
            "the queues before and beyond it, without background load (BL0)",
            "prequeue and out-of-sequence queue are empty as a rule, and the backlog is not",
        ],
        plate: [
            "Plate 1(a)",
            "what the sender sees without background load (BL0)",
            "the sender sends without a pause, is acknowledged in time, and never times out",
        ],
    },
    FigureText {
        case: OLD,
        receive: [
            "Figure 9, receive queue",
            "the receive queue next to ten jobs of a make (BL10)",
            "it is not near full, since timeouts slow the sender down, and rises and falls with the turns of the process",
        ],
        others: [
            "Figure 9, other queues",
            "the queues before and beyond it, next to ten jobs of a make (BL10)",
            "the backlog rises and falls with the turns of the process",
        ],
        plate: [
            "Plates 1(b) and 2(a)",
            "what the sender sees next to ten jobs of a make (BL10)",
            "the sender sends with pauses, and quite a few segments again (R), though none was lost",
        ],
    },
    FigureText {
        case: NEW,
        receive: [
            "Figure 10, receive queue",
            "the receive queue next to ten jobs of a make, with the changed scheduler",
            "it is nearly full",
        ],
        others: [
            "Figure 10, other queues",
            "the queues before and beyond it, next to ten jobs of a make, with the changed scheduler",
            "it is shown without a word",
        ],
        plate: [
            "Plate 2(b)",
            "what the sender sees next to ten jobs of a make, with the changed scheduler",
            "nothing is retransmitted; the sender pauses when the receiver closes its window (Z)",
        ],
    },
];

/// The figures of the traced cases.
pub fn figures(traces: &[Trace]) -> Vec<Figure> {
    let text = || FIGURES.iter().filter_map(|text| Some((text, traces.get(text.case)?)));
    let queues = text().flat_map(|(text, trace)| [receive(text.receive, trace), others(text.others, trace)]);
    queues.chain(text().map(|(text, trace)| plate(text.plate, trace))).collect()
}

fn figure([name, about, says]: Part, y: Axis, series: Vec<Series>, seen: String) -> Figure {
    Figure { name, about, x: TIME, y, series, says, seen }
}

/// A series in another unit.
fn per(unit: f64, mut series: Series) -> Series {
    series.y.iter_mut().for_each(|y| *y /= unit);
    series
}

fn receive(part: Part, trace: &Trace) -> Figure {
    let queues = &trace.queues;
    let queue = per(MEGA, queues.receive.course.series("receive queue", Drawn::Course));
    let ends = [queue.x.first(), queue.x.last()];
    let limit = ends.into_iter().flatten().map(|x| (*x, queues.limit / MEGA));
    let limit = Series::new("its limit (sk_rcvbuf)", Drawn::Steps, limit);
    let (mean, limit_is) = (queues.receive.mean(), queues.limit);
    let seen = format!(
        "{:.0} of {:.0} MB are taken in the mean ({:.0} %), {:.0} at most",
        mean / MEGA,
        limit_is / MEGA,
        mean / limit_is * 100.0,
        queues.receive.most / MEGA
    );
    figure(part, Axis::linear("memory of the packets", "MB"), vec![queue, limit], seen)
}

fn others(part: Part, trace: &Trace) -> Figure {
    let queues = &trace.queues;
    let named = [
        ("backlog", &queues.backlog),
        ("prequeue", &queues.prequeue),
        ("out-of-sequence queue", &queues.out_of_order),
    ];
    let series = named.map(|(name, queue)| per(KILO, queue.course.series(name, Drawn::Course)));
    let seen = format!("the {}; {}; {}", summary(named[0]), summary(named[1]), summary(named[2]));
    figure(part, Axis::linear("memory of the packets", "kB"), series.into(), seen)
}

fn summary((name, queue): (&str, &Queue)) -> String {
    if queue.most == 0.0 {
        return format!("{name} is always empty");
    }
    let stretch = match queue.longest_stretch {
        short if short < 0.001 => String::new(),
        long => format!(", for {long:.3} s at a stretch at most"),
    };
    format!(
        "{name} has packets {} of the time{stretch}, {:.0} kB at most",
        percent(queue.share_not_empty()),
        queue.most / KILO
    )
}

fn percent(share: f64) -> String {
    if share < 0.001 { "less than 0.1 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

fn plate(part: Part, trace: &Trace) -> Figure {
    let sequence = &trace.sequence;
    let series = vec![
        sequence.window.series("end of the receiver's window", Drawn::Steps),
        sequence.sent.series("sent", Drawn::Course),
        sequence.acknowledged.series("acknowledged", Drawn::Steps),
        sequence.again.marks("retransmitted", 'R'),
        sequence.closed.marks("window of 0", 'Z'),
    ];
    let seen = format!(
        "segments retransmitted: {}; ACKs with a window of 0: {}; the longest pause: {:.3} s",
        sequence.sent_again, sequence.zero_windows, sequence.longest_pause
    );
    let series = series.into_iter().map(|series| per(MEGA, series)).collect();
    figure(part, Axis::linear("sequence number", "MB"), series, seen)
}

/// A receive queue is nearly full from this mean share of its limit on: the paper gives no number.
const NEARLY_FULL: f64 = 0.8;

/// The paper's claims about these figures, as far as they can be counted.
pub fn claims(traces: &[Trace]) -> Vec<Claim> {
    let [Some(idle), Some(old), Some(new)] = [IDLE, OLD, NEW].map(|case| traces.get(case)) else {
        return Vec::new();
    };
    let empty = |trace: &Trace| {
        let queues = [&trace.queues.prequeue, &trace.queues.out_of_order];
        queues.into_iter().map(Queue::share_not_empty).fold(0.0, f64::max)
    };
    let backlog = old.queues.backlog.share_not_empty();
    let share = |queues: &Queues| queues.receive.mean() / queues.limit;
    let taken =
        |trace: &Trace| format!("{:.0} % of the buffer are taken in the mean", share(&trace.queues) * 100.0);
    vec![
        Claim {
            place: "section 4, figures 8 and 9",
            says: "prequeue and out-of-sequence queue are empty as a rule",
            seen: format!("each has packets {} of the time at most", percent(empty(idle).max(empty(old)))),
            holds: Some(empty(idle).max(empty(old)) < 0.01),
        },
        Claim {
            place: "section 4, figure 9",
            says: "next to ten jobs of a make the backlog is usually not empty, also while the process does not run",
            seen: format!(
                "it has packets {:.0} % of the time, {:.1} s at a stretch at most",
                backlog * 100.0,
                old.queues.backlog.longest_stretch
            ),
            holds: Some(backlog > 0.5),
        },
        Claim {
            place: "section 4, figure 8",
            says: "without background load the receive queue is nearly full",
            seen: taken(idle),
            holds: Some(share(&idle.queues) >= NEARLY_FULL),
        },
        Claim {
            place: "section 4, figure 9, receive queue",
            says: "next to ten jobs of a make the receive queue is not near full",
            seen: taken(old),
            holds: Some(share(&old.queues) < NEARLY_FULL),
        },
        Claim {
            place: "section 5, figure 10",
            says: "with the changed scheduler the receive queue is nearly full",
            seen: taken(new),
            holds: Some(share(&new.queues) >= NEARLY_FULL),
        },
        Claim {
            place: "section 4, plate 1",
            says: "without background load the sender neither pauses nor retransmits; next to ten jobs of a make it does both",
            seen: format!(
                "{} and {} segments retransmitted; {:.3} and {:.3} s are the longest pauses",
                idle.sequence.sent_again,
                old.sequence.sent_again,
                idle.sequence.longest_pause,
                old.sequence.longest_pause
            ),
            holds: Some(
                idle.sequence.sent_again == 0
                    && old.sequence.sent_again > 0
                    && old.sequence.longest_pause > 10.0 * idle.sequence.longest_pause,
            ),
        },
        Claim {
            place: "section 5, plate 2",
            says: "with the changed scheduler nothing is retransmitted, and the sender pauses because the receiver closes its window",
            seen: format!(
                "{} segments retransmitted, {} ACKs with a window of 0",
                new.sequence.sent_again, new.sequence.zero_windows
            ),
            holds: Some(new.sequence.sent_again == 0 && new.sequence.zero_windows > 0),
        },
    ]
}
