//! The long help of `slowpath compare-tunings`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Simulates every technique that Weigle 2002 compares, no tuning, and today's kernel, each on the given path. Both ends run \
today's kernel with only the technique changed. Memory is the most that the sockets of a host held at once, as the kernel \
accounts for it. CPU time is that of all CPUs of a host, with the costs of a server of 2020 (machine server-2020): processes, \
softirqs and interrupts. 100 % is one busy CPU. Where memory no longer fits a cache, a byte costs more, which is not modelled. \
The time that a program or a daemon needs to measure the path before a transfer is not included.

With --lab it prints weigle's table I instead: its columns, and what each technique gives on this machine's kernel, by FTP \
between two namespaces over an emulated path. That takes root or user namespaces, as `slowpath lab` does, and a quarter of a \
minute for each transfer.

Examples:
  slowpath compare-tunings --rate 1Gbit/s --rtt 40ms
  slowpath compare-tunings --rate 10Gbit/s --rtt 100ms --streams 8 --memory 64MiB
  slowpath compare-tunings --rate 200Mbit/s --rtt 5ms --json
  sudo slowpath compare-tunings --lab --repeat 3 --rate 1Gbit/s --rtt 100ms --amount 128MiB";
