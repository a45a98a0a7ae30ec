//! The long help of `slowpath show`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Each line is an event in packetdrill's notation: the time in seconds since the first packet; > from the end that opened \
the connection, < towards it; flags (S SYN, F FIN, R RST, P PSH, . ACK); first byte, last byte and length, relative to the \
SYN; the acknowledgment number; the window as on the wire; the options. After // come the frame number, as in Wireshark, \
and fields of the IP header.

Times are as recorded, also where the capture's clock was set while recording: \
then `diagnose` and `flows` give corrected times, and a warning after the last \
line says when and by how much the clock was set.

With --label, each line begins with the label of its data:
  new                      seen for the first time
  retransmission           retransmitted because it was lost or assumed lost
  spurious-retransmission  retransmitted although the data had arrived
  out-of-order             reordered on the path
  duplicate-frame          a copy of the same frame
  keep-alive               asks whether the other end still answers
  window-probe             asks whether the window is still 0

A retransmission can turn out to be spurious later (by a DSACK or an old \
timestamp echo). Lines are therefore held back until that is known, for up to \
10 s of the capture.

Examples:
  slowpath show transfer.pcapng --flow 1 --limit 20
  slowpath show transfer.pcapng --flow 1 --from 0.5 --to 1.25
  slowpath show transfer.pcapng --label retransmission,spurious
  slowpath show transfer.pcapng --filter 'host 192.0.2.1 and port 443'
  slowpath show transfer.pcapng --json | head -n 3";
