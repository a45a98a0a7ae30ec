//! Opens files that nobody vouches for, unpacks what they hold within bounds, and writes output files.
//!
//! A profile, a recording or an archive that somebody sent names other files and claims sizes. Neither is trusted:
//!
//! - [`open_regular`] opens a regular file. It never waits for the other end of a FIFO, and never opens a device, which can
//!   act on being opened.
//! - [`open_secret`] opens a file that nobody else may read or change.
//! - [`Root`] opens a regular file below a folder, as the host whose `/` that folder is would. No `..` and no symbolic link
//!   leads out of it.
//! - [`Output`] writes a file that is whole or absent, and never replaces what it was not told to.
//! - [`need_descriptors`] makes sure that this process may open so many files.
//! - [`Unpacked`] unpacks gzip, zlib and zstd up to a [`Bound`], which grows with what was packed.
//!
//! What may be packed how far is decided where it is read; the handbook lists all of it (`docs/src/formats.md`).

mod descriptors;
mod output;
mod regular;
mod root;
mod secret;
mod unpack;

pub use descriptors::need_descriptors;
pub use output::{
    Existing, Output, OutputError, check as check_output, create as create_output, is_unfinished,
    remove_unfinished, write as write_output,
};
pub use regular::{allocated, open_regular};
pub use root::Root;
pub use secret::{SecretError, open_secret, own_uid};
pub use unpack::{Bound, Packing, TooMuch, Unpacked};
