//! The kernel's symbols: whether they belong to the profiled kernel, and its offset (KASLR).

use super::elf::Elf;
use super::kallsyms;
use super::table::Table;
use crate::SymbolSources;
use crate::notes::Oddity;
use slowpath_files::open_regular;
use std::fs::{self, File};
use std::io::BufReader;

/// What a profile says about the profiled kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profiled {
    pub(crate) build_id: Option<Vec<u8>>,
    /// perf's reference symbol, `_text` or `_stext`, and its address.
    pub(crate) reference: Option<(String, u64)>,
}

/// Its symbols.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    table: Table,
    /// The profiled kernel's address minus the table's (KASLR), modulo 2^64.
    shift: u64,
    /// Why there are no symbols.
    pub(crate) missing: Option<(Oddity, String)>,
}

impl Kernel {
    /// The symbols of the profiled kernel, from the given sources or from this host.
    pub(crate) fn of(profiled: &Profiled, options: &SymbolSources) -> Self {
        let none = |oddity, subject: String| Self { missing: Some((oddity, subject)), ..Self::default() };
        if let Some(path) = &options.kallsyms {
            let name = path.display().to_string();
            let read = File::open(path).map_err(|error| error.to_string());
            return match read.and_then(|file| kallsyms::read(BufReader::new(file))) {
                Ok(table) if table.is_empty() => none(Oddity::KernelSymbolsHidden, name),
                Ok(table) => Self::shifted(table, profiled),
                Err(error) => none(Oddity::NoKernelSymbols, format!("{name}: {error}")),
            };
        }
        if let Some(path) = &options.vmlinux {
            let name = path.display().to_string();
            let read = open_regular(path).map_err(|error| error.to_string());
            return match read.and_then(|file| Elf::read(&file, path).map_err(|error| error.to_string())) {
                Ok(elf) if differ(elf.build_id.as_deref(), profiled.build_id.as_deref()) => {
                    none(Oddity::OtherKernel, name)
                }
                Ok(elf) => Self::shifted(elf.table, profiled),
                Err(error) => none(Oddity::NoKernelSymbols, format!("{name}: {error}")),
            };
        }
        Self::of_this_host(profiled)
    }

    fn of_this_host(profiled: &Profiled) -> Self {
        let none = |oddity| Self { missing: Some((oddity, String::new())), ..Self::default() };
        let here = fs::read("/sys/kernel/notes").ok().and_then(|notes| build_id(&notes));
        if differ(here.as_deref(), profiled.build_id.as_deref()) {
            return none(Oddity::OtherKernel);
        }
        let Ok(table) = File::open("/proc/kallsyms")
            .map_err(|error| error.to_string())
            .and_then(|file| kallsyms::read(BufReader::new(file)))
        else {
            return none(Oddity::NoKernelSymbols);
        };
        if table.is_empty() {
            return none(Oddity::KernelSymbolsHidden);
        }
        let kernel = Self::shifted(table, profiled);
        let is_known = here.is_some() && profiled.build_id.is_some();
        // Without a build-id, an equal address has to suffice.
        if !is_known && (profiled.reference.is_none() || kernel.shift != 0) {
            return none(Oddity::OtherKernel);
        }
        kernel
    }

    fn shifted(table: Table, profiled: &Profiled) -> Self {
        let there = profiled.reference.as_ref().filter(|(_, address)| *address != 0);
        let shift = there.and_then(|(name, address)| Some(address.wrapping_sub(table.reference(name)?)));
        Self { table, shift: shift.unwrap_or(0), missing: None }
    }

    /// The function at an address, and its module.
    pub(crate) fn find(&self, address: u64) -> Option<(&str, Option<&str>)> {
        let (name, module) = self.table.find(address.wrapping_sub(self.shift))?;
        // Modules are loaded at other addresses after every boot.
        (module.is_none() || self.shift == 0).then_some((name, module))
    }
}

fn differ(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

/// The build-id among ELF notes (`NT_GNU_BUILD_ID` of `GNU`), in this machine's byte order.
fn build_id(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    loop {
        let (sizes, behind) = rest.split_first_chunk::<12>()?;
        let number = |at: usize| Some(u32::from_ne_bytes(*sizes[at..].first_chunk()?));
        let (name_length, length, kind) = (number(0)? as usize, number(4)? as usize, number(8)?);
        let name = behind.get(..name_length)?;
        let value = behind.get(name_length.next_multiple_of(4)..)?;
        if kind == 3 && name == b"GNU\0" {
            return value.get(..length).map(<[u8]>::to_vec);
        }
        rest = value.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let text =
            "ffffffff81000000 T _text\nffffffff81000040 t tcp_ack\nffffffffc0001000 t bbr_main\t[tcp_bbr]\n";
        kallsyms::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn relocated_kernel_is_shifted_and_loses_module_symbols() {
        let profiled =
            Profiled { build_id: None, reference: Some(("_text".to_owned(), 0xffff_ffff_9200_0000)) };
        let kernel = Kernel::shifted(table(), &profiled);
        assert_eq!(kernel.find(0xffff_ffff_9200_0044), Some(("tcp_ack", None)));
        assert_eq!(kernel.find(0xffff_ffff_8100_0044), None);
        assert_eq!(kernel.find(0xffff_ffff_d100_1004), None);
        let same = Kernel::shifted(table(), &Profiled::default());
        assert_eq!(same.find(0xffff_ffff_c000_1004), Some(("bbr_main", Some("tcp_bbr"))));
    }

    #[test]
    fn build_id_is_found_after_other_notes() {
        let note = |name: &[u8; 4], kind: u32, value: &[u8]| {
            let numbers = [4u32, value.len() as u32, kind].map(u32::to_ne_bytes).concat();
            let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
            [&numbers[..], name, value, &padding].concat()
        };
        let notes = [note(b"Xen\0", 3, b"12345"), note(b"GNU\0", 3, b"abcdefgh")].concat();
        assert_eq!(build_id(&notes).as_deref(), Some(&b"abcdefgh"[..]));
        assert_eq!(build_id(&notes[..30]), None);
    }
}
