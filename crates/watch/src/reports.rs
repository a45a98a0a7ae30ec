//! What a connection's reports say of an interval.

use crate::figures::Figures;
use slowpath_analyses::Cause;
use slowpath_analyses::hosts::{Account, Why};
use slowpath_model::{End, Hold};
use std::cmp::Reverse;
use std::time::Duration;

/// The end on this host; `None` if both are.
pub fn near(account: &Account) -> Option<End> {
    match &account.ends {
        [Some(_), None] => Some(End::A),
        [None, Some(_)] => Some(End::B),
        _ => None,
    }
}

/// What it did, and the time under each cause.
pub fn figures(account: &Account) -> Figures {
    let sender = account.sender();
    let own = |end: End| account.ends[end.index()].as_deref();
    // What a receiver offers is all that is known of a sender on another host.
    let bounds = match (own(sender), own(!sender)) {
        (None, Some(receiver)) => receiver.receiving.bounds(),
        _ => account.bounds(),
    };
    let mut figures = Figures {
        bytes: account.carried_now().get(),
        retransmitted: account.retransmitted_now(),
        causes: Vec::new(),
    };
    bounds.iter().for_each(|bound| figures.held(bound.cause, bound.lasted));
    figures
}

/// What limits it now, and for how long by now, as far as that is not in the reports.
pub fn pending(account: &Account, held: Option<(Hold, Duration)>) -> Option<(Cause, Duration)> {
    held.map(|(by, lasted)| (account.cause(Why::Hold(by)), lasted))
}

/// Time that was shown before a report had it, and its cause: it is taken off the report, so that no time is shown twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead(Option<(Cause, Duration)>);

impl Ahead {
    /// Takes what was shown off an interval's figures, and adds what is pending, of which at most `lasted` is new.
    pub fn settle(&mut self, figures: &mut Figures, pending: Option<(Cause, Duration)>, lasted: Duration) {
        self.take_off(figures);
        self.0 = pending.map(|(cause, pending)| {
            let shown = self.0.map_or(Duration::ZERO, |(_, shown)| shown.min(pending));
            let new = (pending - shown).min(lasted);
            figures.held(cause, new);
            (cause, shown + new)
        });
    }

    /// From the same cause first.
    fn take_off(&mut self, figures: &mut Figures) {
        let Some((cause, ahead)) = &mut self.0 else { return };
        figures.causes.sort_by_key(|(known, lasted)| (known != cause, Reverse(*lasted)));
        for (_, lasted) in &mut figures.causes {
            let shown = (*lasted).min(*ahead);
            (*lasted, *ahead) = (*lasted - shown, *ahead - shown);
        }
        figures.causes.retain(|(_, lasted)| !lasted.is_zero());
    }
}
