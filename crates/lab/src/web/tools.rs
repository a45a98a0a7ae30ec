//! The programs that the web bench needs.

pub use crate::tools::Missing;

const NEEDED: [Missing; 5] = [
    Missing { command: "nginx", package: "nginx" },
    Missing { command: "wrk", package: "wrk" },
    Missing { command: "perf", package: "linux-perf" },
    Missing { command: "ip", package: "iproute2" },
    Missing { command: "ethtool", package: "ethtool" },
];

/// The missing programs.
pub fn missing() -> Vec<Missing> {
    crate::tools::missing(&NEEDED)
}
