//! The long help of `slowpath doctor`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Before a transfer, doctor reports which settings of this host would limit it. It reads settings and counters and changes nothing: \
buffers and TCP settings against the bandwidth-delay product, the parameter cache, the route, the qdisc, the NIC with its rings and \
offloads, the CPU clocks and softirqs, and what TCP has counted since boot. Each finding shows what was seen, what the transfer \
needs, the command that fixes it and the command that undoes the fix. Run it on both hosts: the limit may be at either end.

A finding limits (the transfer gets about this rate at most), costs (time, CPU, or more expensive losses), or is a hint (harmless \
perhaps; look again after a transfer). Root is not needed; what only root can see is listed at the end.

Exit codes: 0 nothing limits or costs, 1 something does, 2 nothing could be examined.

Examples:
  slowpath doctor --rate 1Gbit/s --rtt 40ms
  slowpath doctor 192.0.2.9 --rate 10Gbit/s --rtt 12ms --streams 4 --as sender
  slowpath doctor --interface eth0 --json";
