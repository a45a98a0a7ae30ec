//! `[[vary]]` and `[[try]]`.

use crate::file::{Override, Place, Table};
use crate::schema::{Context, Key, Reader, Section, Sub};
use crate::sweep::{MOST_CASES, Sweep, Try, Vary};

pub static VARIES: Sub =
    Sub::tables("vary", "What `slowpath sweep` varies, each value with every value of the others.");
pub static TRIES: Sub = Sub::tables("try", "What `slowpath sweep` tries beside that.");

static KEY: Key<String> = Key::new("key", "The key, as `--set` names it, such as `path.delay`.");
static VALUES: Key<Vec<String>> = Key::new("values", "Its values, each as `--set` takes it.");

/// What a sweep varies.
pub static VARY: Section = Section {
    heading: "[[vary]]",
    meaning: "A key whose values `slowpath sweep` varies. With several of these there is a run for every value of each with \
              every value of the others.",
    keys: &[&KEY, &VALUES],
    also: None,
};

static NAME: Key<String> = Key::new("name", "What it is about, in a few words.");
static SET: Key<Vec<String>> = Key::new("set", "What is different, each `KEY=VALUE` as `--set` takes it.");

/// What a sweep tries.
pub static TRY: Section = Section {
    heading: "[[try]]",
    meaning: "A run of `slowpath sweep` beside what is varied: the scenario as it stands but for some values.",
    keys: &[&NAME, &SET],
    also: None,
};

/// More tables than this nobody writes.
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
        let mend = format!("a sweep has at most {MOST_CASES}");
        run.refuse(&VARIES, format!("these are {} runs", sweep.len()), mend);
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
