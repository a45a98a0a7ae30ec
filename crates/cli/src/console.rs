//! Standard output and standard error: colour, width, progress.

use crate::Outcome;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use slowpath_views::terminal::Look;
use std::ffi::OsStr;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// How output looks.
#[derive(Args)]
pub struct Output {
    /// Colour the output: on a terminal unless NO_COLOR is set, always, or never.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(
        long_help = "When to colour the output: auto (on a terminal, unless NO_COLOR is set), always or never"
    )]
    pub color: When,
    /// Show progress on standard error: if that is a terminal, always, or never.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(
        long_help = "When to show progress on standard error: auto (if it is a terminal), always or never"
    )]
    pub progress: When,
}

/// When to do something.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

/// What output goes to.
pub struct Console {
    colour: bool,
    progress: bool,
    /// Whether a line says that something began which lasts until Ctrl-C, where no progress is shown.
    announces: bool,
    /// Columns of the terminal; `None` for a pipe or a file.
    width: Option<usize>,
}

/// What a pipe or a file gets.
const PIPE_WIDTH: usize = 80;

impl Console {
    pub fn new(output: &Output) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").as_deref() == Some(OsStr::new("dumb"));
        let wanted = |when: When, auto: bool| match when {
            When::Auto => auto,
            When::Always => true,
            When::Never => false,
        };
        Self {
            colour: wanted(output.color, terminal && !plain),
            progress: wanted(output.progress, io::stderr().is_terminal()),
            announces: output.progress != When::Never,
            width: terminal
                .then(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
                .flatten(),
        }
    }

    /// How to lay out text.
    pub fn look(&self) -> Look {
        Look::new(self.colour, self.width.unwrap_or(PIPE_WIDTH))
    }

    /// How to lay out a table: in a pipe each row is one line, however long, for programs that read lines.
    pub fn table_look(&self) -> Look {
        Look::new(self.colour, self.width.unwrap_or(usize::MAX / 2))
    }

    /// A bar on standard error for reading `path`, if progress is to be shown.
    pub fn reading(&self, path: &Path) -> Reading {
        if !self.progress {
            return Reading(None);
        }
        // The folders would leave a narrow terminal no room for the bar.
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        // Styled before it is first drawn.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        Reading(Some(bar.with_style(style("{msg} {bytes} read, {bytes_per_sec}")).with_message(name)))
    }

    /// Says on standard error what has begun and lasts until Ctrl-C: with progress if that is to be shown, else in one
    /// line, for a script that waits until it has begun.
    pub fn until_interrupted(&self, what: &str) -> Reading {
        if !self.progress && self.announces {
            warn(&format!("{what}; Ctrl-C ends it"));
        }
        self.working(what)
    }

    /// Says on standard error what is going on, and for how long already, if progress is to be shown.
    pub fn working(&self, what: &str) -> Reading {
        if !self.progress {
            return Reading(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let bar = bar.with_style(style("{spinner} {msg}, {elapsed}")).with_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Reading(Some(bar))
    }
}

impl Console {
    /// Progress through a time that is known.
    pub fn lasting(&self, what: &str, whole: Duration) -> Lasting {
        if !self.progress {
            return Lasting(None);
        }
        let millis = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(millis), ProgressDrawTarget::stderr_with_hz(8));
        Lasting(Some(bar.with_style(style("{msg} {wide_bar} {eta} left")).with_message(what.to_owned())))
    }

    /// Progress through so many steps of which each takes a while, and some are behind already.
    pub fn steps(&self, what: &str, count: usize, behind: usize) -> Steps {
        if !self.progress {
            return Steps(None);
        }
        let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr_with_hz(8));
        let bar = bar.with_style(style("{msg} {wide_bar} {pos} of {len}, {eta} left"));
        let bar = bar.with_message(format!("{what}s")).with_position(behind as u64);
        // What is behind says nothing of how long a step takes.
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(200));
        Steps(Some(bar))
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// How many of so many runs are made, on standard error or nowhere. It is wiped away in the end.
pub struct Steps(Option<ProgressBar>);

impl Steps {
    /// One more.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// Something to know at once, progress or not.
    pub fn say(&self, text: &str) {
        let say = || {
            // Where standard error is gone, there is nobody to tell.
            let _ = writeln!(io::stderr(), "slowpath: {text}");
        };
        match &self.0 {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// How much of a time is over, on standard error or nowhere. It is wiped away in the end.
pub struct Lasting(Option<ProgressBar>);

impl Lasting {
    /// So much of it.
    pub fn at(&self, over: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_position(u64::try_from(over.as_millis()).unwrap_or(u64::MAX));
        }
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// How far something has come, on standard error or nowhere. It is wiped away in the end.
pub struct Reading(Option<ProgressBar>);

impl Reading {
    /// So many bytes are read, of so many if one knows.
    pub fn at(&self, done: u64, total: Option<u64>) {
        let Some(bar) = &self.0 else { return };
        if let (Some(total), None) = (total, bar.length()) {
            bar.set_style(style("{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left"));
            bar.set_length(total);
        }
        bar.set_position(done);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What [`stdout`] gives.
pub type Out = BufWriter<io::StdoutLock<'static>>;

/// Standard output, buffered.
pub fn stdout() -> Out {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Prints a result: as JSON its document, otherwise in words.
pub fn tell<D: Serialize>(
    as_json: bool,
    document: impl FnOnce() -> D,
    in_words: impl FnOnce(&mut Out) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = stdout();
    if as_json {
        serde_json::to_writer_pretty(&mut out, &document())?;
        writeln!(out)?;
    } else {
        in_words(&mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// Prints `text` whole.
pub fn print(text: &[u8]) -> anyhow::Result<Outcome> {
    let mut out = stdout();
    out.write_all(text)?;
    out.flush()?;
    Ok(Outcome::Whole)
}

/// Says something on standard error that is not part of the result.
pub fn warn(text: &str) {
    // Where standard error is gone, there is nobody to tell.
    let _ = writeln!(io::stderr(), "slowpath: {text}");
}
