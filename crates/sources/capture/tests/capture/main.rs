//! Captures made by hand, and what is read of them.

mod build;
mod checksum;
mod flows;
mod formats;
mod headers;
mod icmp;
mod seeds;
