//! What the host's connections did, as text.

use super::Watched;
use crate::transfers::align;
use crate::waits;
use slowpath_analyses::hosts::{Account, EndAccount};
use slowpath_live::Check;
use slowpath_model::{End, Rate};
use slowpath_views::quantity::{count, counted, duration, share};
use std::io::{self, Write};
use std::time::Duration;

/// Less than this share of the time is not worth a line.
const LEAST_SHARE: f64 = 0.005;

pub fn print(watched: &Watched, top: usize, out: &mut impl Write) -> io::Result<()> {
    let flows = watched.accounts.len();
    writeln!(out, "This host, {}: {}", duration(watched.lasted), counted(flows as u64, "connection"))?;
    for account in watched.accounts.iter().take(top) {
        writeln!(out)?;
        flow(watched, account, out)?;
    }
    if flows > top {
        writeln!(out, "\n{} not shown; --top shows more.", counted((flows - top) as u64, "connection"))?;
    }
    writeln!(out)?;
    check(watched, out)
}

fn flow(watched: &Watched, account: &Account, out: &mut impl Write) -> io::Result<()> {
    let sender = account.sender();
    let place = |end: End| {
        let process = watched.owners.process(account.id, end);
        let process =
            process.map_or(String::new(), |process| format!(" ({}, {})", process.name, process.pid));
        format!("{}{process}", account.key.endpoint(end))
    };
    writeln!(out, "{}. {} > {}", account.id, place(sender), place(!sender))?;
    let rate =
        Rate::of(account.carried(), account.lasted()).map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    writeln!(out, "   {} in {}, {rate}", account.carried(), duration(account.lasted()))?;
    match &account.ends[sender.index()] {
        Some(own) => sending(account, own, out)?,
        None => writeln!(out, "   Its sender is on another host: what held it back cannot be seen here.")?,
    }
    waits(account, out)
}

fn sending(account: &Account, own: &EndAccount, out: &mut impl Write) -> io::Result<()> {
    if let Some([_, last]) = own.samples {
        let time = |us: Option<u32>| {
            us.map_or_else(|| "-".to_owned(), |us| duration(Duration::from_micros(us.into())))
        };
        write!(out, "   round trip {} (least {})", time(last.srtt), time(last.min_rtt))?;
        write!(out, ", cwnd {}", count(last.snd_cwnd.unwrap_or(0).into()))?;
        write!(out, ", sent again {}", count(last.total_retrans.unwrap_or(0).into()))?;
        let [timeouts, spurious] = own.timeouts;
        let needless = if spurious > 0 { format!(" ({spurious} of them needless)") } else { String::new() };
        writeln!(out, ", timeouts {timeouts}{needless}")?;
    }
    let rows: Vec<Vec<String>> = account
        .bounds()
        .iter()
        .filter(|bound| bound.share >= LEAST_SHARE)
        .map(|bound| {
            vec![
                format!("   {}", share(bound.share)),
                format!("{}", bound.cause),
                format!("  {}", bound.cause.title()),
            ]
        })
        .collect();
    rows.iter().try_for_each(|row| writeln!(out, "{:>10}  {}: {}", row[0].trim(), row[1], row[2].trim()))
}

/// What waited, at both ends.
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

/// Whether all was seen.
fn check(watched: &Watched, out: &mut impl Write) -> io::Result<()> {
    if let Some(check) = &watched.check {
        counted_beside(check, out)?;
    }
    if watched.not_kept > 0 {
        writeln!(out, "{} flows were too many and are left out", count(watched.not_kept))?;
    }
    watched.unseen.iter().try_for_each(|what| writeln!(out, "Not seen here: {what}."))
}

fn counted_beside(check: &Check, out: &mut impl Write) -> io::Result<()> {
    let missing = check.kernel_segments.abs_diff(check.segments);
    write!(
        out,
        "Check: the kernel counted {} of data in, the probe {}",
        counted(check.kernel_segments, "segment"),
        count(check.segments)
    )?;
    writeln!(out, "{}.", if missing == 0 { ", all of them" } else { "" })?;
    for (number, what) in [
        (missing, "segments are unaccounted for: they came before or after the connection was established"),
        (check.unstamped, "segments had no stamp of their arrival, and are in no wait"),
        (check.untold, "events found no room and are missing"),
        (check.unwatched, "sockets could not be watched: the kernel had no memory for them"),
    ] {
        if number > 0 {
            writeln!(out, "  {} {what}", count(number))?;
        }
    }
    Ok(())
}
