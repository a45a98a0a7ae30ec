//! Any pattern of loss, reordering and duplication.

use crate::endpoints::{Application, Pair, settings};
use crate::network::Fate;
use proptest::prelude::*;
use slowpath_kernels::Release;
use slowpath_model::{Flags, StreamOffset};
use slowpath_tcp::{Choices, Packet, Sysctls};
use std::collections::BTreeSet;
use std::time::Duration;

/// Long enough for every timer to back off and TIME-WAIT to end.
const HOURS: Duration = Duration::from_secs(3 * 3600);

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Deliver),
        2 => Just(Fate::Drop),
        1 => (0..60_u8).prop_map(Fate::Duplicate),
        1 => (1..60_u8).prop_map(Fate::Delay),
    ]
}

fn kernel() -> impl Strategy<Value = (Choices, Sysctls)> {
    prop_oneof![
        Just((Release::Linux6_18.tcp(), Release::Linux6_18.sysctls())),
        Just((Release::Linux2_6_14.tcp(), Release::Linux2_6_14.sysctls())),
        Just((Release::Linux2_4_17.tcp(), Release::Linux2_4_17.sysctls())),
    ]
}

/// SACK blocks report only bytes that have arrived: the slow, obvious model.
fn assert_sacks_are_true(reached: &[Packet], sent: &[Packet]) {
    let mut arrived = BTreeSet::new();
    for packet in reached {
        arrived.extend(packet.seq.0..packet.end().0);
    }
    for packet in sent.iter().filter(|packet| packet.flags.has(Flags::ACK)) {
        for (place, block) in packet.sack().blocks(packet.ack).enumerate() {
            assert!(block.start < block.end, "an empty block: {packet:?}");
            assert!((block.start.0..block.end.0).all(|byte| arrived.contains(&byte)), "{block:?}");
            // Only the first may report a duplicate. Exception: the ACK of a FIN that was out of order is sent before
            // the blocks are removed (`tcp_fin` in `tcp_ofo_queue`).
            assert!(place == 0 || block.start > packet.ack || block.end <= packet.ack, "{packet:?}");
            assert!(block.end > StreamOffset(0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn all_data_arrives_under_any_impairment(
        (choices, sysctls) in kernel(),
        to_server in prop::collection::vec(fate(), 0..80),
        to_client in prop::collection::vec(fate(), 0..80),
        asked in 0..60_000_u32,
        answered in 0..60_000_u32,
    ) {
        // A connection whose SYN is lost too often fails, as it should.
        let mut to_server = to_server;
        let mut to_client = to_client;
        to_server.iter_mut().take(4).for_each(|fate| if *fate == Fate::Drop { *fate = Fate::Deliver });
        to_client.iter_mut().take(4).for_each(|fate| if *fate == Fate::Drop { *fate = Fate::Deliver });
        // Nor may an orphan give up when its RTO has reached the maximum (tcp_orphan_retries).
        let sysctls = Sysctls { tcp_orphan_retries: 100, ..sysctls };
        let mut pair = Pair::new(&settings(choices, sysctls), to_server, to_client);
        pair.client_app = Application::writing(asked);
        pair.server_app = Application::writing(answered);
        pair.drive(HOURS);
        pair.assert_complete();
        let sent: Vec<Packet> = pair.to_client.record.iter().map(|(_, packet)| *packet).collect();
        assert_sacks_are_true(&pair.reached[0], &sent);
    }
}
