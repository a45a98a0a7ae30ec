//! The hosts of the web bench and their addresses.

use crate::host::Host;
use crate::namespaces::Place;
use crate::settings::Family;
use crate::testbed;
use std::net::IpAddr;

/// The host of the server, and that of the client.
pub const HOSTS: [Place; 2] = [Place::Sender, Place::Receiver];

/// The server's address.
pub fn server_address() -> IpAddr {
    testbed::address(Family::V4, Host::Sender)
}
