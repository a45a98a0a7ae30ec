//! 802.1Q tags on a host's interface, also on kernels that are built without VLAN interfaces.
//!
//! Two BPF programs of a few instructions at the interface push a tag onto outgoing packets and pop it from incoming
//! ones. A capture on the interface shows the tag both ways, as on a trunk port.

use crate::error::LabError;
use crate::host::DEVICE;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `struct bpf_insn` (include/uapi/linux/bpf.h), with both registers in one byte: source high, destination low.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, immediate: i32) -> Instruction {
    Instruction { code, registers, offset: 0, immediate }
}

const MOVE_IMMEDIATE: u8 = 0xb7;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const SKB_VLAN_PUSH: i32 = 18;
const SKB_VLAN_POP: i32 = 19;
// enum bpf_cmd, bpf_prog_type, bpf_attach_type
const PROG_LOAD: i64 = 5;
const LINK_CREATE: i64 = 28;
const SCHED_CLS: u32 = 3;
const TCX_INGRESS: u32 = 46;
const TCX_EGRESS: u32 = 47;

/// The part of `union bpf_attr` that loads a program.
#[repr(C)]
struct Load {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log: [u64; 3],
}

/// The part of `union bpf_attr` that attaches a program.
#[repr(C)]
struct Attach {
    program: u32,
    interface: u32,
    place: u32,
    flags: u32,
    relative: [u64; 2],
}

fn bpf<T>(command: i64, attributes: &T, doing: &str) -> Result<OwnedFd, LabError> {
    // SAFETY: the attributes are live, their true size is passed, and what they point at outlives the call.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    match i32::try_from(fd) {
        // SAFETY: the descriptor was just made and nobody else owns it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(LabError::last_os(doing)),
    }
}

fn attach(instructions: &[Instruction], place: u32) -> Result<OwnedFd, LabError> {
    let license = c"GPL";
    let load = Load {
        program_type: SCHED_CLS,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log: [0; 3],
    };
    let program = bpf(PROG_LOAD, &load, "load a VLAN program")?;
    let device = CString::from_vec_with_nul(format!("{DEVICE}\0").into_bytes())
        .map_err(|e| LabError::System { doing: DEVICE.to_owned(), source: std::io::Error::other(e) })?;
    // SAFETY: the name is a valid C string for the duration of the call.
    let interface = unsafe { libc::if_nametoindex(device.as_ptr()) };
    let attach =
        Attach { program: program.as_raw_fd().cast_unsigned(), interface, place, flags: 0, relative: [0; 2] };
    bpf(LINK_CREATE, &attach, "attach a VLAN program (Linux 6.6 or later)")
}

/// Tags outgoing packets of the interface of the calling thread's namespace and untags incoming ones, as long as the
/// descriptors are open.
///
/// # Errors
/// If the kernel is older than 6.6 or BPF is not allowed.
pub fn tag(id: u16) -> Result<[OwnedFd; 2], LabError> {
    let protocol = i32::from(0x8100_u16.to_be());
    let push = [
        instruction(MOVE_IMMEDIATE, 2, protocol),
        instruction(MOVE_IMMEDIATE, 3, i32::from(id)),
        instruction(CALL, 0, SKB_VLAN_PUSH),
        instruction(MOVE_IMMEDIATE, 0, 0),
        instruction(EXIT, 0, 0),
    ];
    let pop =
        [instruction(CALL, 0, SKB_VLAN_POP), instruction(MOVE_IMMEDIATE, 0, 0), instruction(EXIT, 0, 0)];
    Ok([attach(&push, TCX_EGRESS)?, attach(&pop, TCX_INGRESS)?])
}
