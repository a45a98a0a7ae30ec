//! `slowpath probe --serve`: the far end.

use crate::Outcome;
use crate::console;
use crate::interrupt::Interrupt;
use slowpath_model::units::duration_text;
use slowpath_model::{Rate, shown};
use slowpath_probe::real::{Caps, Happened, Server};
use slowpath_runs::Lines;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub fn run(listen: SocketAddr, rate: Rate, duration: Duration) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let server = Server::bind(listen, Caps { rate, duration })?;
    let at = server.address()?;
    let whom = if at.ip().is_loopback() { " (this host only; --listen takes another address)" } else { "" };
    say(&format!("Listening on {at}{whom}, up to {rate} for {}. Ctrl-C stops it.", duration_text(duration)));
    let lines = Mutex::new(Lines::default());
    // A thread that panicked has left only counts.
    let lines = || lines.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody waits for this lock until a line is printed.
    let summary = || {
        let summary = lines().summary(Instant::now());
        summary.into_iter().for_each(|line| say(&line));
    };
    let report = |happened: Happened<'_>| {
        summary();
        let is_shown = lines().shows();
        match happened {
            _ if !is_shown => {}
            Happened::Began(client) => say(&format!("{client}: session started")),
            Happened::Ended(client) => say(&format!("{client}: session ended")),
            Happened::Broke(client, error) => say(&format!("{client}: {error}")),
        }
    };
    let stop = || {
        summary();
        interrupt.has_come()
    };
    server.run(&stop, &report)?;
    let rest = lines().rest();
    rest.into_iter().for_each(|line| say(&line));
    Ok(Outcome::Whole)
}

/// Prints a line; a closed standard output does not stop the server.
fn say(line: &str) {
    let _ = console::print(format!("{}\n", shown::line(line)).as_bytes());
}
