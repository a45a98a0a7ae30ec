//! Cache misses, the second event of a profile.

use crate::{PLAIN, profile, report};
use slowpath_cost::Event;
use slowpath_papers::lavoie::ServerSamples;

#[test]
fn cache_misses_are_shown_next_to_the_time() {
    let mut counted = profile(&[
        (300, "nginx", "handle_softirqs;tcp_ack"),
        (100, "nginx", "handle_softirqs;kfree"),
        (10, "nginx", "handle_softirqs;net_rx_action;tcp_ack"),
        (30, "nginx", "handle_softirqs;net_rx_action;kfree"),
        (50, "other", "do_idle;default_idle"),
    ]);
    assert!(ServerSamples::of(&counted, "nginx").misses.is_none());
    counted.events.push(Event { name: "cache-misses".to_owned(), unit: "samples" });
    assert!(ServerSamples::of(&counted, "nginx").misses.is_none(), "none was sampled");
    for entry in &mut counted.entries[2..] {
        entry.event = 1;
    }
    let measured = ServerSamples::of(&counted, "nginx");
    let misses = measured.misses.as_ref().expect("counted");
    assert_eq!((measured.total, misses.total, misses.excluded.idle), (400, 40, 50));
    let report = report(&[(PLAIN, counted)]);
    let table = report.tables.iter().find(|table| table.name == "Cache misses").expect("a table");
    let cell = |row: &str, quantity: &str| {
        let found = table.cells.iter().find(|cell| cell.row == row && cell.quantity == quantity);
        found.expect("a cell").ours
    };
    assert_eq!((cell("memory", "1K, misses"), cell("memory", "1K, time")), (75.0, 25.0));
    let deallocation = "kernel memory deallocation itself";
    assert_eq!((cell(deallocation, "1K, misses"), cell(deallocation, "1K, time")), (75.0, 25.0));
}
