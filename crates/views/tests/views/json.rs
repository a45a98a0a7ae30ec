//! The complete JSON documents, and the checked-in schemas.

use crate::sample;
use slowpath_model::{
    Bytes, CaState, End, Event, EventKind, Flags, FlowId, Mark, Segment, SocketSample, StreamOffset,
};
use slowpath_views::json;
use slowpath_views::rank::Selection;
use std::path::PathBuf;

#[test]
fn diagnosis_document() {
    let flows = [sample::refused(), sample::lossy_download(), sample::small_window()];
    let diagnosis = sample::diagnosis(&flows, Selection { top: Some(10), ..Selection::default() });
    let document = json::Diagnosis::of(&diagnosis);
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).expect("plain data"));
}

#[test]
fn event_lines() {
    let mut segment = Segment::new(End::A, Flags::SYN, StreamOffset(0), 0);
    segment.mss = Some(1460);
    let seen = Event { at: sample::at(12), kind: EventKind::Seen(segment) };
    let missed = Event { at: sample::at(13), kind: EventKind::Missed { events: 4 } };
    let mut sample = SocketSample::unknown(End::B);
    (sample.ca_state, sample.rcvbuf) = (Some(CaState::Open), Some(131_072));
    let mark = Mark::ReceiveBuffer(Bytes::kib(256));
    let sampled = Event { at: sample::at(14), kind: EventKind::Sampled(sample) };
    let marked = Event { at: sample::at(15), kind: EventKind::Marked { end: End::B, mark } };
    let waited = "0.016 B waited receive-queue 0.000170288 1448".parse::<Event>().expect("a wait");
    let dropped = "0.017 dropped qdisc > . 1:1449(1448)".parse::<Event>().expect("a drop");
    let icmp = "0.018 icmp packet-too-big mtu 1400 about > 1 from 192.0.2.254 // frame 9".parse::<Event>();
    let icmp = icmp.expect("an ICMP error");
    let lines = [seen, missed, sampled, marked, waited, dropped, icmp].map(|event| {
        serde_json::to_string(&json::EventLine::of(FlowId(1), &event, None)).expect("plain data")
    });
    insta::assert_snapshot!(lines.join("\n"));
}

/// The schemas are checked in because other programs depend on them. `SLOWPATH_UPDATE=1` updates them.
#[test]
fn checked_in_schemas_are_current() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in slowpath_views::schemas::schemas() {
        let path = folder.join(format!("{name}.json"));
        let wanted = serde_json::to_string_pretty(&schema).expect("plain data") + "\n";
        if std::env::var_os("SLOWPATH_UPDATE").is_some() {
            std::fs::write(&path, &wanted).expect("the folder is there");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{} is not that of the code; run with SLOWPATH_UPDATE=1", path.display());
    }
}
