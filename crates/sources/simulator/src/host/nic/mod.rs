//! The network card and its driver's rings.

pub mod receive;
pub mod transmit;
