//! Parses statements.

use super::CodeError;
use super::lexer::{self, Kind, Token};
use super::syntax::{Comparison, Expression, Operator, Statement};

/// The maximum nesting of expressions, so that the stack is not exhausted.
const DEEPEST: u32 = 50;

/// Parses code.
pub fn parse(code: &str) -> Result<Vec<Statement>, CodeError> {
    let mut parser = Parser { code, tokens: lexer::tokens(code)?, at: 0, depth: 0 };
    let mut program = Vec::new();
    while parser.at < parser.tokens.len() {
        parser.line_of_statements(&mut program)?;
    }
    Ok(program)
}

pub(super) struct Parser<'a> {
    code: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
}

type Parsed<T> = Result<T, CodeError>;

/// Python keywords that are not supported, so that the error can name them.
const BEYOND: &[&str] = &[
    "import", "from", "def", "class", "lambda", "return", "with", "try", "raise", "global", "yield", "del",
    "async", "await", "nonlocal", "match", "if", "for", "while", "pass", "break", "continue",
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(CodeError::Syntax { line: self.line(), message: message.into() })
    }

    fn sign(&mut self, sign: &str) -> bool {
        let comes = matches!(self.peek(), Some(Kind::Sign(next)) if *next == sign);
        self.at += usize::from(comes);
        comes
    }

    fn need(&mut self, sign: &str) -> Parsed<()> {
        if self.sign(sign) { Ok(()) } else { self.error(format!("{sign} is expected")) }
    }

    fn keyword(&mut self, word: &str) -> bool {
        let comes = matches!(self.peek(), Some(Kind::Name(name)) if name == word);
        self.at += usize::from(comes);
        comes
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Kind::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.error("a name is expected"),
        }
    }

    /// Parses something one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return self.error("this is nested too deeply");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The statements of one line.
    fn line_of_statements(&mut self, into: &mut Vec<Statement>) -> Parsed<()> {
        loop {
            into.push(self.statement()?);
            let more = self.sign(";");
            if matches!(self.peek(), Some(Kind::End)) {
                self.at += 1;
                return Ok(());
            }
            if !more {
                return self.error("the statement should end here");
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        if let Some(Kind::Name(name)) = self.peek()
            && BEYOND.contains(&name.as_str())
        {
            return self.error(format!("{name} is not in the part of Python that is understood here"));
        }
        if self.keyword("assert") {
            let from = self.tokens.get(self.at).map_or(0, |token| token.start);
            let condition = self.expression()?;
            let to = self.tokens.get(self.at.wrapping_sub(1)).map_or(from, |token| token.end);
            let message = if self.sign(",") { Some(self.expression()?) } else { None };
            return Ok(Statement::Assert(condition, self.code[from..to].to_owned(), message));
        }
        let target = self.expressions()?;
        if self.sign("=") {
            let value = self.expressions()?;
            return Ok(Statement::Assign(self.targets(target)?, value));
        }
        if let Some(Kind::Sign(sign)) = self.peek()
            && let Some(operator) = sign.strip_suffix('=').and_then(operator)
        {
            self.at += 1;
            let value = self.expressions()?;
            let names = self.targets(target)?;
            return match <[String; 1]>::try_from(names) {
                Ok([name]) => Ok(Statement::Update(name, operator, value)),
                Err(_) => self.error("one name is updated at a time"),
            };
        }
        Ok(Statement::Expression(target))
    }

    fn targets(&self, target: Expression) -> Parsed<Vec<String>> {
        let parts = match target {
            Expression::Tuple(parts) | Expression::List(parts) => parts,
            single => vec![single],
        };
        let names = parts.into_iter().map(|part| match part {
            Expression::Name(name) => Ok(name),
            _ => self.error("only names can be assigned to"),
        });
        names.collect()
    }

    /// One expression, or a tuple without parentheses.
    fn expressions(&mut self) -> Parsed<Expression> {
        let first = self.expression()?;
        if !matches!(self.peek(), Some(Kind::Sign(","))) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.sign(",") {
            if matches!(self.peek(), None | Some(Kind::End | Kind::Sign("="))) {
                break;
            }
            parts.push(self.expression()?);
        }
        Ok(Expression::Tuple(parts))
    }

    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            let then = parser.disjunction()?;
            if !parser.keyword("if") {
                return Ok(then);
            }
            let condition = parser.disjunction()?;
            if !parser.keyword("else") {
                return parser.error("else is expected");
            }
            let otherwise = parser.expression()?;
            Ok(Expression::Choice(Box::new((then, condition, otherwise))))
        })
    }

    fn disjunction(&mut self) -> Parsed<Expression> {
        let mut left = self.conjunction()?;
        while self.keyword("or") {
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Expression> {
        let mut left = self.negation()?;
        while self.keyword("and") {
            left = Expression::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed<Expression> {
        if self.keyword("not") {
            return self.deeper(|parser| parser.negation().map(|value| Expression::Not(Box::new(value))));
        }
        let first = self.binary(0)?;
        let mut chain = Vec::new();
        while let Some(comparison) = self.comparison()? {
            chain.push((comparison, self.binary(0)?));
        }
        Ok(if chain.is_empty() { first } else { Expression::Compare(Box::new(first), chain) })
    }

    fn comparison(&mut self) -> Parsed<Option<Comparison>> {
        let by_sign = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (sign, comparison) in by_sign {
            if self.sign(sign) {
                return Ok(Some(comparison));
            }
        }
        if self.keyword("in") {
            return Ok(Some(Comparison::In));
        }
        if self.keyword("is") {
            return Ok(Some(if self.keyword("not") { Comparison::IsNot } else { Comparison::Is }));
        }
        if self.keyword("not") {
            return if self.keyword("in") {
                Ok(Some(Comparison::NotIn))
            } else {
                self.error("in is expected")
            };
        }
        Ok(None)
    }

    /// Binary operators by precedence, the lowest first.
    fn binary(&mut self, level: usize) -> Parsed<Expression> {
        const LEVELS: &[&[&str]] =
            &[&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.sign(sign)) {
            let right = self.binary(level + 1)?;
            let Some(operator) = operator(sign) else { return self.error("an operator is expected") };
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            if parser.sign("-") {
                return parser.unary().map(|value| Expression::Negative(Box::new(value)));
            }
            if parser.sign("+") {
                return parser.unary();
            }
            if parser.sign("~") {
                return parser.unary().map(|value| Expression::Invert(Box::new(value)));
            }
            let base = parser.postfix()?;
            if !parser.sign("**") {
                return Ok(base);
            }
            let exponent = parser.unary()?;
            Ok(Expression::Binary(Operator::Power, Box::new(base), Box::new(exponent)))
        })
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let mut value = self.atom()?;
        loop {
            if self.sign("[") {
                let index = self.expression()?;
                self.need("]")?;
                value = Expression::Index(Box::new(value), Box::new(index));
            } else if self.sign(".") {
                let method = self.name()?;
                self.need("(")?;
                let arguments = self.arguments(")")?;
                value = Expression::Method(Box::new(value), method, arguments);
            } else if let Expression::Name(name) = &value
                && matches!(self.peek(), Some(Kind::Sign("(")))
            {
                let name = name.clone();
                self.at += 1;
                value = Expression::Call(name, self.arguments(")")?);
            } else {
                return Ok(value);
            }
        }
    }

    fn arguments(&mut self, close: &str) -> Parsed<Vec<Expression>> {
        let mut arguments = Vec::new();
        while !self.sign(close) {
            arguments.push(self.expression()?);
            if !self.sign(",") {
                self.need(close)?;
                break;
            }
        }
        Ok(arguments)
    }

    fn atom(&mut self) -> Parsed<Expression> {
        let Some(kind) = self.peek().cloned() else { return self.error("the code ends too early") };
        self.at += 1;
        Ok(match kind {
            Kind::Integer(value) => Expression::Integer(value),
            Kind::Float(value) => Expression::Float(value),
            Kind::Text(mut text) => {
                while let Some(Kind::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                Expression::Text(text)
            }
            Kind::Format(raw) => self.format(&raw)?,
            Kind::Name(name) => match name.as_str() {
                "True" => Expression::True,
                "False" => Expression::False,
                "None" => Expression::None,
                word if BEYOND.contains(&word) => {
                    return self
                        .error(format!("{word} is not in the part of Python that is understood here"));
                }
                _ => Expression::Name(name),
            },
            Kind::Sign("[") => Expression::List(self.arguments("]")?),
            Kind::Sign("(") => self.parenthesised()?,
            _ => {
                self.at -= 1;
                return self.error("a value is expected");
            }
        })
    }

    fn parenthesised(&mut self) -> Parsed<Expression> {
        if self.sign(")") {
            return Ok(Expression::Tuple(Vec::new()));
        }
        let first = self.expression()?;
        if self.sign(")") {
            return Ok(first);
        }
        self.need(",")?;
        let mut parts = vec![first];
        parts.extend(self.arguments(")")?);
        Ok(Expression::Tuple(parts))
    }

    fn format(&mut self, raw: &str) -> Parsed<Expression> {
        let mut parts = Vec::new();
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, next)) = after.split_once('}') else { return self.error("} is expected") };
            // A format after the colon only changes the output.
            let text = inside.split(':').next().unwrap_or("");
            let depth = self.depth;
            let mut inner = Parser { code: text, tokens: lexer::tokens(text)?, at: 0, depth };
            parts.push((before.to_owned(), Some(inner.expression()?)));
            rest = next;
        }
        parts.push((rest.to_owned(), None));
        Ok(Expression::Format(parts))
    }
}

fn operator(sign: &str) -> Option<Operator> {
    Some(match sign {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "//" => Operator::FloorDivide,
        "%" => Operator::Modulo,
        "**" => Operator::Power,
        "&" => Operator::And,
        "|" => Operator::Or,
        "^" => Operator::Xor,
        "<<" => Operator::ShiftLeft,
        ">>" => Operator::ShiftRight,
        _ => return None,
    })
}
