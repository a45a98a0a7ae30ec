//! What limits a sender that has data (`enum tcp_chrono`, tcp_output.c, since 4.10).

use slowpath_model::Instant;
use std::time::Duration;

/// What limits the sender; later variants take precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiting {
    /// It has nothing to send.
    #[default]
    Nothing,
    /// It has data queued or outstanding.
    Busy,
    /// Limited by the receive window.
    ReceiveWindow,
    /// Limited by the send buffer.
    SendBuffer,
}

/// Three clocks; at most one runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chrono {
    waiting: Waiting,
    since: Instant,
    spent: [Duration; 3],
}

impl Chrono {
    fn set(&mut self, now: Instant, waiting: Waiting) {
        if self.waiting > Waiting::Nothing {
            self.spent[self.waiting as usize - 1] += now.since(self.since).unwrap_or_default();
        }
        (self.since, self.waiting) = (now, waiting);
    }

    /// `tcp_chrono_start`: does not override a limit with precedence.
    pub fn start(&mut self, now: Instant, waiting: Waiting) {
        if waiting > self.waiting {
            self.set(now, waiting);
        }
    }

    /// `tcp_chrono_stop`: back to busy, or to nothing when the queues are empty.
    pub fn stop(&mut self, now: Instant, waiting: Waiting, idle: bool) {
        if idle {
            self.set(now, Waiting::Nothing);
        } else if waiting == self.waiting {
            self.set(now, Waiting::Busy);
        }
    }

    /// Time spent busy, limited by the receive window and limited by the send buffer; the first includes the others
    /// (`tcp_get_info_chrono_stats`).
    pub fn totals(&self, now: Instant) -> [Duration; 3] {
        let mut spent = self.spent;
        if self.waiting > Waiting::Nothing {
            spent[self.waiting as usize - 1] += now.since(self.since).unwrap_or_default();
        }
        [spent.iter().sum(), spent[1], spent[2]]
    }
}
