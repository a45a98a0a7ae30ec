//! The long help of `slowpath papers`.

use slowpath_papers::Paper;

/// A paper that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The paper; `None` if its experiments are measured on a real kernel.
    pub simulated: Option<Paper>,
}

/// The papers, each with its short name and its title.
pub const PAPERS: [(Named, &str, &str); 5] = [
    (
        Named { simulated: Some(Paper::Wu) },
        "wu",
        "Wu and Crawford 2007, Potential performance bottleneck in Linux TCP",
    ),
    (
        Named { simulated: Some(Paper::Weigle) },
        "weigle",
        "Weigle 2002, A Comparison of TCP Automatic Tuning Techniques for Distributed Computing: a thousand experiments",
    ),
    (
        Named { simulated: Some(Paper::Leith) },
        "leith",
        "Leith 2004, Linux TCP implementation issues in high-speed networks",
    ),
    (
        Named { simulated: Some(Paper::Ubik) },
        "ubik",
        "Ubik and Cimbal 2003, Debugging end-to-end performance in commodity operating systems",
    ),
    (
        Named { simulated: None },
        "lavoie",
        "LaVoie, Nahum and Flynn 2006, Profiling TCP: measured on this machine's kernel, as root",
    ),
];

/// What `--help` teaches about the command.
pub const HELP: &str = "\
Each experiment is a scenario, run in the simulator with several seeds. The tables show the median, and the lowest and highest \
value. Where a paper does not give its machines' cost per packet, one of its own cells is used to find it, and marked as \
fitted; all other numbers are predictions. Below the tables are the commands that run each experiment alone. Figures over \
time are from the first seed; --html draws them, and --json has their points.

lavoie is about the CPU time of a busy web server. It is not simulated but measured on this machine's kernel: wrk loads nginx, \
Apache or HAProxy, in two network namespaces with one CPU each, while perf samples the server's CPU. It needs root, takes \
about five minutes, and shows for each of the paper's claims whether it still holds. --html draws the call graphs (figures \
14 to 19). --compare compares two kernels or settings function by function (figures 20 to 22).

ubik --lab copies files with scp and rsync over ssh, by real programs over a long path in the lab, with small and large windows of \
the ssh channel, and shows each rate next to window ÷ RTT. It needs root, OpenSSH, Dropbear and rsync, and takes about a minute.

Examples:
  slowpath papers wu
  slowpath papers wu --html wu.html
  slowpath papers weigle --html weigle.html
  slowpath papers ubik
  sudo slowpath papers ubik --lab --only 'scp dropbear'
  slowpath papers wu --seeds 1 --json
  sudo slowpath papers lavoie --html lavoie.html --keep profiles
  sudo slowpath papers lavoie --only '64K one sendfile'
  slowpath papers lavoie --from profiles-6.18 --compare profiles-6.12";
