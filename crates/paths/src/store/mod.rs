//! The store: an SQLite database of what was measured, bounded in size and age.
//!
//! Each change is one transaction in a write-ahead log, so a program that is killed leaves the state before or after it. Several
//! programs can read and write at once: a writer waits for another one for [`PATIENCE`], readers wait for nobody.

mod schema;
mod spending;
#[cfg(test)]
mod tests;

pub use crate::entry::Question;
pub use spending::Spent;

use crate::answer::{Advisor, Answer};
use crate::entry::{BadEntry, Entry, Measure, Pair, Source};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the store is, unless another place is named.
pub const FILE: &str = "/var/lib/slowpath-paths/paths.db";
/// How long a program waits for another one that writes.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The most entries that are recorded at once.
pub const MOST_AT_ONCE: usize = 100_000;

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Paths; of more, those go first of which the newest value is oldest.
    pub pairs: u32,
    /// Values of each measure of a path; of more, the oldest go first.
    pub history: u32,
    /// Values that are older go.
    pub age: Duration,
}

impl Default for Limits {
    /// 4,096 paths with 32 values of each measure, of 90 days: 62 MB if all of them are there (`tests/served/speed.rs`).
    fn default() -> Self {
        Self { pairs: 4096, history: 32, age: crate::entry::MOST_TRUST }
    }
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is none.
    #[error("{}: there is no path store; `slowpath paths measure` and `import` create it", .0.display())]
    NotThere(PathBuf),
    /// The folder for it cannot be created.
    #[error("{}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the kernel reported.
        source: std::io::Error,
    },
    /// It cannot be opened, read or written.
    #[error("{}", path.display())]
    At {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<StoreError>,
    },
    /// A newer program made it.
    #[error("a newer slowpath (version {version} of the store) made it; this one knows version {known}", known = schema::VERSION)]
    Newer {
        /// Its version.
        version: u32,
    },
    /// It holds what this program did not write.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// An entry is not kept.
    #[error("{pair}: {why}")]
    Entry {
        /// Its path.
        pair: Pair,
        /// Why.
        why: BadEntry,
    },
    /// Too much is recorded at once.
    #[error("{0} values at once are more than {MOST_AT_ONCE}")]
    TooMany(usize),
    /// SQLite reports an error.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

/// A store.
pub struct Store {
    pub(self) connection: Connection,
    limits: Limits,
}

impl Store {
    /// Opens the store of a file, and creates it if it is not there.
    ///
    /// # Errors
    /// If it cannot be opened or created, is no store, or of a newer program.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        Self::open_with(file, Limits::default())
    }

    /// Opens the store of a file if it is there.
    ///
    /// # Errors
    /// If it is not, or cannot be opened, is no store, or of a newer program.
    pub fn open_existing(file: &Path) -> Result<Self, StoreError> {
        match file.try_exists() {
            Ok(false) => Err(StoreError::NotThere(file.to_owned())),
            _ => Self::open(file),
        }
    }

    /// Opens a store of another size.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with(file: &Path, limits: Limits) -> Result<Self, StoreError> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let failed = |source| StoreError::Folder { path: folder.to_owned(), source };
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let at = |source: StoreError| StoreError::At { path: file.to_owned(), source: Box::new(source) };
        let connection = connect(file).map_err(at)?;
        Ok(Self { connection, limits })
    }

    /// Records values at a time, in seconds since 1970; all of them, or none. One of the same path, measure, time and source is replaced.
    /// Returns how many are kept: what is older than the limits is not.
    ///
    /// # Errors
    /// If one is not a value of a path, or the database cannot be written.
    pub fn record(&mut self, entries: &[Entry], now: u64) -> Result<usize, StoreError> {
        if entries.len() > MOST_AT_ONCE {
            return Err(StoreError::TooMany(entries.len()));
        }
        for entry in entries {
            entry.check(now).map_err(|why| StoreError::Entry { pair: entry.pair(), why })?;
        }
        let limits = self.limits;
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut touched = BTreeSet::new();
        for entry in entries {
            touched.insert((insert(&change, entry)?, entry.measure));
        }
        for (pair, measure) in touched {
            trim(&change, pair, measure, limits.history)?;
        }
        age(&change, &limits, now)?;
        let mut kept = 0;
        for entry in entries {
            kept += usize::from(has(&change, entry)?);
        }
        change.commit()?;
        Ok(kept)
    }

    /// The values of a path, by measure, the newest first.
    ///
    /// # Errors
    /// If the database cannot be read, or is damaged.
    pub fn entries(&self, pair: Pair) -> Result<Vec<Entry>, StoreError> {
        let text = "SELECT measure, at, source, value, trusted_s FROM entry JOIN pair ON pair.id = entry.pair \
                    WHERE receiver = ?1 AND sender = ?2";
        let mut query = self.connection.prepare_cached(text)?;
        let mut rows = query.query(params![pair.to.to_string(), pair.from.to_string()])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry(pair, row)?);
        }
        entries.sort_by_key(|entry| (entry.measure, std::cmp::Reverse(entry.at), entry.source));
        Ok(entries)
    }

    /// The paths to any of these addresses, from any of these or from anywhere; the one with the newest value first.
    ///
    /// # Errors
    /// If the database cannot be read, or is damaged.
    pub fn pairs(&self, question: &Question) -> Result<Vec<Pair>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT sender, newest FROM pair WHERE receiver = ?1")?;
        let from: Vec<IpAddr> = question.from.iter().map(IpAddr::to_canonical).collect();
        let to: BTreeSet<IpAddr> = question.to.iter().map(IpAddr::to_canonical).collect();
        let mut found = Vec::new();
        for to in to {
            let mut rows = query.query([to.to_string()])?;
            while let Some(row) = rows.next()? {
                let pair = Pair { from: address(row, 0)?, to };
                if from.is_empty() || from.contains(&pair.from) {
                    found.push((std::cmp::Reverse(row.get::<_, i64>(1)?), pair));
                }
            }
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, pair)| pair).collect())
    }

    /// All paths, the one with the newest value first.
    ///
    /// # Errors
    /// If the database cannot be read, or is damaged.
    pub fn all(&self) -> Result<Vec<Pair>, StoreError> {
        let text = "SELECT sender, receiver FROM pair ORDER BY newest DESC, id";
        let mut query = self.connection.prepare_cached(text)?;
        let mut rows = query.query([])?;
        let mut pairs = Vec::new();
        while let Some(row) = rows.next()? {
            pairs.push(Pair { from: address(row, 0)?, to: address(row, 1)? });
        }
        Ok(pairs)
    }

    /// The answer to a question: of the path with the newest value. `None` if no such path is known.
    ///
    /// # Errors
    /// If the database cannot be read, or is damaged.
    pub fn answer(
        &self,
        question: &Question,
        advisor: &mut Advisor,
        now: u64,
    ) -> Result<Option<Answer>, StoreError> {
        let Some(pair) = self.pairs(question)?.first().copied() else { return Ok(None) };
        Ok(Some(Answer::of(pair, &self.entries(pair)?, question.streams, advisor, now)))
    }

    /// Forgets these paths, and returns how many were there.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn forget(&mut self, pairs: &[Pair]) -> Result<usize, StoreError> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = 0;
        for pair in pairs {
            let text = "DELETE FROM pair WHERE receiver = ?1 AND sender = ?2";
            gone += change.execute(text, params![pair.to.to_string(), pair.from.to_string()])?;
        }
        change.commit()?;
        Ok(gone)
    }
}

fn connect(file: &Path) -> Result<Connection, StoreError> {
    // One thread at a time has it, so SQLite need not lock.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // A file may come from anywhere: nothing that its schema names is run.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > schema::VERSION {
        return Err(StoreError::Newer { version });
    }
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // Enough for a program that is killed. After a power failure, the last values may be missing.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    schema::migrate(&mut connection)?;
    Ok(connection)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes a value, and returns the number of its path.
fn insert(change: &Transaction<'_>, entry: &Entry) -> Result<i64, StoreError> {
    let pair = entry.pair();
    let text = "INSERT INTO pair (sender, receiver, newest) VALUES (?1, ?2, ?3) \
                ON CONFLICT DO UPDATE SET newest = max(newest, excluded.newest) RETURNING id";
    let values = params![pair.from.to_string(), pair.to.to_string(), signed(entry.at)];
    let id: i64 = change.prepare_cached(text)?.query_row(values, |row| row.get(0))?;
    change.prepare_cached("INSERT OR REPLACE INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![
            id,
            entry.measure.slug(),
            signed(entry.at),
            entry.source.slug(),
            signed(entry.value),
            entry.trusted_s
        ],
    )?;
    Ok(id)
}

/// Removes the oldest values of a measure beyond this many.
fn trim(change: &Transaction<'_>, pair: i64, measure: Measure, most: u32) -> Result<(), StoreError> {
    let text = "DELETE FROM entry WHERE pair = ?1 AND measure = ?2 AND (at, source) IN \
                (SELECT at, source FROM entry WHERE pair = ?1 AND measure = ?2 \
                 ORDER BY at DESC, source LIMIT -1 OFFSET ?3)";
    change.prepare_cached(text)?.execute(params![pair, measure.slug(), most])?;
    Ok(())
}

/// Removes what is too old, and the paths beyond the limit.
fn age(change: &Transaction<'_>, limits: &Limits, now: u64) -> Result<(), StoreError> {
    let oldest = signed(now.saturating_sub(limits.age.as_secs()));
    if change.execute("DELETE FROM entry WHERE at < ?1", [oldest])? > 0 {
        change.execute("DELETE FROM pair WHERE newest < ?1", [oldest])?;
    }
    let pairs: i64 = change.query_row("SELECT count(*) FROM pair", [], |row| row.get(0))?;
    let excess = pairs - i64::from(limits.pairs);
    if excess > 0 {
        let text = "DELETE FROM pair WHERE id IN (SELECT id FROM pair ORDER BY newest, id LIMIT ?1)";
        change.execute(text, [excess])?;
    }
    Ok(())
}

fn has(change: &Transaction<'_>, entry: &Entry) -> Result<bool, StoreError> {
    let pair = entry.pair();
    let text = "SELECT 1 FROM entry JOIN pair ON pair.id = entry.pair \
                WHERE receiver = ?1 AND sender = ?2 AND measure = ?3 AND at = ?4 AND source = ?5";
    let values = params![
        pair.to.to_string(),
        pair.from.to_string(),
        entry.measure.slug(),
        signed(entry.at),
        entry.source.slug()
    ];
    let found: Option<i64> = change.prepare_cached(text)?.query_row(values, |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

fn address(row: &Row<'_>, column: usize) -> Result<IpAddr, StoreError> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| StoreError::Damaged(format!("{text:?} is not an address")))
}

fn entry(pair: Pair, row: &Row<'_>) -> Result<Entry, StoreError> {
    let damaged = |what: &str| StoreError::Damaged(format!("{pair} has {what}"));
    let unsigned = |column| {
        let number: i64 = row.get(column)?;
        u64::try_from(number).map_err(|_| damaged("a negative number"))
    };
    let (measure, source): (String, String) = (row.get(0)?, row.get(2)?);
    let entry = Entry {
        from: pair.from,
        to: pair.to,
        at: unsigned(1)?,
        measure: Measure::of_slug(&measure).ok_or_else(|| damaged("an unknown measure"))?,
        source: Source::of_slug(&source).ok_or_else(|| damaged("a value of an unknown source"))?,
        value: unsigned(3)?,
        trusted_s: u32::try_from(unsigned(4)?).map_err(|_| damaged("a value trusted for too long"))?,
    };
    // When it was recorded, it was not of the future.
    entry.check(entry.at).map_err(|why| damaged(&why.to_string()))?;
    Ok(entry)
}
