//! Who tells of this host's connections: the probe, or the kernel when it is asked.

use super::owners::Owners;
use slowpath_live::{Check, Filter, Live, LiveError, Own};
use slowpath_model::Sink;

pub enum Source {
    /// The probe; needs privilege.
    Probe(Box<Live>),
    /// `TCP_INFO`; needs none.
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
                owners.look(live.owners());
            }
            Self::Asked(own) => {
                own.tell(sink)?;
                owners.look(own.owners());
            }
        }
        Ok(())
    }

    /// What cannot be seen this way, or on this kernel.
    pub fn unseen(&self) -> Vec<&'static str> {
        match self {
            Self::Probe(live) => live.unseen().to_vec(),
            Self::Asked(_) => slowpath_live::UNSEEN.to_vec(),
        }
    }

    /// The rest, and what the kernel counted beside it where that can be compared.
    pub fn finish(self, sink: &mut impl Sink) -> Result<Option<Check>, LiveError> {
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
