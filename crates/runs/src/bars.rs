//! Progress bars on standard error. The command line says when there is one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slowpath_model::shown;
use std::path::Path;
use std::time::Duration;

/// Columns of a name in front of a bar.
const MOST_MESSAGE: usize = 60;

/// How far something has come, on standard error or nowhere. It is wiped away at the end.
pub struct Bar(Option<ProgressBar>);

/// A time as the length of a bar, in milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn message(text: &str) -> String {
    shown::shortened(&shown::line(text), MOST_MESSAGE).into_owned()
}

/// The bars of a command: drawn, or none of them.
#[derive(Clone, Copy, Debug)]
pub struct Bars {
    /// Whether they are drawn.
    pub are_shown: bool,
}

impl Bars {
    /// Progress of reading `path`.
    pub fn reading(&self, path: &Path) -> Bar {
        // The folders would leave a narrow terminal no room for the bar.
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        self.bar(None, "{msg} {bytes} read, {bytes_per_sec}", &name)
    }

    /// What is going on, and for how long already.
    pub fn working(&self, what: &str) -> Bar {
        self.bar(None, "{spinner} {msg}, {elapsed}", what).ticking()
    }

    /// Progress through a time that is known.
    pub fn lasting(&self, what: &str, whole: Duration) -> Bar {
        self.bar(Some(millis(whole)), "{msg} {wide_bar} {eta} left", what)
    }

    /// Progress through so many steps of which each takes a while, and some are behind already.
    pub fn steps(&self, what: &str, count: usize, behind: usize) -> Bar {
        let template = "{msg} {wide_bar} {pos} of {len}, {eta} left";
        self.bar(Some(count as u64), template, &format!("{what}s")).begin_at(behind as u64).ticking()
    }

    fn bar(&self, length: Option<u64>, template: &str, text: &str) -> Bar {
        if self.are_shown { Bar::on_stderr(length, template, text) } else { Bar::none() }
    }
}

impl Bar {
    /// No bar.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A bar on standard error, styled before it is first drawn. `template` is indicatif's.
    pub fn on_stderr(length: Option<u64>, template: &str, text: &str) -> Self {
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(8));
        Self(Some(bar.with_style(style(template)).with_message(message(text))))
    }

    /// So many steps are behind, which says nothing of how long one takes.
    #[must_use]
    pub fn begin_at(self, behind: u64) -> Self {
        if let Some(bar) = &self.0 {
            bar.set_position(behind);
            bar.reset_eta();
        }
        self
    }

    /// It is drawn again and again.
    #[must_use]
    pub fn ticking(self) -> Self {
        if let Some(bar) = &self.0 {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        self
    }

    /// One step more.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// What is going on now.
    pub fn tell(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(message(text));
        }
    }

    /// What is going on now, and how many of all bytes are done.
    pub fn now(&self, text: &str, done: u64, total: u64) {
        self.tell(text);
        self.at_bytes(done, Some(total));
    }

    /// So much of the time is over.
    pub fn at_time(&self, over: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_position(millis(over));
        }
    }

    /// So many bytes are read, of so many if one knows.
    pub fn at_bytes(&self, done: u64, total: Option<u64>) {
        let Some(bar) = &self.0 else { return };
        if let (Some(total), None) = (total, bar.length()) {
            bar.set_style(style("{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left"));
            bar.set_length(total);
        }
        bar.set_position(done);
    }

    /// Writes to standard error, which the bar leaves free meanwhile.
    pub fn suspend(&self, write: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
