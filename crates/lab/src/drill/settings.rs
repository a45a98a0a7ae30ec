//! Settings of the namespace: sysctls, routes, queueing disciplines, offloads. Nothing outside it is changed.

use super::device;
use crate::error::LabError;
use crate::namespaces::run;
use slowpath_drill::shell::Command;
use slowpath_drill::{KernelError, Understood};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Settings that a namespace inherits from the machine, reset to Linux's defaults: scripts must not depend on the
/// machine (`tcp_sk_init`, net/ipv4/tcp_ipv4.c, 6.18).
const PINNED: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 131072 33554432"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_fastopen", "1"),
    // Nobody answers neighbour and router solicitations; they would only be noise.
    ("net.ipv6.conf.all.router_solicitations", "0"),
];

const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// The congestion control of new sockets. As its default, a namespace may only use one that the machine allows to
/// everybody, so it is set on each socket instead.
#[derive(Clone, Debug)]
pub struct Congestion(Arc<Mutex<String>>);

impl Default for Congestion {
    fn default() -> Self {
        Self(Arc::new(Mutex::new("cubic".to_owned())))
    }
}

impl Congestion {
    /// Its name.
    pub fn name(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, name: &str) {
        name.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Sets what scripts depend on.
pub fn pin() -> Result<(), LabError> {
    for (name, value) in PINNED {
        let path = path(name);
        std::fs::write(&path, value).map_err(LabError::file(&path))?;
    }
    Ok(())
}

fn path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// Applies a setting of a script.
pub fn apply(command: &Command, congestion: &Congestion) -> Result<Understood, KernelError> {
    match command {
        Command::Sysctl { name, value } if name == CONGESTION => {
            congestion.set(value);
            Ok(Understood::Yes)
        }
        Command::Sysctl { name, value } => sysctl(name, value),
        Command::Ip(words) => ip(words),
        Command::Tc(words) => match tool("tc", words) {
            // The available disciplines depend on the machine; a device that accepts everything at once never queues.
            Err(error) if error.to_string().contains("qdisc kind is unknown") => Ok(Understood::No),
            result => result,
        },
        Command::Ethtool(words) => tool("ethtool", words),
        Command::Counters(_) | Command::Unknown(_) | Command::Either { .. } => Ok(Understood::No),
        Command::Sleep(_) | Command::Include(_) | Command::Nothing => Ok(Understood::Yes),
    }
}

/// Names with these beginnings belong to a namespace, or cannot be written from one.
const NAMESPACED: &[&str] = &["net.ipv4.", "net.ipv6.", "net.core.", "net.mptcp."];

fn sysctl(name: &str, value: &str) -> Result<Understood, KernelError> {
    if !NAMESPACED.iter().any(|start| name.starts_with(start)) || name.contains("..") {
        return Ok(Understood::No);
    }
    let path = path(name);
    if !path.exists() {
        // An older or newer kernel, or a setting that this namespace does not have.
        return Ok(Understood::No);
    }
    std::fs::write(&path, value)
        .map(|()| Understood::Yes)
        .map_err(|error| KernelError::new(format!("{name} cannot be set to {value}: {error}")))
}

fn tool(program: &str, words: &[String]) -> Result<Understood, KernelError> {
    if !words.iter().any(|word| word == device::NAME) {
        return Ok(Understood::No);
    }
    let command: Vec<&str> = [program].into_iter().chain(words.iter().map(String::as_str)).collect();
    run(&command).map(|()| Understood::Yes).map_err(|error| KernelError::new(error.to_string()))
}

/// `ip` in this namespace: routes, addresses, links, metrics.
fn ip(words: &[String]) -> Result<Understood, KernelError> {
    let leaves = ["netns", "-n", "-netns", "-all", "-a", "vrf"];
    if words.iter().any(|word| leaves.contains(&word.as_str()) || word.starts_with("-b")) {
        return Ok(Understood::No);
    }
    let command: Vec<&str> = ["ip"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let Err(error) = run(&command) else { return Ok(Understood::Yes) };
    // Scripts route via a gateway that is this host's own address here: the device alone leads there too.
    let Some(via) = command.iter().position(|word| *word == "via") else {
        return Err(KernelError::new(error.to_string()));
    };
    let direct: Vec<&str> = command
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != via && *i != via + 1)
        .map(|(_, word)| *word)
        .collect();
    run(&direct).map(|()| Understood::Yes).map_err(|_| KernelError::new(error.to_string()))
}
