//! Profiles as text: `script`, of `perf script`; `folded`, a stack a line; `opreport`, who calls whom; `lines`, of all.

pub(crate) mod folded;
pub(crate) mod lines;
pub(crate) mod opreport;
pub(crate) mod script;
