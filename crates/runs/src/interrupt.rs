//! Ctrl-C: the run stops where it is and reports its results so far.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals cannot be taken notice of.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for Ctrl-C")]
pub struct NoSignals(#[from] io::Error);

/// Whether somebody wants the run to stop.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From here on Ctrl-C is taken notice of; a second one ends the program at once.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen() -> Result<Self, NoSignals> {
        Self::to(&[SIGINT, SIGTERM])
    }

    /// The loss of the terminal is taken notice of too.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen_for_hangup() -> Result<Self, NoSignals> {
        Self::to(&[SIGINT, SIGTERM, SIGHUP])
    }

    fn to(signals: &[i32]) -> Result<Self, NoSignals> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in signals.iter().copied() {
            let register = |armed: &Arc<AtomicBool>| -> io::Result<()> {
                signal_hook::flag::register_conditional_default(signal, Arc::clone(armed))?;
                signal_hook::flag::register(signal, Arc::clone(armed))?;
                Ok(())
            };
            register(&flag)?;
        }
        Ok(Self(flag))
    }

    /// What becomes true when it comes.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether it has come.
    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
