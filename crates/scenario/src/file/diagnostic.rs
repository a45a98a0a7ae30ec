//! Errors with line, caret and hint.

use crate::file::source::{Place, Sources};
use slowpath_model::shown::{self, Quoted};
use std::fmt;

/// One error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Place,
    /// How to fix it; empty if the message says that.
    pub hint: String,
}

/// A refused scenario: all its errors, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
}

/// One error, for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<'r> {
    /// The file, or `--set`.
    pub file: &'r str,
    /// The line, from 1.
    pub line: usize,
    /// The character, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: &'r str,
    /// How to fix it.
    pub hint: &'r str,
}

/// Nobody reads more errors than this.
const MOST_SHOWN: usize = 30;
/// Characters of a line shown on each side of the place.
const MOST_CONTEXT: usize = 70;

impl Rejected {
    /// All errors, sorted by place; of several errors at one place the first is kept.
    pub fn new(sources: Sources, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by(|a, b| a.place.cmp(&b.place));
        diagnostics.dedup_by(|later, earlier| later.place == earlier.place);
        Self { sources, diagnostics }
    }

    /// All errors, for programs.
    pub fn findings(&self) -> Vec<Finding<'_>> {
        self.diagnostics
            .iter()
            .map(|diagnostic| {
                let position = self.sources.position(&diagnostic.place);
                Finding {
                    file: position.name,
                    line: position.line,
                    column: position.column,
                    message: &diagnostic.message,
                    hint: &diagnostic.hint,
                }
            })
            .collect()
    }
}

impl std::error::Error for Rejected {}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, diagnostic) in self.diagnostics.iter().take(MOST_SHOWN).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            self.show(f, diagnostic)?;
        }
        match self.diagnostics.len().checked_sub(MOST_SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => writeln!(f, "\nand {more} more"),
        }
    }
}

impl Rejected {
    fn show(&self, f: &mut fmt::Formatter<'_>, diagnostic: &Diagnostic) -> fmt::Result {
        let position = self.sources.position(&diagnostic.place);
        let number = position.line.to_string();
        let margin = " ".repeat(number.len());
        let quoted = Quoted::new(position.text, position.column, position.width, MOST_CONTEXT);
        let [message, name, hint] =
            [&diagnostic.message, position.name, &diagnostic.hint].map(|one| shown::line(one));
        let (indent, carets) = (&quoted.indent, quoted.carets(MOST_CONTEXT));
        writeln!(f, "error: {message}")?;
        writeln!(f, "{margin}--> {name}:{}:{}", position.line, position.column)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", quoted.line)?;
        writeln!(f, "{}", format!("{margin} | {indent}{carets} {hint}").trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(text: &str, diagnostics: &[(usize, usize, &str, &str)]) -> Rejected {
        let diagnostics = diagnostics.iter().map(|(from, to, message, hint)| Diagnostic {
            message: (*message).to_owned(),
            place: Place::in_file(*from..*to),
            hint: (*hint).to_owned(),
        });
        Rejected::new(Sources::new("x.toml", text, []), diagnostics.collect())
    }

    #[test]
    fn errors_are_sorted_and_have_line_and_caret() {
        let rejected = rejected(
            "[path]\ndelay = \"40\"\nloss = 3\n",
            &[(23, 24, "loss is a number", "write \"3 %\""), (15, 19, "not a time", "write \"40 ms\"")],
        );
        assert_eq!(
            rejected.to_string(),
            "\
error: not a time
 --> x.toml:2:9
  |
2 | delay = \"40\"
  |         ^^^^ write \"40 ms\"

error: loss is a number
 --> x.toml:3:4
  |
3 | loss = 3
  |    ^ write \"3 %\"
"
        );
        assert_eq!(rejected.findings()[1].line, 3);
    }

    #[test]
    fn long_lines_are_truncated() {
        let text = format!("x = \"{}\"", "a".repeat(100_000));
        let shown = rejected(&text, &[(4, 100_006, "too long", "")]).to_string();
        assert!(shown.len() < 600, "{} bytes", shown.len());
        let shown = rejected(&text, &[(50_000, 50_001, "here", "")]).to_string();
        assert!(shown.lines().all(|line| line.len() < 160), "{shown}");
    }

    #[test]
    fn errors_beyond_the_limit_are_only_counted() {
        let text = "a\n".repeat(1000);
        let many: Vec<_> = (0..1000).map(|n| (2 * n, 2 * n + 1, "wrong", "")).collect();
        let shown = rejected(&text, &many).to_string();
        assert!(shown.ends_with("\nand 970 more\n"));
    }
}
