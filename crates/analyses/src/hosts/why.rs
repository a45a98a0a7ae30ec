//! What can hold a sender, as its host reports it.

use slowpath_model::Hold;

/// What held a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The limit in its state.
    Hold(Hold),
    /// Its congestion window, or loss repair, while packets waited on the path: the path gave its full rate.
    FullPath,
    /// Its congestion window, without an answer when one was due.
    Silence,
    /// The queue of its own device, which made packets wait.
    OwnQueue,
}
