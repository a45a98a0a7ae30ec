//! The NIC and its driver's rings.

pub mod bus;
pub mod receive;
pub mod transmit;
