//! The probe's object: the programs and maps compiled from `bpf/`, loaded and found by name.

use crate::error::LiveError;
use crate::record::Config;
use libbpf_rs::{Object, OpenObject};
use slowpath_bpf::{Aligned, BpfError, open};

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o")));

/// Maps of the oracle.
const ORACLE_MAPS: [&str; 2] = ["flights", "exact"];
/// Maps of the list of flows.
const LIST_MAPS: [&str; 2] = ["list", "alive"];

/// Loads these programs, and the maps that they need with this configuration.
pub(crate) fn load(programs: &[&str], config: &Config) -> Result<Object, LiveError> {
    let opening = || LiveError::bpf("open the probe");
    let mut open = open(OBJECT, "open the probe")?;
    for mut program in open.progs_mut() {
        let is_used = programs.iter().any(|name| program.name() == *name);
        program.set_autoload(is_used);
    }
    for mut map in open.maps_mut() {
        let is_of = |names: &[&str]| names.iter().any(|name| map.name() == *name);
        let is_unused =
            is_of(&ORACLE_MAPS) && config.is_exact == 0 || is_of(&LIST_MAPS) && config.has_iterator != 0;
        map.set_autocreate(!is_unused).map_err(opening())?;
    }
    configure(&mut open, config)?;
    open.load().map_err(LiveError::bpf("load the probe"))
}

/// Writes the settings of the programs before they are loaded.
fn configure(open: &mut OpenObject, config: &Config) -> Result<(), BpfError> {
    let mut map = open.maps_mut().find(|map| map.name() == ".rodata.config").ok_or(BpfError::BadObject)?;
    let value = map.initial_value_mut().ok_or(BpfError::BadObject)?;
    value
        .get_mut(..size_of::<Config>())
        .ok_or(BpfError::BadObject)?
        .copy_from_slice(bytemuck::bytes_of(config));
    Ok(())
}
