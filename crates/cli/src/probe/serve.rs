//! `slowpath probe --serve`: the far end.

use crate::Outcome;
use crate::console;
use crate::interrupt::Interrupt;
use slowpath_model::shown;
use slowpath_probe::real::Caps;
use std::net::SocketAddr;

pub fn run(listen: SocketAddr, caps: Caps) -> anyhow::Result<Outcome> {
    let interrupt = Interrupt::listen()?;
    // A closed standard output does not stop the server.
    slowpath_runs::probe::serve(listen, caps, &|| interrupt.has_come(), &|line| {
        let _ = console::print(format!("{}\n", shown::line(line)).as_bytes());
    })?;
    Ok(Outcome::Whole)
}
