//! A flow written in the model's notation, a line an event: its analysis comes to an end, and no instant of the flow is
//! in two spells or in none.

use slowpath_analyses::{Analysis, AnalysisOptions};
use slowpath_model::{Endpoint, Event, FlowEnd, FlowId, FlowKey, Sink};

pub fn try_input(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let end = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
    let mut analysis = Analysis::new(AnalysisOptions::default());
    analysis.open(FlowId(1), &FlowKey { a: end(1, 40_000), b: end(2, 80), occurrence: 0 });
    for event in data.lines().filter_map(|line| line.parse::<Event>().ok()) {
        analysis.accept(FlowId(1), &event);
    }
    analysis.close(FlowId(1), FlowEnd::EndOfRecording);
    let flow = analysis.finish().flows.remove(0);
    for direction in &flow.directions {
        let measures = &direction.measures;
        assert!(measures.unique_bytes <= measures.bytes);
        let Some((first, last)) = direction.spells.first().zip(direction.spells.last()) else { continue };
        assert_eq!((first.from, last.to), (flow.first, flow.last));
        assert!(direction.spells.iter().all(|spell| spell.from < spell.to));
        assert!(direction.spells.windows(2).all(|pair| pair[0].to == pair[1].from));
    }
}
