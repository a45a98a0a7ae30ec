//! What bound a direction, when and for how long.
//!
//! [`track`] follows the sender packet by packet and says what *held* it between any two events; [`stretch`] keeps
//! that in a bounded log of about an RTT each; [`episodes`] keeps the losses; [`classify`] reads the log when
//! the flow is over and names a cause for every stretch.
//!
//! # Decisions
//!
//! **Holds first, causes later.** Packet by packet, [`track`] records only which of six things held the sender: idle,
//! window, recovery, dry queue, open, or delayed. These are facts; their only thresholds are the MSS and an RTT or
//! two. [`classify`] names causes when the flow has ended. Only then is it known whether the window ever grew,
//! whether a queue ever stood, and what the best rate was. Every threshold is in [`thresholds`], with its
//! reason.
//!
//! **The sender's view, from any vantage.** Limits are about the sender. A tap at the receiver sees an ACK before the
//! sender does, so [`track`] delays each ACK until the sender has it. Without that, captures at the receiver would
//! need rules of their own.
//!
//! **A loss on a full path costs no time.** While losses are repaired at the path's full rate, the spell belongs to
//! the path.

pub mod alternatives;
pub mod answer;
mod bunches;
pub mod classify;
pub mod context;
mod credit;
pub mod episodes;
mod growth;
mod jitter;
pub mod other_scale;
pub mod pace;
pub mod policer;
pub mod queue;
mod reads;
mod send_buffer;
pub mod stretch;
pub mod thresholds;
pub mod ticks;
pub mod track;
pub mod trains;
mod unslowed;
mod window;
pub mod window_ends;
mod written;
