//! What the live probe reports of faults that were made on purpose, and of what only looks like them: real sockets, shapers,
//! routers and errors, in network namespaces.

mod net;
mod path;
mod sending_host;
