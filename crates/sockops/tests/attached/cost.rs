//! What the program costs, as the kernel measures it.

use crate::connection::Connection;
use crate::{HERE, buffers, config, counts, targets, tuned};
use std::time::{Duration, Instant};

/// Time of the program for each end of a connection, and how long a connection took to be opened and closed.
pub struct Cost {
    pub program: Duration,
    pub connection: Duration,
}

/// Opens and closes so many connections of this host to itself, one after the other, with a setting or to an unknown destination.
pub fn of(connections: u32, is_known: bool) -> Cost {
    let prefix = if is_known { "127.0.0.0/8" } else { "192.0.2.0/24" };
    tuned("cost", &config(), &targets(prefix, buffers(1 << 20, 1 << 20)), |tuner, _| {
        let _measured = slowpath_bpf::measure_programs().expect("as root");
        let began = Instant::now();
        for _ in 0..connections {
            Connection::to(HERE, |_| ()).close();
        }
        let connection = began.elapsed() / connections;
        let counts = counts(tuner);
        assert_eq!(counts.seen, u64::from(connections) * 2);
        assert_eq!(counts.tuned, if is_known { counts.seen } else { 0 });
        let program = tuner.costs().iter().map(|cost| cost.ran).sum::<Duration>() / (connections * 2);
        Cost { program, connection }
    })
}
