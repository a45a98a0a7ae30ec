//! The programs that the web bench needs.

use super::Server;
use std::env;
use std::path::{Path, PathBuf};

/// A missing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its command.
    pub command: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
}

const NEEDED: [Missing; 4] = [
    Missing { command: "wrk", package: "wrk" },
    Missing { command: "perf", package: "linux-perf" },
    Missing { command: "ip", package: "iproute2" },
    Missing { command: "ethtool", package: "ethtool" },
];

/// The missing programs, for these servers: found neither where this process looks for programs nor where
/// administrators' programs are.
pub fn missing(servers: &[Server]) -> Vec<Missing> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let mut needed: Vec<Missing> = Vec::new();
    for program in servers.iter().map(|server| server.program()) {
        let server = Missing { command: program, package: program };
        if !needed.contains(&server) {
            needed.push(server);
        }
    }
    needed.extend(NEEDED);
    needed.retain(|needed| !is_in(&folders, needed.command));
    needed
}

fn is_in(folders: &[PathBuf], command: &str) -> bool {
    folders.iter().any(|folder| Path::is_file(&folder.join(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_searched_in_all_folders() {
        let folders = ["/nowhere".into(), "/bin".into(), "/usr/bin".into()];
        assert!(is_in(&folders, "sh"));
        assert!(!is_in(&folders, "no-such-program") && !is_in(&folders[..1], "sh"));
    }
}
