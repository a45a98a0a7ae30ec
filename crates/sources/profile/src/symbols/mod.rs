//! Names of addresses: `kernel`, of the kernel and its modules; `elf`, of programs and libraries; `table`, what both
//! look in; `inlined`, what the compiler has put into its callers; `demangle`, what names are shown as; `host`, whether a recording is of
//! this one; `pieces`, how much is held of a file.

pub(crate) mod demangle;
mod dwarf;
pub(crate) mod elf;
pub(crate) mod host;
pub(crate) mod inlined;
pub(crate) mod kallsyms;
pub(crate) mod kernel;
pub(crate) mod pieces;
pub(crate) mod table;
pub(crate) mod unread;
