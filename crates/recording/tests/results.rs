//! Tables of results round-trip, and damage is an error that names the file.

use proptest::prelude::*;
use slowpath_recording::results::{self, Cell, Column, Field, Holds, Table, Value};
use std::fs;

const HOLDS: [Holds; 4] = [Holds::Number, Holds::Count, Holds::Switch, Holds::Text];

fn fields() -> Vec<Field> {
    HOLDS.iter().map(|holds| Field::new(format!("{holds:?} [unit]"), *holds)).collect()
}

fn columns() -> Vec<Column> {
    let plain = fields().into_iter().map(Column::Plain);
    plain
        .chain([Column::Rows("some".to_owned(), fields()), Column::Rows("more".to_owned(), fields())])
        .collect()
}

fn value(holds: Holds) -> BoxedStrategy<Option<Value>> {
    let some = match holds {
        // NaN is not equal to itself.
        Holds::Number => {
            any::<f64>().prop_filter("a number", |one| !one.is_nan()).prop_map(Value::Number).boxed()
        }
        Holds::Count => any::<u64>().prop_map(Value::Count).boxed(),
        Holds::Switch => any::<bool>().prop_map(Value::Switch).boxed(),
        Holds::Text => ".{0,9}".prop_map(Value::Text).boxed(),
    };
    proptest::option::of(some).boxed()
}

fn values() -> impl Strategy<Value = Vec<Option<Value>>> {
    HOLDS.map(value).to_vec()
}

fn row() -> impl Strategy<Value = Vec<Cell>> {
    let rows = || proptest::collection::vec(values(), 0..4).prop_map(Cell::Rows);
    (values(), rows(), rows())
        .prop_map(|(plain, some, more)| plain.into_iter().map(Cell::Plain).chain([some, more]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_table_round_trips(rows in proptest::collection::vec(row(), 0..12), text in ".{0,20}") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.parquet");
        let table = Table { metadata: vec![("what.it.is".to_owned(), text)], rows };
        results::write(&path, &columns(), &table).unwrap();
        prop_assert_eq!(&results::read(&path, &columns()).unwrap(), &table);
        prop_assert_eq!(results::read_metadata(&path).unwrap(), table.metadata);
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// A changed byte gives another value or an error; a truncated file is always an error.
    #[test]
    fn truncated_file_is_reported_as_damaged(rows in proptest::collection::vec(row(), 1..5), at in any::<prop::sample::Index>(), to: u8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.parquet");
        results::write(&path, &columns(), &Table { metadata: vec![], rows }).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        fs::write(&path, &bytes[..at]).unwrap();
        let error = results::read(&path, &columns()).unwrap_err().to_string();
        prop_assert!(error.contains("1.parquet: is damaged"), "{}", error);
        bytes[at] = to;
        fs::write(&path, &bytes).unwrap();
        let _ = results::read(&path, &columns());
    }
}

#[test]
fn columns_of_another_type_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.parquet");
    let column = |holds| [Column::Plain(Field::new("a", holds))];
    let table = |cell| Table { metadata: vec![], rows: vec![vec![Cell::Plain(Some(cell))]] };
    let write = |holds, cell| results::write(&path, &column(holds), &table(cell));
    assert!(write(Holds::Count, Value::Text("one".to_owned())).is_err() && !path.exists());
    write(Holds::Count, Value::Count(1)).unwrap();
    let error = results::read(&path, &column(Holds::Text)).unwrap_err().to_string();
    assert!(error.contains("has other columns than it should"), "{error}");
    assert!(results::read(&folder.path().join("2.parquet"), &column(Holds::Text)).is_err());
}
