//! Real transfers in network namespaces over an emulated path, with the truth about them.

pub mod clock;
pub mod error;
pub mod frame;
pub mod namespaces;
pub mod path;
pub mod relay;
