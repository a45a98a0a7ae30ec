//! This host's connections, watched by the probe, or replayed from its stored records.

use crate::counters::{self, own_netns};
use crate::decoder::{Decoder, Rest};
use crate::drops::Dropped;
use crate::error::LiveError;
use crate::probe::{Filter, Probe};
use crate::raw::{Closing, Piece, Raw, RawError, RawReader, RawWriter};
use crate::record::{Exact, Waits};
use crate::table::{Owner, Process};
use bytemuck::Zeroable;
use slowpath_model::{End, FlowId, Hold, Sink, nanos};
use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

/// How often the kernel should be sampled.
pub const EVERY: Duration = Duration::from_millis(100);

/// This host's connections.
pub struct Live {
    probe: Probe,
    decoder: Decoder,
    began: Instant,
    /// The network namespace whose counters are compared, and the kernel's counts before.
    home: Option<u32>,
    before: Option<[u64; 2]>,
    raw: Option<RawWriter<'static>>,
    /// The waits of softirqs when they were last asked for.
    softirqs: Waits,
}

/// What is of the whole host and not of a connection, while it is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSoFar {
    /// Packets that the kernel dropped since watching began: those of watched connections, and all others.
    pub dropped: Vec<Dropped>,
    /// How long receive softirqs waited to run, and how many of them, since this was last asked for.
    pub softirqs: Vec<(Duration, u32)>,
    /// Sockets that are not watched, for want of memory in the kernel, since watching began.
    pub unwatched: u64,
    /// Records that the probe could not hand over, since watching began.
    pub untold: u64,
    /// Hooks that were hit while their program was running on that CPU, since watching began.
    pub skipped: u64,
}

/// The kernel's counters that are compared.
fn counters() -> Option<[u64; 2]> {
    let counters = counters::counters().ok()?;
    let of = |name| counters.get(name).copied();
    Some([of("TcpExtTCPLossUndo")?, of("TcpExtTCPToZeroWindowAdv")?])
}

const WRITING: &str = "write the probe's records";

impl Live {
    /// Starts watching.
    ///
    /// # Errors
    /// As [`Probe::start`].
    pub fn start(filter: Filter) -> Result<Self, LiveError> {
        let probe = Probe::start(filter)?;
        let home = own_netns().filter(|home| filter.has_all_of(*home));
        let before = home.and_then(|_| counters());
        let (decoder, softirqs) = (Decoder::new(home), Waits::zeroed());
        Ok(Self { probe, decoder, began: Instant::now(), home, before, raw: None, softirqs })
    }

    /// From now on, also writes the probe's records as they arrive: [`replay`] reads them.
    ///
    /// # Errors
    /// As the output's.
    pub fn record(&mut self, out: Box<dyn Write>) -> Result<(), LiveError> {
        let Self { probe, home, .. } = self;
        let writer = RawWriter::begin(out, *home, probe.reasons(), probe.unseen());
        self.raw = Some(writer.map_err(LiveError::system(WRITING))?);
        Ok(())
    }

    /// What this kernel does not show.
    pub fn unseen(&self) -> &[&'static str] {
        self.probe.unseen()
    }

    /// Reports what happened since the last time.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn tell(&mut self, sink: &mut impl Sink) -> Result<(), LiveError> {
        let look = self.probe.look()?;
        if let Some(raw) = &mut self.raw {
            raw.look(look).map_err(LiveError::system(WRITING))?;
        }
        Ok(self.decoder.look(look, sink)?)
    }

    /// Writes which processes have sockets open, by socket inode ([`Owner::inode`]).
    ///
    /// # Errors
    /// As the output's.
    pub fn record_processes(&mut self, found: &[(u64, Process)]) -> Result<(), LiveError> {
        match &mut self.raw {
            Some(raw) if !found.is_empty() => raw.processes(found).map_err(LiveError::system(WRITING)),
            _ => Ok(()),
        }
    }

    /// Stops watching, and reports the rest.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn finish(mut self, sink: &mut impl Sink) -> Result<Rest, LiveError> {
        let lasted = self.began.elapsed();
        // Before it stops, which takes a while, and the kernel goes on counting.
        self.tell(sink)?;
        let counted = counters().zip(self.before);
        self.probe.stop();
        let since = |which: usize| counted.map_or(0, |(now, before)| now[which].wrapping_sub(before[which]));
        let closing = Closing {
            totals: self.probe.totals()?,
            skipped: self.probe.misses(),
            lasted_ns: nanos(lasted),
            is_counted: counted.is_some().into(),
            undone: since(0),
            zero_windows: since(1),
            dropped: self.probe.drops()?,
        };
        let softirqs = self.probe.softirqs()?;
        if let Some(raw) = &mut self.raw {
            raw.end(&closing, &softirqs).map_err(LiveError::system(WRITING))?;
        }
        Ok(self.decoder.finish(sink, Some(&closing), &softirqs, self.probe.reasons()))
    }

    /// The processes of the sockets that were reported last, by flow and end, including sockets that have ended since.
    pub fn owners(&self) -> impl Iterator<Item = (FlowId, End, Owner)> {
        self.decoder.owners()
    }

    /// What holds senders at the last sample, and for how long: time that no event has yet.
    pub fn pending(&self) -> impl Iterator<Item = (FlowId, End, Hold, Duration)> {
        self.decoder.pending()
    }

    /// What is of the whole host so far.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn host(&mut self) -> Result<HostSoFar, LiveError> {
        let (totals, softirqs) = (self.probe.totals()?, self.probe.softirqs()?);
        let before = std::mem::replace(&mut self.softirqs, softirqs);
        Ok(HostSoFar {
            dropped: self.decoder.drops().all(&self.probe.drops()?, self.probe.reasons()),
            softirqs: softirqs.since(&before).collect(),
            unwatched: totals.no_memory,
            untold: totals.ring_full,
            skipped: self.probe.misses(),
        })
    }

    /// Packets of a connection that the kernel dropped so far: those that this end would have received or was about to
    /// send.
    pub fn dropped(&self, flow: FlowId, end: End) -> Vec<Dropped> {
        self.decoder.drops().of(flow, end, self.probe.reasons())
    }

    /// The oracle's counts, one for each CPU, if it was asked for.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn exact(&self) -> Result<Vec<Exact>, LiveError> {
        self.probe.exact()
    }
}

/// The stored records.
#[derive(Debug)]
pub struct Replayed {
    /// As [`Live::finish`] returns it; without what is read at the end if the file lacks that.
    pub rest: Rest,
    /// How long it was watched.
    pub lasted: Duration,
    /// What could not be seen where the file was written.
    pub unseen: Vec<String>,
    /// The owners of the sockets; `None` if the file has no owners.
    pub processes: Option<HashMap<(FlowId, End), Process>>,
    /// Why the file was not read to its end.
    pub incomplete: Option<RawError>,
    /// The time of day of the events' instant 0, in nanoseconds since 1970, if anything was reported.
    pub epoch_ns: Option<i64>,
}

/// Replays what [`Live::record`] wrote.
///
/// # Errors
/// If it is another file, or one of another version. A damaged file is read up to the damage.
pub fn replay<'a>(from: impl Into<Raw<'a>>, sink: &mut impl Sink) -> Result<Replayed, RawError> {
    let mut reader = RawReader::new(from.into())?;
    let mut decoder = Decoder::new(reader.home);
    let mut sockets = Sockets::default();
    let (closing, incomplete) = loop {
        match reader.piece() {
            Ok(Piece::Look(look)) => {
                if let Err(source) = decoder.look(&look, sink) {
                    break (None, Some(RawError::NoRecord { at: reader.at(), source }));
                }
                sockets.saw(decoder.owners());
            }
            Ok(Piece::Processes(found)) => sockets.found(&found),
            Ok(Piece::End(closing)) => break (Some(closing), None),
            Err(error) => break (None, Some(error)),
        }
    };
    let lasted =
        closing.as_ref().map_or_else(|| decoder.latest(), |closing| Duration::from_nanos(closing.lasted_ns));
    let epoch_ns = decoder.epoch_ns();
    let rest = decoder.finish(sink, closing.as_deref(), &reader.softirqs, &reader.reasons);
    Ok(Replayed { rest, lasted, unseen: reader.unseen, processes: sockets.processes, incomplete, epoch_ns })
}

/// The owners of the sockets of a file.
#[derive(Default)]
struct Sockets {
    /// Sockets whose process was not reported yet, by number. Some stay here.
    unknown: HashMap<u64, (FlowId, End)>,
    processes: Option<HashMap<(FlowId, End), Process>>,
}

impl Sockets {
    /// Sockets whose owners are kept: both ends of all flows that are kept.
    const MOST: usize = 200_000;

    fn saw(&mut self, owners: impl Iterator<Item = (FlowId, End, Owner)>) {
        for (flow, end, owner) in owners.filter(|(.., owner)| owner.inode != 0) {
            let is_known =
                self.processes.as_ref().is_some_and(|processes| processes.contains_key(&(flow, end)));
            if !is_known && self.unknown.len() < Self::MOST {
                self.unknown.insert(owner.inode, (flow, end));
            }
        }
    }

    fn found(&mut self, found: &[(u64, Process)]) {
        let processes = self.processes.get_or_insert_default();
        for (inode, process) in found {
            if let Some(socket) = self.unknown.remove(inode).filter(|_| processes.len() < Self::MOST) {
                processes.insert(socket, process.clone());
            }
        }
    }
}
