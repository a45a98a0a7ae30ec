//! Three network namespaces: the sender's host, the path, and the receiver's host.
//!
//! ```text
//! sender: eth0 ---- left : path : right ---- eth0 : receiver
//! ```
//!
//! They have no names in `/run/netns`: only this process's descriptors and the processes inside keep them. However this
//! process ends, the kernel removes them with all their devices, qdiscs and settings.

use crate::error::LabError;
use crate::host::Host;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{io, ptr};

/// One of the three namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Where the sender's host is.
    Sender,
    /// Where the relay is.
    Path,
    /// Where the receiver's host is.
    Receiver,
}

impl Place {
    const ALL: [Self; 3] = [Self::Sender, Self::Path, Self::Receiver];

    /// Its name, as scenarios and reports give it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Path => "path",
            Self::Receiver => "receiver",
        }
    }
}

impl From<Host> for Place {
    fn from(host: Host) -> Self {
        match host {
            Host::Sender => Self::Sender,
            Host::Receiver => Self::Receiver,
        }
    }
}

/// Three namespaces, which end with this value.
#[derive(Debug)]
pub struct Namespaces {
    /// In the order of [`Place::ALL`].
    open: [File; 3],
    kept: Vec<OwnedFd>,
    taps: Vec<(Place, File)>,
}

impl Namespaces {
    /// Makes three namespaces with the loopback device up.
    ///
    /// # Errors
    /// If the kernel refuses, which it does without root (CAP_SYS_ADMIN), or `ip` fails.
    pub fn create() -> Result<Self, LabError> {
        let namespaces =
            Self { open: [create_one()?, create_one()?, create_one()?], kept: Vec::new(), taps: Vec::new() };
        for place in Place::ALL {
            namespaces.ip(place, "link set lo up")?;
        }
        Ok(namespaces)
    }

    fn file(&self, place: Place) -> &File {
        &self.open[place as usize]
    }

    /// A path of the namespace, for `nsenter --net=PATH` and for `ip link ... netns PATH`. It is good for as long as this
    /// process runs.
    pub fn path(&self, place: Place) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file(place).as_raw_fd())
    }

    /// The number of a namespace: that of `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// If the descriptor cannot be read.
    pub fn number(&self, place: Place) -> Result<u32, LabError> {
        let about =
            self.file(place).metadata().map_err(LabError::system("read a network namespace's number"))?;
        // The kernel counts them in 32 bits (ns_common.inum).
        Ok(about.ino() as u32)
    }

    /// Keeps something open for as long as the namespaces exist.
    pub fn keep(&mut self, descriptors: impl IntoIterator<Item = OwnedFd>) {
        self.kept.extend(descriptors);
    }

    /// Keeps the TAP device of a host open for as long as the namespaces exist.
    pub fn keep_tap(&mut self, place: Place, file: File) {
        self.taps.push((place, file));
    }

    /// The TAP device of a host, if it has one.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn tap(&self, place: Place) -> Result<Option<File>, LabError> {
        let own = self.taps.iter().find(|(of, _)| *of == place);
        own.map(|(_, file)| file.try_clone()).transpose().map_err(LabError::system("duplicate a TAP device"))
    }

    /// Moves the calling thread into a namespace, for good.
    ///
    /// # Errors
    /// If the thread may not enter it.
    pub fn enter(&self, place: Place) -> Result<(), LabError> {
        set_namespace(self.file(place).as_raw_fd())
            .map_err(LabError::system(format!("enter the network namespace of the {}", place.name())))
    }

    /// Runs a closure on a thread inside a namespace and gives back its result.
    ///
    /// # Errors
    /// If the namespace cannot be entered or the closure fails or panics.
    pub fn inside<T: Send>(
        &self,
        place: Place,
        work: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter(place)?;
                work()
            });
            thread.join().unwrap_or(Err(LabError::Panicked { role: "works inside a namespace" }))
        })
    }

    /// A command to be run inside a namespace while this value lives, with the /sys of that namespace.
    pub fn command(&self, place: Place, program: &str) -> Command {
        let namespace = self.file(place).as_raw_fd();
        let mut command = Command::new(program);
        // SAFETY: only async-signal-safe calls, in the child.
        unsafe {
            command.pre_exec(move || {
                set_namespace(namespace)?;
                // Without root it is not allowed in every container, and few programs read it.
                let _ = mount_own(&[SYS]);
                Ok(())
            })
        };
        command
    }

    /// Runs `ip` inside a namespace, with arguments that are separated by single spaces.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn ip(&self, place: Place, arguments: &str) -> Result<(), LabError> {
        self.execute(place, &format!("ip {arguments}"))
    }

    /// Runs any command inside a namespace, its arguments separated by single spaces.
    ///
    /// # Errors
    /// If the command fails.
    pub fn execute(&self, place: Place, command_line: &str) -> Result<(), LabError> {
        self.output(place, &command_line.split(' ').collect::<Vec<_>>()).map(drop)
    }

    /// Runs a command inside a namespace to its end. Returns its standard output.
    ///
    /// # Errors
    /// If it does not start or fails. The error has its standard error.
    pub fn output(&self, place: Place, command: &[&str]) -> Result<Vec<u8>, LabError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(Vec::new()) };
        finish(self.command(place, program).args(arguments), command)
    }

    /// Writes a file of a namespace's own /sys.
    ///
    /// # Errors
    /// If the kernel has no such file or refuses the value.
    pub fn write_sys(&self, place: Place, path: &str, value: &str) -> Result<(), LabError> {
        self.inside(place, || {
            mount_own(&[SYS]).map_err(LabError::system("mount the /sys of a network namespace"))?;
            std::fs::write(path, value).map_err(LabError::file(path))
        })
    }

    /// Sets a per-namespace sysctl, by its dotted name.
    ///
    /// # Errors
    /// If the kernel has no such setting or refuses the value.
    pub fn sysctl(&self, place: Place, name: &str, value: &str) -> Result<(), LabError> {
        let path = PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")));
        self.inside(place, || std::fs::write(&path, value).map_err(LabError::file(&path)))
    }
}

/// A new network namespace.
fn create_one() -> Result<File, LabError> {
    let create = || {
        // SAFETY: it concerns the calling thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(LabError::last_os("create a network namespace"));
        }
        let path = PathBuf::from("/proc/thread-self/ns/net");
        File::open(&path).map_err(LabError::file(&path))
    };
    let thread = std::thread::spawn(create);
    thread.join().unwrap_or(Err(LabError::Panicked { role: "creates a network namespace" }))
}

fn set_namespace(namespace: RawFd) -> io::Result<()> {
    // SAFETY: a call with plain values. A closed descriptor is refused.
    if unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A file system that shows the namespaces of its reader, and where it is mounted.
pub(crate) type OwnView = (&'static CStr, &'static CStr);

/// The devices of the network namespace.
pub(crate) const SYS: OwnView = (c"sysfs", c"/sys");

/// Moves the calling thread to a mount namespace, and mounts there what shows its own namespaces. Async-signal-safe.
///
/// # Errors
/// If the kernel refuses one of them; without root it does in some containers.
pub(crate) fn mount_own(views: &[OwnView]) -> io::Result<()> {
    let mount = |kind: Option<&CStr>, at: &CStr, flags| {
        let kind = kind.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the strings end with a NUL, and the other pointers may be null.
        match unsafe { libc::mount(kind, at.as_ptr(), kind, flags, ptr::null()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: it concerns the calling thread only.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    mount(None, c"/", libc::MS_REC | libc::MS_PRIVATE)?;
    views.iter().try_for_each(|(kind, at)| mount(Some(kind), at, 0))
}

/// Runs a command to its end.
///
/// # Errors
/// If it does not start or fails. The error has its standard error.
pub fn run(command: &[&str]) -> Result<(), LabError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    finish(Command::new(program).args(arguments), command).map(drop)
}

/// Runs a command to its end, with its words for the error. Returns its standard output.
fn finish(command: &mut Command, words: &[&str]) -> Result<Vec<u8>, LabError> {
    let line = || words.join(" ");
    let output = command.output().map_err(|source| LabError::Start { command: line(), source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Command { command: line(), status: output.status, stderr })
}
