//! The long help of `slowpath sweep`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Prints one row for each case: its throughput, retransmissions and timeouts, how long packets waited at the receiving \
hosts, how long the readers waited for a CPU, and the cause that limited the flows. The scenario lists what differs from \
run to run in [[vary]] and [[try]]; --vary replaces that list. With several --vary there is a run for every combination \
of values. Runs in the simulator use all CPUs; each gives the same result as when it runs alone.

With --lab the runs are made on this machine's kernel, one after the other, as by `slowpath lab run`, preferably as root. \
Runs on a busy machine differ: with --repeat the table shows medians of the valid runs. With --compare every run is made \
in both, and the table shows the error of the simulator's rates.

With --out every run is stored as soon as it is over. After Ctrl-C or a crash, the same command continues with the runs \
that are missing. The files are the same as without the interruption, whatever --jobs is. The handbook's page on sweeps \
describes the columns.

Examples:
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms,100ms --set duration=10s
  slowpath sweep scenarios/bulk-wan.toml --vary path.queue=0.1bdp,1bdp --vary flows.streams=1,4 --json
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms --set duration=5s --out runs --plot rate.svg
  slowpath sweep scenarios/bulk-wan.toml --vary path.delay=5ms,25ms --html sweep.html
  sudo slowpath sweep scenarios/wu/live-bl10.toml --lab --repeat 3
  sudo slowpath sweep scenarios/truth.toml --compare

Exit codes:
  0  every run was made
  1  some runs are missing or not valid
  2  nothing could be done: no such file, a scenario with errors, nothing that differs, a folder with other files";

/// What `--help` says of `--vary`.
pub const VARY: &str = "\
A key and its values, such as path.delay=5ms,50ms, in place of the scenario's [[vary]] and [[try]]; can be repeated";
