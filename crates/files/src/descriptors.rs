//! Open files of this process.

use std::io;

/// Makes sure that this process may have so many files open at once, up to what its hard limit allows (`RLIMIT_NOFILE`,
/// getrlimit(2)). Otherwise the first call that fails may be a library's, which does not say why.
///
/// # Errors
///
/// If fewer are allowed.
pub fn need_descriptors(needed: u32) -> io::Result<()> {
    let needed = libc::rlim_t::from(needed);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: there is room for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur >= needed {
        return Ok(());
    }
    if limit.rlim_max < needed {
        let allowed = limit.rlim_max;
        return Err(io::Error::other(format!(
            "it needs {needed} open files at once, and {allowed} are allowed (ulimit -n)"
        )));
    }
    limit.rlim_cur = needed;
    // SAFETY: the limit is live for the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
