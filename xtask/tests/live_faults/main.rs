//! What the live probe reports of faults made on purpose, and of situations that resemble them: real sockets, shapers,
//! routers and errors, in network namespaces.

mod net;
mod path;
mod sending_host;
