//! Captures and events without what identifies hosts and people, for passing on: `diagnose` gives the same verdict but for
//! names.
//!
//! - [`key`]: the secret, and Crypto-PAn, which maps addresses so that common prefixes stay common.
//! - [`names`]: addresses, MAC addresses and ports to their replacements.
//! - [`frame`]: a frame written anew; `draft`, `link`, `ip` and `tcp`: its headers.
//! - [`mod@file`]: a capture file written anew, piece by piece.
//! - [`events`]: events with other addresses, for recordings and reports.
//!
//! # Decisions
//!
//! **Nothing is removed from a frame; an empty one is filled.** The copy of a frame has those fields of its headers that are
//! known here, and ends after the last one. What is not known cannot be in it: bytes that are not understood are zero, or
//! not there. The length on the wire is that of the original, so the copy reads as a capture with a short snapshot length.
//! The headers are found by the reader of captures itself (`slowpath_capture::visit`), so that what it reads is copied.
//!
//! **Checksums are computed for a payload of zeros.** The original's, corrected for other addresses as in RFC 1624, would
//! give away the sum of the payload: of one byte, as a terminal session sends it, the value. A checksum that was seen to be
//! wrong is wrong in the copy, which then has all of the segment, with zeros for its payload.
//!
//! **Special addresses stay in their class** (see [`names`]), with no flip of a bit on the way to them. So the map stays
//! one to one and keeps prefixes exactly.

mod draft;
pub mod events;
pub mod file;
pub mod frame;
mod ip;
pub mod key;
mod link;
pub mod names;
mod tcp;

pub use events::Renamed;
pub use file::{Copied, copy};
pub use key::Key;
pub use names::{Names, Ports};
