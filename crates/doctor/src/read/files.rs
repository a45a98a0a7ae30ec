//! Files of /proc and /sys.

use crate::host::{Clock, Host, Interrupt};
use slowpath_uapi::proc;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders /proc and /sys.
#[derive(Clone, Debug)]
pub struct Files {
    /// Of processes.
    pub proc: PathBuf,
    /// Of devices.
    pub sys: PathBuf,
}

impl Default for Files {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

/// The settings that are checked, or used to compute fixes.
const SYSCTLS: [&str; 30] = [
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_retries2",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// Settings of the whole machine: only the first network namespace shows them.
const OF_THE_MACHINE: [&str; 3] =
    ["net.core.netdev_budget", "net.core.netdev_max_backlog", "net.ipv4.tcp_mem"];

/// The maximum length of these files.
const LONGEST: u64 = 1 << 20;

fn text(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, LONGEST), &mut text)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Why a file could not be read, for people.
fn why(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {}", path.display()),
        _ => format!("{}: {error}", path.display()),
    }
}

/// Settings and the kernel's release.
pub fn settings(files: &Files, host: &mut Host) {
    let path = files.proc.join("sys/kernel/osrelease");
    match text(&path) {
        Ok(release) => host.release = Some(release).filter(|release| !release.is_empty()),
        Err(error) => host.missed("the kernel's release", why(&path, &error), None),
    }
    for name in SYSCTLS {
        let path = files.proc.join("sys").join(name.replace('.', "/"));
        match text(&path) {
            Ok(value) if !value.is_empty() => {
                host.sysctls.insert(name.to_owned(), value);
            }
            Ok(_) => host.missed(name, "it is empty", None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Other kernels have other settings; those of every kernel are shown in the first namespace.
                if OF_THE_MACHINE.contains(&name) {
                    host.missed(name, "only the first network namespace shows it", None);
                }
            }
            Err(error) => host.missed(name, why(&path, &error), None),
        }
    }
}

/// Counters: each group has a line of names and a line of numbers.
pub fn counters(files: &Files, host: &mut Host) {
    for file in ["netstat", "snmp"] {
        let path = files.proc.join("thread-self/net").join(file);
        match text(&path) {
            Ok(text) => {
                let counters = proc::counters(&text);
                host.counters.extend(counters.map(|(table, name, value)| (format!("{table}{name}"), value)));
            }
            Err(error) => host.missed(format!("counters of {file}"), why(&path, &error), None),
        }
    }
}

/// Softirq counters.
pub fn softnet(files: &Files, host: &mut Host) {
    let path = files.proc.join("net/softnet_stat");
    match text(&path) {
        Ok(text) => host.softnet = proc::softnet(&text).collect(),
        Err(error) => host.missed("what softirqs did", why(&path, &error), None),
    }
}

/// The CPUs' clocks. A machine with firmware-controlled clocks has none.
pub fn clocks(files: &Files, host: &mut Host) {
    let folder = files.sys.join("devices/system/cpu");
    let Ok(entries) = fs::read_dir(&folder) else {
        host.missed("CPU clocks", format!("there is no {}", folder.display()), None);
        return;
    };
    let number = |name: &str| name.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok());
    let mut cpus: Vec<u32> =
        entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    cpus.sort_unstable();
    for cpu in cpus {
        let folder = folder.join(format!("cpu{cpu}/cpufreq"));
        let word = |name: &str| text(&folder.join(name)).ok();
        let khz = |name: &str| word(name)?.parse().ok();
        if let (Some(governor), Some(driver)) = (word("scaling_governor"), word("scaling_driver")) {
            let (allowed_khz, most_khz) = (khz("scaling_max_freq"), khz("cpuinfo_max_freq"));
            host.clocks.push(Clock { cpu, governor, driver, allowed_khz, most_khz });
        }
    }
    if host.clocks.is_empty() {
        host.missed("CPU clocks", "no CPU has cpufreq; in a virtual machine the host governs them", None);
    }
}

/// What /sys has about an interface.
#[derive(Debug, Default)]
pub struct OfDevice {
    pub steered_queues: Option<u32>,
    pub interrupts: Vec<Interrupt>,
}

/// An interface's queues and interrupts, if /sys shows this one: it shows those of the namespace in which it was
/// mounted, where another one may have the same name.
pub fn device(files: &Files, name: &str, index: u32, address: &[u8]) -> Option<OfDevice> {
    let folder = files.sys.join("class/net").join(name);
    let hex = address.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let is_it = text(&folder.join("ifindex")).ok()?.parse() == Ok(index)
        && text(&folder.join("address")).ok()?.eq_ignore_ascii_case(&hex);
    is_it.then_some(())?;
    Some(OfDevice {
        steered_queues: steered(&folder.join("queues")),
        interrupts: interrupts(files, &folder.join("device/msi_irqs")),
    })
}

/// Receive queues with a mask of CPUs that share their work (scaling.rst, RPS).
fn steered(folder: &Path) -> Option<u32> {
    let queues = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let has_mask = |path: &PathBuf| {
        text(&path.join("rps_cpus")).is_ok_and(|mask| mask.chars().any(|digit| !"0,".contains(digit)))
    };
    u32::try_from(queues.filter(has_mask).count()).ok()
}

fn interrupts(files: &Files, folder: &Path) -> Vec<Interrupt> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let cpus = |number: &u32| {
        let folder = files.proc.join(format!("irq/{number}"));
        ["effective_affinity_list", "smp_affinity_list"]
            .into_iter()
            .find_map(|name| text(&folder.join(name)).ok().filter(|list| !list.is_empty()))
    };
    numbers.into_iter().filter_map(|number| Some(Interrupt { number, cpus: cpus(&number)? })).collect()
}
