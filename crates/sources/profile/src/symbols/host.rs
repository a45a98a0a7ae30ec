//! Whether a recording was made on this host since its last boot. Only then is the file at a recorded path known to be
//! the one that ran.
//!
//! A perf.data names its host and the kernel's release (`HEADER_HOSTNAME`, `HEADER_OSRELEASE`), but not the boot. Its
//! records have the kernel's clock, which counts from the boot, and its file has the time of perf's last write. The
//! difference is the time of the boot; if it equals this host's, the recording is of this boot. A file that was copied
//! later gives a later boot, and counts as unknown.

use std::ffi::CStr;
use std::time::{Duration, SystemTime};

/// Tolerance of the boot time: perf waits for its last records and then writes tables.
const APART: Duration = Duration::from_secs(60);
/// Plus this fraction of the uptime: the kernel's clock of records is not adjusted as the wall clock is.
const DRIFT: u32 = 1000;

/// What a recording says about its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) host: Option<String>,
    pub(crate) release: Option<String>,
    /// The time of its last record, since the boot.
    pub(crate) last: Option<Duration>,
    /// When its file was last written.
    pub(crate) written: Option<SystemTime>,
}

/// A host to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    release: String,
    booted: SystemTime,
}

impl Host {
    /// This host; `None` if the system does not tell.
    pub(crate) fn this() -> Option<Self> {
        // SAFETY: all zeros are a valid value.
        let mut names: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: the buffer fits the result.
        if unsafe { libc::uname(&raw mut names) } != 0 {
            return None;
        }
        // SAFETY: each name ends with a NUL.
        let text =
            |name: &[libc::c_char]| unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut since = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the buffer fits the result.
        if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut since) } != 0 {
            return None;
        }
        let since = Duration::new(u64::try_from(since.tv_sec).ok()?, u32::try_from(since.tv_nsec).ok()?);
        let booted = SystemTime::now().checked_sub(since)?;
        Some(Self { name: text(&names.nodename), release: text(&names.release), booted })
    }

    /// Whether a recording was made on this host since its last boot; false if unknown.
    pub(crate) fn made(&self, recorded: &Recorded) -> bool {
        let Recorded { host: Some(host), release: Some(release), last: Some(last), written: Some(written) } =
            recorded
        else {
            return false;
        };
        let Some(began) = written.checked_sub(*last) else { return false };
        let apart = began.duration_since(self.booted).unwrap_or_else(|error| error.duration());
        *host == self.name && *release == self.release && apart <= APART + *last / DRIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_of_this_boot_matches_host_release_and_write_time() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let host = Host { name: "web1".to_owned(), release: "6.1.0".to_owned(), booted: at(1_000_000) };
        let recorded = Recorded {
            host: Some("web1".to_owned()),
            release: Some("6.1.0".to_owned()),
            last: Some(Duration::from_secs(5000)),
            written: Some(at(1_005_003)),
        };
        assert!(host.made(&recorded));
        let other = [
            Recorded { host: Some("web2".to_owned()), ..recorded.clone() },
            Recorded { release: Some("6.1.1".to_owned()), ..recorded.clone() },
            // Of an earlier boot, and a copy made a day later.
            Recorded { written: Some(at(990_000)), ..recorded.clone() },
            Recorded { written: Some(at(1_090_000)), ..recorded.clone() },
            Recorded { host: None, ..recorded.clone() },
            Recorded { written: None, ..recorded.clone() },
            Recorded { last: None, ..recorded.clone() },
            Recorded { last: Some(Duration::MAX), ..recorded.clone() },
        ];
        for other in other {
            assert!(!host.made(&other), "{other:?}");
        }
        assert!(Host::this().is_some_and(|here| here.booted < SystemTime::now() && !here.name.is_empty()));
    }
}
