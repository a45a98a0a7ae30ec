//! Hand-written captures, and the events read from them.

mod anonymous;
mod build;
mod checksum;
mod flows;
mod formats;
mod fragments;
mod headers;
mod icmp;
mod seeds;
