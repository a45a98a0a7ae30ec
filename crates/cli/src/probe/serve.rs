//! `slowpath probe --serve`: the far end.

use crate::Outcome;
use crate::console;
use crate::interrupt::Interrupt;
use slowpath_model::units::duration_text;
use slowpath_model::{Rate, shown};
use slowpath_probe::real::{Caps, Happened, Server};
use std::net::SocketAddr;
use std::time::Duration;

pub fn run(listen: SocketAddr, rate: Rate, duration: Duration) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    let server = Server::bind(listen, Caps { rate, duration })?;
    let at = server.address()?;
    let whom = if at.ip().is_loopback() { " (this host only; --listen takes another address)" } else { "" };
    say(&format!("Listening on {at}{whom}, up to {rate} for {}. Ctrl-C stops it.", duration_text(duration)));
    let report = |happened: Happened<'_>| match happened {
        Happened::Began(client) => say(&format!("{client}: session started")),
        Happened::Ended(client) => say(&format!("{client}: session ended")),
        Happened::Broke(client, error) => say(&format!("{client}: {error}")),
    };
    server.run(&|| interrupt.has_come(), &report)?;
    Ok(Outcome::Whole)
}

/// Prints a line; a closed standard output does not stop the server.
fn say(line: &str) {
    let _ = console::print(format!("{}\n", shown::line(line)).as_bytes());
}
