//! Bulk transfers between two endpoints match calculated results.

mod accurate_ecn;
mod bbr3;
mod controls;
mod curves;
mod transfer;

use slowpath_kernels::Release;
use std::time::Duration;
use transfer::{Bulk, big_buffers};

#[test]
fn bulk_transfer_fills_the_link_and_recovers_without_rto() {
    let mut bulk = Bulk::new(Release::Linux6_18.tcp(), big_buffers(), 100e6, 330, Duration::from_millis(40));
    bulk.run(Duration::from_secs(10));
    let rate = bulk.read as f64 * 8.0 / 10.0;
    assert!(rate < 100e6 && rate > 90e6, "{rate}");
    let info = bulk.sender.info(bulk.now);
    assert_eq!(info.total_rto, 0);
    assert_eq!(info.total_retrans, bulk.to_server.dropped, "retransmissions match losses");
}

/// FACK and rate halving, with ticks of 4 and 10 ms: slower, but every loss is repaired.
#[test]
fn older_kernels_recover_all_losses() {
    for choices in [Release::Linux2_6_14.tcp(), Release::Linux2_4_17.tcp()] {
        let mut bulk = Bulk::new(choices, big_buffers(), 50e6, 170, Duration::from_millis(40));
        bulk.to_server.loses = Box::new(|n| n % 1777 == 1776);
        bulk.run(Duration::from_secs(20));
        let rate = bulk.read as f64 * 8.0 / 20.0;
        let info = bulk.sender.info(bulk.now);
        assert!(rate < 50e6 && rate > 10e6, "{rate}");
        // The last loss may not be detected yet.
        assert!(
            info.total_retrans + 1 >= bulk.to_server.dropped,
            "{} lost, {info:?}",
            bulk.to_server.dropped
        );
        assert!(info.total_rto * 10 < bulk.to_server.dropped as u16, "{info:?}");
    }
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let mut bulk = Bulk::new(Release::Linux6_18.tcp(), big_buffers(), 1e9, 3333, Duration::from_millis(40));
    let start = std::time::Instant::now();
    bulk.run(Duration::from_secs(60));
    let spent = start.elapsed().as_secs_f64();
    let info = bulk.sender.info(bulk.now);
    println!(
        "{:.2} M packets/s, {} lost, {:?}",
        f64::from(bulk.to_server.delivered) * 1e-6 / spent,
        bulk.to_server.dropped,
        info
    );
}
