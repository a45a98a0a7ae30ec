//! What a sender does for an ACK with SACK blocks.

mod agree;
mod forward;
mod recovery;
mod script;
