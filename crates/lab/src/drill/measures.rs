//! What a socket measures, by the names that scripts' code uses.

use slowpath_drill::KernelError;
use slowpath_drill::call::Fd;
use slowpath_drill::tcp_info::{self, Field};

/// `SO_MEMINFO` (include/uapi/linux/sock_diag.h).
const MEMORY: &[Field] = &[
    ("SK_MEMINFO_RMEM_ALLOC", 0, 4),
    ("SK_MEMINFO_RCVBUF", 4, 4),
    ("SK_MEMINFO_WMEM_ALLOC", 8, 4),
    ("SK_MEMINFO_SNDBUF", 12, 4),
    ("SK_MEMINFO_FWD_ALLOC", 16, 4),
    ("SK_MEMINFO_WMEM_QUEUED", 20, 4),
    ("SK_MEMINFO_OPTMEM", 24, 4),
    ("SK_MEMINFO_BACKLOG", 28, 4),
    ("SK_MEMINFO_DROPS", 32, 4),
];

const SO_MEMINFO: libc::c_int = 55;

/// All that a socket measures.
pub fn of(fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError> {
    let info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let mut measures = tcp_info::decode(&info);
    measures.extend(tcp_info::read(MEMORY, &option(fd, libc::SOL_SOCKET, SO_MEMINFO)?));
    Ok(measures)
}

fn option(fd: Fd, level: libc::c_int, name: libc::c_int) -> Result<Vec<u8>, KernelError> {
    let mut value = vec![0u8; 512];
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the buffer is live and its true length is passed with it.
    let result = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        return Err(KernelError::new(format!("this socket does not say what it measures: {error}")));
    }
    value.truncate(length as usize);
    Ok(value)
}
