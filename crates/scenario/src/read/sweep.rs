//! `[[vary]]` and `[[try]]`.

use crate::file::{Override, Place, Table};
use crate::schema::{Context, Key, Reader, Section, Sub};
use crate::sweep::{MOST_CASES, Sweep, Try, Vary};

pub static VARIES: Sub =
    Sub::tables("vary", "What `slowpath sweep` varies: every combination of values is run.");
pub static TRIES: Sub = Sub::tables("try", "Further runs of `slowpath sweep`, next to the grid.");

static KEY: Key<String> = Key::new("key", "The key, as in `--set`, such as `path.delay`.");
static VALUES: Key<Vec<String>> = Key::new("values", "Its values, each as in `--set`.");

/// A key that a sweep varies.
pub static VARY: Section = Section {
    heading: "[[vary]]",
    meaning: "A key that `slowpath sweep` varies. With several of these, every combination of their values is run.",
    keys: &[&KEY, &VALUES],
    also: None,
};

static NAME: Key<String> = Key::new("name", "A name for the run.");
static SET: Key<Vec<String>> = Key::new("set", "What differs, each `KEY=VALUE` as in `--set`.");

/// A single run of a sweep.
pub static TRY: Section = Section {
    heading: "[[try]]",
    meaning: "A single run of `slowpath sweep`, next to the grid: the scenario with some values changed.",
    keys: &[&NAME, &SET],
    also: None,
};

/// Nobody writes more tables than this.
const MOST_TABLES: usize = 1000;

/// Reads both.
pub fn read(run: &Reader<'_>) -> Sweep {
    let vary = each(run, &VARIES, &VARY, |reader| {
        let key = reader.required(&KEY)?;
        let values = overrides(reader, &VALUES, |value| format!("{key}={value}"))?;
        Some(Vary { key, values })
    });
    let tries = each(run, &TRIES, &TRY, |reader| {
        Some(Try { name: reader.required(&NAME)?, set: overrides(reader, &SET, str::to_owned)? })
    });
    let sweep = Sweep { vary, tries };
    if sweep.len() > MOST_CASES {
        let hint = format!("a sweep has at most {MOST_CASES}");
        run.refuse(&VARIES, format!("these are {} runs", sweep.len()), hint);
    }
    sweep
}

fn each<T>(
    run: &Reader<'_>,
    key: &'static Sub,
    section: &'static Section,
    read: impl Fn(&Reader<'_>) -> Option<T>,
) -> Vec<T> {
    let prefix = run.prefix_of(key);
    let one = |(number, (table, place)): (usize, (&Table, &Place))| {
        let context: &Context = run.context();
        read(&Reader::new(context, section, Some(table), place, &format!("{prefix}{number}.")))
    };
    run.tables_up_to(key, MOST_TABLES).into_iter().enumerate().filter_map(one).collect()
}

fn overrides(
    reader: &Reader<'_>,
    key: &'static Key<Vec<String>>,
    text: impl Fn(&str) -> String,
) -> Option<Vec<Override>> {
    let written = reader.required(key)?;
    if written.is_empty() {
        reader.refuse(key, "nothing would differ", "write at least one");
        return None;
    }
    let parsed: Result<Vec<Override>, _> = written.iter().map(|one| text(one).parse()).collect();
    match parsed {
        Ok(overrides) => Some(overrides),
        Err(error) => {
            reader.refuse(key, error.to_string(), "");
            None
        }
    }
}
