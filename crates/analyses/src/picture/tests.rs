use super::*;
use crate::{Analysis, AnalysisOptions};
use slowpath_model::{Endpoint, Flags, FlowKey, SackBlock, Segment, Sink};

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
fn short_flow_is_drawn_exactly() {
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
    assert_eq!(picture.fresh.iter().map(|mark| mark.shows.low.0).collect::<Vec<_>>(), [1, 1001, 2001]);
    assert_eq!(picture.again.len(), 1);
    assert_eq!(picture.answers.iter().map(|mark| mark.shows.highest.0).collect::<Vec<_>>(), [1, 2001, 3001]);
    assert_eq!((picture.sacks[0].shows.low.0, picture.sacks[0].shows.twice), (1001, false));
    // Karn's rule: only the segment sent after the retransmission is measured.
    assert_eq!(picture.round_trips.iter().map(|mark| mark.shows.min.as_micros()).collect::<Vec<_>>(), [100]);
    assert_eq!(picture.flights.iter().map(|mark| mark.shows.most).collect::<Vec<_>>(), [2000, 2000, 1000]);
    assert_eq!(picture.merged(), 0);
    assert_eq!(pictures.picture(FlowId(1), End::B), Some(Picture::default()));
}

#[test]
fn long_flow_keeps_extremes_and_rare_marks() {
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
        assert!(picture.fresh.len() <= LEAST_MARKS && picture.merged() > 0);
        assert_eq!(picture.fresh.iter().map(|mark| i64::from(mark.count)).sum::<i64>(), segments);
        assert_eq!(picture.again.iter().map(|mark| mark.count).sum::<u32>(), 10);
        assert_eq!(picture.fresh.iter().map(|mark| mark.shows.high.0).max(), Some(segments * 1000));
        assert_eq!(picture.answers.iter().map(|mark| mark.shows.window_min).min(), Some(0));
        assert!(picture.fresh.is_sorted_by_key(|mark| mark.from));
        assert!(picture.fresh.windows(2).all(|pair| pair[0].to <= pair[1].from));
    }
    assert_eq!(picture.again.len(), 10);
    assert!(picture.thinned(100).marks() <= 5 * 100 + 10);
}

#[test]
fn short_flows_are_dropped_for_long_ones() {
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
fn only_the_selected_flow_is_drawn() {
    let mut pictures =
        Pictures::new(PictureOptions { only: Some([FlowId(2)].into()), ..PictureOptions::default() });
    see(&mut pictures, 1, at(0), data(1), Some(Label::New));
    see(&mut pictures, 2, at(0), data(1), Some(Label::New));
    assert!(pictures.picture(FlowId(1), End::A).is_none());
    assert!(pictures.picture(FlowId(2), End::A).is_some());
}

fn spurious(at: Instant, seq: i64) -> SpuriousRetransmission {
    SpuriousRetransmission { at, frame: 0, low: StreamOffset(seq), high: StreamOffset(seq + 1000) }
}

#[test]
fn spurious_retransmission_is_relabelled() {
    let mut pictures = Pictures::new(PictureOptions::default());
    for seq in [1, 1001, 2001] {
        see(&mut pictures, 1, at(50), data(seq), Some(Label::Retransmission));
    }
    pictures.found_spurious(FlowId(1), End::A, &spurious(at(50), 1001));
    // Of another time, of another end, of another flow: nothing there to correct.
    pictures.found_spurious(FlowId(1), End::A, &spurious(at(51), 1));
    pictures.found_spurious(FlowId(1), End::B, &spurious(at(50), 1));
    pictures.found_spurious(FlowId(2), End::A, &spurious(at(50), 1));
    let again = pictures.picture(FlowId(1), End::A).expect("it was kept").again;
    assert_eq!(
        again.iter().map(|mark| (mark.shows.low.0, mark.shows.label)).collect::<Vec<_>>(),
        [(1, Label::Retransmission), (1001, Label::Spurious), (2001, Label::Retransmission)]
    );
}

#[test]
fn spurious_retransmission_is_split_from_a_merged_mark() {
    let mut pictures = Pictures::new(PictureOptions { most_marks: 1, ..PictureOptions::default() });
    let segments = 20_000i64;
    for number in 0..segments {
        see(&mut pictures, 1, at(number * 10), data(number * 1000), Some(Label::Retransmission));
        // A DSACK comes a while later.
        if number >= 50 && number % 4 == 0 {
            let number = number - 50;
            pictures.found_spurious(FlowId(1), End::A, &spurious(at(number * 10), number * 1000));
        }
    }
    let again = pictures.picture(FlowId(1), End::A).expect("it was kept").again;
    assert!(again.len() <= LEAST_MARKS);
    assert!(again.is_sorted_by_key(|mark| mark.from));
    let of = |label| {
        let marks = again.iter().filter(move |mark| mark.shows.label == label);
        marks.map(|mark| i64::from(mark.count)).sum::<i64>()
    };
    let corrected = (segments - 50 + 1) / 4;
    assert_eq!((of(Label::Spurious), of(Label::Retransmission)), (corrected, segments - corrected));
}

#[test]
fn dsack_and_eifel_detection_relabel_drawn_marks() {
    let mut analysis =
        Analysis::with_labels(AnalysisOptions::default(), Pictures::new(PictureOptions::default()));
    let end = |n: u8| Endpoint { address: [192, 0, 2, n].into(), port: 1 };
    analysis.open(FlowId(1), &FlowKey { a: end(1), b: end(2), occurrence: 0 });
    for line in [
        "0.00 > . 1:1001(1000) ack 1 win 9 <TS val 10 ecr 1> // frame 1 id 1",
        "0.01 > . 1001:2001(1000) ack 1 win 9 <TS val 11 ecr 1> // frame 2 id 2",
        "0.02 > . 2001:3001(1000) ack 1 win 9 <TS val 12 ecr 1> // frame 3 id 3",
        "0.30 > . 1:1001(1000) ack 1 win 9 <TS val 310 ecr 1> // frame 4 id 4",
        "0.31 > . 1001:2001(1000) ack 1 win 9 <TS val 311 ecr 1> // frame 5 id 5",
        "0.32 > . 2001:3001(1000) ack 1 win 9 <TS val 312 ecr 1> // frame 6 id 6",
        // The ACK is for the original (RFC 3522); then another segment arrives twice (RFC 2883).
        "0.33 < . 1:1(0) ack 1001 win 9 <TS val 5 ecr 10> // frame 7",
        "0.40 < . 1:1(0) ack 3001 win 9 <TS val 6 ecr 312,sack 1001:2001> // frame 8",
    ] {
        let event: Event = line.parse().expect(line);
        analysis.accept(FlowId(1), &event);
    }
    let (_, pictures) = analysis.finish_each(|_| ());
    let again = pictures.picture(FlowId(1), End::A).expect("it was kept").again;
    use Label::*;
    assert_eq!(
        again.iter().map(|mark| mark.shows.label).collect::<Vec<_>>(),
        [Spurious, Spurious, Retransmission]
    );
}
