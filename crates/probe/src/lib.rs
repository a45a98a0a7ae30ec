//! What a path gives to packets of one's own: round trip, capacity, available bandwidth, and where loss begins.
//!
//! Ubik and Cimbal (2002, section V) looked for what held their transfers with RUDE/CRUDE and pathload, and neither tool
//! could be trusted at their rates. What they asked is asked here, and each answer says what it was limited by: the path,
//! or one of the two ends.
//!
//! - [`measure`]: the procedures. Pure: they ask a [`Channel`](measure::Channel) for trains of packets and judge the times at
//!   which these were sent and arrived.
//! - [`simulated`]: a channel over the emulated path of `slowpath-path`, in no time.
//! - [`protocol`]: what the two programs of a real measurement say to each other.
//! - [`real`]: a channel of UDP packets between two hosts, the far end that answers it, and a bulk transfer by TCP.

pub mod measure;
pub mod protocol;
pub mod real;
pub mod simulated;
