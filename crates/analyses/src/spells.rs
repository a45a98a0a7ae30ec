//! Spells laid over others.

use crate::cause::{Cause, Limit};
use crate::report::{FlowReport, Spell};
use slowpath_model::End;

/// Puts `over` over those parts of `spells` whose cause gives way to it.
pub fn overlay(spells: &mut Vec<Spell>, over: Spell, gives_way: impl Fn(Cause) -> bool) {
    let mut laid = Vec::with_capacity(spells.len());
    for spell in spells.drain(..) {
        let (from, to) = (spell.from.max(over.from), spell.to.min(over.to));
        if from >= to || !gives_way(spell.cause) {
            laid.push(spell);
            continue;
        }
        laid.push(Spell { to: from, ..spell });
        laid.push(Spell { from, to, cause: over.cause });
        laid.push(Spell { from: to, ..spell });
    }
    laid.retain(|spell| spell.from < spell.to);
    *spells = laid;
    join_alike(spells);
}

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
    /// Gives the time in which an end waited for data of the other to the losses of that data: it had nothing to answer
    /// until they were repaired.
    pub(crate) fn with_awaited(&mut self) {
        self.without_awaited();
        let repairs = End::BOTH.map(|end| -> Vec<Spell> {
            let spells = self.directions[end.index()].spells.iter();
            spells.filter(|spell| is_of_loss(spell.cause)).copied().collect()
        });
        for end in End::BOTH {
            let direction = &mut self.directions[end.index()];
            let waits = direction.spells.iter().filter(|spell| spell.cause == Cause::ThinkTime);
            let awaited = overlaps(waits, &repairs[(!end).index()]);
            for spell in &awaited {
                overlay(&mut direction.spells, *spell, |cause| cause == Cause::ThinkTime);
            }
            direction.awaited = awaited;
        }
    }

    /// Takes that back.
    pub(crate) fn without_awaited(&mut self) {
        for direction in &mut self.directions {
            for spell in std::mem::take(&mut direction.awaited) {
                let wait = Spell { cause: Cause::ThinkTime, ..spell };
                overlay(&mut direction.spells, wait, |cause| cause == spell.cause);
            }
        }
    }
}

/// The parts of `repairs` that lie in `waits`. Both are in order and do not overlap among themselves.
fn overlaps<'a>(waits: impl Iterator<Item = &'a Spell>, repairs: &[Spell]) -> Vec<Spell> {
    let mut found = Vec::new();
    let mut next = 0;
    for wait in waits {
        while repairs.get(next).is_some_and(|repair| repair.to <= wait.from) {
            next += 1;
        }
        for repair in repairs[next..].iter().take_while(|repair| repair.from < wait.to) {
            found.push(Spell { from: repair.from.max(wait.from), to: repair.to.min(wait.to), ..*repair });
        }
    }
    found
}

/// Whether data was missing meanwhile.
fn is_of_loss(cause: Cause) -> bool {
    cause.limit() == Limit::LossRecovery && !matches!(cause, Cause::SpuriousTimeout | Cause::Reordering)
}
