//! The long help of `slowpath` itself.

use slowpath_analyses::VantageOverride;
use slowpath_lab::settings::Carrier;
use slowpath_runs::probe::What;

/// Where a capture was made, with the name of each place.
pub const PLACES: [(VantageOverride, &str, &str); 3] = [
    (VantageOverride::Sender, "sender", "On the sending host, or right next to it"),
    (VantageOverride::Receiver, "receiver", "On the receiving host, or right next to it"),
    (VantageOverride::Between, "between", "Somewhere on the path"),
];

/// What carries packets in the lab.
pub const CARRIERS: [(Carrier, &str, &str); 3] = [
    (
        Carrier::Veth,
        "veth",
        "slowpath, by packet sockets at pairs of veth devices: the kernel stamps each packet",
    ),
    (Carrier::Tap, "tap", "slowpath, by TAP devices: a packet arrives when it is read"),
    (
        Carrier::Netem,
        "netem",
        "The kernel, by tc-netem(8): no named packets, policers, cross traffic or reordering, no offloads on the hosts, \
         and no record of how late packets were",
    ),
];

/// What can be measured of a path.
pub const MEASUREMENTS: [(What, &str, &str); 5] = [
    (What::Rtt, "rtt", "The RTT"),
    (What::Capacity, "capacity", "The rate of the bottleneck link"),
    (What::Available, "available", "The rate that other traffic leaves"),
    (What::Ramp, "ramp", "Loss at increasing rates of UDP"),
    (What::Tcp, "tcp", "A TCP transfer each way"),
];

/// What the program is for.
pub const LONG_ABOUT: &str = "\
Where does a TCP transfer lose its time, and what would give it back?

slowpath reads a capture of a transfer (pcap or pcapng from tcpdump or Wireshark, also gzip or zstd) and shows what \
limited each flow at each moment: the application, a socket buffer, the receive window, the congestion window, loss \
recovery, or the path itself. Each verdict comes with its evidence, its confidence, and the commands that would fix it.";

/// How to begin, and its exit codes.
pub const AFTER_HELP: &str = "\
Capture a transfer, preferably on the sending host:
  tcpdump -i any -s 128 -B 65536 -w transfer.pcap tcp port 443

Then ask:
  slowpath diagnose transfer.pcap

Exit codes:
  0  there is a result
  1  there is a result, but the capture was damaged or something relevant was skipped
  2  there is no result: no such file, not a capture, wrong arguments";

/// An example of `slowpath completions`.
pub const COMPLETIONS: &str =
    "Example:\n  slowpath completions bash > ~/.local/share/bash-completion/completions/slowpath";

/// Examples of `slowpath man`.
pub const MAN: &str = "\
Examples:
  slowpath man | man -l -
  slowpath man diagnose | man -l -
  slowpath man profile top | man -l -
  slowpath man --out ~/.local/share/man/man1";

/// Examples of `slowpath causes`.
pub const CAUSES: &str =
    "Examples:\n  slowpath causes\n  slowpath causes receive-window/slow-reader\n  slowpath causes --json";

/// What `slowpath flows` shows.
pub const FLOWS: &str = "\
Columns: start in seconds since the first packet, and as a date if the capture has one; unique payload bytes and their \
rate (goodput) in the direction that carried more; the shortest RTT from the place of the capture; retransmitted \
segments; what limited the flow for most of its time. `slowpath diagnose --help` describes --filter.

Examples:
  slowpath flows transfer.pcapng
  slowpath flows transfer.pcapng --long --flow 1
  slowpath flows transfer.pcapng --sort lost --filter 'net 192.0.2.0/24 and not port 22'
  slowpath flows transfer.pcapng --csv
  slowpath flows transfer.pcapng --json";

/// What `slowpath watch` shows.
pub const WATCH: &str = "\
Each row is what a connection did in the last 3 seconds, the one that lost most time first. ? explains the columns and \
letters. Enter opens a service, its connection, and the page of its cause; Esc goes back. The left and right arrows step \
through the last ten minutes, p pauses, / asks for a filter in the words of tcpdump, q quits.

Without root, or with --own, the kernel is asked for TCP_INFO. Where data waited, and short connections, are not seen then.

With --metrics there is no screen: a monitoring system such as Prometheus asks for counters of the time that each cause took, \
of bytes, retransmissions, waits and accept queues. There are at most --series series by label, however many connections and \
processes there are. The handbook's page on metrics lists them; dashboard, alert rules and manifests are in contrib/.

Examples:
  sudo slowpath watch
  sudo slowpath watch --by process
  slowpath watch --own --port 443
  sudo slowpath watch --metrics 127.0.0.1:9433
  sudo slowpath watch --metrics 192.0.2.1:9433 --token-file token --labels service,remote
For a pipe or a file:
  sudo slowpath diagnose --live --for 10s --summary";

/// What `slowpath kernels` shows.
pub const KERNELS: &str = "\
A kernel is a list of choices: how packets are taken in, how tasks are scheduled, how TCP finds losses and sizes its \
buffers. A scenario's host names a kernel, or makes one of its own from a known one:
  kernel = \"6.18\"
  kernel = { base = \"2.6.14\", scheduler = \"eevdf\", prequeue = false }

Examples:
  slowpath kernels
  slowpath kernels 5.15 6.6 --sources
  slowpath kernels 6.18 --sysctls
  slowpath kernels --json";
