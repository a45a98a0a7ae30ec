//! Work of calls beyond the fast path, counted so that a host can charge CPU time for it.

/// Work since the last query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Send queue buffers visited to tag what is SACKed, to mark what is lost and to find what to retransmit.
    pub queue_steps: u64,
    /// Send queue buffers freed because they were acknowledged.
    pub freed: u64,
    /// Data segments received out of order.
    pub out_of_order: u64,
}
