//! Between whom a packet goes.

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// The sender's.
        source: u32,
        /// The receiver's.
        destination: u32,
    },
    /// IPv6.
    V6 {
        /// The sender's.
        source: u128,
        /// The receiver's.
        destination: u128,
    },
}
