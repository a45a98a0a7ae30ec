//! The runs made from one scenario with different values.

use crate::file::Override;
use std::str::FromStr;

/// The differences between the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// All combinations of the values of these.
    pub vary: Vec<Vary>,
    /// Further runs, each the scenario with some values changed.
    pub tries: Vec<Try>,
}

/// A key and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// The key, as in `--set`.
    pub key: String,
    /// The override for each value.
    pub values: Vec<Override>,
}

impl FromStr for Vary {
    type Err = String;

    /// `path.delay=5ms,50ms`: commas inside quotes and brackets belong to a value.
    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) =
            text.split_once('=').ok_or("write a key, = and values, such as path.delay=5ms,50ms")?;
        let (mut depth, mut quoted) = (0_u32, false);
        let values = values.split(|c| {
            match c {
                '"' => quoted = !quoted,
                '[' | '{' if !quoted => depth += 1,
                ']' | '}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0 && !quoted
        });
        let overrides = values.map(|value| format!("{key}={}", value.trim()).parse::<Override>());
        let values = overrides.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

/// A run with some values changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// Its name.
    pub name: String,
    /// The values.
    pub set: Vec<Override>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepCase {
    /// The name of its `[[try]]`; `None` in the grid.
    pub name: Option<String>,
    /// The overrides of the scenario's values: in the grid, one per key, in their order.
    pub set: Vec<Override>,
}

/// More runs than this should be several sweeps.
pub const MOST_CASES: usize = 100_000;

impl Sweep {
    /// The number of runs.
    pub fn len(&self) -> usize {
        let each = self.vary.iter().map(|vary| vary.values.len());
        let grid = if self.vary.is_empty() { 0 } else { each.fold(1, usize::saturating_mul) };
        grid.saturating_add(self.tries.len())
    }

    /// Whether nothing is varied.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The runs: the grid, with the last key's values changing fastest, and then the `[[try]]` runs.
    pub fn cases(&self) -> Vec<SweepCase> {
        let mut grid = if self.vary.is_empty() { Vec::new() } else { vec![Vec::new()] };
        for vary in &self.vary {
            let longer = |set: &Vec<Override>| {
                let set = set.clone();
                vary.values.iter().map(move |value| [set.as_slice(), std::slice::from_ref(value)].concat())
            };
            grid = grid.iter().flat_map(longer).collect();
        }
        let grid = grid.into_iter().map(|set| SweepCase { name: None, set });
        let tries =
            self.tries.iter().map(|one| SweepCase { name: Some(one.name.clone()), set: one.set.clone() });
        grid.chain(tries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vary_values_are_separated_by_commas() {
        let vary = |text: &str| text.parse::<Vary>();
        let texts = |text: &str| -> Vec<String> {
            vary(text).unwrap().values.iter().map(|value| value.text().to_owned()).collect()
        };
        assert_eq!(texts("path.delay=5ms, 50ms"), ["path.delay=5ms", "path.delay=50ms"]);
        assert_eq!(
            texts(r#"a=[{ hogs = 1, cpu = 0 }],"b,c""#),
            [r#"a=[{ hogs = 1, cpu = 0 }]"#, r#"a="b,c""#]
        );
        assert!(vary("path.delay").is_err() && vary("a..b=1").is_err());
    }

    #[test]
    fn grid_combines_all_values() {
        let of = |text: &str| text.parse::<Override>().unwrap();
        let vary = |key: &str, values: &[&str]| Vary {
            key: key.to_owned(),
            values: values.iter().map(|value| of(&format!("{key}={value}"))).collect(),
        };
        let tries = vec![Try { name: "both".to_owned(), set: vec![of("a=7"), of("b=8")] }];
        let sweep = Sweep { vary: vec![vary("a", &["1", "2"]), vary("b", &["3", "4", "5"])], tries };
        let cases = sweep.cases();
        assert_eq!((cases.len(), sweep.len()), (7, 7));
        let texts = |case: &SweepCase| case.set.iter().map(Override::text).collect::<Vec<_>>().join(" ");
        assert_eq!(
            cases.iter().map(texts).collect::<Vec<_>>()[..4],
            ["a=1 b=3", "a=1 b=4", "a=1 b=5", "a=2 b=3"]
        );
        assert_eq!((cases[6].name.as_deref(), texts(&cases[6])), (Some("both"), "a=7 b=8".to_owned()));
        assert!(Sweep::default().cases().is_empty() && Sweep::default().is_empty());
    }
}
