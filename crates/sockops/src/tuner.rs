//! The program: loaded, attached to a control group, told what to do, and read.

use crate::error::SockopsError;
use crate::record::{Config, Counts, Granted};
use crate::targets::{Prefix, Targets};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, Object};
use slowpath_bpf::{Aligned, BpfError, Cost, map, of_cpus, open, program};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/sockops.bpf.o")));
const PROGRAM: &str = "slowpath_tune";
const LOADING: &str = "load the program that tunes connections";
const ATTACHING: &str = "attach the program that tunes connections";
const TELLING: &str = "tell the program what to tune";
const READING: &str = "read what the program has tuned";

/// Room that is taken once, when the program is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Prefixes.
    pub prefixes: u32,
}

/// Tunes as long as it lives; nothing of it stays in the kernel afterwards, however the process ends.
pub struct Tuner {
    object: Object,
    link: Option<Link>,
    targets: Targets,
    most: Most,
}

impl Tuner {
    /// Loads the program, and attaches it to a control group: it tunes the connections of processes in it and below it.
    ///
    /// # Errors
    /// If this process may not, it is no control group of version 2, or the kernel lacks what it needs.
    pub fn attach(
        group: &Path,
        most: Most,
        config: &Config,
        targets: &Targets,
    ) -> Result<Self, SockopsError> {
        let file =
            File::open(group).map_err(|source| SockopsError::Group { path: group.to_owned(), source })?;
        // Each one has it, and none of version 1.
        if !group.join("cgroup.controllers").exists() {
            return Err(SockopsError::NotUnified(group.to_owned()));
        }
        let mut open = open(OBJECT, LOADING)?;
        for mut map in open.maps_mut().filter(|map| map.name() == "targets") {
            map.set_max_entries(most.prefixes.max(1)).map_err(BpfError::bpf(LOADING))?;
        }
        let object = open.load().map_err(BpfError::bpf(LOADING))?;
        let mut tuner = Self { object, link: None, targets: Targets::default(), most };
        tuner.limit(config)?;
        tuner.aim(targets)?;
        let attached = program(&tuner.object, PROGRAM)?.attach_cgroup(file.as_raw_fd());
        tuner.link = Some(attached.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => SockopsError::Taken(group.to_owned()),
            _ => BpfError::bpf(ATTACHING)(error).into(),
        })?);
        Ok(tuner)
    }

    /// Sets the limits.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn limit(&self, config: &Config) -> Result<(), SockopsError> {
        let written = map(&self.object, "config")?.update(
            &0_u32.to_ne_bytes(),
            bytemuck::bytes_of(config),
            MapFlags::ANY,
        );
        Ok(written.map_err(BpfError::bpf(TELLING))?)
    }

    /// Sets what each prefix gets. Connections that are open keep what they have.
    ///
    /// # Errors
    /// If there is no room for so many, or the kernel returns an error.
    pub fn aim(&mut self, targets: &Targets) -> Result<(), SockopsError> {
        if targets.len() > self.most.prefixes as usize {
            return Err(SockopsError::TooMany { wanted: targets.len(), most: self.most.prefixes });
        }
        let trie = map(&self.object, "targets")?;
        let gone = self.targets.iter().filter(|(prefix, _)| targets.get(prefix).is_none());
        for (prefix, _) in gone {
            trie.delete(bytemuck::bytes_of(&prefix.key())).map_err(BpfError::bpf(TELLING))?;
        }
        let is_new = |prefix: &Prefix| self.targets.get(prefix) != targets.get(prefix);
        for (prefix, target) in targets.iter().filter(|(prefix, _)| is_new(prefix)) {
            let (key, value) = (prefix.key(), target.value());
            trie.update(bytemuck::bytes_of(&key), bytemuck::bytes_of(&value), MapFlags::ANY)
                .map_err(BpfError::bpf(TELLING))?;
        }
        self.targets = targets.clone();
        Ok(())
    }

    /// What was counted since the start.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn counts(&self) -> Result<Counts, SockopsError> {
        let cpus = of_cpus::<Counts>(&self.object, "counts", 0, READING)?;
        Ok(cpus.iter().fold(Counts::default(), Counts::add))
    }

    /// What is granted now.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn granted(&self) -> Result<Granted, SockopsError> {
        let found = map(&self.object, "granted")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let found = found.map_err(BpfError::bpf(READING))?.unwrap_or_default();
        let bytes = found.get(..size_of::<Granted>()).ok_or(BpfError::BadObject)?;
        Ok(bytemuck::pod_read_unaligned(bytes))
    }

    /// How often the program ran while the kernel measured it, and for how long ([`slowpath_bpf::measure_programs`]).
    pub fn costs(&self) -> Vec<Cost> {
        slowpath_bpf::costs(&self.object)
    }
}
