//! The form of the database, and how an older one becomes today's.

use super::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Each step leads from one version to the next, in a transaction of its own. Steps that were released are never changed.
const STEPS: [&str; 2] = [
    // 1: paths and their values. `newest` orders paths for ageing without reading their values.
    "CREATE TABLE pair (
        id INTEGER PRIMARY KEY,
        sender TEXT NOT NULL,
        receiver TEXT NOT NULL,
        newest INTEGER NOT NULL,
        UNIQUE (receiver, sender)
    ) STRICT;
    CREATE TABLE entry (
        pair INTEGER NOT NULL REFERENCES pair (id) ON DELETE CASCADE,
        measure TEXT NOT NULL,
        at INTEGER NOT NULL,
        source TEXT NOT NULL,
        value INTEGER NOT NULL,
        trusted_s INTEGER NOT NULL,
        PRIMARY KEY (pair, measure, at, source)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entry_at ON entry (at);",
    // 2: what measuring cost, so that it keeps to its budget. By address: a path that is forgotten has still cost.
    "CREATE TABLE spent (
        sender TEXT NOT NULL,
        receiver TEXT NOT NULL,
        day INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        millis INTEGER NOT NULL,
        PRIMARY KEY (sender, receiver, day)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pair_newest ON pair (newest);",
];

/// The version that this program writes.
pub const VERSION: u32 = STEPS.len() as u32;

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings a database to today's form. Two programs may do so at once.
pub fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    migrate_to(connection, VERSION)
}

fn migrate_to(connection: &mut Connection, wanted: u32) -> Result<(), StoreError> {
    loop {
        let now = version(connection)?;
        if now > VERSION {
            return Err(StoreError::Newer { version: now });
        }
        if now >= wanted {
            return Ok(());
        }
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another program may have made it while this one waited.
        if version(&step)? == now {
            step.execute_batch(STEPS[now as usize])?;
            step.pragma_update(None, "user_version", now + 1)?;
        }
        step.commit()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, Measure, Pair, Source};
    use crate::store::{Limits, Store};

    #[test]
    fn database_of_every_version_becomes_todays_and_keeps_its_values() {
        let pair = Pair::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let written = Entry::new(pair, 1000, Source::Probe, Measure::Mtu, 1500);
        for first in 1..=VERSION {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("paths.db");
            let mut old = Connection::open(&file).expect("a database");
            migrate_to(&mut old, first).expect("the older form");
            old.execute("INSERT INTO pair VALUES (7, '192.0.2.1', '192.0.2.2', 1000)", []).expect("a path");
            old.execute("INSERT INTO entry VALUES (7, 'mtu', 1000, 'probe', 1500, 604800)", [])
                .expect("a value");
            drop(old);
            let store = Store::open_with(&file, Limits::default()).expect("it is migrated");
            assert_eq!(store.entries(pair).expect("values"), [written], "from version {first}");
            assert_eq!(store.spent(pair, 1000).expect("nothing so far"), Default::default());
            assert_eq!(version(&store.connection).expect("a version"), VERSION);
        }
    }

    #[test]
    fn database_of_a_newer_program_is_refused_and_not_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("paths.db");
        let newer = Connection::open(&file).expect("a database");
        newer.pragma_update(None, "user_version", VERSION + 1).expect("a version");
        drop(newer);
        let before = std::fs::read(&file).expect("its bytes");
        let error = Store::open(&file).err().expect("it is refused");
        let source = std::error::Error::source(&error).expect("its cause");
        assert!(source.to_string().contains("newer slowpath (version 3"), "{source}");
        assert_eq!(std::fs::read(&file).expect("its bytes"), before);
    }
}
