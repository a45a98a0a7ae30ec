//! Measurements of a socket, by their names in the code of scripts.

use slowpath_drill::KernelError;
use slowpath_drill::call::Fd;
use slowpath_uapi::{TcpInfo, sock_diag};

const SO_MEMINFO: libc::c_int = 55;

/// All measurements of a socket.
pub fn of(fd: Fd) -> Result<Vec<(&'static str, i64)>, KernelError> {
    let info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let memory = sock_diag::meminfo(&option(fd, libc::SOL_SOCKET, SO_MEMINFO)?);
    let mut measures = TcpInfo::decode(&info).measures(info.len());
    measures.extend(sock_diag::MEMINFO.into_iter().zip(memory.map(i64::from)));
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
