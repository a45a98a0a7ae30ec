//! Bulk transfers between two endpoints: what comes out is what arithmetic says.

mod curves;
mod transfer;

use slowpath_tcp::Choices;
use std::time::Duration;
use transfer::{Bulk, big_buffers};

#[test]
fn a_link_is_filled_and_its_losses_are_repaired_without_a_timeout() {
    let mut bulk = Bulk::new(Choices::LINUX_6_18, big_buffers(), 100e6, 330, Duration::from_millis(40));
    bulk.run(Duration::from_secs(10));
    let rate = bulk.read as f64 * 8.0 / 10.0;
    assert!(rate < 100e6 && rate > 90e6, "{rate}");
    let info = bulk.sender.info(bulk.now);
    assert_eq!(info.total_rto, 0);
    assert_eq!(info.total_retrans, bulk.there.dropped, "exactly what was lost is sent again");
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let mut bulk = Bulk::new(Choices::LINUX_6_18, big_buffers(), 1e9, 3333, Duration::from_millis(40));
    let start = std::time::Instant::now();
    bulk.run(Duration::from_secs(60));
    let spent = start.elapsed().as_secs_f64();
    let info = bulk.sender.info(bulk.now);
    println!(
        "{:.2} M packets/s, {} lost, {:?}",
        f64::from(bulk.there.delivered) * 1e-6 / spent,
        bulk.there.dropped,
        info
    );
}
