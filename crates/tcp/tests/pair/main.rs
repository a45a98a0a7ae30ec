//! Two endpoints in virtual time: whatever the path does, all data arrives, in order and once.

mod buffers;
mod clean_path;
mod endpoints;
mod first_window;
mod hostile;
mod impairments;
mod listening;
mod local_drops;
mod metrics;
mod network;
mod pruning;
mod receive_tuning;
mod recorded;
mod sack_walks;
