//! The source of this host's connections: the probe, or the kernel's socket diagnostics.

use slowpath_live::{Dropped, Filter, HostSoFar, Live, LiveError, Own, Owners, Rest};
use slowpath_model::{End, FlowId, Hold, Sink};
use std::io::Write;
use std::time::Duration;

pub enum Source {
    /// The probe, which needs privilege.
    Probe(Box<Live>),
    /// Sampled `TCP_INFO`, which needs none.
    Asked(Box<Own>),
}

impl Source {
    pub fn start(filter: Filter, is_own: bool) -> Result<Self, LiveError> {
        if is_own {
            Own::start(filter.port).map(Box::new).map(Self::Asked)
        } else {
            Live::start(filter).map(Box::new).map(Self::Probe)
        }
    }

    pub fn tell(&mut self, sink: &mut impl Sink, owners: &mut Owners) -> Result<(), LiveError> {
        match self {
            Self::Probe(live) => {
                live.tell(sink)?;
                let found = owners.look(live.owners());
                live.record_processes(&found)?;
            }
            Self::Asked(own) => {
                own.tell(sink)?;
                owners.look(own.owners());
            }
        }
        Ok(())
    }

    /// What holds senders now, and for how long, as far as no event has that time yet.
    pub fn pending(&self) -> Vec<(FlowId, End, Hold, Duration)> {
        match self {
            Self::Probe(live) => live.pending().collect(),
            // Each of its samples has all of the time until then.
            Self::Asked(_) => Vec::new(),
        }
    }

    /// What is of the whole host so far; `None` without the probe.
    pub fn host(&mut self) -> Result<Option<HostSoFar>, LiveError> {
        match self {
            Self::Probe(live) => live.host().map(Some),
            Self::Asked(_) => Ok(None),
        }
    }

    /// Packets of an end of a connection that the kernel dropped so far; `None` without the probe.
    pub fn dropped(&self, flow: FlowId, end: End) -> Option<Vec<Dropped>> {
        match self {
            Self::Probe(live) => Some(live.dropped(flow, end)),
            Self::Asked(_) => None,
        }
    }

    /// Also writes the probe's records from here on.
    pub fn record(&mut self, out: Box<dyn Write>) -> Result<(), LiveError> {
        match self {
            Self::Probe(live) => live.record(out),
            Self::Asked(_) => Ok(()),
        }
    }

    /// What is not visible with this source, or on this kernel.
    pub fn unseen(&self) -> Vec<String> {
        let unseen = match self {
            Self::Probe(live) => live.unseen(),
            Self::Asked(_) => slowpath_live::UNSEEN,
        };
        unseen.iter().map(|what| (*what).to_owned()).collect()
    }

    /// Reads the remaining events, and returns what is not an event, if this source has it.
    pub fn finish(self, sink: &mut impl Sink) -> Result<Option<Rest>, LiveError> {
        match self {
            Self::Probe(live) => live.finish(sink).map(Some),
            Self::Asked(mut own) => {
                own.tell(sink)?;
                own.finish(sink);
                Ok(None)
            }
        }
    }
}
