//! A control group that this process is in for a while.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A process is in one group at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A control group of version 2, with this process in it. Dropped, the process is back in its old one.
pub struct Group {
    path: PathBuf,
    before: PathBuf,
    _only: MutexGuard<'static, ()>,
}

/// Where control groups of version 2 are.
pub fn root() -> PathBuf {
    let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let found = mounts.find_map(|mut parts| {
        let (_, place, kind) = (parts.next()?, parts.next()?, parts.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    });
    found.expect("control groups of version 2 are mounted")
}

fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), process::id().to_string())
}

impl Group {
    pub fn enter(name: &str) -> Self {
        let only = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let root = root();
        let own = fs::read_to_string("/proc/self/cgroup").expect("the own group");
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).expect("one of version 2");
        let before = root.join(own);
        let path = root.join(format!("slowpath-test-{}-{name}", process::id()));
        fs::create_dir(&path).expect("a group, as root");
        enter(&path).expect("this process can be moved");
        Self { path, before, _only: only }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = enter(&self.before);
        let _ = fs::remove_dir(&self.path);
    }
}
