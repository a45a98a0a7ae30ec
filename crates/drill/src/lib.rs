//! Scripts in packetdrill's language, run against an endpoint.
