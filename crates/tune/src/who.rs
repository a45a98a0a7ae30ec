//! Who changes what: the user, the boot, the host.

use crate::error::Error;
use std::{env, fs};

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

fn file(path: &'static str) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::NoProc { what: path, source })?;
    Ok(text.trim().to_owned())
}

/// A field of /proc/self/status.
fn field(name: &str) -> Result<String, Error> {
    let text = file("/proc/thread-self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    Ok(line.unwrap_or_default().trim_start_matches(':').trim().to_owned())
}

/// Refuses without the capabilities that changes need.
pub(crate) fn need_capabilities(enters_namespace: bool) -> Result<(), Error> {
    let effective = u64::from_str_radix(&field("CapEff")?, 16).unwrap_or(0);
    let has = |capability: u32| effective & 1 << capability != 0;
    if !has(CAP_NET_ADMIN) {
        return Err(Error::NoCapability("CAP_NET_ADMIN, to change settings of the network"));
    }
    if enters_namespace && !has(CAP_SYS_ADMIN) {
        return Err(Error::NoCapability("CAP_SYS_ADMIN, to enter a network namespace"));
    }
    Ok(())
}

/// The user's id, and the name before `sudo`.
pub(crate) fn user() -> Result<(u32, Option<String>), Error> {
    let id = field("Uid")?.split_whitespace().next().and_then(|id| id.parse().ok());
    Ok((id.unwrap_or(u32::MAX), env::var("SUDO_USER").ok().filter(|name| !name.is_empty())))
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
