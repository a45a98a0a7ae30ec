//! Excerpts of captures in the handbook are the output of `slowpath show`.
//!
//! An excerpt is a block that begins with `$ slowpath show FILE --flow N --from SECONDS --limit EVENTS`; what follows
//! each such line is its output. After captures were recorded again, `SLOWPATH_UPDATE_EXCERPTS=1 cargo test -p
//! slowpath-remedies --test excerpts` rewrites the output; then read it, and move the window if what it should show has
//! moved.

use slowpath_analyses::Cause;
use slowpath_capture::Capture;
use slowpath_model::{Event, FlowEnd, FlowId, FlowKey, Instant, Sink};
use std::fs;
use std::path::{Path, PathBuf};

/// The longest excerpt: longer ones are not read.
const MOST_LINES: usize = 16;

/// Prints as `slowpath show` does.
struct Show {
    flow: FlowId,
    from: Instant,
    limit: usize,
    lines: Vec<String>,
}

impl Sink for Show {
    fn open(&mut self, flow: FlowId, key: &FlowKey) {
        if flow == self.flow {
            self.lines.push(format!("# flow {flow}: {key}"));
        }
    }

    fn accept(&mut self, flow: FlowId, event: &Event) {
        if flow == self.flow && event.at >= self.from && self.limit > 0 {
            self.limit -= 1;
            self.lines.push(event.to_string());
        }
    }

    fn close(&mut self, _: FlowId, _: FlowEnd) {}
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn instant(seconds: &str) -> Instant {
    let seconds: f64 = seconds.parse().expect("seconds");
    Instant::from_nanos((seconds * 1e9).round() as i64)
}

/// The output of the command in `line`.
fn output(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["$", "slowpath", "show", file, "--flow", flow, "--from", from, "--limit", limit] = words[..] else {
        panic!("not a command of an excerpt: {line}");
    };
    let flow = FlowId(flow.parse().expect("a flow's number"));
    let limit = limit.parse().expect("a number of events");
    let mut show = Show { flow, from: instant(from), limit, lines: Vec::new() };
    let path = repository().join(file);
    Capture::open(&path).and_then(|capture| capture.run(&mut show)).unwrap_or_else(|error| panic!("{error}"));
    show.lines
}

/// `page` with the output of all its commands, and the number of commands.
fn refreshed(page: &str) -> (String, usize) {
    let mut text = String::new();
    let (mut commands, mut stale) = (0, false);
    for line in page.lines() {
        stale &= !line.starts_with("```");
        if line.starts_with("$ slowpath show ") {
            commands += 1;
            stale = true;
            let output = output(line);
            assert!((2..=MOST_LINES).contains(&output.len()), "{} lines of {line}", output.len());
            text.push_str(&format!("{line}\n{}\n", output.join("\n")));
        } else if !stale {
            text.push_str(line);
            text.push('\n');
        }
    }
    (text, commands)
}

#[test]
fn handbook_excerpts_match_the_captures() {
    let update = std::env::var_os("SLOWPATH_UPDATE_EXCERPTS").is_some();
    let mut commands = 0;
    for cause in Cause::ALL {
        let path = repository().join("docs/src").join(cause.page());
        let page = fs::read_to_string(&path).expect("a page");
        let (fresh, count) = refreshed(&page);
        commands += count;
        if update && fresh != page {
            fs::write(&path, &fresh).expect("written");
        } else {
            assert_eq!(page, fresh, "{cause}");
        }
    }
    assert!(commands > 15, "only {commands} excerpts");
}
