//! What can hold a sender, as its host tells it.

use slowpath_model::Hold;

/// What held a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What its state says.
    Hold(Hold),
    /// Its congestion window, or the repair of losses, while packets waited on the path: it gave what it has.
    FullPath,
    /// Its congestion window, and no answer came when one was due.
    Silence,
    /// The queue of its own device, which made packets wait.
    OwnQueue,
}
