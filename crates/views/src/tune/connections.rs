//! `slowpath tune connections`: what was tuned, what was left alone and why, as JSON and as text.

use crate::quantity::{count, counted, duration};
use crate::terminal::Look;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::{Bytes, nanos, shown};
use slowpath_runs::connections::{Progress, Tuned};
use slowpath_sockops::{Counts, Fate, Setting};
use std::io::{self, Write};

/// What was tuned (schema slowpath/tune-connections/1).
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/tune-connections/1")]
pub struct ConnectionsDocument {
    /// `slowpath/tune-connections/1`.
    schema: &'static str,
    /// The control group.
    cgroup: String,
    /// For how long connections were tuned.
    lasted_ns: u64,
    /// Prefixes at the end.
    prefixes: u64,
    /// Of these, addresses that the path store knows.
    learned: u64,
    /// The server of the path store; null without one.
    paths: Option<String>,
    /// Connections that were opened or accepted.
    connections: u64,
    /// Of these, connections to a prefix.
    known: u64,
    /// Of these, connections of which at least one setting was made.
    tuned: u64,
    /// What became of each setting.
    settings: Vec<SettingCounts>,
    /// What the kernel refused, by the number of the error.
    refused: Vec<Refusal>,
    /// Connections left alone, since as many as allowed were tuned.
    over_connections: u64,
    /// Connections left alone, since the memory was granted.
    over_memory: u64,
    /// Connections left alone, since TCP was under memory pressure.
    under_pressure: u64,
    /// Connections that may be tuned at a time.
    most_connections: u32,
    /// Memory that all of them together may be granted.
    most_memory_bytes: u64,
    /// Connections that are tuned at the end.
    open_connections: u64,
    /// Memory that they are granted.
    granted_bytes: u64,
    /// `net.core.wmem_max` at the end.
    wmem_max_bytes: u64,
    /// `net.core.rmem_max` at the end.
    rmem_max_bytes: u64,
}

/// What became of a setting, in connections.
#[derive(Serialize, JsonSchema)]
struct SettingCounts {
    /// The socket option.
    option: &'static str,
    /// It was set.
    set: u64,
    /// Of these, to less than the path needs: `net.core.wmem_max` or `rmem_max` allows no more.
    cut: u64,
    /// Left alone: the kernel's own tuning reaches as far.
    suffices: u64,
    /// Left alone: `net.core.wmem_max` or `rmem_max` allows less than the kernel's own tuning.
    short: u64,
    /// Left alone: the program or the route has set it.
    own: u64,
    /// Left alone: the sysctl was changed since the first connection of the network namespace.
    changed: u64,
    /// The kernel refused.
    refused: u64,
}

/// How often the kernel refused.
#[derive(Serialize, JsonSchema)]
struct Refusal {
    /// The number of the error (errno).
    errno: i32,
    /// How often.
    count: u64,
}

impl ConnectionsDocument {
    /// The document of what was tuned.
    pub fn of(tuned: &Tuned) -> Self {
        let Tuned { counts, granted, caps: [wmem_max, rmem_max], .. } = tuned;
        let setting = |setting: Setting| {
            let of = |fate| counts.of(setting, fate);
            SettingCounts {
                option: setting.option(),
                set: counts.set(setting),
                cut: of(Fate::Cut),
                suffices: of(Fate::Suffices),
                short: of(Fate::Short),
                own: of(Fate::Own),
                changed: of(Fate::Changed),
                refused: of(Fate::Refused),
            }
        };
        Self {
            schema: "slowpath/tune-connections/1",
            cgroup: tuned.group.display().to_string(),
            lasted_ns: nanos(tuned.lasted),
            prefixes: tuned.prefixes as u64,
            learned: tuned.known as u64,
            paths: tuned.store.clone(),
            connections: counts.seen,
            known: counts.known,
            tuned: counts.tuned,
            settings: Setting::ALL.into_iter().map(setting).collect(),
            refused: counts.refusals().map(|(errno, count)| Refusal { errno, count }).collect(),
            over_connections: counts.over_connections,
            over_memory: counts.over_memory,
            under_pressure: counts.pressed,
            most_connections: tuned.connections,
            most_memory_bytes: tuned.memory.get(),
            open_connections: granted.connections,
            granted_bytes: granted.memory_bytes,
            wmem_max_bytes: wmem_max.get(),
            rmem_max_bytes: rmem_max.get(),
        }
    }
}

/// What is tuned at the moment.
pub fn progress(Progress { counts, granted }: &Progress) -> String {
    let memory = Bytes::new(granted.memory_bytes);
    format!("{} of {} tuned, {memory} granted", count(counts.tuned), counted(counts.seen, "connection"))
}

/// Prints what was tuned, what was left alone and why, and what would allow more.
///
/// # Errors
/// The errors of `out`.
pub fn connections(tuned: &Tuned, look: &Look, out: &mut impl Write) -> io::Result<()> {
    let Counts { seen, known, tuned: number, .. } = tuned.counts;
    let headline = format!(
        "Tuned {} of {} in {}, in {}.",
        count(number),
        counted(seen, "connection"),
        shown::line(&tuned.group.display().to_string()),
        duration(tuned.lasted)
    );
    look.strong_paragraph(out, &headline)?;
    let learned = match &tuned.store {
        Some(store) => {
            format!(", {} of them from the path store at {}", count(tuned.known as u64), shown::line(store))
        }
        None => String::new(),
    };
    let to = counted(known, "connection");
    let prefixes = counted(tuned.prefixes as u64, "prefix");
    look.paragraph(out, "  ", &format!("{to} had a known destination: {prefixes}{learned}."))?;
    for setting in Setting::ALL {
        if let Some(line) = line(&tuned.counts, setting) {
            look.paragraph(out, "  ", &line)?;
        }
    }
    for (errno, times) in tuned.counts.refusals() {
        let error = io::Error::from_raw_os_error(errno);
        look.paragraph(out, "  ", &format!("Refused {}: {error}.", counted(times, "time")))?;
    }
    for line in limits(tuned).into_iter().chain(caps(tuned)) {
        look.paragraph(out, "  ", &line)?;
    }
    Ok(())
}

/// What became of a setting, if a path asks for it.
fn line(counts: &Counts, setting: Setting) -> Option<String> {
    let what = |fate| match (fate, setting) {
        (Fate::Suffices, Setting::Receive) => "left to the kernel, whose tcp_rmem suffices",
        (Fate::Suffices, _) => "left to the kernel, whose tcp_wmem suffices",
        (Fate::Short, Setting::Receive) => "left to the kernel, whose tcp_rmem allows more than rmem_max",
        (Fate::Short, _) => "left to the kernel, whose tcp_wmem allows more than wmem_max",
        (Fate::Own, _) => "set by the program or its route",
        (Fate::Changed, _) => "left, since the sysctl was changed",
        (Fate::Refused, _) => "refused",
        (Fate::Set | Fate::Cut, _) => "set",
    };
    let cut = counts.of(setting, Fate::Cut);
    let mut parts = Vec::new();
    match (counts.set(setting), cut) {
        (0, _) => {}
        (set, 0) => parts.push(format!("{} set", count(set))),
        (set, cut) => {
            parts.push(format!("{} set, {} of them to less than the path needs", count(set), count(cut)))
        }
    }
    for fate in [Fate::Suffices, Fate::Short, Fate::Own, Fate::Changed, Fate::Refused] {
        let number = counts.of(setting, fate);
        if number > 0 {
            parts.push(format!("{} {}", count(number), what(fate)));
        }
    }
    (!parts.is_empty()).then(|| format!("{}: {}.", setting.option(), parts.join("; ")))
}

/// Connections that a limit left alone.
fn limits(tuned: &Tuned) -> Vec<String> {
    let counts = &tuned.counts;
    let all = [
        (counts.over_connections, format!("{} were tuned (--connections)", count(tuned.connections.into()))),
        (counts.over_memory, format!("{} were granted (--memory)", tuned.memory)),
        (counts.pressed, "TCP was under memory pressure (net.ipv4.tcp_mem)".to_owned()),
    ];
    let some = all.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, why)| format!("{} left alone, while {why}.", counted(number, "connection"))).collect()
}

/// What has to be raised before more can be set.
fn caps(tuned: &Tuned) -> Vec<String> {
    let needs = |setting| tuned.counts.of(setting, Fate::Cut) + tuned.counts.of(setting, Fate::Short) > 0;
    let all = [(Setting::Send, "wmem_max", "tcp_wmem"), (Setting::Receive, "rmem_max", "tcp_rmem")];
    let some = all.into_iter().zip(tuned.caps).filter(|((setting, ..), _)| needs(*setting));
    some.map(|((_, cap, own), now)| {
        format!(
            "net.core.{cap} is {now}, which allows less than some paths need. Raise it, or net.ipv4.{own}: `slowpath tune \
             advise` has the numbers, and `slowpath tune plan` a plan."
        )
    })
    .collect()
}
