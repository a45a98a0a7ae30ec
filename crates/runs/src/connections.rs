//! Connections tuned by their destination: what is asked for and what the path store knows, given to the program in the kernel, and
//! limits that follow the host.

use crate::paths::{PathStore, PathsError};
use slowpath_model::Bytes;
use slowpath_paths::answer::Answer;
use slowpath_paths::client;
use slowpath_paths::entry::Pair;
use slowpath_sockops::{Config, Counts, Granted, Most, Prefix, SockopsError, Target, Targets, Tuner, Wanted};
use slowpath_tune::advice::{Known, NoNumbers, Numbers, Transfer};
use slowpath_tune::known;
use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is checked whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How often limits are read anew, and counts shown.
const TICK: Duration = Duration::from_secs(1);
/// The part of TCP's memory, below pressure, that is granted unless told otherwise.
const PART_OF_MEMORY: u64 = 4;

/// What is to be tuned.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The control group.
    pub group: &'a Path,
    /// What is asked for by prefix.
    pub to: &'a [Wanted],
    /// The path store, if there is one.
    pub store: Option<&'a PathStore>,
    /// How often the store is asked.
    pub every: Duration,
    /// Memory that all connections together may be granted; a quarter of TCP's if not given.
    pub memory: Option<Bytes>,
    /// Connections that may be tuned at a time.
    pub connections: u32,
    /// Prefixes there is room for.
    pub prefixes: u32,
    /// For how long; until it is stopped if not given.
    pub lasting: Option<Duration>,
}

/// Why no connections are tuned.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// The program in the kernel.
    #[error(transparent)]
    Program(#[from] SockopsError),
    /// The path store.
    #[error(transparent)]
    Paths(#[from] PathsError),
    /// No buffers can be computed.
    #[error(transparent)]
    Numbers(#[from] NoNumbers),
    /// Nothing is asked for, and there is no store.
    #[error(
        "nothing to tune: name prefixes with --to, or a path store with --paths; `slowpath paths serve` is none on this host"
    )]
    Nothing,
    /// More memory than TCP has.
    #[error("--memory: above {most}, TCP is under memory pressure (net.ipv4.tcp_mem); write less")]
    Memory {
        /// What TCP has.
        most: Bytes,
    },
}

/// What was tuned.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The control group.
    pub group: PathBuf,
    /// For how long.
    pub lasted: Duration,
    /// Prefixes at the end.
    pub prefixes: usize,
    /// Of these, addresses that the path store knows.
    pub known: usize,
    /// The store that was asked, in words.
    pub store: Option<String>,
    /// Memory that all connections together may be granted.
    pub memory: Bytes,
    /// Connections that may be tuned at a time.
    pub connections: u32,
    /// `net.core.wmem_max` and `rmem_max`.
    pub caps: [Bytes; 2],
    /// What was counted.
    pub counts: Counts,
    /// What is granted at the end.
    pub granted: Granted,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What was counted.
    pub counts: Counts,
    /// What is granted.
    pub granted: Granted,
}

/// Tunes the connections of a control group until `has_ended`. `began` is called once the program is attached, `on_progress` each
/// second, and `say` with what goes wrong meanwhile.
///
/// # Errors
/// If there is nothing to tune, or the kernel refuses.
pub fn tune(
    asked: &Asked<'_>,
    has_ended: &dyn Fn() -> bool,
    began: &mut dyn FnMut(),
    on_progress: &mut dyn FnMut(Progress),
    say: &dyn Fn(&str),
) -> Result<Tuned, ConnectionsError> {
    let known = known();
    let wanted = asked.to.iter().map(|wanted| target(wanted, &known)).collect::<Result<Vec<_>, _>>()?;
    let mut learned = match asked.store {
        Some(store) => of_store(store)?,
        None if wanted.is_empty() => return Err(ConnectionsError::Nothing),
        None => Vec::new(),
    };
    let mut targets = Targets::of(&wanted, &learned);
    let mut limits = Limits::of(asked, &known)?;
    let most = Most { prefixes: asked.prefixes };
    let mut config = limits.config();
    let mut tuner = Tuner::attach(asked.group, most, &config, &targets)?;
    began();
    let start = Instant::now();
    let (mut ticked, mut refreshed) = (start, start);
    let mut is_silent = false;
    while !has_ended() && asked.lasting.is_none_or(|lasting| start.elapsed() < lasting) {
        std::thread::sleep(LOOK);
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            let now = limits.config();
            if now != config {
                tuner.limit(&now)?;
                config = now;
            }
            on_progress(Progress { counts: tuner.counts()?, granted: tuner.granted()? });
        }
        let Some(store) = asked.store.filter(|_| refreshed.elapsed() >= asked.every) else { continue };
        refreshed = Instant::now();
        // What was known stays known while the store is away.
        match of_store(store) {
            Ok(now) => (learned, is_silent) = (now, false),
            Err(error) if !std::mem::replace(&mut is_silent, true) => say(&error.to_string()),
            Err(_) => {}
        }
        let now = Targets::of(&wanted, &learned);
        if now != targets {
            tuner.aim(&now)?;
            targets = now;
        }
    }
    Ok(Tuned {
        group: asked.group.to_owned(),
        lasted: start.elapsed(),
        prefixes: targets.len(),
        known: learned.len(),
        store: asked.store.map(|store| store.at.to_string()),
        memory: Bytes::new(config.memory_bytes),
        connections: config.connections,
        caps: [config.wmem_max, config.rmem_max].map(|bytes| Bytes::new(bytes.into())),
        counts: tuner.counts()?,
        granted: tuner.granted()?,
    })
}

/// What a prefix gets: the buffers of `slowpath tune advise` for a rate and an RTT, and what is asked for by itself.
fn target(wanted: &Wanted, known: &Known) -> Result<(Prefix, Target), NoNumbers> {
    let numbers =
        wanted.path.map(|(rate, rtt)| Numbers::of(Transfer { rate, rtt, streams: 1, memory: None }, known));
    let numbers = numbers.transpose()?;
    let target = Target {
        send: wanted.send.or(numbers.as_ref().map(|numbers| numbers.send.limit)),
        receive: wanted.receive.or(numbers.as_ref().map(|numbers| numbers.receive.limit)),
        clamp: wanted.clamp,
        pacing: wanted.pacing,
        congestion: wanted.congestion.clone(),
    };
    Ok((wanted.prefix, target))
}

/// The buffers of a direction of a path.
#[derive(Clone, Copy, Default)]
struct Directions {
    there: Option<(u64, u64)>,
    back: Option<(u64, u64)>,
}

/// What the store knows of the paths that begin or end here.
fn of_store(store: &PathStore) -> Result<Vec<(IpAddr, Target)>, PathsError> {
    let mut remotes: BTreeMap<IpAddr, Directions> = BTreeMap::new();
    for pair in client::paths(&store.at, store.token.as_ref())? {
        let (is_from_here, is_to_here) = (is_own(pair.from), is_own(pair.to));
        if !is_from_here && !is_to_here {
            continue;
        }
        let Some(buffers) = store.answer(pair)?.as_ref().and_then(buffers) else { continue };
        if is_from_here {
            remotes.entry(pair.to).or_default().there = Some(buffers);
        }
        if is_to_here {
            remotes.entry(pair.from).or_default().back = Some(buffers);
        }
    }
    Ok(remotes.into_iter().map(|(address, known)| (address, known.target())).collect())
}

impl Directions {
    /// A send buffer for the rate there, and a receive buffer for the rate back; where one is not known, for that of the other.
    fn target(self) -> Target {
        let send = self.there.or(self.back).map(|(send, _)| Bytes::new(send));
        let receive = self.back.or(self.there).map(|(_, receive)| Bytes::new(receive));
        Target { send, receive, ..Target::default() }
    }
}

fn buffers(answer: &Answer) -> Option<(u64, u64)> {
    let buffers = answer.buffers.as_ref()?;
    Some((buffers.send_bytes, buffers.receive_bytes))
}

/// Whether this host has an address. Sends nothing.
fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

impl PathStore {
    /// What the store knows of a path.
    fn answer(&self, Pair { from, to }: Pair) -> Result<Option<Answer>, PathsError> {
        self.ask(&[to], &[from], 1)
    }
}

/// Limits that follow the host.
struct Limits {
    memory: Bytes,
    connections: u32,
    /// The pages from which on TCP has enough memory again, and from which on it is under pressure (`tcp_mem`).
    pages: Option<[u64; 2]>,
    is_pressed: bool,
}

impl Limits {
    fn of(asked: &Asked<'_>, known: &Known) -> Result<Self, ConnectionsError> {
        let numbers = known.sysctls.iter().find(|(name, _)| *name == "net.ipv4.tcp_mem");
        let pages = numbers.and_then(|(_, text)| {
            let mut pages = text.split_whitespace().map(|number| number.parse::<u64>().ok());
            Some([pages.next()??, pages.next()??])
        });
        let most = pages
            .map_or(Bytes::new(u64::MAX), |[_, pressure]| Bytes::new(pressure.saturating_mul(known.page)));
        let memory = asked.memory.unwrap_or(Bytes::new(most.get() / PART_OF_MEMORY));
        if memory > most {
            return Err(ConnectionsError::Memory { most });
        }
        Ok(Self { memory, connections: asked.connections, pages, is_pressed: false })
    }

    /// As the host has them now.
    fn config(&mut self) -> Config {
        let cap = |name| {
            let text = fs::read_to_string(format!("/proc/sys/net/core/{name}")).ok();
            text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        let sockets = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
        self.is_pressed = is_pressed(self.is_pressed, self.pages, used_pages(&sockets));
        Config {
            memory_bytes: self.memory.get(),
            connections: self.connections,
            wmem_max: cap("wmem_max"),
            rmem_max: cap("rmem_max"),
            is_pressed: self.is_pressed.into(),
        }
    }
}

/// Pressure begins above the second number of `tcp_mem` and ends below the first (`tcp_enter_memory_pressure`).
fn is_pressed(before: bool, pages: Option<[u64; 2]>, used: Option<u64>) -> bool {
    match (pages, used) {
        (Some([low, pressure]), Some(used)) => used > if before { low } else { pressure },
        _ => false,
    }
}

/// Pages that TCP uses: `mem` of its line in `/proc/net/sockstat`.
fn used_pages(sockets: &str) -> Option<u64> {
    let line = sockets.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "mem");
    words.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_ends_where_the_kernels_does() {
        let sockets = "sockets: used 9\nTCP: inuse 5 orphan 0 tw 0 alloc 6 mem 120\nUDP: inuse 1 mem 7\n";
        assert_eq!(used_pages(sockets), Some(120));
        assert_eq!(used_pages(""), None);
        let pressed = |before, used| is_pressed(before, Some([100, 200]), Some(used));
        assert_eq!(
            [pressed(false, 150), pressed(false, 201), pressed(true, 150), pressed(true, 100)],
            [false, true, true, false]
        );
    }

    #[test]
    fn a_direction_that_is_not_known_takes_the_buffer_of_the_other() {
        let there = Some((10, 20));
        let one = Directions { there, back: None }.target();
        assert_eq!((one.send, one.receive), (Some(Bytes::new(10)), Some(Bytes::new(20))));
        let both = Directions { there, back: Some((30, 40)) }.target();
        assert_eq!((both.send, both.receive), (Some(Bytes::new(10)), Some(Bytes::new(40))));
    }

    #[test]
    fn buffers_are_those_of_tune_advise() {
        let known = Known { release: "6.18.1".to_owned(), page: 4096, sysctls: Vec::new() };
        let wanted = "192.0.2.0/24,rate=1Gbit/s,rtt=50ms,receive=1MiB".parse().expect("settings");
        let (_, target) = target(&wanted, &known).expect("numbers");
        assert_eq!(target.receive, Some(Bytes::new(1 << 20)), "what is asked for by itself");
        assert!(target.send.is_some_and(|send| send.get() > 6_250_000), "{target:?}");
    }
}
