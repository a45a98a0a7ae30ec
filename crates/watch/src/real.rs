//! The terminal, the probe and /proc.

use crate::cgroups::{Cgroups, own_end};
use crate::error::WatchError;
use crate::flows::{FlowNow, Interval};
use crate::host::{HostNow, memory, softirq_shares};
use crate::screen::{Screen, Theme};
use crate::source::{INTERVAL, Pace, start};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use slowpath_live::{Counters, counters, growth};
use slowpath_runs::watch::{Seen, Wanted, Watching};
use slowpath_uapi::proc::CpuTime;
use slowpath_views::services::By;
use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a user may wish.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// What a row's connections have in common; `None` for a row each.
    pub by: Option<By>,
    /// How it looks.
    pub theme: Theme,
}

/// Watches until `q` or `stop`. If this process may not load the probe, the kernel is asked instead.
///
/// # Errors
///
/// If there is no terminal, or the kernel returns an error.
pub fn run(wanted: &Wanted<'_>, wishes: Wishes, stop: &AtomicBool) -> Result<(), WatchError> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(WatchError::NoTerminal);
    }
    // Before the screen is taken, so that errors are seen.
    let (mut watching, unseen) = start(wanted)?;
    let mut screen = Screen::new(wishes.by, wishes.theme, unseen);
    // It also restores the terminal if the program panics.
    let mut terminal = Restored(ratatui::try_init()?);
    let result = show(&mut watching, &mut screen, &mut terminal.0, stop);
    drop(terminal);
    result
}

/// The terminal, which gets back what it showed.
struct Restored(DefaultTerminal);

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn show(
    watching: &mut Watching,
    screen: &mut Screen,
    terminal: &mut DefaultTerminal,
    stop: &AtomicBool,
) -> Result<(), WatchError> {
    let (began, mut pace, mut host) = (Instant::now(), Pace::new(INTERVAL), Host::begin());
    let mut cgroups = Cgroups::default();
    terminal.draw(|frame| screen.draw(frame))?;
    while !stop.load(Ordering::Relaxed) {
        let is_new = event::poll(pace.left())?;
        if is_new {
            match event::read()? {
                Event::Key(key) if screen.key(key) => break,
                Event::Key(_) | Event::Resize(..) => {}
                _ => continue,
            }
        }
        pace.look(watching)?;
        let interval = pace.interval();
        if let Some(lasted) = interval {
            if matches!(screen.by(), Some(By::Cgroup | By::Pod)) {
                cgroups.seek(watching.seen(), &HashSet::new());
            }
            screen.take(Interval {
                at: began.elapsed(),
                lasted,
                flows: watching.seen().map(|seen| flow(seen, &cgroups)).collect(),
                not_kept: watching.not_kept(),
                host: host.now(),
            });
            watching.next_interval();
        }
        if is_new || interval.is_some() {
            terminal.draw(|frame| screen.draw(frame))?;
        }
    }
    Ok(())
}

fn flow<'a>(seen: Seen<'a>, cgroups: &'a Cgroups) -> FlowNow<'a> {
    let cgroup = cgroups.of(seen.processes[own_end(&seen, &HashSet::new()).index()]);
    FlowNow { cgroup, ..seen.into() }
}

/// The host's counters when they were last read.
struct Host {
    cpus: Vec<(u32, CpuTime)>,
    counters: Option<Counters>,
}

impl Host {
    fn begin() -> Self {
        Self { cpus: cpus(), counters: counters().ok() }
    }

    fn now(&mut self) -> HostNow {
        let after = Self::begin();
        let softirq = softirq_shares(&self.cpus, &after.cpus);
        let grown =
            self.counters.as_ref().zip(after.counters.as_ref()).map(|(before, after)| growth(before, after));
        let of = |names: &[&str]| {
            let grown = grown.as_ref()?;
            Some(names.iter().filter_map(|name| grown.get(*name)).sum())
        };
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let now = HostNow {
            softirq,
            memory: memory(&read("/proc/net/sockstat"), &read("/proc/sys/net/ipv4/tcp_mem")),
            accept_overflows: of(&["TcpExtListenOverflows"]),
            pruned: of(&["TcpExtTCPRcvCollapsed", "TcpExtRcvPruned"]),
        };
        *self = after;
        now
    }
}

fn cpus() -> Vec<(u32, CpuTime)> {
    CpuTime::of_each(&fs::read_to_string("/proc/stat").unwrap_or_default()).collect()
}
