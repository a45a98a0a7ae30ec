//! Who sizes the buffers. Values only.

use slowpath_model::{Bytes, Rate};
use std::time::Duration;

/// Who sizes the buffers of the data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// The kernels.
    Kernel,
    /// Auto-ncFTP: this program, by what it measures before the transfer.
    Auto,
    /// DRS FTP: this program, by what moves in an RTT during the transfer.
    Drs,
    /// Enable: this program, by what a path store knows.
    Known,
    /// The user: both buffers have this size.
    Fixed(u64),
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathValues {
    /// The RTT without queues.
    pub rtt: Duration,
    /// The rate to expect.
    pub rate: Rate,
    /// How it is known.
    pub basis: Basis,
}

/// How a path is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Measured just before the transfer.
    Measured,
    /// From a path store.
    Store,
}

/// Buffers are set to twice the bandwidth-delay product (weigle, section II-A).
const PRODUCTS: u64 = 2;
/// No buffer is asked for below this: `tcp_rmem[1]` as Linux has it.
const LEAST: u64 = 128 << 10;
/// The largest window: 65,535 << 14 (RFC 7323, section 2.3).
const MOST: u64 = 1 << 30;

impl PathValues {
    /// The bandwidth-delay product.
    pub fn product(&self) -> Bytes {
        self.rate.amount_in(self.rtt)
    }

    /// The size to ask for, of each buffer.
    pub fn buffer(&self) -> u64 {
        self.product().get().saturating_mul(PRODUCTS).clamp(LEAST, MOST)
    }
}
