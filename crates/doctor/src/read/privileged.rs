//! Privileged queries.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The capability needed to query programs (`bpf_prog_query`, 6.18).
pub const QUERY_NEEDS: &str = "CAP_NET_ADMIN";

/// The number of BPF programs at a cgroup that set socket parameters.
pub fn sock_ops(cgroup: &Path) -> io::Result<u32> {
    const BPF_PROG_QUERY: libc::c_int = 16;
    const BPF_CGROUP_SOCK_OPS: u32 = 3;
    /// The part of `union bpf_attr` for a query.
    #[repr(C)]
    #[derive(Default)]
    struct Query {
        target: u32,
        attach_type: u32,
        query_flags: u32,
        attach_flags: u32,
        programs: u64,
        count: u32,
        unused: u32,
    }
    let folder = File::open(cgroup)?;
    let mut query = Query {
        target: folder.as_raw_fd().cast_unsigned(),
        attach_type: BPF_CGROUP_SOCK_OPS,
        ..Query::default()
    };
    // SAFETY: the query is live, its true size is passed, and it refers to no memory: the kernel only counts.
    let asked = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_QUERY, &raw mut query, size_of::<Query>()) };
    if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(query.count) }
}
