//! `nstat`, optionally piped to `grep` (misc/nstat.c of iproute2; POSIX grep): whether the kernel's counters are as the
//! script expects.

use regex_lite::{Regex, RegexBuilder};
use std::collections::BTreeMap;
use std::fmt;

/// A kernel's counters, by nstat's names: `TcpRetransSegs`, `TcpExtTCPTimeouts`.
pub type Counters = BTreeMap<String, u64>;

/// A query of the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The command as written.
    text: String,
    /// Totals since the namespace was created, not since the last query (`-a`, `-r`).
    absolute: bool,
    /// Nothing is printed (`-n`).
    silent: bool,
    /// The query does not update the history (`-s`).
    forgets: bool,
    /// Zero counters are printed too (`-z`).
    zeros: bool,
    /// Which counters; all if empty.
    patterns: Vec<String>,
    filters: Vec<Filter>,
}

/// A `grep`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Filter {
    /// In [`Regex`] syntax.
    pattern: String,
    ignores_case: bool,
    inverted: bool,
}

impl Query {
    /// Parses the words of a pipeline's commands; `None` if they are not supported.
    pub fn parse(text: &str, stages: &[Vec<String>]) -> Option<Self> {
        let [nstat, greps @ ..] = stages else { return None };
        let mut query = Self {
            text: text.to_owned(),
            absolute: false,
            silent: false,
            forgets: false,
            zeros: false,
            patterns: Vec::new(),
            filters: Vec::new(),
        };
        for word in nstat.iter().skip(1) {
            let flags = match word.as_str() {
                "--ignore" | "--reset" => "a",
                "--noupdate" => "s",
                "--nooutput" => "n",
                "--zeros" => "z",
                long if long.starts_with("--") => return None,
                short if short.starts_with('-') => &short[1..],
                pattern => {
                    query.patterns.push(pattern.to_owned());
                    continue;
                }
            };
            for flag in flags.chars() {
                match flag {
                    'a' | 'r' => query.absolute = true,
                    'n' => query.silent = true,
                    's' => query.forgets = true,
                    'z' => query.zeros = true,
                    _ => return None,
                }
            }
        }
        query.filters = greps.iter().map(|words| Filter::parse(words)).collect::<Option<_>>()?;
        Some(query)
    }

    /// The counters that it names.
    pub fn names(&self) -> Vec<String> {
        let plain = |text: &&String| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let patterns = self.patterns.iter().filter(plain).cloned();
        let greps = self.filters.iter().flat_map(|filter| names_in(&filter.pattern));
        patterns.chain(greps).collect()
    }

    /// Runs the query; `history` holds the last query's counters. Returns the remaining lines, and whether the command
    /// succeeds.
    pub fn look(&self, now: &Counters, history: &mut Counters) -> (Vec<String>, bool) {
        let before = |name: &String| history.get(name).copied().filter(|_| !self.absolute).unwrap_or(0);
        let mut values: Counters =
            now.iter().map(|(name, value)| (name.clone(), value.saturating_sub(before(name)))).collect();
        if self.zeros {
            for name in self.names() {
                values.entry(name).or_insert(0);
            }
        }
        let mut lines = if self.silent { Vec::new() } else { vec!["#kernel".to_owned()] };
        let shown = values
            .iter()
            .filter(|(name, value)| !self.silent && (self.zeros || **value > 0) && self.covers(name));
        lines.extend(shown.map(|(name, value)| format!("{name:<32}{value:<16}{:>6.1}", 0.0)));
        if !self.forgets {
            history.clone_from(now);
        }
        let mut succeeds = true;
        for filter in &self.filters {
            lines.retain(|line| filter.keeps(line));
            succeeds = !lines.is_empty();
        }
        (lines, succeeds)
    }

    fn covers(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches_glob(pattern, name))
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Filter {
    fn parse(words: &[String]) -> Option<Self> {
        if words.first().is_none_or(|program| program != "grep") {
            return None;
        }
        let (mut kind, mut ignores_case, mut inverted, mut whole_words) = ('G', false, false, false);
        let mut patterns = Vec::new();
        for word in words.iter().skip(1) {
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
                patterns.push(word);
                continue;
            };
            for flag in flags.chars() {
                match flag {
                    'E' | 'F' | 'G' => kind = flag,
                    'i' => ignores_case = true,
                    'v' => inverted = true,
                    'w' => whole_words = true,
                    // These change the output, or precede the pattern.
                    'q' | 'c' | 'o' | 's' | 'e' => {}
                    _ => return None,
                }
            }
        }
        let [pattern] = patterns[..] else { return None };
        let pattern = match kind {
            'E' => pattern.clone(),
            'F' => regex_lite::escape(pattern),
            _ => from_basic(pattern),
        };
        let pattern = if whole_words { format!(r"\b(?:{pattern})\b") } else { pattern };
        let filter = Self { pattern, ignores_case, inverted };
        filter.regex().is_some().then_some(filter)
    }

    fn regex(&self) -> Option<Regex> {
        RegexBuilder::new(&self.pattern).case_insensitive(self.ignores_case).build().ok()
    }

    fn keeps(&self, line: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(line) != self.inverted)
    }
}

/// Converts a POSIX basic regular expression to an extended one: its `\+` is `+` here.
fn from_basic(basic: &str) -> String {
    let mut extended = String::new();
    let mut characters = basic.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(special @ ('+' | '?' | '|' | '(' | ')' | '{' | '}')) => extended.push(special),
                Some(other) => extended.extend(['\\', other]),
                None => extended.push('\\'),
            },
            '+' | '?' | '|' | '(' | ')' | '{' | '}' => extended.extend(['\\', character]),
            other => extended.push(other),
        }
    }
    extended
}

/// The names of counters in a pattern of `grep`.
fn names_in(pattern: &str) -> Vec<String> {
    let words = pattern.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| word.starts_with("Tcp") && word.len() > "TcpExt".len()).map(str::to_owned).collect()
}

/// `fnmatch` with `*` and `?`, case-insensitive.
fn matches_glob(pattern: &str, name: &str) -> bool {
    let escaped = regex_lite::escape(pattern).replace(r"\*", ".*").replace(r"\?", ".");
    let regex = RegexBuilder::new(&format!("^(?:{escaped})$")).case_insensitive(true).build();
    regex.is_ok_and(|regex| regex.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Option<Query> {
        let words = |stage: &str| stage.split_whitespace().map(str::to_owned).collect();
        Query::parse(text, &text.split('|').map(words).collect::<Vec<_>>())
    }

    fn counters(pairs: &[(&str, u64)]) -> Counters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    /// Its output, and whether it succeeds.
    fn look(text: &str, now: &Counters, history: &mut Counters) -> (Vec<String>, bool) {
        let (lines, succeeds) = query(text).expect("understood").look(now, history);
        let first_two = |line: &String| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        (lines.iter().filter(|line| !line.starts_with('#')).map(first_two).collect(), succeeds)
    }

    #[test]
    fn nstat_counts_from_the_last_query() {
        let mut history = Counters::new();
        let first = counters(&[("TcpRetransSegs", 2), ("TcpExtTCPTimeouts", 0)]);
        assert_eq!(look("nstat -n", &first, &mut history), (vec![], true));
        let second = counters(&[("TcpRetransSegs", 5), ("TcpExtTCPTimeouts", 1)]);
        let shown = vec!["TcpExtTCPTimeouts 1".to_owned(), "TcpRetransSegs 3".to_owned()];
        assert_eq!(look("nstat -s", &second, &mut history), (shown.clone(), true));
        assert_eq!(look("nstat", &second, &mut history), (shown, true), "-s does not update the history");
        assert_eq!(look("nstat", &second, &mut history), (vec![], true));
        assert_eq!(look("nstat -a tcpretrans*", &second, &mut history).0, ["TcpRetransSegs 5"]);
        assert_eq!(look("nstat -z TcpRetransSegs", &second, &mut history).0, ["TcpRetransSegs 0"]);
    }

    #[test]
    fn grep_decides_success() {
        let now = counters(&[("TcpExtTCPOFOQueue", 3), ("TcpRetransSegs", 13)]);
        for (text, succeeds) in [
            ("nstat -a | grep TcpExtTCPOFOQueue", true),
            ("nstat -a | grep -q TcpExtTCPOFOQueue\\s\\s*3\\b", true),
            ("nstat -a | grep -qE TcpExtTCPOFOQueue\\s+3\\b", true),
            ("nstat -a | grep -q TcpExtTCPOFOQueue\\s\\s*13", false),
            ("nstat -a | grep -qw 3", true),
            ("nstat -a | grep Retrans | grep -qw 3", false),
            ("nstat -az | grep -v Tcp", true),
            ("nstat -a Tcp* | grep -qF Tcp*", false),
        ] {
            assert_eq!(look(text, &now, &mut Counters::new()).1, succeeds, "{text}");
        }
    }

    #[test]
    fn query_names_its_counters() {
        let names = |text| query(text).map(|query| query.names());
        assert_eq!(names("nstat -az TcpFoo Tcp*"), Some(vec!["TcpFoo".to_owned()]));
        assert_eq!(names("nstat | grep TcpExtBar.*3 | grep -c 1"), Some(vec!["TcpExtBar".to_owned()]));
        assert_eq!(names("nstat -j"), None);
        assert_eq!(names("nstat | awk {print}"), None);
    }
}
