//! Work of calls beyond the plain path, counted so that a host can charge CPU time for it.

/// Work done since it was last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Buffers of the send queue looked at to tag what is sacked, to mark what is lost and to find what is to be sent
    /// again.
    pub queue_steps: u64,
    /// Buffers of the send queue freed, for they are acknowledged.
    pub freed: u64,
    /// Segments with data that were not the next.
    pub out_of_order: u64,
}
