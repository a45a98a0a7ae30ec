//! The text of `slowpath diagnose --live`.

use super::{drops, receiver, sender};
use crate::quantity::{count, counted, duration};
use crate::services::By;
use crate::summary::{Summary, of_host};
use crate::table::align;
use crate::terminal::{self, Look};
use crate::waits;
use slowpath_analyses::hosts::{Account, EndAccount};
use slowpath_live::{Check, Counted};
use slowpath_model::{End, Rate, shown};
use slowpath_runs::watch::Watched;
use std::io::{self, Write};
use std::time::Duration;

/// Causes with a smaller share of the time are not shown.
const LEAST_SHARE: f64 = 0.005;

/// The most connections that are shown one by one.
const TOP: usize = 10;

/// Prints a table of services if there are several connections, at most `top` of them one by one, then drops without a
/// connection and whether everything was seen.
///
/// # Errors
/// The errors of `out`.
pub fn print(
    watched: &Watched,
    by: By,
    top: Option<usize>,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    let top = top.unwrap_or(TOP);
    let flows = watched.accounts.len();
    writeln!(out, "This host, {}: {}", duration(watched.lasted), counted(flows as u64, "connection"))?;
    if flows > 1 {
        writeln!(out)?;
        terminal::services(&of_host(watched, by).listed(), &[], terminal::ROWS, look, out)?;
    }
    for account in watched.accounts.iter().take(top) {
        writeln!(out)?;
        flow(watched, account, out)?;
    }
    if flows > top {
        writeln!(out, "\n{} not shown; --top shows more.", counted((flows - top) as u64, "connection"))?;
    }
    writeln!(out)?;
    whole(watched, out)
}

/// Prints a table of services instead of the connections, of at most `rows`.
///
/// # Errors
/// The errors of `out`.
pub fn print_summary(
    watched: &Watched,
    summary: &Summary,
    rows: Option<usize>,
    look: &Look,
    out: &mut impl Write,
) -> io::Result<()> {
    terminal::summary(summary, rows, look, out)?;
    writeln!(out)?;
    whole(watched, out)
}

/// Prints what concerns all connections.
fn whole(watched: &Watched, out: &mut impl Write) -> io::Result<()> {
    drops::print("Dropped elsewhere:", &watched.drops.host, out)?;
    softirqs(watched, out)?;
    check(watched, out)
}

/// An end of a connection: its address, and its process where that is known.
pub(super) fn place(watched: &Watched, account: &Account, end: End) -> String {
    let process = watched.processes.get(&(account.id, end));
    let process = process
        .map_or(String::new(), |process| format!(" ({}, {})", shown::line(&process.name), process.pid));
    format!("{}{process}", account.key.endpoint(end))
}

fn flow(watched: &Watched, account: &Account, out: &mut impl Write) -> io::Result<()> {
    let sender = account.sender();
    let place = |end| place(watched, account, end);
    writeln!(out, "{}. {} > {}", account.id, place(sender), place(!sender))?;
    let rate =
        Rate::of(account.carried(), account.lasted()).map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    writeln!(out, "   {} in {}, {rate}", account.carried(), duration(account.lasted()))?;
    match &account.ends[sender.index()] {
        Some(own) => sending(watched, account, own, out)?,
        None => writeln!(out, "   The sender is on another host, so its limits cannot be seen here.")?,
    }
    waits(account, out)?;
    End::BOTH.into_iter().try_for_each(|end| {
        if let Some(own) = &account.ends[end.index()] {
            receiver::print(&account.key.endpoint(end).to_string(), own, LEAST_SHARE, out)?;
            receive_buffer(account, end, own, out)?;
        }
        let before = format!("   dropped at {}:", account.key.endpoint(end));
        drops::print(&before, watched.drops.of(account.id, end), out)
    })
}

fn sending(watched: &Watched, account: &Account, own: &EndAccount, out: &mut impl Write) -> io::Result<()> {
    if let Some([_, last]) = own.samples {
        let time = |us: Option<u32>| {
            us.map_or_else(|| "-".to_owned(), |us| duration(Duration::from_micros(us.into())))
        };
        let queueing = own.queueing().map(|time| format!(", {} of it in queues", duration(time)));
        let queueing = queueing.unwrap_or_default();
        write!(out, "   RTT {} (shortest {}{queueing})", time(last.srtt), time(last.min_rtt))?;
        write!(out, ", cwnd {}", count(last.snd_cwnd.unwrap_or(0).into()))?;
        write!(out, ", retransmitted {}", count(last.total_retrans.unwrap_or(0).into()))?;
        let [timeouts, spurious] = own.timeouts;
        let needless = if spurious > 0 { format!(" ({spurious} of them spurious)") } else { String::new() };
        writeln!(out, ", timeouts {timeouts}{needless}")?;
    }
    sender::print(watched, account, LEAST_SHARE, out)
}

/// Prints the waits at both ends.
fn waits(account: &Account, out: &mut impl Write) -> io::Result<()> {
    let mut rows = Vec::new();
    for end in End::BOTH {
        let Some(own) = &account.ends[end.index()] else { continue };
        for spread in own.waits.spreads() {
            rows.push(waits::row(&format!("   {}", account.key.endpoint(end)), &spread));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut heading = waits::HEADING.map(str::to_owned).to_vec();
    heading[0].insert_str(0, "   ");
    rows.insert(0, heading);
    align(&rows, out)
}

/// Prints how the receive buffer grew, and how often it was full.
fn receive_buffer(account: &Account, end: End, own: &EndAccount, out: &mut impl Write) -> io::Result<()> {
    let endpoint = account.key.endpoint(end);
    if let [(_, first), .., (at, last)] = own.receive_buffer[..] {
        let steps = own.receive_buffer.len() as u64 - 1 + own.receive_buffer_more;
        let after = account.told.and_then(|[began, _]| at.since(began)).unwrap_or_default();
        let (steps, after) = (counted(steps, "step"), duration(after));
        writeln!(out, "   receive buffer at {endpoint}: from {first} to {last}, {steps} in {after}")?;
    }
    if own.zero_windows > 0 {
        writeln!(out, "   window of {endpoint}: closed {}", counted(own.zero_windows, "time"))?;
    }
    Ok(())
}

/// Prints how long packets waited in NIC rings and CPU queues, at least.
fn softirqs(watched: &Watched, out: &mut impl Write) -> io::Result<()> {
    watched.softirqs.spreads().try_for_each(|spread| {
        writeln!(
            out,
            "Receive softirqs ran {} after they were raised (median), {} at the 99th percentile, {} at most ({}).",
            duration(spread.median),
            duration(spread.p99),
            duration(spread.longest),
            counted(spread.count, "time"),
        )
    })
}

/// Prints whether everything was seen.
fn check(watched: &Watched, out: &mut impl Write) -> io::Result<()> {
    if let Some(check) = &watched.check {
        counted_beside(check, out)?;
    }
    if let Some(why) = &watched.incomplete {
        writeln!(out, "Incomplete: {why}")?;
    }
    if watched.not_kept > 0 {
        writeln!(out, "{} connections exceeded the limit and are not shown.", count(watched.not_kept))?;
    }
    watched.unseen.iter().try_for_each(|what| writeln!(out, "Not seen here: {what}."))
}

fn counted_beside(check: &Check, out: &mut impl Write) -> io::Result<()> {
    let missing = check.kernel_segments.abs_diff(check.segments);
    write!(
        out,
        "Check: the kernel counted {} with data received, the probe {}",
        counted(check.kernel_segments, "segment"),
        count(check.segments)
    )?;
    writeln!(out, "{}.", if missing == 0 { ", all of them" } else { "" })?;
    for (number, what) in [
        (
            missing,
            "segments are not accounted for: they arrived before or after the connection was established",
        ),
        (check.unstamped, "segments had no arrival time stamp, and are in no wait"),
        (check.untold, "events were lost for lack of room"),
        (
            check.skipped,
            "times a BPF program was to run on top of itself and did not: those events are missing",
        ),
        (check.unwatched, "sockets were not watched: the kernel had no memory for them"),
    ] {
        if number > 0 {
            writeln!(out, "  {} {what}", count(number))?;
        }
    }
    for (counted, what) in [
        (check.undone, "timeouts were undone here (TCPLossUndo)"),
        (check.zero_windows, "windows were closed here (TCPToZeroWindowAdv)"),
    ] {
        if let Some(Counted { kernel, probe }) = counted.filter(|counted| !counted.agrees()) {
            writeln!(out, "  {} {what}, and {} were reported", count(kernel), count(probe))?;
        }
    }
    Ok(())
}
