//! The long help of `slowpath paths`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
The store holds, for each pair of hosts, RTT, capacity, available bandwidth, loss and MTU, each with its time, its source, and how long it \
is trusted: capacity and MTU a week, the minimum RTT and delivered rates a day, the rest an hour. measure and import write to it, show \
answers from it, and serve lets programs ask. Values older than 90 days are dropped.

show computes buffers from trusted values only, with the arithmetic of `slowpath tune advise`. Values that are no longer trusted are shown.

import learns from files, or with --live from this host's connections while they run, every 10 min. A copy with `slowpath copy` is \
learned from by the store that serves this host.

measure needs `slowpath probe --serve` on the other host. What it may send and how long it may take is limited for each path and day, \
512 MiB and 5 min unless told otherwise. At the end of the budget, what was measured so far is kept.

serve answers GET /v1/answer?to=ADDRESS; /v1/openapi.json describes the rest. Everybody on this host may ask. To add values, a program \
needs to be of the server's user or root, or have the token. With --measure it also measures paths again and again.

Exit codes: 0 done; 1 partly: measuring ended early; 2 nothing is known, or nothing was done.

Examples:
  sudo slowpath paths measure data.example.org
  sudo slowpath paths import transfer.pcapng
  sudo slowpath paths import --live --for 8h
  sudo slowpath paths show data.example.org --streams 4
  sudo slowpath paths serve --measure data.example.org --every 2h
  curl --unix-socket /run/slowpath-paths/paths.sock 'http://localhost/v1/answer?to=192.0.2.2'
  sudo slowpath paths forget data.example.org";
