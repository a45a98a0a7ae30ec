//! Whether a recording is of this host, since it was started: only then is a file that a path of the recording names now
//! known to be the one that ran.
//!
//! A perf.data names its host and the kernel's release (`HEADER_HOSTNAME`, `HEADER_OSRELEASE`), but no boot. Its records have
//! the kernel's clock, which counts from the boot, and its file has the time at which perf wrote the last of it. Where the
//! two begin at the same instant as this host's clock does, it is this boot. A file that was copied later begins later,
//! and counts as one that is not known.

use std::ffi::CStr;
use std::time::{Duration, SystemTime};

/// How far apart the beginnings may lie: perf waits for its last records, and writes tables behind them.
const APART: Duration = Duration::from_secs(60);
/// And so much of the time since then: the kernel's clock for records is not adjusted as the other one is.
const DRIFT: u32 = 1000;

/// What a recording says of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) host: Option<String>,
    pub(crate) release: Option<String>,
    /// The time of its last record, since the boot.
    pub(crate) last: Option<Duration>,
    /// When its file was written last.
    pub(crate) written: Option<SystemTime>,
}

/// A host, to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    release: String,
    booted: SystemTime,
}

impl Host {
    /// This one; `None` if the system does not say.
    pub(crate) fn this() -> Option<Self> {
        // SAFETY: zeros are a value of it.
        let mut names: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: there is room for the answer.
        if unsafe { libc::uname(&raw mut names) } != 0 {
            return None;
        }
        // SAFETY: each of the names ends with a zero.
        let text =
            |name: &[libc::c_char]| unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut since = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: there is room for the answer.
        if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut since) } != 0 {
            return None;
        }
        let since = Duration::new(u64::try_from(since.tv_sec).ok()?, u32::try_from(since.tv_nsec).ok()?);
        let booted = SystemTime::now().checked_sub(since)?;
        Some(Self { name: text(&names.nodename), release: text(&names.release), booted })
    }

    /// Whether a recording is of this host since it was started; false where that is not known.
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
            // Of the boot before, and a copy of tomorrow.
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
