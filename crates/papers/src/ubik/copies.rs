//! scp and rsync over ssh, measured in the lab: what a copy gets of a path, by the window of the ssh channel.
//!
//! The paper announces this as work in progress (section VIII), and its section V measured with scp; no number of it is
//! in the text. The window of that time was 128 KiB (`CHAN_SES_WINDOW_DEFAULT`, OpenSSH until 4.6).

use crate::figure::{Axis, Figure, Series};
use crate::report::{Cell, Claim, Judged, Report, Table};
use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// A measured copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    /// Its name.
    pub name: String,
    /// The command that measures it alone.
    pub command: String,
    /// The server's window for the channel.
    pub window: Bytes,
    /// The path's RTT.
    pub rtt: Duration,
    /// The rate while the middle half of its bytes was sent.
    pub middle: Rate,
    /// The rate of the whole connection, with the handshakes and slow start.
    pub whole: Rate,
    /// The part of the connection's time that `diagnose` gives to a window of the application's protocol, 0 to 1.
    pub diagnosed: f64,
}

impl Copied {
    /// Window ÷ RTT, in Mbit/s.
    fn predicted(&self) -> f64 {
        self.window.get() as f64 * 8.0 / self.rtt.as_secs_f64() / 1e6
    }

    /// What bounds it: the window or the path, in Mbit/s.
    fn bound(&self, path: Rate) -> f64 {
        self.predicted().min(megabits(path))
    }
}

fn megabits(rate: Rate) -> f64 {
    rate.get() as f64 / 1e6
}

/// A receiver raises the window when a third of it has been passed on (Dropbear: `RECV_WINDOWEXTEND`), so that between two
/// thirds and all of it are in flight; headers take some percent of a path.
const LEAST_OF_BOUND: f64 = 0.6;
/// Records and padding are not in the window: some percent of the bytes on the wire.
const MOST_OF_BOUND: f64 = 1.1;

/// The copies next to window ÷ RTT, over a path of this rate.
pub fn report(copies: &[Copied], path: Rate, measured_on: Vec<String>) -> Report {
    Report {
        measured_on,
        tables: vec![table(copies)],
        figures: vec![figure(copies, path)],
        claims: claims(copies, path),
        runs: copies.iter().map(|copy| (copy.name.clone(), copy.command.clone())).collect(),
        ..Report::simulated(
            "ubik",
            "Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems",
            &[],
        )
    }
}

fn table(copies: &[Copied]) -> Table {
    let cell = |copy: &Copied, quantity, ours: f64| {
        Cell::new(copy.name.clone(), quantity, None, [ours; 3], Judged::Shown)
    };
    let cells = copies.iter().flat_map(|copy| {
        [
            cell(copy, "window ÷ RTT, Mbit/s", copy.predicted()),
            cell(copy, "middle of the copy, Mbit/s", megabits(copy.middle)),
            cell(copy, "whole connection, Mbit/s", megabits(copy.whole)),
            cell(copy, "time that diagnose gives to that window, %", 100.0 * copy.diagnosed),
        ]
    });
    Table { name: "Copies over ssh", about: "by the window of the ssh channel", cells: cells.collect() }
}

fn figure(copies: &[Copied], path: Rate) -> Figure {
    let kib = |copy: &Copied| copy.window.get() as f64 / 1024.0;
    let mut of_scp: Vec<&Copied> = copies.iter().filter(|copy| copy.name.starts_with("scp")).collect();
    of_scp.sort_by_key(|copy| copy.window);
    let series = |name: &str, of: &dyn Fn(&Copied) -> f64| {
        Series::of_runs(name, of_scp.iter().map(|copy| (kib(copy), [of(copy); 3])))
    };
    Figure {
        name: "scp",
        about: "throughput over the window of the ssh channel",
        x: Axis::logarithmic("window", "KiB"),
        y: Axis::logarithmic("throughput", "Mbit/s"),
        series: vec![
            series("middle of the copy", &|copy| megabits(copy.middle)),
            series("whole connection", &|copy| megabits(copy.whole)),
            series("window ÷ RTT, or the path", &|copy| copy.bound(path)),
        ],
        says: "no number: copies with scp are work in progress (section VIII)",
        seen: listed(&of_scp),
    }
}

fn listed(copies: &[&Copied]) -> String {
    let one = |copy: &&Copied| format!("{:.1} Mbit/s with {}", megabits(copy.middle), copy.window);
    copies.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn claims(copies: &[Copied], path: Rate) -> Vec<Claim> {
    let is_bound = |copy: &&Copied| copy.predicted() < megabits(path);
    let small: Vec<&Copied> = copies.iter().filter(is_bound).collect();
    let large: Vec<&Copied> = copies.iter().filter(|copy| !is_bound(copy)).collect();
    let near = |copy: &&&Copied| {
        let share = megabits(copy.middle) / copy.bound(path);
        (LEAST_OF_BOUND..=MOST_OF_BOUND).contains(&share)
    };
    let of_bound = |copies: &[&Copied]| {
        let one = |copy: &&Copied| {
            let share = 100.0 * megabits(copy.middle) / copy.bound(path);
            format!("{share:.0} % with {}", copy.window)
        };
        copies.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let mut claims = Vec::new();
    if !small.is_empty() {
        claims.push(Claim {
            place: "section VIII, future work",
            says: "the window of an ssh channel, divided by the RTT, bounds a copy with large TCP buffers",
            seen: format!("of window ÷ RTT: {}", of_bound(&small)),
            holds: Some(small.iter().filter(near).count() == small.len()),
        });
    }
    if !large.is_empty() {
        claims.push(Claim {
            place: "section VIII, future work",
            says: "with a window of more than the bandwidth-delay product, the path bounds it",
            seen: format!("of {path}: {}", of_bound(&large)),
            holds: Some(large.iter().filter(near).count() == large.len()),
        });
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(window: u64, mbit: u64) -> Copied {
        Copied {
            name: format!("scp, {window} B"),
            command: String::new(),
            window: Bytes::new(window),
            rtt: Duration::from_millis(100),
            middle: Rate::mbit(mbit),
            whole: Rate::mbit(mbit / 2),
            diagnosed: 0.5,
        }
    }

    #[test]
    fn copies_are_judged_by_window_and_path() {
        let verdicts = |copies: &[Copied]| -> Vec<Option<bool>> {
            report(copies, Rate::mbit(250), Vec::new()).claims.iter().map(|claim| claim.holds).collect()
        };
        // 2 MiB in 100 ms are 168 Mbit/s.
        assert_eq!(verdicts(&[copied(2 << 20, 150), copied(8 << 20, 240)]), [Some(true); 2]);
        assert_eq!(verdicts(&[copied(2 << 20, 80)]), [Some(false)]);
        assert_eq!(verdicts(&[copied(8 << 20, 80)]), [Some(false)]);
    }
}
