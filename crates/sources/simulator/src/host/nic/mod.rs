//! The NIC and its driver's rings.

pub mod receive;
pub mod transmit;
