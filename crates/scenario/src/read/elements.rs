//! One direction of a path: its elements.

use crate::file::{Place, Table};
use crate::read::middleboxes;
use crate::schema::quantity::{Chance, Pattern, QueueSize};
use crate::schema::{Key, Reader, Section, Sub};
use slowpath_model::{Bytes, Rate};
use slowpath_path::cross::{CrossConfig, CrossPattern};
use slowpath_path::jitter::JitterConfig;
use slowpath_path::link::{LinkConfig, QueueLimit, Stall};
use slowpath_path::loss::{LossConfig, Stretch};
use slowpath_path::policer::PolicerConfig;
use slowpath_path::{PathConfig, ReorderConfig};
use std::time::Duration;

static RATE: Key<Rate> = Key::new("rate", "Rate of the bottleneck, in bits of IP packets per second.")
    .range("1 kbit/s", "1 Tbit/s")
    .absent("no bottleneck: the rates of the NICs apply");
static DELAY: Key<Duration> = Key::new("delay", "One-way propagation delay: half the RTT.")
    .range("0 s", "100 s")
    .default("0 s", "two hosts in one room");
static QUEUE: Key<QueueSize> = Key::new(
    "queue",
    "Size of the drop-tail queue at the bottleneck, including the packet being sent. A bdp is the rate times the sum of \
     both delays.",
)
.computed("`1 bdp`, at least 100 packets", "it holds a full window of one flow");
static LOSS: Key<Chance> =
    Key::new("loss", "Probability that a packet is lost, independently of others.").default("0 %", "none");
static JITTER: Key<Duration> =
    Key::new("jitter", "Extra delay for each packet, uniformly distributed from zero to this value.")
        .range("0 s", "100 s")
        .default("0 s", "none");
static JITTER_REORDERS: Key<bool> = Key::new("jitter-reorders", "Whether jitter may reorder packets.")
    .default("false", "a queue keeps its order");
static REORDER: Key<Chance> =
    Key::new("reorder", "Probability that a packet is delayed and thus reordered.").default("0 %", "none");
static REORDER_BY: Key<Duration> = Key::new("reorder-by", "Extra delay of a reordered packet.")
    .range("1 ns", "100 s")
    .default("1 ms", "several packet times at 100 Mbit/s");
static DUPLICATE: Key<Chance> =
    Key::new("duplicate", "Probability that a packet is duplicated.").default("0 %", "none");
static BURSTS_OF_LOSS: Sub = Sub::table("bursts", "Bursty loss (Gilbert–Elliott).");
static LOSE_NAMED: Sub = Sub::tables("lose", "Specific packets that are lost.");
static MIDDLEBOXES: Sub =
    Sub::tables("middleboxes", "What looks into packets: drops, changes or answers them.");
static POLICED: Sub = Sub::table("policer", "A policer: a token bucket that drops packets above its rate.");
static STALLS: Sub = Sub::tables("stalls", "Times at which the bottleneck sends nothing.");
static CROSS_TRAFFIC: Sub =
    Sub::tables("cross", "Cross traffic: packets of others that share the bottleneck.");

/// One direction of a path.
pub static DIRECTION: Section = Section {
    heading: "[path], [path.forward], [path.reverse]",
    meaning: "A packet passes the elements of a direction in this order: middleboxes; policer; loss (scripted, random, bursty); queue \
              and bottleneck with stalls and cross traffic; delay; jitter; reordering; duplication.",
    keys: &[
        &RATE,
        &DELAY,
        &QUEUE,
        &LOSS,
        &JITTER,
        &JITTER_REORDERS,
        &REORDER,
        &REORDER_BY,
        &DUPLICATE,
        &BURSTS_OF_LOSS,
        &LOSE_NAMED,
        &MIDDLEBOXES,
        &POLICED,
        &STALLS,
        &CROSS_TRAFFIC,
    ],
    also: None,
};

static ENTER: Key<Chance> =
    Key::new("enter", "Probability of changing from the good to the bad state at a packet.");
static LEAVE: Key<Chance> = Key::new(
    "leave",
    "Probability of returning to the good state at a packet. The mean length of a burst is one divided by this.",
)
.range("1 ppm", "100 %");
static LOSE: Key<Chance> = Key::new("lose", "Probability of losing a packet in the bad state.")
    .default("100 %", "Gilbert's model of 1960");

/// Bursty loss.
pub static BURSTS: Section = Section {
    heading: "[path.bursts]",
    meaning: "Bursty loss: a Markov chain with two states, good and bad, that advances before every packet (Gilbert \
              1960, Elliott 1963).",
    keys: &[&ENTER, &LEAVE, &LOSE],
    also: None,
};

static SYN: Key<u32> = Key::new("syn", "Number of SYN packets lost at the start of every connection.")
    .range("1", "100")
    .absent("another kind of packet");
static PACKETS: Key<Vec<u64>> = Key::new(
    "packets",
    "Numbers of the lost data packets of every connection, counted from 1, including retransmissions.",
)
.absent("another kind of packet");
static FROM: Key<Bytes> = Key::new("from", "Segments that begin at or after this byte of the stream…")
    .absent("another kind of packet");
static TO: Key<Bytes> = Key::new("to", "…and before this byte.").absent("another kind of packet");
static TIMES: Key<u32> = Key::new(
    "times",
    "How often each of these segments is lost: with 2, its first retransmission is lost too.",
)
.range("1", "100")
.default("1", "the first transmission only");

/// Specific packets that are lost.
pub static NAMED: Section = Section {
    heading: "[[path.lose]]",
    meaning: "Specific packets that are lost: exactly one of `syn`, `packets`, and `from` with `to`.",
    keys: &[&SYN, &PACKETS, &FROM, &TO, &TIMES],
    also: None,
};

static POLICER_RATE: Key<Rate> =
    Key::new("rate", "Rate at which the bucket fills, in bits of IP packets per second.")
        .range("1 kbit/s", "1 Tbit/s");
static BURST: Key<Bytes> = Key::new("burst", "Size of the bucket. It starts full.")
    .range("1 B", "1024 GiB")
    .default("64 KiB", "a policer's burst is often a few milliseconds of its rate");

/// A policer.
pub static POLICER: Section = Section {
    heading: "[path.policer]",
    meaning: "A policer: a token bucket that drops packets above its rate and delays none.",
    keys: &[&POLICER_RATE, &BURST],
    also: None,
};

static AT: Key<Duration> = Key::new("at", "Start time, from the start of the run.").range("0 s", "24 h");
static LASTS: Key<Duration> = Key::new("lasts", "Duration.").range("1 ns", "24 h");

/// A time at which the bottleneck sends nothing.
pub static STALL: Section = Section {
    heading: "[[path.stalls]]",
    meaning: "A time at which the bottleneck sends nothing. Arriving packets wait in its queue.",
    keys: &[&AT, &LASTS],
    also: None,
};

static PATTERN: Key<Pattern> =
    Key::new("pattern", "Arrival pattern: at equal intervals, independently of each other, or in bursts.")
        .default("poisson", "many independent sources together");
static CROSS_RATE: Key<Rate> =
    Key::new("rate", "Rate, in bits of IP packets per second; with `on-off`, the rate during a burst.")
        .range("1 kbit/s", "1 Tbit/s");
static PACKET: Key<Bytes> =
    Key::new("packet", "Length of each IP packet.").range("20 B", "65535 B").default("1500 B", "Ethernet");
static ON: Key<Duration> = Key::new("on", "Mean duration of a burst; exponentially distributed.")
    .range("1 us", "1 h")
    .default("100 ms", "a web page");
static OFF: Key<Duration> =
    Key::new("off", "Mean duration of the pause after it; exponentially distributed.")
        .range("1 us", "1 h")
        .default("100 ms", "as long as a burst");
static CROSS_START: Key<Duration> =
    Key::new("start", "Start time.").range("0 s", "24 h").default("0 s", "the start of the run");
static CROSS_STOP: Key<Duration> =
    Key::new("stop", "End time.").range("0 s", "24 h").absent("the end of the run");

/// Cross traffic.
pub static CROSS: Section = Section {
    heading: "[[path.cross]]",
    meaning: "Cross traffic that shares the bottleneck and does not react to congestion. For TCP cross traffic, write a \
              flow.",
    keys: &[&PATTERN, &CROSS_RATE, &PACKET, &ON, &OFF, &CROSS_START, &CROSS_STOP],
    also: None,
};

/// What the elements of a direction need to know of the whole path.
#[derive(Clone, Copy)]
pub struct Ends {
    /// The sum of both delays.
    pub round_trip: Duration,
    /// Largest packet that a host may send.
    pub mtu: Bytes,
}

/// The delay of a direction, without recording the setting.
pub fn delay(reader: &Reader<'_>) -> Duration {
    reader.peek(&DELAY).unwrap_or_default()
}

/// Reads one direction.
pub fn read(reader: &Reader<'_>, ends: Ends) -> PathConfig {
    reader.refuse_without(&QUEUE, &RATE);
    reader.refuse_without(&STALLS, &RATE);
    reader.refuse_without(&CROSS_TRAFFIC, &RATE);
    reader.refuse_without(&REORDER_BY, &REORDER);
    reader.refuse_without(&JITTER_REORDERS, &JITTER);
    // If the rate is invalid, any value will do to check the rest.
    let rate = reader.optional(&RATE).or_else(|| reader.has(&RATE).then_some(Rate::mbit(1)));
    let link = rate.map(|rate| link(reader, rate, ends));
    let jitter = reader.get(&JITTER);
    let overtakes = reader.get(&JITTER_REORDERS);
    let reorder = reader.get(&REORDER);
    let extra = reader.get(&REORDER_BY);
    let policer = each(reader, &POLICED, &POLICER, policer).pop();
    if policer.is_some_and(|policer| policer.burst < ends.mtu) {
        let message = format!("a burst of less than a packet of {} B lets none pass", ends.mtu.get());
        reader.refuse(&POLICED, message, "make its burst larger");
    }
    PathConfig {
        middleboxes: each(reader, &MIDDLEBOXES, &middleboxes::MIDDLEBOX, middleboxes::read),
        policer,
        loss: losses(reader),
        cross: if link.is_some() { each(reader, &CROSS_TRAFFIC, &CROSS, cross) } else { Vec::new() },
        link,
        delay: reader.get(&DELAY),
        jitter: (!jitter.is_zero()).then_some(JitterConfig { up_to: jitter, overtakes }),
        reorder: (reorder.ppm > 0).then_some(ReorderConfig { probability_ppm: reorder.ppm, extra }),
        duplicate_ppm: reader.get(&DUPLICATE).ppm,
    }
}

/// Only programs write more elements of one kind, and each packet passes all of them.
const MOST_OF_A_KIND: usize = 1000;

/// Reads every table under a key with its own section.
fn each<T>(
    reader: &Reader<'_>,
    key: &'static Sub,
    section: &'static Section,
    read: fn(&Reader<'_>) -> Option<T>,
) -> Vec<T> {
    let prefix = reader.prefix_of(key);
    let tables: Vec<(&Table, &Place)> = reader.tables_up_to(key, MOST_OF_A_KIND);
    let many = tables.len() > 1;
    let read_one = |(number, (table, place)): (usize, (&Table, &Place))| {
        let prefix = if many { format!("{prefix}{number}.") } else { prefix.clone() };
        read(&Reader::new(reader.context(), section, Some(table), place, &prefix))
    };
    tables.into_iter().enumerate().filter_map(read_one).collect()
}

fn link(reader: &Reader<'_>, rate: Rate, ends: Ends) -> LinkConfig {
    let bdp = rate.amount_in(ends.round_trip).get();
    let usual = QueueSize::Bytes(Bytes::new(bdp.max(100 * ends.mtu.get())));
    let size = reader.or(&QUEUE, usual, "1 bdp, at least 100 packets");
    let queue = match size {
        QueueSize::Packets(packets) => QueueLimit::Packets(packets),
        QueueSize::Bytes(bytes) => QueueLimit::Bytes(bytes),
        // At most 2^63, which a float represents well enough for a queue.
        QueueSize::Bdp(products) => QueueLimit::Bytes(Bytes::new((bdp as f64 * products).round() as u64)),
    };
    match queue {
        QueueLimit::Packets(0) => {
            reader.refuse(&QUEUE, "a queue of no packets lets none through", "write at least \"1 packet\"")
        }
        QueueLimit::Bytes(bytes) if bytes < ends.mtu => {
            let (room, packet) = (bytes.get(), ends.mtu.get());
            let message = format!("a queue of {room} B has no room for a packet of {packet} B");
            reader.refuse(&QUEUE, message, "make it larger");
        }
        QueueLimit::Packets(_) | QueueLimit::Bytes(_) => {}
    }
    let mut stalls = each(reader, &STALLS, &STALL, |reader| {
        let (at, lasts) = (reader.required(&AT), reader.required(&LASTS));
        let (at, lasts) = (at?, lasts?);
        Some(Stall { from: at, to: at.saturating_add(lasts) })
    });
    stalls.sort_by_key(|stall| stall.from);
    if stalls.windows(2).any(|pair| pair[1].from < pair[0].to) {
        reader.refuse(&STALLS, "two of these stalls overlap", "make one of them");
    }
    LinkConfig { rate, queue, stalls }
}

fn losses(reader: &Reader<'_>) -> Vec<LossConfig> {
    let mut losses = each(reader, &LOSE_NAMED, &NAMED, scripted);
    let chance = reader.get(&LOSS);
    if chance.ppm > 0 {
        losses.push(LossConfig::Random { probability_ppm: chance.ppm });
    }
    losses.extend(each(reader, &BURSTS_OF_LOSS, &BURSTS, bursts));
    losses
}

fn bursts(reader: &Reader<'_>) -> Option<LossConfig> {
    let (enter, leave) = (reader.required(&ENTER), reader.required(&LEAVE));
    let lose = reader.get(&LOSE);
    Some(LossConfig::Bursts {
        good_to_bad_ppm: enter?.ppm,
        bad_to_good_ppm: leave?.ppm,
        bad_loss_ppm: lose.ppm,
    })
}

fn scripted(reader: &Reader<'_>) -> Option<LossConfig> {
    reader.refuse_all_but_one(&[&SYN, &PACKETS, &FROM]);
    reader.refuse_without(&FROM, &TO);
    reader.refuse_without(&TO, &FROM);
    reader.refuse_without(&TIMES, &FROM);
    let times = reader.get(&TIMES);
    let (syn, packets) = (reader.optional(&SYN), reader.optional(&PACKETS));
    let stretch = (reader.optional(&FROM), reader.optional(&TO));
    match (syn, packets, stretch) {
        (Some(times), ..) => Some(LossConfig::Syn { times }),
        (_, Some(packets), _) => {
            if packets.is_empty() || packets.contains(&0) || packets.len() > MOST_NAMED {
                let message = "these are no numbers of packets";
                reader.refuse(
                    &PACKETS,
                    message,
                    format!("write 1 to {MOST_NAMED} numbers from 1, such as [10, 11]"),
                );
            }
            Some(LossConfig::Nth { packets })
        }
        (_, _, (Some(from), Some(to))) => {
            if to <= from {
                reader.refuse(&TO, "nothing lies between from and to", "make to larger than from");
            }
            let stretch = Stretch { from_byte: from.get(), to_byte: to.get() };
            Some(LossConfig::Stretches { stretches: vec![stretch], times })
        }
        _ => {
            if ![&SYN as &dyn crate::schema::Describe, &PACKETS, &FROM, &TO]
                .into_iter()
                .any(|key| reader.has(key))
            {
                reader.refuse(
                    &SYN,
                    "which packets are lost?",
                    "write syn = 1, packets = [10], or from and to",
                );
            }
            None
        }
    }
}

/// Packet numbers per list: each packet is looked up in it.
const MOST_NAMED: usize = 1000;

fn policer(reader: &Reader<'_>) -> Option<PolicerConfig> {
    let (rate, burst) = (reader.required(&POLICER_RATE), reader.get(&BURST));
    Some(PolicerConfig { rate: rate?, burst })
}

fn cross(reader: &Reader<'_>) -> Option<CrossConfig> {
    let pattern = reader.get(&PATTERN);
    let (on, off) = (reader.get(&ON), reader.get(&OFF));
    if pattern != Pattern::OnOff {
        for key in [&ON, &OFF] {
            if reader.has(key) {
                reader.refuse(
                    key,
                    "only traffic in spells has this",
                    "write pattern = \"on-off\", or leave this out",
                );
            }
        }
    }
    let (start, stop) = (reader.get(&CROSS_START), reader.optional(&CROSS_STOP));
    if stop.is_some_and(|stop| stop <= start) {
        reader.refuse(&CROSS_STOP, "this traffic ends before it begins", "make stop later than start");
    }
    Some(CrossConfig {
        pattern: match pattern {
            Pattern::Constant => CrossPattern::Constant,
            Pattern::Poisson => CrossPattern::Poisson,
            Pattern::OnOff => CrossPattern::OnOff { on, off },
        },
        rate: reader.required(&CROSS_RATE)?,
        packet: reader.get(&PACKET),
        from: start,
        to: stop,
    })
}
