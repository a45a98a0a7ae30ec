//! The long help of `slowpath tune`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
plan writes a file with each setting, its value now and then, why, the risk, and the line that undoes it. Read it, edit it, and \
apply it. apply first checks that every setting still has the value that the plan expects, writes the old and the new value to a \
journal on disk, changes one setting after the other, and reads each back. If one fails, those before it are undone. revert takes \
a plan back, also after `kill -9`, a full disk or a reboot: a setting that somebody else has changed meanwhile is named and left \
alone. What slowpath cannot take back exactly is in the plan under [[by-hand]] and is not applied.

Of a capture, plan also predicts the rate with each change, as slowpath what-if does, or says why it cannot; --no-predict leaves that out. \
apply --verify and --in-lab show the prediction next to what they measure. status --report prints what is in force, why, and how to undo \
it, as Markdown.

With apply --verify CMD, the plan has to prove itself: CMD runs with the old and the new values in turn, and the plan is kept only if \
Wilcoxon's signed-rank test shows a gain (95 % confidence). If it does not, or CMD fails, or at Ctrl-C, all of it is taken back.

apply --in-lab SCENARIO changes nothing on this host: it runs a scenario of the lab with the old and the new values in turn, and shows \
by how much the rate differs. Settings that a network namespace does not have are named.

Exit codes: 0 done; 1 partly: a setting was left alone, or is not as applied, or a plan was verified or tried and did not help; 2 nothing was done, \
or what was done is undone.

Examples:
  slowpath tune advise --rate 10Gbit/s --rtt 80ms --streams 4
  slowpath tune plan --doctor --rate 10Gbit/s --rtt 80ms --out plan.toml
  slowpath tune plan transfer.pcapng --as receiver --out receiver.toml
  sudo slowpath tune apply plan.toml --for 10min
  sudo slowpath tune apply plan.toml --verify 'scp host:big.iso /dev/null' --keep-if '>=5%'
  sudo slowpath tune apply plan.toml --in-lab scenario.toml --as receiver
  sudo slowpath tune status
  sudo slowpath tune revert";

/// What `--help` teaches about `tune connections`.
pub const CONNECTIONS_HELP: &str = "\
A BPF program (sockops) on a control group of version 2 sets buffers when a process in the group, or below it, opens or accepts a \
connection to a known destination. The processes know nothing of it. Destinations are those of --to, and those that the path store \
knows. The program ends with this command, however that ends; connections keep their settings until they are closed.

--to takes a prefix and settings, separated by commas:
  rate=RATE,rtt=TIME  buffers for this path, as `slowpath tune advise` computes them
  send=SIZE           send buffer, as tcp_wmem counts it (SO_SNDBUF)
  receive=SIZE        receive buffer, as tcp_rmem counts it (SO_RCVBUF)
  clamp=SIZE          largest window (TCP_WINDOW_CLAMP)
  pacing=RATE         highest rate of a connection (SO_MAX_PACING_RATE)
  congestion=NAME     congestion control (TCP_CONGESTION)
The longest prefix counts. From the path store come buffers only.

A buffer is set only if the path needs more than the kernel's own tuning reaches (tcp_wmem, tcp_rmem), and net.core.wmem_max or rmem_max \
allows more. What a program sets itself is left, and so is what an administrator changes while this runs. The counts at the end \
say how often.

Exit codes: 0 done; 2 nothing was tuned.

Examples:
  sudo slowpath tune connections --cgroup /sys/fs/cgroup/system.slice
  sudo slowpath tune connections --to 192.0.2.0/24,rate=1Gbit/s,rtt=80ms
  sudo slowpath tune connections --to 2001:db8::/32,congestion=bbr --for 1h --json";
