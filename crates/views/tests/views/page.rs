//! The page's data, and the size of pages.

use crate::sample;
use slowpath_analyses::Label;
use slowpath_analyses::picture::{Answer, Data, Flight, Mark, Packet, Picture, RoundTrip, Sacked};
use slowpath_analyses::report::FlowReport;
use slowpath_model::{Flags, FlowId, Instant, StreamOffset};
use slowpath_views::flow_line::Line;
use slowpath_views::page::{self, Pictures};
use slowpath_views::rank::Selection;
use std::time::Duration;

/// A plot with `segments` segments of 1448 bytes and their ACKs.
fn picture(segments: i64) -> Picture {
    let mut picture = Picture::default();
    for number in 0..segments {
        let at = Instant::from_nanos(20_000_000 + number * 371_003 % 7_777 + number * 371_000);
        let low = StreamOffset(1 + number * 1448);
        let packet = Packet {
            frame: number.unsigned_abs() * 2 + 1,
            flags: if number % 10 == 9 { Flags(Flags::ACK.0 | Flags::PSH.0) } else { Flags::ACK },
            ack: Some(StreamOffset(1)),
            window: 502,
        };
        let data = Data { low, high: low + 1448, label: Label::New, packet: Some(packet) };
        picture.fresh.push(Mark::at(at, data));
        let later = at + Duration::from_millis(20);
        if number % 100 == 7 {
            picture.again.push(Mark::at(later, Data { label: Label::Retransmission, ..data }));
            let sacked = Sacked { low: low + 1448, high: low + 4344, twice: false };
            picture.sacks.push(Mark::at(later, sacked));
        }
        let window = 500 + (number % 7) as u32;
        let answer = Answer {
            first: low + 1448,
            highest: low + 1448,
            window,
            window_min: window,
            window_max: window,
            unscaled: number == 0,
            frame: number.unsigned_abs() * 2 + 2,
            flags: Flags::ACK,
        };
        picture.answers.push(Mark::at(later, answer));
        let time = Duration::from_micros(20_000 + (number % 13) as u64);
        picture.flights.push(Mark::at(later, Flight { most: 65_160 }));
        picture.round_trips.push(Mark::at(later, RoundTrip { min: time, max: time }));
    }
    picture
}

fn written(flows: &[FlowReport], segments: i64, top: usize) -> (page::PageSize, String) {
    let draw = |flow: &FlowReport| (flow.id != FlowId(2)).then(|| picture(segments));
    let pictures = Pictures { of: &draw, dropped: 1 };
    let mut out = Vec::new();
    let selection = Selection { top: Some(top), ..Selection::default() };
    let size = page::write(&sample::diagnosis(flows, selection), &pictures, &mut out).expect("it fits");
    (size, String::from_utf8(out).expect("text"))
}

#[test]
fn page_data() {
    let flows = [sample::refused(), sample::lossy_download(), sample::small_window()];
    let mut diagnosis = sample::diagnosis(&flows, Selection { top: Some(2), ..Selection::default() });
    diagnosis.ranking.lines = flows.iter().map(Line::of).collect();
    let draw = |flow: &FlowReport| (flow.id == FlowId(1)).then(|| picture(9));
    let pictures = Pictures { of: &draw, dropped: 0 };
    let data = page::page(&diagnosis, &pictures, 1000);
    let mut text = serde_json::to_value(&data).expect("plain data");
    text["version"] = "0".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&text).expect("plain data"));
}

#[test]
fn a_page_is_never_larger_than_5_mb() {
    let flows = sample::flows();
    let (small, text) = written(&flows[2..3], 100, 10);
    assert!(small.bytes == text.len() && small.bytes < 200_000, "{small:?}");
    let (large, text) = written(&flows, 60_000, 40);
    assert!(large.bytes <= 5_000_000 && large.most_marks < small.most_marks, "{large:?}");
    assert!(text.contains("drawn with less detail"));
}

/// A list of 100,000 flows, in a page of less than 20 MB.
#[test]
fn a_page_lists_every_flow() {
    let flows = sample::flows();
    let mut diagnosis = sample::diagnosis(&flows, Selection { top: Some(3), ..Selection::default() });
    diagnosis.ranking.flows = 100_000;
    diagnosis.ranking.lines = flows.iter().cycle().take(100_000).map(Line::of).collect();
    let pictures = Pictures { of: &|_| None, dropped: 0 };
    let mut out = Vec::new();
    let size = page::write(&diagnosis, &pictures, &mut out).expect("it fits");
    assert!((2_000_000..20_000_000).contains(&size.bytes), "{size:?}");
    let page = String::from_utf8(out).expect("text");
    assert!(!page.contains("not in the list"));
    diagnosis.ranking.lines.truncate(99_999);
    let mut out = Vec::new();
    page::write(&diagnosis, &pictures, &mut out).expect("it fits");
    assert!(String::from_utf8(out).expect("text").contains("1 flow not in the list"));
}
