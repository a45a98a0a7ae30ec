//! The text of `slowpath probe`: results, their meaning, and the next commands.

use crate::terminal::Look;
use slowpath_model::units::duration_text;
use slowpath_model::{Bytes, Rate};
use slowpath_probe::findings::Found;
use slowpath_probe::measure::{
    Available, Bound, Capacity, Direction, Method, Ramp, RoundTrip, Step, Weakest,
};
use slowpath_probe::real::bulk::Transfer;
use std::io::{self, Write};
use std::time::Duration;

/// Prints the headline, each measurement and the next commands.
///
/// # Errors
/// The errors of `out`.
pub fn print(target: &str, found: &Found, look: &Look, out: &mut impl Write) -> io::Result<()> {
    look.strong_paragraph(out, &headline(target, found))?;
    if let Some(round_trip) = &found.round_trip {
        section(out, look, "RTT", &round_trip_text(round_trip))?;
    }
    if let Some(capacity) = &found.capacity {
        section(out, look, "Capacity", &capacity_text(capacity))?;
    }
    if let Some(available) = &found.available {
        section(out, look, "Available bandwidth", &available_text(available))?;
    }
    if let Some(ramp) = &found.ramp {
        section(out, look, "UDP, one rate after the other", &ramp_text(ramp))?;
        table(ramp, out)?;
    }
    for transfer in &found.transfers {
        let way = match transfer.direction {
            Direction::There => "TCP, from here",
            Direction::Back => "TCP, to here",
        };
        section(out, look, way, &transfer_text(transfer))?;
    }
    go_on(target, found, look, out)
}

fn rate(bit_per_s: u64) -> String {
    Rate::bits_per_second(bit_per_s).to_string()
}

fn time(nanos: u64) -> String {
    duration_text(Duration::from_nanos(nanos))
}

fn section(out: &mut impl Write, look: &Look, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", look.strong(title))?;
    look.paragraph(out, "  ", text)
}

fn headline(target: &str, found: &Found) -> String {
    let way = match found.wanted.direction {
        Direction::There => format!("The path to {target}"),
        Direction::Back => format!("The path from {target}"),
    };
    let round_trip = found.round_trip().map(|time| format!("an RTT of {}", duration_text(time)));
    let rate = found.rate().map(|rate| match &found.available {
        Some(available) if available.bound != Bound::Path => format!("at least {rate} available"),
        Some(_) => format!("about {rate} available"),
        None => format!("a capacity of about {rate}"),
    });
    match (round_trip, rate) {
        (Some(round_trip), Some(rate)) => format!("{way} has {round_trip} and {rate}."),
        (Some(one), None) | (None, Some(one)) => format!("{way} has {one}."),
        (None, None) => format!("{way} carried nothing that could be measured."),
    }
}

fn round_trip_text(found: &RoundTrip) -> String {
    let lost = format!("{} of {} echoes were lost.", found.lost, found.echoes);
    match (found.min_ns, found.median_ns) {
        (Some(min), Some(median)) => {
            let jitter = found
                .jitter_ns
                .filter(|jitter| *jitter > 0)
                .map(|jitter| format!("; jitter {}", time(jitter)));
            let jitter = jitter.unwrap_or_default();
            format!("minimum {}, median {}{jitter}. {lost}", time(min), time(median))
        }
        _ => lost,
    }
}

fn capacity_text(found: &Capacity) -> String {
    let Some(capacity) = found.rate else {
        return "Too few packets arrived to measure it.".to_owned();
    };
    let by = match found.method {
        Method::Both => "by pairs and by trains of packets",
        Method::Pairs => "by the mode of packet pairs",
        Method::Trains => "by trains of packets",
    };
    let together =
        if found.handed_over_together { ": packets arrive in batches, so pairs show nothing" } else { "" };
    let trains = found.trains.map_or_else(String::new, |trains| {
        format!(" Trains of {} packets arrived at {} (median).", found.train_packets, rate(trains))
    });
    format!("The bottleneck link carries {}, {by}{together}.{trains}", rate(capacity))
}

fn available_text(found: &Available) -> String {
    let range = match found.bound {
        Bound::Path => {
            format!("{} to {}: above that, delays grow within a stream.", rate(found.low), rate(found.high))
        }
        Bound::Sender => {
            format!("At least {}, which is the most that the sender can send.", rate(found.high))
        }
        Bound::Cap => format!("At least {}, which is the highest rate allowed or tried.", rate(found.high)),
        Bound::Receiver => {
            format!(
                "At least {}; at {} the receiver's socket buffer overflows, which is a limit of the host.",
                rate(found.low),
                rate(found.high)
            )
        }
    };
    let grey = found.grey.map_or_else(String::new, |[least, most]| {
        format!(" From {} to {} it varies.", rate(least), rate(most))
    });
    let lost = if found.lost_anyway_permille > 0 {
        format!(" {:.1} % is lost even at a low rate.", f64::from(found.lost_anyway_permille) / 10.0)
    } else {
        String::new()
    };
    format!("{range}{grey}{lost}")
}

fn ramp_text(found: &Ramp) -> String {
    let loss = match (found.loss_begins, found.steps.last()) {
        (Some(begins), _) => format!("Loss begins at {}.", rate(begins)),
        (None, Some(last)) => format!("No loss beyond random loss up to {}.", rate(last.asked)),
        (None, None) => String::new(),
    };
    let most =
        found.most_received.map_or_else(String::new, |most| format!(" At most {} arrived.", rate(most)));
    let named = |weakest: Weakest| found.steps.iter().find(|step| step.weakest == weakest);
    let sender = named(Weakest::Sender).map_or_else(String::new, |step| {
        format!(" At {} the sender is the limit, not the path.", rate(step.asked))
    });
    let receiver = named(Weakest::Receiver).map_or_else(String::new, |step| {
        format!(" At {} the receiver's socket buffer is the limit, not the path.", rate(step.asked))
    });
    format!("{loss}{most}{sender}{receiver}")
}

fn table(ramp: &Ramp, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "  {:>13} {:>13} {:>13} {:>8} {:>9}  limit",
        "target", "sent", "received", "lost", "reordered"
    )?;
    for step in &ramp.steps {
        let known = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), rate);
        let line = format!(
            "  {:>13} {:>13} {:>13} {:>8} {:>9}  {}",
            rate(step.asked),
            known(step.sent),
            known(step.received),
            loss(step),
            step.overtaken,
            match step.weakest {
                Weakest::None => "",
                Weakest::Sender => "sender",
                Weakest::Receiver => "receiver",
                Weakest::Path => "path",
            }
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn loss(step: &Step) -> String {
    format!("{:.2} %", f64::from(step.lost) * 100.0 / f64::from(step.packets.max(1)))
}

fn transfer_text(found: &Transfer) -> String {
    let Some(got) = found.rate else {
        return "No data arrived.".to_owned();
    };
    let share = |part: u64| part.saturating_mul(100) / found.busy_ns.max(1);
    let held = format!(
        "While it had data to send, the receive window limited it for {} % of the time and its send buffer for {} %",
        share(found.rwnd_limited_ns),
        share(found.sndbuf_limited_ns)
    );
    format!(
        "{} of payload, {} in {}. The sender's RTT was at least {} and {} at the end, its congestion window was \
         {}, and it retransmitted {} segments. {held}.",
        rate(got),
        Bytes::new(found.bytes),
        time(found.lasted_ns),
        time(found.min_rtt_ns),
        time(found.rtt_ns),
        Bytes::new(found.cwnd_bytes),
        found.retransmitted
    )
}

/// Text as an argument: without the space between number and unit.
fn argument(text: &str) -> String {
    text.replace(' ', "")
}

/// Prints the buffers that a transfer needs, and the commands that check them.
fn go_on(target: &str, found: &Found, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let (Some(rate), Some(round_trip), Some(window)) = (found.rate(), found.round_trip(), found.window())
    else {
        return Ok(());
    };
    let capped = if found.is_capped() { " The far end allows no more; --max-rate raises it." } else { "" };
    let text = format!(
        "{rate} times {} is {window}: a transfer has to have that much in flight, and its buffers have to hold \
         it.{capped} To check the buffers:",
        duration_text(round_trip)
    );
    writeln!(out)?;
    look.paragraph(out, "", &text)?;
    let (rate, round_trip) = (argument(&rate.to_string()), argument(&duration_text(round_trip)));
    let host = if found.far_end.is_some() { format!(" {target}") } else { String::new() };
    writeln!(out, "  $ slowpath doctor{host} --rate {rate} --rtt {round_trip}")?;
    writeln!(out, "  $ slowpath explain buffer --rate {rate} --rtt {round_trip}")
}
