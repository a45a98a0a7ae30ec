//! Programs of others that an experiment needs.

use std::env;
use std::path::{Path, PathBuf};

/// A program, or a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its command.
    pub command: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
}

/// Those of the programs that are found neither where this process looks for programs nor where administrators'
/// programs are.
pub fn missing(needed: &[Missing]) -> Vec<Missing> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    needed.iter().copied().filter(|needed| !is_in(&folders, needed.command)).collect()
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
