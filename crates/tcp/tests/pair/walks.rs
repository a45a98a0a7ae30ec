//! What SACK costs: the buffers that are looked at.

use crate::ends::{Application, Pair, settings};
use crate::network::Fate;
use slowpath_kernels::Release;
use slowpath_tcp::choices::SackWalk;
use slowpath_tcp::sysctl::BufferSizes;
use slowpath_tcp::{Choices, Sysctls};
use std::time::Duration;

/// Loses one segment of the flight in which `window` segments are out: the buffers looked at for each ACK with SACK
/// blocks, and those freed by all.
fn steps(choices: Choices, sysctls: Sysctls, window: usize) -> (Vec<u64>, u64) {
    let buffers = BufferSizes { min: 4096, default: 8 << 20, max: 8 << 20 };
    let sysctls = Sysctls { tcp_rmem: buffers, tcp_wmem: buffers, ..sysctls };
    // A receiver that holds SACKs back saves its sender these walks.
    let choices = Choices { super_packets: false, compressed_acks: false, ..choices };
    // Slow start: when a window is out, about as many have been acknowledged.
    let fates = (0..=window).map(|n| if n == window { Fate::Drop } else { Fate::Deliver }).collect();
    let mut pair = Pair::new(&settings(choices, sysctls), fates, Vec::new());
    pair.asks = Application::writing(6 * 1448 * window as u32);
    pair.drive(Duration::from_secs(600));
    pair.assert_complete();
    assert_eq!(pair.there.dropped, 1);
    let sacked = pair.work.iter().filter(|(sack, _)| *sack).map(|(_, work)| work.queue_steps).collect();
    (sacked, pair.work.iter().map(|(_, work)| work.freed).sum())
}

/// Since 2.6.16 and 4.15 an ACK costs what is new in it; before, all that is in flight, for each of its blocks (leith,
/// section 1.1).
#[test]
fn a_walk_from_the_head_grows_with_the_window_and_an_index_does_not() {
    let mean = |steps: &[u64]| steps.iter().sum::<u64>() / steps.len().max(1) as u64;
    for window in [150, 600] {
        let (new, freed) = steps(Release::Linux6_18.tcp(), Release::Linux6_18.sysctls(), window);
        assert!(new.len() > window / 2, "{} ACKs with blocks", new.len());
        assert!(mean(&new) <= 16, "{} steps for an ACK", mean(&new));
        // Each segment, the SYN and the FIN, but those that are merged into others.
        assert!(freed as usize >= 6 * window && freed as usize <= 6 * window + 2, "{freed}");
        for (choices, sysctls) in [
            (Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls()),
            (Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls()),
        ] {
            let indexed = Choices { sack_walk: SackWalk::Index, ..choices.clone() };
            let (old, _) = steps(choices, sysctls.clone(), window);
            let window = window as u64;
            assert!(mean(&old) >= window / 3, "{} steps for an ACK at {window}", mean(&old));
            // How it is looked for changes nothing in what is found.
            let (hinted, _) = steps(indexed, sysctls, window as usize);
            assert_eq!(hinted.len(), old.len());
            assert!(mean(&hinted) < mean(&old), "{} and {}", mean(&hinted), mean(&old));
        }
    }
}
