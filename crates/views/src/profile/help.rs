//! The long help of `slowpath profile` and its commands.

/// What `slowpath profile --help` teaches.
pub const PROFILE: &str = "\
Reads a profile and shows where CPU time went, and for whom. The format is detected: perf.data (from `perf record -g`), the output \
of `perf script`, folded stacks, pprof, or the output of `opreport --callgraph`.

Record a profile on the busy host, with perf:
  slowpath profile record --system 10s

Then list what costs most, and for whom it ran:
  slowpath profile top perf.data
  slowpath profile attribute perf.data";

/// What `slowpath profile attribute --help` teaches.
pub const ATTRIBUTE: &str = "\
A function such as kmem_cache_free works for several others. For each function, shows which share of its cost belongs to each of the \
high-level functions given by --to (lavoie, section 3.1.3, and figures 14 to 19): a sample belongs to the innermost of them on its stack. \
A stack starts anew at an interrupt or a softirq, because the interrupted function did not call it.

With whole stacks, samples are counted. The paper knew only who calls whom, and multiplied shares along the calls; that estimate is shown \
next to the count, with its error. A truncated stack without any of these functions is not attributed.

Names are those of functions, or of the paper's operations in any kernel: \"TCP receive\", \"TCP send message\", \"TCP send pages\", \
\"interrupt\" and \"softirq\", which are the default.

--svg draws the call graph below each of these functions, as the paper does: who calls whom, each function's share of all CPU time, and \
how much of it belongs to the function at the top.

Examples:
  slowpath profile attribute perf.data
  slowpath profile attribute perf.data --to tcp_v4_rcv,tcp_sendmsg_locked --top 40
  slowpath profile attribute perf.data --to \"TCP receive\" --svg receive.svg --threshold 2%";

/// What `slowpath profile calltree --help` teaches.
pub const CALLTREE: &str = "\
Starts at the given functions and goes up through their callers. A caller is followed if it made more than the threshold of a function's \
calls by cost (lavoie, section 3.1.3). Shares are of all callers, including those below the threshold. With --until it stops at the given \
functions, and shows how much of each function below belongs to them: the product of the shares along a path, summed over all paths. \
Interrupts and softirqs have no callers.

Examples:
  slowpath profile calltree perf.data --of kmem_cache_free
  slowpath profile calltree perf.data --of kmem_cache_free,skb_clone --until tcp_v4_rcv --threshold 2%";

/// What `slowpath profile compare --help` teaches.
pub const COMPARE: &str = "\
Functions are matched by name, including names that changed between kernels. For each difference, the probability is shown that chance \
alone makes one as large for any function (Fisher's exact test, Holm's correction). It does not cover differences in workload. The cost \
per TCP segment is shown if both profiles come from `slowpath profile record`; with --work, the cost per unit of other work.

Examples:
  slowpath profile compare before.perf.data after.perf.data
  slowpath profile compare a.perf.data b.perf.data --work 120000,180000";

/// What `slowpath profile costs --help` teaches.
pub const COSTS: &str = "\
A sample belongs to the innermost kernel function on its stack that does a known kind of work. The time of each kind is divided by how \
often the work was done, as counted by the kernel during `slowpath profile record --system`. A cost is unknown if its work is not counted, \
or was seen in fewer than 25 samples. The error shown is the sampling error alone.

--as-cost-table prints a host's costs for a scenario, each with its origin. Unknown costs are taken from server-2020.

A cpu-clock profile is in ns. Cycles become time by the CPU's frequency, which the work file has on x86; elsewhere give --cpu-mhz.

Examples:
  slowpath profile record --system 10s
  slowpath profile costs perf.data
  slowpath profile costs perf.data --as-cost-table --host sender >> transfer.toml";

/// What `slowpath profile descendants --help` teaches.
pub const DESCENDANTS: &str = "\
For each of the functions with the highest cost of their own, lists the most expensive functions below it, at any depth (lavoie, section \
3.1.2). The cost of a descendant is its whole cost, under all its callers; `slowpath profile attribute` divides it among them. \
Interrupts and softirqs are not descendants of the function that they interrupt.

Examples:
  slowpath profile descendants perf.data
  slowpath profile descendants perf.data --of tcp_v4_rcv --greatest 20";

/// What `slowpath profile export --help` teaches.
pub const EXPORT: &str = "\
Functions have the names that the other commands show. Neither format can mark a truncated stack.

Examples:
  slowpath profile export perf.data --as folded --out perf.folded
  slowpath profile export perf.data --as pprof --out perf.pb.gz";

/// What `slowpath profile flame --help` teaches.
pub const FLAME: &str = "\
Each function is a box on top of its caller, as wide as its share of all samples. Tooltips have the full names. Orange is the kernel, \
blue a program.

Examples:
  slowpath profile flame perf.data --out flame.svg
  slowpath profile flame perf.data --of tcp_v4_rcv --icicle --out receive.svg";

/// What `slowpath profile record --help` teaches.
pub const RECORD: &str = "\
perf (package linux-perf, linux-tools or perf) takes the samples, with call graphs. The event is CPU cycles if they can be counted, else \
cpu-clock; the output names it. Sampling the whole host takes root, CAP_PERFMON or kernel.perf_event_paranoid at 0. Sampling a command and \
the kernel's work for it takes kernel.perf_event_paranoid at 1.

An existing FILE is renamed to FILE.old. FILE.work.json, next to FILE, counts the packets, ACKs and bytes of this network namespace during \
the recording. `profile compare` and `profile costs` use it for costs per packet.

Ctrl-C ends the recording and keeps what was recorded. With a command, standard output belongs to the command, and the summary goes to \
standard error.

Exit codes: 0 success; 1 the command failed, samples were lost, or the recording was ended early; 2 no profile.

Examples:
  slowpath profile record --system 10s
  slowpath profile record --system 30s --cpus 2,3 --out receive.perf.data
  slowpath profile record -- iperf3 -c 192.0.2.1 -t 10";

/// What `slowpath profile top --help` teaches.
pub const TOP: &str = "\
The cost of a function is its own, without its callees. Categories are those of lavoie's figure 1 and some more. A kernel function is \
put into a category by its name in Linux 2.4, 2.6 and 6.x; the rest is shown as \"in no category\".

Examples:
  slowpath profile top perf.data
  slowpath profile top perf.data --top 40 --json";
