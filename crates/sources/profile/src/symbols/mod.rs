//! Resolves addresses to names: `kernel`, for the kernel and its modules; `elf`, for programs and libraries; `table`,
//! sorted symbols for both; `inlined`, inlined functions; `demangle`, readable names; `host`, whether a recording was
//! made on this host; `pieces`, limits of what is held of a file.

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
