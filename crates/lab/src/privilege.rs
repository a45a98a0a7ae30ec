//! The lab's privilege: root, or root of a user namespace of its own (user_namespaces(7)).
//!
//! In namespaces of its own the lab has the same means, without touching other devices: they vanish with the process,
//! however it ends.

use crate::error::LabError;
use slowpath_files::need_descriptors;
use std::fs;
use std::io;
use std::sync::OnceLock;

/// The lab's privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// As root of the machine.
    Root,
    /// As root of a user namespace that it created for itself.
    OwnNamespace,
}

/// What is impossible in a user namespace, since it concerns the whole machine.
const LOST: [&str; 3] = [
    "the path and the captures have no real-time priority, and come later on a busy machine",
    "receive softirqs run on the CPU that transmits, not on `interrupt-cpu`",
    "classes before others (SCHED_FIFO, negative nice values) are refused",
];

/// Files that a run has open at once, beyond those of its connections.
const DESCRIPTORS: u32 = 64;

static PRIVILEGE: OnceLock<Privilege> = OnceLock::new();

/// The privilege of this process since [`obtain`]; root if it was root, or never asked.
pub fn held() -> Privilege {
    PRIVILEGE.get().copied().unwrap_or(Privilege::Root)
}

/// What this process cannot do with its privilege.
pub fn lost() -> &'static [&'static str] {
    match held() {
        Privilege::Root => &[],
        Privilege::OwnNamespace => &LOST,
    }
}

/// Gives this process the privilege that the lab needs: root has it; any other user gets a user and a network namespace
/// of its own, for good. Call it before there is a second thread.
///
/// # Errors
/// If the kernel or its administrator does not allow user namespaces, there is no /proc, or this process may open too few
/// files; the error says what would fix it.
pub fn obtain() -> Result<Privilege, LabError> {
    if let Some(privilege) = PRIVILEGE.get() {
        return Ok(*privilege);
    }
    let system = |doing: &str| {
        let doing = doing.to_owned();
        move |source| LabError::System { doing, source }
    };
    fs::metadata("/proc/self/ns/net")
        .map_err(system("mount /proc for the lab (mount -t proc proc /proc)"))?;
    need_descriptors(DESCRIPTORS).map_err(system("allow the lab more open files (ulimit -n 1024)"))?;
    let privilege =
        if is_root() { Privilege::Root } else { enter_own_namespace().map(|()| Privilege::OwnNamespace)? };
    Ok(*PRIVILEGE.get_or_init(|| privilege))
}

/// Whether this process is root, if only of its own user namespace.
pub fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn enter_own_namespace() -> Result<(), LabError> {
    let refused = |source: io::Error| LabError::NoNamespace { source };
    // SAFETY: they have no arguments and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let own = libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
    // SAFETY: a plain value; the call moves this process only.
    if unsafe { libc::unshare(own) } != 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    // Only a process that cannot change its groups may map one by itself (user_namespaces(7)).
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, text).map_err(refused)?;
    }
    Ok(())
}
