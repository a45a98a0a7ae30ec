//! Spells laid over others.

use crate::cause::{Cause, Limit};
use crate::report::{DirectionReport, FlowReport, Spell};
use slowpath_model::End;

/// Puts `over` over those parts of `spells` whose cause gives way to it.
pub fn overlay(spells: &mut Vec<Spell>, over: Spell, gives_way: impl Fn(Cause) -> bool) {
    overlay_all(spells, &[over], gives_way);
}

/// Puts `overs`, which are in order and do not overlap, over those parts of `spells` whose cause gives way to them. Returns
/// these parts.
pub fn overlay_all(
    spells: &mut Vec<Spell>,
    overs: &[Spell],
    gives_way: impl Fn(Cause) -> bool,
) -> Vec<Spell> {
    let mut parts = Vec::new();
    if overs.is_empty() {
        return parts;
    }
    let mut laid = Vec::with_capacity(spells.len());
    let mut next = 0;
    for mut spell in spells.drain(..) {
        while overs.get(next).is_some_and(|over| over.to <= spell.from) {
            next += 1;
        }
        let until = spell.to;
        for over in overs[next..].iter().take_while(|over| over.from < until && gives_way(spell.cause)) {
            let part = Spell { from: over.from.max(spell.from), to: over.to.min(until), cause: over.cause };
            laid.extend([Spell { to: part.from, ..spell }, part]);
            parts.push(part);
            spell.from = part.to;
        }
        laid.push(spell);
    }
    laid.retain(|spell| spell.from < spell.to);
    *spells = laid;
    join_alike(spells);
    parts
}

/// Joins neighbours of one cause.
pub fn join_alike(spells: &mut Vec<Spell>) {
    spells.dedup_by(|next, last| {
        let alike = next.cause == last.cause && next.from == last.to;
        if alike {
            last.to = next.to;
        }
        alike
    });
}

impl FlowReport {
    /// Gives the time in which an end waited for data of the other to what delayed that data: losses, or Nagle's
    /// algorithm. It had nothing to answer until then.
    pub(crate) fn with_awaited(&mut self) {
        self.without_awaited();
        let delays = End::BOTH.map(|end| -> Vec<Spell> {
            let spells = self.directions[end.index()].spells.iter();
            spells.filter(|spell| delays_data(spell.cause)).copied().collect()
        });
        for end in End::BOTH {
            let DirectionReport { spells, awaited, .. } = &mut self.directions[end.index()];
            *awaited = overlay_all(spells, &delays[(!end).index()], |cause| cause == Cause::ThinkTime);
        }
    }

    /// Takes that back.
    pub(crate) fn without_awaited(&mut self) {
        for DirectionReport { spells, awaited, .. } in &mut self.directions {
            let mut waits = std::mem::take(awaited);
            waits.iter_mut().for_each(|wait| wait.cause = Cause::ThinkTime);
            overlay_all(spells, &waits, delays_data);
        }
    }
}

/// Whether the receiver had to wait for data that had been written.
fn delays_data(cause: Cause) -> bool {
    let is_lost =
        cause.limit() == Limit::LossRecovery && !matches!(cause, Cause::SpuriousTimeout | Cause::Reordering);
    is_lost || cause == Cause::NagleDelayedAck
}
