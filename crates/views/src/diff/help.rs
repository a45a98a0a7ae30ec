//! The long help of `slowpath diff`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Compares a good and a bad capture of the same kind of transfer: yesterday's and today's, before and after a change, one host \
and another. It shows how much longer B needed for the same amount of data, which limits took that time, and which facts \
changed. A fact is given as the reason only if it has a mechanism that changes the time under just those limits; if none \
does, that is said.

Flows are paired by service: the address and port of the server. If one flow has nearly all data of each capture, these two \
are compared. A pairing that may be wrong is said to be. --flow 3 chooses flow 3 of both, --flow 3,7 flow 3 of A and flow 7 \
of B.

A and B are captures (pcap or pcapng, plain, gzip or zstd), folders from slowpath run --record, or scenarios. For two \
captures of one transfer, made at both of its ends, use slowpath diagnose.

One pair of captures shows that something differs, not how often it does: transfers on a shared path differ from day to \
day. A difference that the captures themselves show to be chance is said to be.

Exit codes:
  0  compared
  1  compared, but a capture was damaged, or something relevant was skipped
  2  there is no result: no such file, not a capture, wrong arguments

Examples:
  slowpath diff good.pcapng bad.pcapng
  slowpath diff good.pcapng bad.pcapng --flow 1,1
  slowpath diff monday.pcap tuesday.pcap --filter 'port 443' --top 5
  slowpath diff before.pcapng after.pcapng --json | jq '.pairs[0].reasons'";
