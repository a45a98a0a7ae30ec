//! The long help of `slowpath probe`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Start the far end on the other host, measure, then stop it:
  rtt        UDP echoes: the RTT with empty and with full queues.
  capacity   Packet pairs and trains: the rate of the bottleneck link
             without other traffic.
  available  Short streams that load the path: the rate left by other
             traffic. This is pathload's method.
  ramp       UDP at increasing rates, as RUDE/CRUDE sends it: the rate at
             which loss begins, and whether an end or the path limits it.
  tcp        A TCP transfer each way, and what limited its sender.
The result includes the bandwidth-delay product, which a transfer's buffers must hold; `slowpath doctor` checks whether this \
host's do. If a scenario file is given instead of a host, its path is measured in the simulator.

The far end listens on loopback unless --listen gives another address. It needs TCP and UDP on that port. It sends UDP only to \
clients that have completed a TCP handshake and sent the session's token by UDP, never faster than --max-rate. An address \
gets --max-rate times --max-duration of UDP and two TCP transfers of --max-duration, over all its sessions; a spent budget \
is full again after 4 times --max-duration. A session that is idle for 1 s gives way if all four are taken; any session \
ends after 30 s without a request, or 10 minutes.

Exit codes: 0 everything was measured; 1 something could not be measured or was interrupted; 2 nothing was measured.

Examples:
  slowpath probe --serve
  slowpath probe 127.0.0.1 --measure rtt,capacity,available
  slowpath probe localhost --measure ramp --ramp 100Mbit/s..200Mbit/s --steps 3 --reverse
  slowpath probe localhost --measure rtt,tcp --tcp 1s --json
  slowpath probe scenarios/bulk-wan.toml --set path.rate=622Mbit/s";
