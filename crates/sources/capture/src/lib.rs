//! pcap and pcapng captures as slowpath events.
