//! The commands on this host that tune connections at the moment, found by their processes: the program in the kernel ends with
//! its command, so nothing else is left to ask.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Ticks of a second in `/proc/PID/stat` (`USER_HZ` of all architectures that BPF runs on, 6.18).
const USER_HZ: u64 = 100;
/// The field of `/proc/PID/stat` with the start, counted from the one behind the name (proc_pid_stat(5): field 22).
const START: usize = 19;
/// The link by which the program is attached, as `/proc/PID/fd` shows it.
const LINK: &str = "anon_inode:bpf_link";

/// A command that tunes connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The process.
    pub pid: u32,
    /// The user's id.
    pub uid: u32,
    /// When it was started, in seconds since 1970; `None` if that cannot be read.
    pub since: Option<u64>,
    /// What it was started with, behind `tune connections`.
    pub arguments: Vec<String>,
    /// Whether its program is attached; `None` if that cannot be read, without root.
    pub is_attached: Option<bool>,
}

/// The commands of this host that tune connections, in the order of their processes.
pub fn running() -> Vec<Running> {
    let own = std::process::id();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut all: Vec<Running> = pids.filter(|pid| *pid != own).filter_map(look).collect();
    all.sort_by_key(|one| one.pid);
    all
}

fn look(pid: u32) -> Option<Running> {
    let folder = Path::new("/proc").join(pid.to_string());
    let arguments = arguments(&fs::read(folder.join("cmdline")).ok()?)?;
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
    let uid = fs::metadata(&folder).ok()?.uid();
    let links = fs::read_dir(folder.join("fd")).ok().map(|all| all.flatten().collect::<Vec<_>>());
    let is_attached = links.map(|links| {
        let mut targets = links.iter().filter_map(|link| fs::read_link(link.path()).ok());
        targets.any(|target| target == Path::new(LINK))
    });
    Some(Running { pid, uid, since: since(&stat, &boot), arguments, is_attached })
}

/// What `slowpath tune connections` was started with; `None` for another command.
fn arguments(line: &[u8]) -> Option<Vec<String>> {
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.strip_suffix('\0').unwrap_or(&line).split('\0').collect();
    let (program, words) = words.split_first()?;
    if Path::new(program).file_name()? != "slowpath" {
        return None;
    }
    let place = words.windows(2).position(|pair| pair == ["tune", "connections"])?;
    Some(words[place + 2..].iter().map(|word| (*word).to_owned()).collect())
}

/// When a process was started, by its `stat` and that of the host.
fn since(stat: &str, host: &str) -> Option<u64> {
    let boot: u64 = host.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    // A name may have spaces and brackets in it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields.split_whitespace().nth(START)?.parse().ok()?;
    Some(boot + ticks / USER_HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_that_tunes_connections_counts() {
        let of = |words: &[&str]| arguments((words.join("\0") + "\0").as_bytes());
        let found = of(&["/usr/bin/slowpath", "--color", "never", "tune", "connections", "--for", "1h"]);
        assert_eq!(found, Some(vec!["--for".to_owned(), "1h".to_owned()]));
        assert_eq!(of(&["slowpath", "tune", "connections"]), Some(vec![]));
        assert_eq!(of(&["slowpath", "tune", "status"]), None);
        assert_eq!(of(&["vim", "slowpath", "tune", "connections"]), None);
        assert_eq!(arguments(b""), None);
    }

    #[test]
    fn the_start_is_behind_a_name_of_any_kind() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0";
        assert_eq!(since(stat, "cpu 1\nbtime 1700000000\n"), Some(1_700_000_050));
        assert_eq!(since("7 (a", "btime 1\n"), None);
        assert_eq!(since(stat, ""), None);
    }
}
