//! Objects: programs and maps, loaded and found by name, read, and measured.

use crate::error::BpfError;
use bytemuck::Pod;
use libbpf_rs::{Map, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, ProgramMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Bytes of an object in the form that the kernel loads.
#[repr(C, align(8))]
pub struct Aligned<T: ?Sized>(pub T);

/// Opens an object; libbpf's messages are kept for errors.
///
/// # Errors
/// If the bytes are no object.
pub fn open(object: &Aligned<[u8]>, doing: &'static str) -> Result<OpenObject, BpfError> {
    crate::log::keep();
    ObjectBuilder::default().open_memory(&object.0).map_err(BpfError::bpf(doing))
}

/// The map of this name.
///
/// # Errors
/// If there is none.
pub fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, BpfError> {
    object.maps().find(|map| map.name() == name).ok_or(BpfError::BadObject)
}

/// The program of this name.
///
/// # Errors
/// If there is none.
pub fn program<'a>(object: &'a Object, name: &str) -> Result<ProgramMut<'a>, BpfError> {
    object.progs_mut().find(|program| program.name() == name).ok_or(BpfError::BadObject)
}

/// An entry of a map that has one for each CPU.
///
/// # Errors
/// If the kernel returns an error.
pub fn of_cpus<T: Pod>(
    object: &Object,
    name: &str,
    entry: u32,
    doing: &'static str,
) -> Result<Vec<T>, BpfError> {
    let found = map(object, name)?.lookup_percpu(&entry.to_ne_bytes(), MapFlags::ANY);
    let found = found.map_err(BpfError::bpf(doing))?.unwrap_or_default();
    let read = |bytes: &Vec<u8>| Some(bytemuck::pod_read_unaligned(bytes.get(..size_of::<T>())?));
    found.iter().map(|bytes| read(bytes).ok_or(BpfError::BadObject)).collect()
}

/// What a program cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Its name.
    pub program: String,
    /// How often it ran.
    pub runs: u64,
    /// Total time, including two clock readings.
    pub ran: Duration,
}

/// How often each program ran while the kernel measured it, and its total time: see [`measure_programs`].
pub fn costs(object: &Object) -> Vec<Cost> {
    let cost = |(program, info): (String, libbpf_sys::bpf_prog_info)| Cost {
        program,
        runs: info.run_cnt,
        ran: Duration::from_nanos(info.run_time_ns),
    };
    programs(object).map(cost).filter(|cost| cost.runs > 0).collect()
}

/// How often a hook was hit while its program was running on the same CPU: that event is not seen.
pub fn misses(object: &Object) -> u64 {
    programs(object).map(|(_, info)| info.recursion_misses).sum()
}

/// The kernel's information on each program that is loaded.
fn programs(object: &Object) -> impl Iterator<Item = (String, libbpf_sys::bpf_prog_info)> {
    object.progs().filter(|program| program.autoload()).map(|program| {
        // SAFETY: all-zero is a valid value of the struct, and its size is passed; the kernel fills it or leaves it.
        let info = unsafe {
            let mut info: libbpf_sys::bpf_prog_info = std::mem::zeroed();
            let mut size = size_of_val(&info) as u32;
            let file = program.as_fd().as_raw_fd();
            libbpf_sys::bpf_prog_get_info_by_fd(file, &raw mut info, &raw mut size);
            info
        };
        (program.name().to_string_lossy().into_owned(), info)
    })
}

/// Makes the kernel measure how long programs run, as long as the returned descriptor is open (`BPF_ENABLE_STATS`).
///
/// # Errors
/// If the kernel refuses.
pub fn measure_programs() -> Result<OwnedFd, BpfError> {
    // SAFETY: the call takes a number; it returns a descriptor that nobody else has, or an error.
    unsafe {
        match libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) {
            ..0 => Err(BpfError::system("measure BPF programs")(std::io::Error::last_os_error())),
            file => Ok(OwnedFd::from_raw_fd(file)),
        }
    }
}
