//! The cost of SACK: buffers visited.

use crate::endpoints::{Application, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_tcp::choices::SackWalk;
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Choices, Sysctls};
use std::time::Duration;

/// Loses one segment of the flight of `window` segments; returns the buffers visited per ACK with SACK blocks, and the
/// buffers freed in total.
fn steps(choices: Choices, sysctls: Sysctls, window: usize) -> (Vec<u64>, u64) {
    let buffers = BufferSizes { min: 4096, default: 8 << 20, max: 8 << 20 };
    let sysctls = Sysctls { tcp_rmem: buffers, tcp_wmem: buffers, ..sysctls };
    // ACK compression at the receiver would save the sender these walks.
    let choices = Choices { super_packets: false, compressed_acks: false, ..choices };
    // Slow start: when a window is in flight, about as many segments have been acknowledged.
    let fates = (0..=window).map(|n| if n == window { Fate::Drop } else { Fate::Deliver }).collect();
    let mut pair = Pair::new(&settings(choices, sysctls), fates, Vec::new());
    pair.client_app = Application::writing(6 * 1448 * window as u32);
    pair.drive(Duration::from_secs(600));
    pair.assert_complete();
    assert_eq!(pair.to_server.dropped, 1);
    let sacked = pair.work.iter().filter(|(sack, _)| *sack).map(|(_, work)| work.queue_steps).collect();
    (sacked, pair.work.iter().map(|(_, work)| work.freed).sum())
}

/// Since 2.6.16 and 4.15 an ACK costs what is new in it; before, everything in flight, per block (leith, section 1.1).
#[test]
fn walk_from_the_head_grows_with_the_window_but_the_index_does_not() {
    let mean = |steps: &[u64]| steps.iter().sum::<u64>() / steps.len().max(1) as u64;
    for window in [150, 600] {
        let (new, freed) = steps(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls(), window);
        assert!(new.len() > window / 2, "{} ACKs with blocks", new.len());
        assert!(mean(&new) <= 16, "{} steps per ACK", mean(&new));
        // Each segment, the SYN and the FIN, except those merged into others.
        assert!(freed as usize >= 6 * window && freed as usize <= 6 * window + 2, "{freed}");
        for (choices, sysctls) in [
            (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls()),
            (Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls()),
        ] {
            let indexed = Choices { sack_walk: SackWalk::Index, ..choices.clone() };
            let (old, _) = steps(choices, sysctls.clone(), window);
            let window = window as u64;
            assert!(mean(&old) >= window / 3, "{} steps per ACK at {window}", mean(&old));
            // The search does not change the result.
            let (hinted, _) = steps(indexed, sysctls, window as usize);
            assert_eq!(hinted.len(), old.len());
            assert!(mean(&hinted) < mean(&old), "{} and {}", mean(&hinted), mean(&old));
        }
    }
}
