//! The code in scripts: the subset of Python in which they state assertions.
//!
//! Assertions, assignments and `print`; numbers, strings, booleans, tuples and lists; the usual operators, and a few
//! functions. An unknown name is always an error, never a value. There are no blocks: the 89 pieces of code in
//! `scripts` only assert and print. No interpreter is embedded, since a failed assertion must show the values of its
//! names.

mod eval;
mod lexer;
mod parser;
mod syntax;
mod value;

pub use value::Value;

use std::collections::BTreeMap;

/// Why code failed, or could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// An assertion failed.
    #[error("assert {condition}{}{message}", if message.is_empty() { "" } else { ": " })]
    Assertion {
        /// The condition as written, with the values of the names in it.
        condition: String,
        /// The assertion's message.
        message: String,
    },
    /// Invalid syntax, or outside the supported subset.
    #[error("line {line} of the code: {message}")]
    Syntax {
        /// The line within the code, from 1.
        line: u32,
        /// What is wrong.
        message: String,
    },
    /// The code is valid but cannot be run.
    #[error("{0}")]
    Runtime(String),
}

/// Variables that live as long as a script: later code can read what earlier code assigned.
#[derive(Clone, Debug, Default)]
pub struct Interpreter {
    variables: BTreeMap<String, Value>,
    printed: Vec<String>,
}

impl Interpreter {
    /// Gives a name a value, as if the code had assigned it.
    pub fn assign(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// Runs code.
    ///
    /// # Errors
    /// At the first failed assertion, or at code that cannot be run.
    pub fn run(&mut self, code: &str) -> Result<(), CodeError> {
        let program = parser::parse(code)?;
        eval::Machine::new(&mut self.variables, &mut self.printed).run(&program)
    }

    /// The lines printed since the last call.
    pub fn take_printed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.printed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str) -> Result<Vec<String>, CodeError> {
        let mut interpreter = Interpreter::default();
        interpreter.assign("tcpi_snd_cwnd", Value::Integer(10));
        interpreter.assign("tcpi_unacked", Value::Integer(0));
        interpreter.run(code)?;
        Ok(interpreter.take_printed())
    }

    fn holds(condition: &str) {
        run(&format!("assert {condition}")).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn expressions_evaluate_as_in_python() {
        for condition in [
            "tcpi_snd_cwnd == 10",
            "1 + 2 * 3 == 7 and not 7 // 2 == 4",
            "0 <= tcpi_unacked < tcpi_snd_cwnd <= 10",
            "-7 // 2 == -4 and -7 % 3 == 2",
            "7 / 2 == 3.5 and 2 ** 10 == 1024",
            "1 if 0 else 2 == 2",
            "abs(-3) == 3 and min(4, 2, 9) == 2 and max([1, 5]) == 5 and len('abc') == 3",
            "3 in (1, 2, 3) and 4 not in [1, 2]",
            "0x10 | 1 == 17 and 6 & 3 == 2 and 1 << 4 == 16 and ~0 == -1",
            "'a' + 'b' == \"ab\" and 'x' * 3 == 'xxx'",
            "int(3.9) == 3 and float(2) == 2.0 and round(2.6) == 3",
            "[10, 20, 30][1] == 20 and (1, 2)[-1] == 2",
            "True and None is None and 1 is not None",
            "sum(range(4)) == 6 and all([1, 2]) and any([0, 3])",
            "0 or 5",
            "1_000 == 1000 and 1e3 == 1000",
        ] {
            holds(condition);
        }
    }

    #[test]
    fn statements_are_run() {
        let code = "
total = 2; total += 2
a, b = 1, 2
assert (a, b) == (1, 2), 'unpacked'; assert not total > 100
   # a comment
   print('four', total)
print('%d of %s, {}'.format(7) % (a, 'b'),
      f'{a + b}')
";
        assert_eq!(run(code).unwrap(), ["four 4", "1 of b, 7 3"]);
    }

    #[test]
    fn failed_assertion_shows_the_values() {
        let error = run("assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd").unwrap_err();
        assert_eq!(error.to_string(), "assert tcpi_snd_cwnd == 11 (tcpi_snd_cwnd = 10): 10");
    }

    #[test]
    fn unknown_names_and_syntax_are_named() {
        let error = |code: &str| run(code).unwrap_err().to_string();
        assert!(error("assert tcpi_cwnd == 1").contains("tcpi_cwnd"));
        assert!(error("import os").contains("import"));
        assert!(error("open('x')").contains("open"));
        assert!(error("assert 1 +").contains("line 1"));
        assert!(error("x = 1 // 0").contains("zero"));
        assert!(error("if 1: print(2)").contains("if is not in the part of Python"));
        let loops = error("x = 1\nfor i in x: pass");
        assert!(loops.contains("line 2") && loops.contains("for is not"), "{loops}");
        assert!(error("x = (1, 2)[5]").contains("index"));
        assert!(error("assert 'a' < 1").contains("compare"));
    }

    #[test]
    fn code_that_exhausts_memory_or_stack_is_refused() {
        assert!(run("x = 'a' * 10 ** 12").is_err());
        assert!(run("x = 9 ** 9 ** 9").is_err());
        assert!(run(&format!("x = {}1", "(".repeat(10_000))).is_err());
        assert!(run(&format!("x = {}1", "-".repeat(100_000))).is_err());
        assert!(run(&format!("x = {}1", "not ".repeat(100_000))).is_err());
        assert!(run(&format!("x = 1{}", " ** 1".repeat(100_000))).is_err());
    }
}
