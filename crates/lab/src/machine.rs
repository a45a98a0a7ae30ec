//! What this machine can do for the lab, found out by trying.

use crate::lateness::LatenessWatch;
use crate::netem;
use crate::privilege::{self, Privilege};
use crate::run::kernel_release;
use crate::tun;
use slowpath_live::{Filter, Live};
use std::error::Error;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A feature that the lab needs, or benefits from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Its name, such as `ethtool`.
    pub name: &'static str,
    /// What the lab uses it for.
    pub purpose: &'static str,
    /// Whether the lab needs it to run.
    pub required: bool,
    /// What was found.
    pub found: Found,
}

impl Ability {
    /// Whether the lab cannot run without it.
    pub fn prevents(&self) -> bool {
        self.required && matches!(self.found, Found::Missing { .. })
    }
}

/// The result of the trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there.
    There(String),
    /// It is missing, with a fix.
    Missing {
        /// What is wrong.
        why: String,
        /// What to do.
        fix: String,
    },
}

/// How long the lateness of the CPUs is measured.
const WATCHED: Duration = Duration::from_secs(1);
/// A CPU later than this makes the path too late for a delay of less than twice that in hundredths.
const PUNCTUAL: Duration = Duration::from_millis(1);

/// Tries everything, with the lab's privileges.
pub fn abilities() -> Vec<Ability> {
    let ability = |name, purpose, required, found| Ability { name, purpose, required, found };
    vec![
        ability("root", "makes namespaces and opens packet sockets, or is done without", true, root()),
        ability("namespaces", "are the hosts and the path", true, network_namespace()),
        program("ip", "iproute2", "sets up addresses and routes"),
        program("ethtool", "ethtool", "switches offloads"),
        ability("priority", "lets the path deliver in time on a busy machine", false, priority()),
        ability("CPUs", "carry two hosts and the path", false, cpus()),
        ability(
            "steering",
            "puts a host's receive softirqs on the CPU that a scenario names",
            false,
            steering(),
        ),
        ability("TAP devices", "can be the hosts' interfaces (--carrier tap)", false, taps()),
        ability("netem", "can be the path (--carrier netem)", false, netem()),
        ability("probe", "shows where packets and readers waited on the hosts", false, probe()),
        ability("punctuality", "decides which runs count", false, punctuality()),
        ability("kernel", "is what the scenarios run on", false, Found::There(kernel())),
    ]
}

fn missing(why: impl Into<String>, fix: impl Into<String>) -> Found {
    Found::Missing { why: why.into(), fix: fix.into() }
}

fn root() -> Found {
    match privilege::obtain() {
        Ok(Privilege::Root) => Found::There("this process is root".into()),
        Ok(Privilege::OwnNamespace) => Found::There(format!(
            "not root, but of a user namespace of its own; then {}",
            privilege::lost().join("; ")
        )),
        Err(error) => {
            missing(error.source().map_or_else(String::new, ToString::to_string), error.to_string())
        }
    }
}

fn probe() -> Found {
    if privilege::held() != Privilege::Root {
        return missing(
            "only root of the machine may load it",
            "run it as root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN)",
        );
    }
    match Live::start(Filter::of_netns(&[u32::MAX])) {
        Ok(_) => Found::There("it loads".into()),
        Err(error) => missing(error.to_string(), "see docs/src/live.md, \"What it needs\""),
    }
}

/// Tries something that changes a thread, on a thread of its own.
fn on_a_thread(name: &str, trial: fn() -> libc::c_int, there: &str, fix: &str) -> Found {
    let trial = move || if trial() == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    match thread::spawn(trial).join() {
        Ok(Ok(())) => Found::There(there.into()),
        Ok(Err(error)) => missing(format!("{name}: {error}"), fix),
        Err(_) => missing("the trial ended early", "report it"),
    }
}

fn network_namespace() -> Found {
    // SAFETY: it concerns the calling thread only.
    let trial = || unsafe { libc::unshare(libc::CLONE_NEWNET) };
    let fix = "run it as root, outside of a container that forbids it (CONFIG_NET_NS, CAP_SYS_ADMIN)";
    on_a_thread("unshare(CLONE_NEWNET)", trial, "can be made", fix)
}

fn program(name: &'static str, package: &str, purpose: &'static str) -> Ability {
    // Debian keeps some administrators' commands outside a user's PATH.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let place = path.split(':').map(|folder| Path::new(folder).join(name)).find(|file| file.is_file());
    let found = match place {
        Some(file) => Found::There(file.display().to_string()),
        None => missing("not in PATH", format!("apt-get install {package}, or your system's like")),
    };
    Ability { name, purpose, required: true, found }
}

fn priority() -> Found {
    let trial = || {
        let parameters = libc::sched_param { sched_priority: 1 };
        // SAFETY: 0 is the calling thread, and the parameters are live.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }
    };
    let fix = "give CAP_SYS_NICE, or real-time time to this control group (cpu.rt_runtime_us)";
    on_a_thread("sched_setscheduler(SCHED_FIFO)", trial, "SCHED_FIFO can be had", fix)
}

fn cpus() -> Found {
    match thread::available_parallelism().map_or(1, usize::from) {
        1 => missing("there is one", "take a machine with two: on one the path waits for the hosts"),
        cpus => Found::There(format!("{cpus}")),
    }
}

fn steering() -> Found {
    if privilege::held() != Privilege::Root {
        return missing("only root of the machine may steer", "run it as root");
    }
    // Every machine has a loopback device, with a file for each of its queues if the kernel supports this at all.
    if Path::new("/sys/class/net/lo/queues/rx-0/rps_cpus").exists() {
        Found::There("receive packet steering".into())
    } else {
        missing("no receive packet steering", "take a kernel with CONFIG_RPS, and mount /sys")
    }
}

fn taps() -> Found {
    let trial = || {
        // SAFETY: it concerns the calling thread only; the machine's own network sees nothing of the trial.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return -1;
        }
        tun::open("slowpath", libc::IFF_TAP | libc::IFF_VNET_HDR).map_or(-1, |_| 0)
    };
    let fix = "modprobe tun (CONFIG_TUN); in a container, have the device passed in";
    on_a_thread(tun::PATH, trial, "can be made", fix)
}

fn netem() -> Found {
    match netem::is_there() {
        Ok(()) => Found::There("the kernel has it".into()),
        Err(error) => missing(error.to_string(), "modprobe sch_netem (CONFIG_NET_SCH_NETEM)"),
    }
}

fn punctuality() -> Found {
    let watch = LatenessWatch::start();
    thread::sleep(WATCHED);
    let late = watch.finish();
    let told = format!("in {WATCHED:?} a CPU came {:.2} ms late at most", late.as_secs_f64() * 1e3);
    if late <= PUNCTUAL {
        Found::There(told)
    } else {
        missing(
            told,
            "stop what else runs; on a virtual machine whose CPUs are taken away, repeat runs that do not count",
        )
    }
}

fn kernel() -> String {
    let known = "the simulator's linux-6.18 is what it is compared with";
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    format!("Linux {}, with {}; {known}", kernel_release(), controls.unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial leaves the process unchanged.
    #[test]
    fn trials_leave_the_process_unchanged() {
        let namespace = || std::fs::read_link("/proc/self/ns/net").ok();
        let before = namespace();
        let abilities = abilities();
        assert_eq!(namespace(), before);
        let root = abilities.iter().find(|ability| ability.name == "root").map(|ability| &ability.found);
        assert_eq!(matches!(root, Some(Found::There(_))), privilege::is_root());
    }
}
