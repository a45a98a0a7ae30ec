//! The long help of `slowpath lab`.

/// What `--help` teaches about the command.
pub const HELP: &str = "\
The lab runs a scenario file with real packets, real sockets and this machine's kernel. Two network namespaces are the \
hosts; a third holds the path, which delays, queues and drops packets as the scenario says. Nothing else on the machine is \
changed, and nothing is left behind; the next run removes temporary files of a killed run. Without root the lab runs in a user \
namespace, where the kernel allows that, and lists what is missing.

Examples:
  slowpath lab check
  sudo slowpath lab run scenarios/slow-reader.toml
  sudo slowpath lab run scenarios/slow-reader.toml --carrier tap
  sudo slowpath lab compare scenarios/slow-reader.toml";

/// The exit codes of `lab compare`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  there is a result
  1  there is a result, but the machine was too busy for it to count
  2  nothing could be done: neither root nor user namespaces, no such file, a scenario that the lab cannot run";

/// What `--help` teaches about `lab run`.
pub const RUN_HELP: &str = "\
Your own programs run on the hosts with the scenario's sysctls, offloads, loads and CPUs, as the user who runs slowpath \
and without standard input. Their processes end with the run, those in the background too. The diagnosis is about all of \
their connections.

Examples:
  sudo slowpath lab run scenarios/bulk-wan.toml
  sudo slowpath lab run scenarios/bulk-wan.toml --server 'iperf3 -s -1' --client 'iperf3 -c {server} -t 5'
  sudo slowpath lab run scenarios/bulk-wan.toml --server-at sender --server 'python3 -m http.server' \\
    --client 'curl -so /dev/null http://{server}:8000/file'

Exit codes:
  0  there is a result
  1  there is a result, but the machine was too busy for it to count, or a program of yours failed
  2  nothing could be done: neither root nor user namespaces, no such file, a scenario that the lab cannot run, a server \
that does not listen";

/// Exit codes of `lab check`.
pub const CHECK_HELP: &str = "\
Exit codes:
  0  the lab can run here
  1  something is missing; it is shown with its fix";
