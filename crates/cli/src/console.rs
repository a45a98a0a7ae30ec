//! Standard output and standard error: colour, width, progress.
//!
//! All that slowpath prints goes through here, so that no name in it is obeyed by a terminal: text through
//! [`shown::Writer`], and progress through [`shown::line`]. (`xtask/tests/house/purity.rs`)

use crate::Outcome;
use clap::{Args, ValueEnum};
use slowpath_model::shown;
use slowpath_runs::bars::{Bar, Bars};
use slowpath_runs::error_text;
use slowpath_views::json::{self, Serialize};
use slowpath_views::terminal::Look;
use std::ffi::OsStr;
use std::io::{self, BufWriter, IsTerminal, LineWriter, Write};
use std::ops::Deref;
use std::sync::OnceLock;

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
    bars: Bars,
    /// Whether a line says that something began which lasts until Ctrl-C, where no progress is shown.
    announces: bool,
    /// Columns of the terminal; `None` for a pipe or a file.
    width: Option<usize>,
}

/// Whether standard output is coloured: until that is known, it is not.
static COLOUR: OnceLock<bool> = OnceLock::new();

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
        let colour = *COLOUR.get_or_init(|| wanted(output.color, terminal && !plain));
        Self {
            colour,
            bars: Bars { are_shown: wanted(output.progress, io::stderr().is_terminal()) },
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

    /// Says on standard error what has begun and lasts until Ctrl-C: with progress if that is to be shown, else in one
    /// line, for a script that waits until it has begun.
    pub fn until_interrupted(&self, what: &str) -> Bar {
        if !self.bars.are_shown && self.announces {
            warn(&format!("{what}; Ctrl-C ends it"));
        }
        self.working(what)
    }
}

impl Deref for Console {
    type Target = Bars;

    fn deref(&self) -> &Bars {
        &self.bars
    }
}

/// What [`stdout`] gives.
pub type Out = BufWriter<shown::Writer<io::StdoutLock<'static>>>;

/// Standard output, buffered.
pub fn stdout() -> Out {
    let is_styled = COLOUR.get().copied().unwrap_or(false);
    BufWriter::with_capacity(1 << 16, shown::Writer::new(io::stdout().lock(), is_styled))
}

/// Standard error.
pub fn stderr() -> impl Write {
    // One write for each line: others may write to the same terminal.
    LineWriter::new(shown::Writer::new(io::stderr(), false))
}

/// Prints a result: as JSON its document, otherwise in words.
pub fn print_result<D: Serialize>(
    as_json: bool,
    document: impl FnOnce() -> D,
    in_words: impl FnOnce(&mut Out) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = stdout();
    if as_json {
        json::write(&document(), &mut out)?;
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

/// Prints a line of a server, which a closed standard output does not stop.
pub fn log(line: &str) {
    let _ = print(format!("{}\n", shown::line(line)).as_bytes());
}

/// Says something on standard error that is not part of the result, on one line.
pub fn warn(text: &str) {
    tell(&shown::line(text));
}

/// Says on standard error why there is no result.
pub fn fail(error: &anyhow::Error) {
    let causes: Vec<String> = error.chain().map(error_text).collect();
    tell(&causes.join(": "));
}

fn tell(text: &str) {
    // Where standard error is gone, there is nobody to tell.
    let _ = writeln!(stderr(), "slowpath: {text}");
}
