//! Names of addresses: `kernel`, of the kernel and its modules; `elf`, of programs and libraries; `table`, what both
//! look in; `inlined`, what the compiler has put into its callers; `demangle`, what names are shown as.

pub(crate) mod demangle;
pub(crate) mod elf;
pub(crate) mod inlined;
pub(crate) mod kallsyms;
pub(crate) mod kernel;
pub(crate) mod table;
