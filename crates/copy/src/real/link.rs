//! What an end has of the other: the control channel, and data connections as they are opened.

use super::control::{Control, LOOK};
use super::{Progress, Stop};
use crate::account::Bound;
use crate::error::CopyError;
use crate::growth::Growth;
use crate::real::sockets::now;
use crate::real::stream::Stream;
use slowpath_analyses::Limit;

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// How long the other end has to say why it closed a data connection.
const REASON: Duration = Duration::from_secs(2);

/// The other end.
pub struct Link<'c, 'a, 'p> {
    pub control: &'p mut Control<'c>,
    /// Data connections that were opened, or why one could not be.
    pub streams: Receiver<Result<Stream, CopyError>>,
    pub stop: Stop<'a>,
    /// For the near end, which opens them: how many, and where to ask for more.
    pub more: Option<(Growth, Sender<u16>)>,
    /// For the near end.
    pub progress: Option<&'p mut dyn FnMut(Progress)>,
}

impl Link<'_, '_, '_> {
    /// Shows progress, if somebody watches.
    pub fn show(&mut self, progress: Progress) {
        if let Some(show) = &mut self.progress {
            show(progress);
        }
    }

    /// Asks for more data connections, if they help.
    pub fn grow(&mut self, moved: u64, min_rtt_us: u64, bound: Option<Bound>) -> Result<(), CopyError> {
        let Some((growth, more)) = &mut self.more else { return Ok(()) };
        // What each connection has of its own. On a full path, another one only takes from others.
        let may_help = matches!(
            bound,
            Some(Bound::Limit(
                Limit::SendBuffer | Limit::ReceiveWindow | Limit::CongestionWindow | Limit::LossRecovery
            ))
        );
        if let Some(count) = growth.moved(moved, Duration::from_micros(min_rtt_us), may_help, now()) {
            // The thread that opens them may have failed, which is reported where connections come from.
            let _ = more.send(count);
        }
        Ok(())
    }

    /// Why a data connection broke: the other end may have said it on the control channel.
    pub fn why(&mut self, error: CopyError) -> CopyError {
        if !matches!(error, CopyError::Closed) {
            return error;
        }
        let until = std::time::Instant::now() + REASON;
        while std::time::Instant::now() < until {
            match self.control.next(LOOK) {
                Ok(_) => {}
                Err(CopyError::Closed) => break,
                Err(said) => return said,
            }
        }
        error
    }
}
