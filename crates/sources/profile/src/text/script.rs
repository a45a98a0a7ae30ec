//! Output of `perf script`: a line per sample, the functions of its stack below it, and an empty line.
//!
//! ```text
//! iperf3  4242/4243 [001]  54275.037098:    1001001 cpu-clock:pppH:
//!         ffffffff821c7b21 tcp_ack+0x41 ([kernel.kallsyms])
//!                    fdc47 __send+0x7 (/usr/lib/libc.so.6)
//! ```
//!
//! CPU, time and period are optional, depending on the events and on `-F`. A sample without a stack has its function in
//! the first line. Names of threads and functions may contain spaces, parentheses and anything else.

use super::lines::Lines;
use crate::error::{At, Stop};
use crate::gather::{DEEPEST, Gather};
use crate::images::{image, is_whole, unit};
use crate::notes::{Notes, Oddity};
use slowpath_cost::{Frame, Function, Image};
use std::collections::HashMap;
use std::io::BufRead;

/// The first line of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    task: &'a str,
    period: Option<u64>,
    event: &'a str,
    /// The text after the event: a function if there is no stack, or a tracepoint's fields.
    rest: &'a str,
}

impl<'a> Header<'a> {
    /// Parses a sample's first line; `None` for any other line.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        // The name precedes a number that is followed by a CPU or a time; without these, it precedes the first number.
        let mut first = None;
        for (at, word) in words(line).skip(1) {
            if !is_thread(word) {
                continue;
            }
            let behind = &line[at + word.len()..];
            let task = line[..at].trim();
            if let Some(found) = Self::behind_thread(task, behind, true) {
                return Some(found);
            }
            if first.is_none() {
                first = Self::behind_thread(task, behind, false);
            }
        }
        first
    }

    fn behind_thread(task: &'a str, behind: &'a str, wants_time: bool) -> Option<Self> {
        let mut words = words(behind).peekable();
        let is_cpu = |word: &str| {
            word.starts_with('[')
                && word.ends_with(']')
                && word[1..].starts_with(|c: char| c.is_ascii_digit())
        };
        let has_cpu = words.next_if(|(_, word)| is_cpu(word)).is_some();
        let has_time = words.next_if(|(_, word)| is_time(word)).is_some();
        if wants_time && !has_cpu && !has_time {
            return None;
        }
        let period = words.next_if(|(_, word)| is_number(word)).and_then(|(_, word)| word.parse().ok());
        let (at, event) = words.next()?;
        let name = event.strip_suffix(':').filter(|name| !name.is_empty())?;
        Some(Self { task, period, event: name, rest: behind[at + event.len()..].trim() })
    }
}

/// Words and their offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_ascii_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is a thread id, or a process and a thread id.
fn is_thread(word: &str) -> bool {
    let (process, thread) = word.split_once('/').unwrap_or((word, "0"));
    (is_number(process) || process == "-1") && (is_number(thread) || thread == "-1")
}

/// Whether a word is a time in seconds, with micro- or nanoseconds.
fn is_time(word: &str) -> bool {
    let seconds = word.strip_suffix(':').and_then(|word| word.split_once('.'));
    seconds.is_some_and(|(whole, part)| is_number(whole) && is_number(part))
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    address: u64,
    name: &'a str,
    image: &'a str,
    inlined: bool,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (address, rest) = line.trim().split_once([' ', '\t'])?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let rest = rest.trim();
        let (name, image) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
            // A deleted file: `(/usr/lib/x.so (deleted))`.
            Some((before, "deleted)")) => {
                before.rsplit_once(" (").or_else(|| Some(("", before.strip_prefix('(')?)))?
            }
            Some(found) => found,
            // Printed without symbol or file.
            None => rest
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'))
                .map_or((rest, ""), |image| ("", image)),
        };
        let name = match name.rsplit_once("+0x") {
            Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
            _ => name,
        };
        let inlined = image == "inlined";
        Some(Self { address, name, image: if inlined { "" } else { image }, inlined })
    }
}

/// The sample whose lines are being read.
#[derive(Clone, Copy, Debug)]
struct Sample {
    task: u32,
    event: u16,
    period: u64,
}

struct Reading<'a> {
    gather: &'a mut Gather,
    notes: &'a mut Notes,
    sample: Option<Sample>,
    frames: Vec<Frame>,
    /// Inlined functions, whose image is that of the next function.
    inlined: Vec<String>,
    /// Images by their printed names.
    images: HashMap<String, Image>,
}

/// Reads all samples; returns why reading ended early, if it did.
pub(crate) fn read(source: impl BufRead, gather: &mut Gather, notes: &mut Notes) -> Option<Stop> {
    let mut lines = Lines::new(source);
    let mut reading = Reading {
        gather,
        notes,
        sample: None,
        frames: Vec::new(),
        inlined: Vec::new(),
        images: HashMap::new(),
    };
    let stopped = loop {
        let at = At::Line(lines.number + 1);
        match lines.next() {
            Ok(Some(line)) => reading.line(&line, at),
            Ok(None) => break None,
            Err(stop) => break Some(stop),
        }
    };
    reading.end();
    if let Some((_, at)) = lines.cut {
        reading.notes.at(Oddity::Malformed, "lines that are too long", at);
    }
    stopped
}

impl Reading<'_> {
    fn line(&mut self, line: &str, at: At) {
        if line.is_empty() {
            return self.end();
        }
        let is_frame = self.sample.is_some() && line.starts_with([' ', '\t']);
        if is_frame {
            match Line::parse(line) {
                Some(frame) => self.frame(frame),
                // A source line may follow a function (`-F +srcline`).
                None => self.notes.at(Oddity::Malformed, "functions", at),
            }
            return;
        }
        self.end();
        if line.starts_with('#') {
            return;
        }
        if line.contains(" PERF_RECORD_") {
            return self.record(line);
        }
        let Some(header) = Header::parse(line) else {
            self.gather.profile.lost.unreadable += 1;
            return self.notes.at(Oddity::Malformed, "samples", at);
        };
        let event = self
            .gather
            .event(header.event, if header.period.is_some() { unit(header.event) } else { "samples" });
        let task = self.gather.task(header.task);
        self.sample = Some(Sample { task, event, period: header.period.unwrap_or(1) });
        // A tracepoint's fields do not end with a file.
        if let Some(frame) = Line::parse(header.rest).filter(|frame| !frame.image.is_empty()) {
            self.frame(frame);
            self.end_with(true);
        }
    }

    /// Records other than samples are printed on request; only losses matter.
    fn record(&mut self, line: &str) {
        if !line.contains(" PERF_RECORD_LOST") {
            return;
        }
        let lost = line.rsplit_once("lost ").and_then(|(_, rest)| rest.split_ascii_whitespace().next());
        if let Some(lost) = lost.and_then(|lost| lost.parse::<u64>().ok()) {
            let samples = &mut self.gather.profile.lost.samples;
            *samples = samples.saturating_add(lost);
        }
    }

    fn frame(&mut self, line: Line<'_>) {
        if self.frames.len() + self.inlined.len() > DEEPEST {
            return;
        }
        let name = match line.name {
            "[unknown]" | "" if line.address == 0 => return,
            "[unknown]" | "" => format!("[{:#x}]", line.address),
            name => name.to_owned(),
        };
        if line.inlined {
            return self.inlined.push(name);
        }
        for inlined in std::mem::take(&mut self.inlined) {
            let function = self.function(&inlined, line.image);
            self.frames.push(Frame { function, inlined: true });
        }
        let function = self.function(&name, line.image);
        self.frames.push(Frame { function, inlined: false });
    }

    fn function(&mut self, name: &str, in_image: &str) -> Function {
        if !self.images.contains_key(in_image) {
            self.images.insert(in_image.to_owned(), image(in_image));
        }
        self.gather.profile.functions.of(name, &self.images[in_image])
    }

    fn end(&mut self) {
        self.end_with(false);
    }

    /// Finishes the sample.
    fn end_with(&mut self, is_function_only: bool) {
        let Some(Sample { task, event, period }) = self.sample.take() else { return };
        for inlined in std::mem::take(&mut self.inlined) {
            let function = self.gather.profile.functions.of(&inlined, &Image::Unknown);
            self.frames.push(Frame { function, inlined: true });
        }
        let functions = &self.gather.profile.functions;
        let outermost = self.frames.last().map(|frame| frame.function);
        let is_whole = outermost.is_some_and(|last| is_whole(functions.name(last), functions.image(last)));
        let has_stack = !is_function_only && outermost.is_some();
        let lost = &mut self.gather.profile.lost;
        lost.without_stack += u64::from(!has_stack);
        lost.truncated += u64::from(has_stack && !is_whole);
        let stack = self.gather.stack(&self.frames, !has_stack || !is_whole);
        self.gather.add(stack, event, task, 1, period);
        self.frames.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Option<(&str, Option<u64>, &str, &str)> {
        Header::parse(line).map(|found| (found.task, found.period, found.event, found.rest))
    }

    #[test]
    fn sample_headers_are_parsed() {
        assert_eq!(
            header("sh 14427 54275.037098:    1001001 cpu-clock: "),
            Some(("sh", Some(1_001_001), "cpu-clock", ""))
        );
        assert_eq!(
            header("my thread 2 4242/4243 [001] 5.000001:          1 net:netif_rx: dev=lo len=52"),
            Some(("my thread 2", Some(1), "net:netif_rx", "dev=lo len=52"))
        );
        assert_eq!(header("    swapper     0 [000] 1.5: cycles:P:"), Some(("swapper", None, "cycles:P", "")));
        assert_eq!(header("a 1 cycles:"), Some(("a", None, "cycles", "")), "neither CPU nor time");
        assert_eq!(header("1 2 3 4 7.5: 9 cycles:"), Some(("1 2 3", Some(9), "cycles", "")));
        for other in ["main;foo;bar 12", "hello", "", "a 12", "5: 6: 7:"] {
            assert_eq!(header(other), None, "{other}");
        }
    }

    #[test]
    fn frames_are_parsed() {
        let parts = |line| Line::parse(line).map(|line| (line.address, line.name, line.image, line.inlined));
        assert_eq!(
            parts("\tffff0a tcp_ack+0x41 ([kernel.kallsyms])"),
            Some((0xff_ff0a, "tcp_ack", "[kernel.kallsyms]", false))
        );
        assert_eq!(
            parts("  55 std::map<int, (anonymous namespace)::X>::f(int)+0x1 (/opt/my app/x (deleted))"),
            Some((0x55, "std::map<int, (anonymous namespace)::X>::f(int)", "/opt/my app/x", false))
        );
        assert_eq!(parts("  55 tcp_sk (inlined)"), Some((0x55, "tcp_sk", "", true)));
        assert_eq!(parts("  55 [unknown] ([unknown])"), Some((0x55, "[unknown]", "[unknown]", false)));
        assert_eq!(parts("  tcp.c:12"), None);
    }
}
