//! How a sender processes ACKs with SACK blocks.

mod forward_ack;
mod recovery;
mod script;
mod walks_agree;
