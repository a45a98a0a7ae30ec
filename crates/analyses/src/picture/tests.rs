use super::*;
use slowpath_model::{Flags, SackBlock, Segment};

fn at(micros: i64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

fn see(pictures: &mut Pictures, flow: u32, at: Instant, segment: Segment, label: Option<Label>) {
    let event = Event { at, kind: EventKind::Seen(segment) };
    pictures.judged(FlowId(flow), &event, Judged { label, spurious: 0 });
}

fn data(seq: i64) -> Segment {
    Segment::new(End::A, Flags::ACK, StreamOffset(seq), 1000)
}

fn ack(number: i64, window: u16) -> Segment {
    let mut segment = Segment::new(End::B, Flags::ACK, StreamOffset(1), 0);
    segment.ack = Some(StreamOffset(number));
    segment.window = window;
    segment
}

#[test]
fn a_short_flow_is_drawn_exactly() {
    let mut pictures = Pictures::new(PictureOptions::default());
    see(&mut pictures, 1, at(0), data(1), Some(Label::New));
    see(&mut pictures, 1, at(10), data(1001), Some(Label::New));
    let mut selective = ack(1, 500);
    selective.sack.push(SackBlock { start: StreamOffset(1001), end: StreamOffset(2001) });
    see(&mut pictures, 1, at(110), selective, None);
    see(&mut pictures, 1, at(120), data(1), Some(Label::Retransmission));
    see(&mut pictures, 1, at(220), ack(2001, 400), None);
    see(&mut pictures, 1, at(230), data(2001), Some(Label::New));
    see(&mut pictures, 1, at(330), ack(3001, 400), None);
    let picture = pictures.picture(FlowId(1), End::A).expect("it was kept");
    assert_eq!(picture.fresh.iter().map(|stroke| stroke.low.0).collect::<Vec<_>>(), [1, 1001, 2001]);
    assert_eq!(picture.again.len(), 1);
    assert_eq!(picture.answers.iter().map(|answer| answer.highest.0).collect::<Vec<_>>(), [1, 2001, 3001]);
    assert_eq!((picture.sacks[0].low.0, picture.sacks[0].twice), (1001, false));
    // Karn's rule: only the segment sent after the retransmission is measured.
    assert_eq!(picture.round_trips.iter().map(|trip| trip.min.as_micros()).collect::<Vec<_>>(), [100]);
    assert_eq!(picture.flights.iter().map(|flight| flight.most).collect::<Vec<_>>(), [2000, 2000, 1000]);
    assert_eq!(picture.merged, 0);
    assert_eq!(pictures.picture(FlowId(1), End::B), Some(Picture::default()));
}

#[test]
fn a_long_flow_keeps_its_extremes_and_its_rare_marks() {
    let mut pictures = Pictures::new(PictureOptions { most_marks: 1, ..PictureOptions::default() });
    let segments = 50_000i64;
    for number in 0..segments {
        see(&mut pictures, 1, at(number * 10), data(number * 1000), Some(Label::New));
        if number % 5000 == 0 {
            see(&mut pictures, 1, at(number * 10), data(number * 1000 - 9000), Some(Label::Retransmission));
        }
        let window = if number == 777 { 0 } else { 500 };
        see(&mut pictures, 1, at(number * 10 + 5), ack(number * 1000 + 1000, window), None);
    }
    let picture = pictures.picture(FlowId(1), End::A).expect("it was kept");
    for picture in [picture.clone(), picture.thinned(100), picture.thinned(0)] {
        assert!(picture.fresh.len() <= LEAST_MARKS && picture.merged > 0);
        assert_eq!(picture.fresh.iter().map(|stroke| i64::from(stroke.count)).sum::<i64>(), segments);
        assert_eq!(picture.again.iter().map(|stroke| stroke.count).sum::<u32>(), 10);
        assert_eq!(picture.fresh.iter().map(|stroke| stroke.high.0).max(), Some(segments * 1000));
        assert_eq!(picture.answers.iter().map(|answer| answer.window_min).min(), Some(0));
        assert!(picture.fresh.is_sorted_by_key(|stroke| stroke.from));
        assert!(picture.fresh.windows(2).all(|pair| pair[0].to <= pair[1].from));
    }
    assert_eq!(picture.again.len(), 10);
    assert!(picture.thinned(100).marks() <= 5 * 100 + 10);
}

#[test]
fn short_flows_make_room_for_long_ones() {
    let options = PictureOptions { most_flows: 3, ..PictureOptions::default() };
    let mut pictures = Pictures::new(options);
    for flow in 1..=50 {
        see(&mut pictures, flow, at(i64::from(flow) * 100), data(1), Some(Label::New));
        // Flow 7 goes on to the end.
        if flow >= 7 {
            see(&mut pictures, 7, at(i64::from(flow) * 100 + 50), data(1001), Some(Label::New));
        }
    }
    assert!(pictures.picture(FlowId(7), End::A).is_some());
    assert!(pictures.picture(FlowId(8), End::A).is_none());
    assert_eq!(pictures.dropped(), 47);
    // A flow that lost its picture does not start a new one in the middle.
    see(&mut pictures, 8, at(9000), data(2001), Some(Label::New));
    assert!(pictures.picture(FlowId(8), End::A).is_none());
}

#[test]
fn only_the_flow_asked_for() {
    let mut pictures =
        Pictures::new(PictureOptions { only: Some([FlowId(2)].into()), ..PictureOptions::default() });
    see(&mut pictures, 1, at(0), data(1), Some(Label::New));
    see(&mut pictures, 2, at(0), data(1), Some(Label::New));
    assert!(pictures.picture(FlowId(1), End::A).is_none());
    assert!(pictures.picture(FlowId(2), End::A).is_some());
}
