//! Network headers and capture files, as bytes and as values.
//!
//! - [`ip`], [`tcp`], [`options`], [`udp`]: headers, read in place and written; [`checksum`]: RFC 1071.
//! - [`pcap`], [`pcapng`]: records and blocks.
//! - [`bytes`]: integers in either byte order.
//!
//! # Decisions
//!
//! **Headers are read in place.** A reader of captures spends most of its time on them, so [`ip::V4`], [`ip::V6`] and
//! [`tcp::Fixed`] are the bytes themselves, and each field is decoded when accessed. Interpreting a header (fragments,
//! contradictory lengths, tunnels) is up to the reader.

pub mod bytes;
pub mod checksum;
pub mod ip;
pub mod options;
pub mod pcap;
pub mod pcapng;
pub mod tcp;
pub mod udp;
