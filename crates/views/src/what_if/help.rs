//! The long help of `slowpath what-if`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Fits a scenario to one transfer of a capture: the rate, RTT, queue and losses of its path, the buffers of both ends, and \
the congestion control. The scenario is simulated, and the simulated transfer is compared with the captured one: rate, \
RTT, retransmissions, pace of ACKs, and time by limit. Only if all agree is the transfer simulated again with other \
settings. Otherwise the answer is why nothing can be predicted, and what to record.

The capture must be made on the sending host, from the SYN on, and contain a bulk transfer. Each prediction is a range: it \
covers what the capture leaves open and what the check was off by. What would limit the transfer then is named too.

Exit codes:
  0  predicted
  1  cannot be predicted from this capture
  2  there is no result: no such file, not a capture, wrong arguments

Examples:
  slowpath what-if transfer.pcapng
  slowpath what-if transfer.pcapng --try receive-buffer=6MiB --try congestion-control=bbr --try loss=0
  slowpath what-if transfer.pcapng --flow 3 --json
  slowpath what-if transfer.pcapng --scenario fitted.toml && slowpath run fitted.toml
  slowpath upgrade-check transfer.pcapng --from 5.15 --to 6.8";

/// What `--to` does.
pub const TO: &str = "\
Predict what this kernel would make of the transfer, and which of its changes do it: the kernel on both hosts, and each choice \
and sysctl that it has otherwise, alone, with the commit that changed it";

/// What `--try` takes.
pub const TRY: &str = "\
Try this instead of what the verdict suggests, alone and in pairs: receive-buffer=6MiB or send-buffer=4MiB (the largest \
size that tcp_rmem or tcp_wmem allows, with no fixed buffer), first-receive-buffer=1MiB (the size it begins with), \
window-scaling=on, congestion-control=cubic, reno or bbr, \
initial-window=32 (segments), slow-start-after-idle=off, loss=0 or loss=0.1%, rate=100Mbit/s, rtt=20ms, queue=500 (packets), kernel=6.8 (on both hosts)";
