//! Real transfers in network namespaces over an emulated path, with the truth about them.

pub mod path;
