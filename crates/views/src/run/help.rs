//! The long help of `slowpath run`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Simulates hosts with their CPUs, interrupts, schedulers, queues and the TCP of their kernel, and the paths between them. \
The same scenario and seed give the same run, byte by byte. The tables are followed by the diagnosis of a recording made \
on the sending host, as `slowpath diagnose` prints it.

Ctrl-C ends the run early: its results so far are printed, and the files that it wrote can be read.

Examples:
  slowpath run scenarios/bulk-wan.toml
  slowpath run scenarios/bulk-wan.toml --set path.delay=50ms --seed 7
  slowpath run scenarios/bulk-wan.toml --html run.html
  slowpath run scenarios/bulk-wan.toml --pcap out/
  slowpath run scenarios/slow-reader.toml --record recorded/";
