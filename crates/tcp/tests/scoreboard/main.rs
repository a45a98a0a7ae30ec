//! What a sender does for an ACK with SACK blocks.

mod agree;
mod recovery;
mod script;
