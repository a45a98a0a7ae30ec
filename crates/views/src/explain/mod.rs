//! `slowpath explain`: the arithmetic behind a cause, step by step, as JSON and as text.

mod buffer;
mod buffer_text;
mod help;
mod wait;

pub use buffer::{Buffer, BufferQuestion};
pub use help::{BUFFER_HELP, WAIT_HELP};
pub use wait::{Wait, WaitQuestion};
