//! Files of sysfs and procfs: steering of packets, and interrupts.
//!
//! sysfs shows the interfaces of the network namespace in which it was mounted, not those of the reader's. So that nothing of
//! another namespace is read or written, a sysfs of the calling thread's namespace is mounted for each access, by fsmount(2): at
//! no place, so that nobody else sees it, and it goes with its descriptor, also after a kill.

use crate::error::AccessError;
use crate::namespace;
use slowpath_remedies::setting::{Cpus, Steering};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A sysfs that shows the network namespace of the calling thread.
struct Sysfs(Option<OwnedFd>);

impl Sysfs {
    fn open() -> Result<Self, AccessError> {
        match mount() {
            Ok(mounted) => Ok(Self(Some(mounted))),
            // Where the first process is, /sys was mounted.
            Err(_) if namespace::is_first() => Ok(Self(None)),
            Err(error) => Err(AccessError::Absent(format!(
                "/sys may show another network namespace, and one for this namespace cannot be mounted ({error}); this \
                 needs CAP_SYS_ADMIN and Linux 5.2: run it as root (sudo)"
            ))),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        match &self.0 {
            Some(mounted) => Path::new("/proc/self/fd").join(mounted.as_raw_fd().to_string()).join(below),
            None => Path::new("/sys").join(below),
        }
    }
}

/// Mounts a sysfs for the calling thread's network namespace, at no place.
fn mount() -> io::Result<OwnedFd> {
    // include/uapi/linux/mount.h, 6.18; libc has no names for these on all of its systems.
    const FSOPEN_CLOEXEC: libc::c_int = 1;
    const FSCONFIG_CMD_CREATE: libc::c_int = 6;
    const FSMOUNT_CLOEXEC: libc::c_int = 1;
    let none: *const libc::c_void = std::ptr::null();
    // SAFETY: the name ends with a NUL; the call returns a descriptor of its own or an error.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), FSOPEN_CLOEXEC) };
    let context = owned(context)?;
    // SAFETY: the command takes neither key nor value; the descriptor is open.
    let created =
        unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    if created != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: plain values; the call returns a descriptor of its own or an error.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0) })
}

fn owned(returned: libc::c_long) -> io::Result<OwnedFd> {
    match libc::c_int::try_from(returned) {
        // SAFETY: the call that returned it has just opened it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The value of what steers a queue of an interface that exists.
pub(super) fn steering(device: &str, queue: u32, what: Steering) -> Result<String, AccessError> {
    let sysfs = Sysfs::open()?;
    let path = sysfs.path(&what.file(device, queue));
    let text = fs::read_to_string(&path)
        .map_err(|error| steering_error(error, &sysfs, device, queue, what, path.exists()))?;
    what.shown(&text).ok_or_else(|| AccessError::Absent(format!("the kernel says \"{}\"", text.trim())))
}

/// Writes what steers a queue.
pub(super) fn steer(device: &str, queue: u32, what: Steering, value: &str) -> Result<(), AccessError> {
    let sysfs = Sysfs::open()?;
    let path = sysfs.path(&what.file(device, queue));
    write(&path, &what.written(value))
        .map_err(|error| steering_error(error, &sysfs, device, queue, what, path.exists()))
}

fn steering_error(
    error: io::Error,
    sysfs: &Sysfs,
    device: &str,
    queue: u32,
    what: Steering,
    has_file: bool,
) -> AccessError {
    if error.kind() != io::ErrorKind::NotFound {
        return AccessError::Kernel(error);
    }
    let (direction, name) = (what.direction(), what.name().to_uppercase());
    let queues = fs::read_dir(sysfs.path(&format!("class/net/{device}/queues")));
    let names = queues.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(direction)).collect();
    names.sort();
    AccessError::Absent(if has_file {
        // xps_cpus_show() of an interface that is not multiqueue.
        format!("{device} has one transmit queue, and {name} chooses among several")
    } else if names.contains(&format!("{direction}-{queue}")) {
        format!("this kernel has no {name}")
    } else {
        format!("{device} has no queue {direction}-{queue}; it has {}", names.join(", "))
    })
}

/// Writes a value to a file that the kernel shows.
fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// The folder of interrupts.
const INTERRUPTS: &str = "/proc/irq";

fn affinity_file(number: u32) -> PathBuf {
    Path::new(INTERRUPTS).join(number.to_string()).join("smp_affinity_list")
}

/// The CPUs that may handle an interrupt.
pub(super) fn interrupt(number: u32) -> Result<String, AccessError> {
    let text = fs::read_to_string(affinity_file(number)).map_err(|error| interrupt_error(error, number))?;
    let cpus = text.trim().parse::<Cpus>();
    cpus.map(|cpus| cpus.to_string())
        .map_err(|_| AccessError::Absent(format!("the kernel says \"{}\"", text.trim())))
}

/// Chooses the CPUs that may handle an interrupt.
pub(super) fn set_interrupt(number: u32, value: &str) -> Result<(), AccessError> {
    write(&affinity_file(number), value).map_err(|error| interrupt_error(error, number))
}

fn interrupt_error(error: io::Error, number: u32) -> AccessError {
    match error.raw_os_error() {
        Some(libc::ENOENT) => AccessError::Absent(format!(
            "there is no interrupt {number} whose CPUs can be chosen (/proc/interrupts lists them)"
        )),
        // write_irq_affinity() and irq_can_set_affinity_usr(), kernel/irq/proc.c.
        Some(libc::EIO | libc::EPERM) => AccessError::Absent(format!(
            "the kernel refuses it ({error}): the driver alone places interrupt {number} (a managed interrupt)"
        )),
        _ => AccessError::Kernel(error),
    }
}

/// Refuses CPUs that are not online.
pub(super) fn need_online(cpus: &Cpus) -> Result<(), AccessError> {
    const ONLINE: &str = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(ONLINE).map_err(AccessError::Kernel)?;
    let online: Cpus =
        text.trim().parse().map_err(|_| AccessError::Absent(format!("{ONLINE} is \"{}\"", text.trim())))?;
    let missing = cpus.without(&online);
    if missing.is_empty() {
        return Ok(());
    }
    Err(AccessError::Absent(format!("of the CPUs {cpus}, not online are {missing}; online are {online}")))
}
