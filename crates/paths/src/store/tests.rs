//! The store against a simple map, and what it does with a bad file.

use super::{Limits, Question, Spent, Store, StoreError};
use crate::answer::Advisor;
use crate::entry::{Entry, Measure, Pair, Source};
use proptest::prelude::*;
use slowpath_model::Bytes;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

const NOW: u64 = 1_700_000_000;

fn pair(from: u8, to: u8) -> Pair {
    Pair::new([192, 0, 2, from].into(), [198, 51, 100, to].into())
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("paths.db")).expect("a store");
    (folder, store)
}

/// What a store does, with an operation.
#[derive(Clone, Debug)]
enum Step {
    Record(Vec<Entry>),
    Forget(Pair),
    /// The store is closed and opened again.
    Reopen,
    /// Time passes, in seconds.
    Wait(u64),
}

/// Times go back and forth within the age that is kept, and beyond.
fn entries() -> impl Strategy<Value = Entry> {
    let measures = prop::sample::select(vec![Measure::Rtt, Measure::Loss, Measure::Mtu]);
    let sources = prop::sample::select(Source::ALL.to_vec());
    (1..3_u8, 1..4_u8, 0..140_u64, measures, sources, 1000..1010_u64).prop_map(
        |(from, to, before, measure, source, value)| {
            Entry::new(pair(from, to), NOW - before, source, measure, value)
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => prop::collection::vec(entries(), 0..8).prop_map(Step::Record),
        1 => (1..3_u8, 1..4_u8).prop_map(|(from, to)| Step::Forget(pair(from, to))),
        1 => Just(Step::Reopen),
        1 => (0..60_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..30)
}

type Values = BTreeMap<(Measure, Reverse<u64>, Source), (u64, u32)>;

/// The store, as a map from paths to when they were first recorded, their newest time, and their values.
#[derive(Default)]
struct Model {
    paths: BTreeMap<Pair, (usize, u64, Values)>,
    recorded: usize,
}

impl Model {
    fn record(&mut self, entries: &[Entry], limits: &Limits, now: u64) {
        for entry in entries {
            self.recorded += 1;
            let path = self.paths.entry(entry.pair()).or_insert((self.recorded, 0, Values::new()));
            path.1 = path.1.max(entry.at);
            let key = (entry.measure, Reverse(entry.at), entry.source);
            path.2.insert(key, (entry.value, entry.trusted_s));
        }
        for entry in entries {
            let values = &mut self.paths.get_mut(&entry.pair()).expect("it was recorded").2;
            let of = |key: &&(Measure, Reverse<u64>, Source)| key.0 == entry.measure;
            let name = |key: &(Measure, Reverse<u64>, Source)| (key.1, key.2.slug());
            let mut all: Vec<_> = values.keys().filter(of).copied().collect();
            all.sort_by_key(name);
            for key in all.into_iter().skip(limits.history as usize) {
                values.remove(&key);
            }
        }
        let oldest = now - limits.age.as_secs();
        for (_, _, values) in self.paths.values_mut() {
            values.retain(|(_, at, _), _| at.0 >= oldest);
        }
        self.paths.retain(|_, (_, newest, _)| *newest >= oldest);
        while self.paths.len() > limits.pairs as usize {
            let first = self.paths.iter().min_by_key(|(_, (number, newest, _))| (*newest, *number));
            let first = *first.expect("there are too many").0;
            self.paths.remove(&first);
        }
    }

    fn entries(&self, pair: Pair) -> Vec<Entry> {
        let values = self.paths.get(&pair).map(|(_, _, values)| values.clone()).unwrap_or_default();
        let entry = |((measure, at, source), (value, trusted_s))| {
            let Pair { from, to } = pair;
            let at: Reverse<u64> = at;
            Entry { from, to, at: at.0, measure, source, value, trusted_s }
        };
        values.into_iter().map(entry).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn store_holds_what_a_bounded_map_holds(steps in steps()) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("paths.db");
        let limits = Limits { pairs: 4, history: 3, age: Duration::from_secs(100) };
        let mut store = Store::open_with(&file, limits).expect("a store");
        let (mut model, mut now) = (Model::default(), NOW);
        for step in steps {
            match step {
                Step::Record(entries) => {
                    let kept = store.record(&entries, now).expect("recorded");
                    model.record(&entries, &limits, now);
                    let known = |entry: &&Entry| model.entries(entry.pair()).iter().any(|one| {
                        (one.measure, one.at, one.source) == (entry.measure, entry.at, entry.source)
                    });
                    prop_assert_eq!(kept, entries.iter().filter(known).count());
                }
                Step::Forget(pair) => {
                    let gone = store.forget(&[pair]).expect("forgotten");
                    prop_assert_eq!(gone, usize::from(model.paths.remove(&pair).is_some()));
                }
                Step::Reopen => store = Store::open_with(&file, limits).expect("the store"),
                Step::Wait(time) => now += time,
            }
            let mut all = store.all().expect("paths");
            all.sort_unstable();
            prop_assert_eq!(&all, &model.paths.keys().copied().collect::<Vec<_>>());
            for pair in all {
                prop_assert_eq!(store.entries(pair).expect("values"), model.entries(pair));
            }
        }
    }
}

#[test]
fn one_bad_value_keeps_all_from_being_recorded() {
    let (_folder, mut store) = store();
    let good = Entry::new(pair(1, 1), NOW, Source::Probe, Measure::Mtu, 1500);
    let bad = Entry { value: 1, ..good };
    let error = store.record(&[good, bad], NOW).expect_err("it is refused").to_string();
    assert_eq!(error, "192.0.2.1 → 198.51.100.1: mtu 1 is not from 68 to 65535");
    assert_eq!(store.all().expect("paths"), []);
}

#[test]
fn newest_path_answers_unless_an_address_is_asked_for() {
    let (_folder, mut store) = store();
    let entry = |from, at| Entry::new(pair(from, 1), at, Source::Probe, Measure::Mtu, 1500);
    store.record(&[entry(1, NOW - 5), entry(2, NOW - 9)], NOW).expect("recorded");
    let to = vec![pair(1, 1).to, pair(1, 9).to];
    let mut question = Question { to, ..Question::default() };
    let from = |store: &Store, question: &Question| {
        let answer = store.answer(question, &mut Advisor::default(), NOW).expect("read");
        answer.map(|answer| answer.from)
    };
    assert_eq!(from(&store, &question), Some(pair(1, 1).from));
    question.from = vec![pair(2, 1).from];
    assert_eq!(from(&store, &question), Some(pair(2, 1).from));
    question.from = vec![pair(3, 1).from];
    assert_eq!(from(&store, &question), None);
}

#[test]
fn what_is_no_store_is_refused_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("paths.db");
    assert!(matches!(Store::open_existing(&file), Err(StoreError::NotThere(_))));
    std::fs::write(&file, b"anything but a database, and longer than the header of one is".repeat(9))
        .expect("a file");
    let error = Store::open(&file).err().expect("it is refused");
    assert!(matches!(&error, StoreError::At { .. }));
    assert!(error.to_string().ends_with("paths.db"), "{error}");
    let source = std::error::Error::source(&error).expect("its cause");
    assert!(source.to_string().contains("not a database"), "{source}");
}

#[test]
fn values_that_somebody_else_wrote_are_reported_as_damage() {
    let (folder, mut store) = store();
    let entry = Entry::new(pair(1, 1), NOW, Source::Probe, Measure::Mtu, 1500);
    for (change, what) in [
        ("UPDATE entry SET value = -1", "a negative number"),
        ("UPDATE entry SET value = 9", "mtu 9 is not from 68 to 65535"),
        ("UPDATE entry SET measure = 'hops'", "an unknown measure"),
        ("UPDATE pair SET sender = 'x'", "\"x\" is not an address"),
    ] {
        store.record(&[entry], NOW).expect("recorded");
        let other = rusqlite::Connection::open(folder.path().join("paths.db")).expect("the database");
        other.execute(change, []).expect("changed");
        let question = Question { to: vec![entry.to], ..Question::default() };
        let error = store.answer(&question, &mut Advisor::default(), NOW).expect_err("it is damaged");
        assert!(matches!(&error, StoreError::Damaged(why) if why.contains(what)), "{error}");
        other.execute("DELETE FROM pair", []).expect("emptied");
        other.execute("DELETE FROM entry", []).expect("emptied");
    }
}

#[test]
fn budget_is_taken_before_it_is_spent_and_is_new_each_day() {
    let (folder, mut store) = store();
    let budget = Spent { bytes: Bytes::new(1000), time: Duration::from_secs(60) };
    let (path, noon) = (pair(1, 1), 86_400 * 20_000 + 43_200);
    assert_eq!(store.take(path, budget, noon).expect("taken"), budget);
    // A second program gets nothing, whether or not the first one is killed.
    let mut second = Store::open(&folder.path().join("paths.db")).expect("the store");
    assert_eq!(second.take(path, budget, noon).expect("nothing"), Spent::default());
    let unspent = Spent { bytes: Bytes::new(300), time: Duration::from_secs(20) };
    store.give_back(path, unspent, noon).expect("given back");
    assert_eq!(second.take(path, budget, noon).expect("the rest"), unspent);
    assert_eq!(store.take(pair(2, 1), budget, noon).expect("another path"), budget);
    assert_eq!(store.take(path, budget, noon + 43_200).expect("the next day"), budget);
    // What is given back after midnight is of the day before.
    store.give_back(path, budget, noon).expect("given back");
    assert_eq!(store.take(path, budget, noon + 43_200).expect("nothing"), Spent::default());
}

#[test]
fn two_writers_lose_nothing() {
    const EACH: u64 = 100;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("paths.db");
    // Both create it, or find the other's.
    let write = |number: u8| {
        let mut store = Store::open(&file).expect("the store");
        for time in 0..EACH {
            let path = pair(number, u8::try_from(time).expect("few"));
            let entry = Entry::new(path, NOW - time, Source::Probe, Measure::Mtu, 1500);
            assert_eq!(store.record(&[entry], NOW).expect("recorded"), 1);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write(1));
        scope.spawn(|| write(2));
    });
    let store = Store::open_existing(&file).expect("the store");
    let pairs = store.all().expect("paths");
    assert_eq!(pairs.len() as u64, 2 * EACH);
    assert!(pairs.iter().all(|pair| store.entries(*pair).is_ok_and(|all| all.len() == 1)));
}
