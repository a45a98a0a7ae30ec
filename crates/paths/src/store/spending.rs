//! What measuring cost a path on a day.

use super::{Store, StoreError, signed};
use crate::entry::Pair;
use rusqlite::{OptionalExtension, TransactionBehavior, params};
use slowpath_model::Bytes;
use std::time::Duration;

/// Days are those of UTC.
const DAY_S: u64 = 86_400;
/// Days that are remembered: today, and yesterday for a measurement that lasts over midnight.
const DAYS: u64 = 2;

/// Traffic and time of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// IP bytes of the trains of packets, in both directions.
    pub bytes: Bytes,
    /// How long they took.
    pub time: Duration,
}

impl Spent {
    /// What this budget leaves after `self`.
    pub fn left_of(self, budget: Self) -> Self {
        let bytes = budget.bytes.saturating_sub(self.bytes);
        Self { bytes, time: budget.time.saturating_sub(self.time) }
    }
}

impl Store {
    /// What measuring this path has cost on the day of `now`, in seconds since 1970.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn spent(&self, pair: Pair, now: u64) -> Result<Spent, StoreError> {
        let text = "SELECT bytes, millis FROM spent WHERE sender = ?1 AND receiver = ?2 AND day = ?3";
        let key = params![pair.from.to_string(), pair.to.to_string(), signed(now / DAY_S)];
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let found = self.connection.query_row(text, key, read).optional()?;
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(found.map_or_else(Spent::default, |(bytes, millis)| Spent {
            bytes: Bytes::new(number(bytes)),
            time: Duration::from_millis(number(millis)),
        }))
    }

    /// Takes all that a budget has left for the day of `now`, before it is spent: two programs cannot spend it twice, and one that is
    /// killed has spent it. Returns it; [`Self::give_back`] returns what was not needed.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn take(&mut self, pair: Pair, budget: Spent, now: u64) -> Result<Spent, StoreError> {
        // Held until the new amount is written.
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let taken = self.spent(pair, now).and_then(|spent| {
            let left = spent.left_of(budget);
            self.put_spent(
                pair,
                Spent { bytes: spent.bytes + left.bytes, time: spent.time + left.time },
                now,
            )?;
            Ok(left)
        });
        self.connection.execute_batch(if taken.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        taken
    }

    /// Returns the unspent part of a budget, to the day on which it was taken.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn give_back(&mut self, pair: Pair, unspent: Spent, taken_at: u64) -> Result<(), StoreError> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let text = "UPDATE spent SET bytes = max(0, bytes - ?4), millis = max(0, millis - ?5) \
                    WHERE sender = ?1 AND receiver = ?2 AND day = ?3";
        change.execute(
            text,
            params![
                pair.from.to_string(),
                pair.to.to_string(),
                signed(taken_at / DAY_S),
                signed(unspent.bytes.get()),
                millis(unspent.time)
            ],
        )?;
        change.commit()?;
        Ok(())
    }

    fn put_spent(&self, pair: Pair, spent: Spent, now: u64) -> Result<(), StoreError> {
        let day = now / DAY_S;
        self.connection.execute("DELETE FROM spent WHERE day <= ?1", [signed(day) - DAYS as i64])?;
        let text = "INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3, ?4, ?5)";
        let (bytes, millis) = (signed(spent.bytes.get()), millis(spent.time));
        let values = params![pair.from.to_string(), pair.to.to_string(), signed(day), bytes, millis];
        self.connection.execute(text, values)?;
        Ok(())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
