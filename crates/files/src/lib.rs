//! Opens files that nobody vouches for, and unpacks what they hold within bounds.
//!
//! A profile, a recording or an archive that somebody sent names other files and claims sizes. Neither is trusted:
//!
//! - [`open_regular`] opens a regular file. It never waits for the other end of a FIFO, and never opens a device, which can
//!   act on being opened.
//! - [`Root`] opens a regular file below a folder, as the host whose `/` that folder is would. No `..` and no symbolic link
//!   leads out of it.
//! - [`Unpacked`] unpacks gzip, zlib and zstd up to a [`Bound`], which grows with what was packed.
//!
//! What may be packed how far is decided where it is read; the handbook lists all of it (`docs/src/formats.md`).

mod regular;
mod root;
mod unpack;

pub use regular::{allocated, open_regular};
pub use root::Root;
pub use unpack::{Bound, Packing, TooMuch, Unpacked};
