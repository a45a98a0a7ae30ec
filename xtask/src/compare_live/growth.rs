//! How the advertised window grows with the data received.

use super::rows::{Row, Tolerance, median};
use super::seen::{Connection, Seen};
use anyhow::Result;
use slowpath_model::End;
use slowpath_scenario::Scenario;

const KIB: i64 = 1024;

/// Without tuning, the window depends on the data received, packet by packet, and not on time.
pub fn untuned(_: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    Ok(rows(&[4, 8, 16, 32, 64, 1024, 8192], 0.02, model, kernel))
}

/// Tuning is paced by RTTs, which a late machine makes longer.
pub fn tuned(_: &Scenario, model: &Seen, kernel: &[Seen]) -> Result<Vec<Row>> {
    Ok(rows(&[16, 64, 256, 512, 1024, 2048, 4096, 8192], 0.15, model, kernel))
}

fn rows(amounts_kib: &[i64], share: f64, model: &Seen, kernel: &[Seen]) -> Vec<Row> {
    let row = |kib: &i64| Row {
        what: format!("window after {kib} KiB"),
        unit: "KiB",
        model: window(&model.receiver[0], kib * KIB),
        live: median(kernel.iter().map(|seen| window(&seen.receiver[0], kib * KIB)).collect()),
        tolerance: Tolerance::Share(share),
    };
    amounts_kib.iter().map(row).collect()
}

/// The largest window advertised until this much was acknowledged, in KiB: how full the buffer is at one instant then
/// does not matter.
fn window(connection: &Connection, amount: i64) -> f64 {
    let scale = connection.scale(End::B);
    let acks = connection.of(End::B).filter(|(_, segment)| segment.window_scale.is_none());
    let until = acks.take_while(|(_, segment)| segment.ack.is_some_and(|ack| ack.0 <= amount));
    until.map(|(_, segment)| f64::from(u32::from(segment.window) << scale)).fold(0.0, f64::max) / KIB as f64
}
