//! The source of this host's connections: the probe, or the kernel's socket diagnostics.

use slowpath_live::{Filter, Live, LiveError, Own, Owners, Rest};
use slowpath_model::Sink;
use std::io::Write;

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
