//! The programs that the web bench needs.

use super::Server;
pub use crate::tools::Missing;

const NEEDED: [Missing; 4] = [
    Missing { command: "wrk", package: "wrk" },
    Missing { command: "perf", package: "linux-perf" },
    Missing { command: "ip", package: "iproute2" },
    Missing { command: "ethtool", package: "ethtool" },
];

/// The missing programs, for these servers.
pub fn missing(servers: &[Server]) -> Vec<Missing> {
    let mut needed: Vec<Missing> = Vec::new();
    for program in servers.iter().map(|server| server.program()) {
        let server = Missing { command: program, package: program };
        if !needed.contains(&server) {
            needed.push(server);
        }
    }
    needed.extend(NEEDED);
    crate::tools::missing(&needed)
}
