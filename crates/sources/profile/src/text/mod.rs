//! Text formats: `script`, of `perf script`; `folded`, folded stacks; `opreport`, call graphs of OProfile; `lines`, for
//! all.

pub(crate) mod folded;
pub(crate) mod lines;
pub(crate) mod opreport;
pub(crate) mod script;
