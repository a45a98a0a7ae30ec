//! What bound a direction, when and for how long.
//!
//! [`track`] follows the sender packet by packet and says what *held* it between any two events; [`stretch`] keeps
//! that in a bounded log of about a round trip each; [`episodes`] keeps the losses; [`classify`] reads the log when
//! the flow is over and names a cause for every stretch, by the
//! numbers in [`thresholds`].

pub mod classify;
pub mod episodes;
pub mod stretch;
pub mod thresholds;
pub mod track;
