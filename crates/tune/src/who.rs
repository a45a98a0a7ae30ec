//! Who changes what: the user, the boot, the host.

use crate::error::Error;
use slowpath_uapi::Capabilities;
use slowpath_uapi::capabilities::{CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_NICE};
use std::{env, fs};

const STATUS: &str = "/proc/thread-self/status";

fn file(path: &'static str) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::NoProc { what: path, source })?;
    Ok(text.trim().to_owned())
}

/// Refuses without the capabilities that changes need.
pub(crate) fn need_capabilities(enters_namespace: bool) -> Result<(), Error> {
    let effective = Capabilities::effective(&file(STATUS)?);
    let has = |capability| effective.is_some_and(|effective| effective.has(capability));
    if !has(CAP_NET_ADMIN) {
        return Err(Error::NoCapability("CAP_NET_ADMIN, to change settings of the network"));
    }
    if enters_namespace && !has(CAP_SYS_ADMIN) {
        return Err(Error::NoCapability("CAP_SYS_ADMIN, to enter a network namespace"));
    }
    Ok(())
}

/// Refuses without the capability that changes of processes need.
pub(crate) fn need_nice() -> Result<(), Error> {
    let has = Capabilities::effective(&file(STATUS)?).is_some_and(|effective| effective.has(CAP_SYS_NICE));
    if has { Ok(()) } else { Err(Error::NoCapability("CAP_SYS_NICE, to schedule processes")) }
}

/// The user's id, and the name before `sudo`.
pub(crate) fn user() -> Result<(u32, Option<String>), Error> {
    let status = file(STATUS)?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let id = ids.and_then(|ids| ids.split_whitespace().next()?.parse().ok());
    Ok((id.unwrap_or(u32::MAX), env::var("SUDO_USER").ok().filter(|name| !name.is_empty())))
}

/// Whether this program is to outlive its terminal (nohup(1)): it ignores SIGHUP.
pub fn ignores_hangup() -> bool {
    let ignored = file(STATUS).ok().and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    // Signal 1 is the first bit (proc_pid_status(5)).
    ignored.is_some_and(|ignored| ignored & 1 != 0)
}

/// The id of this boot.
pub(crate) fn boot() -> Result<String, Error> {
    file("/proc/sys/kernel/random/boot_id")
}

/// This host's name, and its kernel's release; empty without /proc.
pub fn host_name() -> (String, String) {
    ["/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease"]
        .map(|path| file(path).unwrap_or_default())
        .into()
}
