//! Two endpoints in virtual time: whatever the path does, everything arrives, in order and once.

mod buffers;
mod ends;
mod first_window;
mod hostile;
mod listening;
mod local;
mod metrics;
mod network;
mod plain;
mod recorded;
mod rough;
mod tuned;
mod walks;
