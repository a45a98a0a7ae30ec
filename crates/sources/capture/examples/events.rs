//! Prints every event of a capture, one per line, and the summary: `cargo run --example events -- FILE`.

use slowpath_capture::Capture;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Sink};
use std::io::Write;

struct Lines<W>(W);

impl<W: Write> Sink for Lines<W> {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        let _ = writeln!(self.0, "{flow}: open {key}");
    }
    fn accept(&mut self, flow: FlowId, event: &Event) {
        let _ = writeln!(self.0, "{flow}: {event}");
    }
    fn close(&mut self, flow: FlowId, end: FlowEnd) {
        let _ = writeln!(self.0, "{flow}: close {end:?}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which capture?")?;
    let mut lines = Lines(std::io::BufWriter::new(std::io::stdout().lock()));
    let summary = Capture::open(file)?.run(&mut lines)?;
    lines.0.flush()?;
    eprintln!("{summary:#?}");
    Ok(())
}
