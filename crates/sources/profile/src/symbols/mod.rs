//! Names of addresses: `kernel`, of the kernel and its modules; `elf`, of programs and libraries; `table`, what both
//! look in; `demangle`, what names are shown as.

pub(crate) mod demangle;
pub(crate) mod elf;
pub(crate) mod kallsyms;
pub(crate) mod kernel;
pub(crate) mod table;
