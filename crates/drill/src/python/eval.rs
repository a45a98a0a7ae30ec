//! Evaluates code.

use super::CodeError;
use super::syntax::{Expression, Statement};
use super::value::Value;
use std::collections::BTreeMap;

/// The maximum length of a range.
const LONGEST_RANGE: i64 = 1 << 16;

pub struct Machine<'a> {
    variables: &'a mut BTreeMap<String, Value>,
    printed: &'a mut Vec<String>,
}

fn failed<T>(message: impl Into<String>) -> Result<T, CodeError> {
    Err(CodeError::Runtime(message.into()))
}

impl<'a> Machine<'a> {
    pub fn new(variables: &'a mut BTreeMap<String, Value>, printed: &'a mut Vec<String>) -> Self {
        Self { variables, printed }
    }

    pub fn run(&mut self, program: &[Statement]) -> Result<(), CodeError> {
        program.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), CodeError> {
        match statement {
            Statement::Expression(expression) => {
                self.value(expression)?;
            }
            Statement::Assert(condition, text, message) => {
                self.assertion(condition, text, message.as_ref())?;
            }
            Statement::Assign(names, value) => {
                let value = self.value(value)?;
                self.assign(names, value)?;
            }
            Statement::Update(name, operator, value) => {
                let value = self.value(value)?;
                let updated = self.variable(name)?.operate(*operator, &value)?;
                self.variables.insert(name.clone(), updated);
            }
        }
        Ok(())
    }

    fn assertion(
        &mut self,
        condition: &Expression,
        text: &str,
        message: Option<&Expression>,
    ) -> Result<(), CodeError> {
        if self.value(condition)?.is_true() {
            return Ok(());
        }
        let mut names = Vec::new();
        collect_names(condition, &mut names);
        let known =
            names.iter().filter_map(|name| Some(format!("{name} = {:#}", self.variables.get(*name)?)));
        let values = known.collect::<Vec<_>>().join(", ");
        let condition = if values.is_empty() { text.to_owned() } else { format!("{text} ({values})") };
        let message = message.map(|message| self.value(message)).transpose()?;
        let message = message.map(|message| message.to_string()).unwrap_or_default();
        Err(CodeError::Assertion { condition, message })
    }

    fn assign(&mut self, names: &[String], value: Value) -> Result<(), CodeError> {
        if let [name] = names {
            self.variables.insert(name.clone(), value);
            return Ok(());
        }
        let items = value.items()?;
        if items.len() != names.len() {
            return failed(format!("{} names for {} values", names.len(), items.len()));
        }
        self.variables.extend(names.iter().cloned().zip(items));
        Ok(())
    }

    fn variable(&self, name: &str) -> Result<Value, CodeError> {
        match self.variables.get(name) {
            Some(value) => Ok(value.clone()),
            None => failed(format!("{name} is not known: neither measured nor assigned before")),
        }
    }

    fn values(&mut self, expressions: &[Expression]) -> Result<Vec<Value>, CodeError> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    fn value(&mut self, expression: &Expression) -> Result<Value, CodeError> {
        Ok(match expression {
            Expression::Integer(value) => Value::Integer(*value),
            Expression::Float(value) => Value::Float(*value),
            Expression::Text(text) => Value::Text(text.clone()),
            Expression::Format(parts) => self.format(parts)?,
            Expression::True => Value::Boolean(true),
            Expression::False => Value::Boolean(false),
            Expression::None => Value::None,
            Expression::Name(name) => self.variable(name)?,
            Expression::Tuple(items) => Value::Tuple(self.values(items)?),
            Expression::List(items) => Value::List(self.values(items)?),
            Expression::Not(value) => Value::Boolean(!self.value(value)?.is_true()),
            Expression::Negative(value) => match self.value(value)? {
                Value::Float(value) => Value::Float(-value),
                value => Value::Integer(value.integer()?.wrapping_neg()),
            },
            Expression::Invert(value) => Value::Integer(!self.value(value)?.integer()?),
            Expression::And(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { self.value(right)? } else { left }
            }
            Expression::Or(left, right) => {
                let left = self.value(left)?;
                if left.is_true() { left } else { self.value(right)? }
            }
            Expression::Binary(operator, left, right) => {
                let left = self.value(left)?;
                left.operate(*operator, &self.value(right)?)?
            }
            Expression::Compare(first, chain) => {
                let mut left = self.value(first)?;
                for (comparison, right) in chain {
                    let right = self.value(right)?;
                    if !left.compare(*comparison, &right)? {
                        return Ok(Value::Boolean(false));
                    }
                    left = right;
                }
                Value::Boolean(true)
            }
            Expression::Choice(choice) => {
                let (then, condition, otherwise) = &**choice;
                if self.value(condition)?.is_true() { self.value(then)? } else { self.value(otherwise)? }
            }
            Expression::Call(name, arguments) => {
                let arguments = self.values(arguments)?;
                self.call(name, &arguments)?
            }
            Expression::Method(on, name, arguments) => {
                let on = self.value(on)?;
                let arguments = self.values(arguments)?;
                method(&on, name, &arguments)?
            }
            Expression::Index(on, index) => {
                let on = self.value(on)?;
                on.item(&self.value(index)?)?
            }
        })
    }

    fn format(&mut self, parts: &[(String, Option<Expression>)]) -> Result<Value, CodeError> {
        let mut text = String::new();
        for (before, expression) in parts {
            text.push_str(before);
            if let Some(expression) = expression {
                text.push_str(&self.value(expression)?.to_string());
            }
        }
        Ok(Value::Text(text))
    }

    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, CodeError> {
        if name == "print" {
            let words: Vec<String> = arguments.iter().map(Value::to_string).collect();
            self.printed.push(words.join(" "));
            return Ok(Value::None);
        }
        match arguments {
            [single] => of_one(name, single),
            _ => of_several(name, arguments),
        }
    }
}

fn of_one(name: &str, value: &Value) -> Result<Value, CodeError> {
    Ok(match name {
        "abs" => match value {
            Value::Float(value) => Value::Float(value.abs()),
            value => Value::Integer(value.integer()?.wrapping_abs()),
        },
        "len" => Value::Integer(i64::try_from(value.items()?.len()).unwrap_or(i64::MAX)),
        "int" => match value {
            Value::Text(text) => match text.trim().parse() {
                Ok(number) => Value::Integer(number),
                Err(_) => return failed(format!("{text:?} is no whole number")),
            },
            value => Value::Integer(value.float()?.trunc() as i64),
        },
        "round" => Value::Integer(value.float()?.round_ties_even() as i64),
        "float" => Value::Float(value.float()?),
        "bool" => Value::Boolean(value.is_true()),
        "str" | "repr" | "hex" | "bin" => match name {
            "hex" => Value::Text(format!("{:#x}", value.integer()?)),
            "bin" => Value::Text(format!("{:#b}", value.integer()?)),
            _ => Value::Text(value.to_string()),
        },
        "min" | "max" => return of_several(name, &value.items()?),
        "sum" => value
            .items()?
            .iter()
            .try_fold(Value::Integer(0), |sum, item| sum.operate(super::syntax::Operator::Add, item))?,
        "all" => Value::Boolean(value.items()?.iter().all(Value::is_true)),
        "any" => Value::Boolean(value.items()?.iter().any(Value::is_true)),
        "tuple" => Value::Tuple(value.items()?),
        "list" => Value::List(value.items()?),
        "range" => range(0, value.integer()?, 1)?,
        _ => return unknown(name),
    })
}

fn of_several(name: &str, values: &[Value]) -> Result<Value, CodeError> {
    use super::syntax::Comparison;
    match (name, values) {
        ("min" | "max", [first, rest @ ..]) => {
            let better = if name == "min" { Comparison::Less } else { Comparison::Greater };
            let mut best = first;
            for value in rest {
                if value.compare(better, best)? {
                    best = value;
                }
            }
            Ok(best.clone())
        }
        ("range", [from, to]) => range(from.integer()?, to.integer()?, 1),
        ("range", [from, to, by]) => range(from.integer()?, to.integer()?, by.integer()?),
        ("round", [value, _]) => Ok(value.clone()),
        _ => unknown(name),
    }
}

fn unknown<T>(name: &str) -> Result<T, CodeError> {
    failed(format!("{name}() is not a function that is known here, or not with these arguments"))
}

fn range(from: i64, to: i64, by: i64) -> Result<Value, CodeError> {
    let mut items = Vec::new();
    let mut at = from;
    while by != 0 && if by > 0 { at < to } else { at > to } {
        if items.len() as i64 >= LONGEST_RANGE {
            return failed("this range is too long");
        }
        items.push(Value::Integer(at));
        at = at.saturating_add(by);
    }
    Ok(Value::List(items))
}

fn method(on: &Value, name: &str, arguments: &[Value]) -> Result<Value, CodeError> {
    match (on, name) {
        (Value::Text(text), "format") => {
            let mut values = arguments.iter();
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once('{') {
                let (Some((_, next)), Some(value)) = (after.split_once('}'), values.next()) else {
                    return failed("{} in a string has no value");
                };
                out.push_str(before);
                out.push_str(&value.to_string());
                rest = next;
            }
            out.push_str(rest);
            Ok(Value::Text(out))
        }
        _ => failed(format!(".{name}() is not known here")),
    }
}

/// The names in an expression, each once, in order.
fn collect_names<'a>(expression: &'a Expression, names: &mut Vec<&'a str>) {
    match expression {
        Expression::Name(name) => {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        Expression::Not(a) | Expression::Negative(a) | Expression::Invert(a) | Expression::Method(a, ..) => {
            collect_names(a, names);
        }
        Expression::And(a, b)
        | Expression::Or(a, b)
        | Expression::Binary(_, a, b)
        | Expression::Index(a, b) => {
            collect_names(a, names);
            collect_names(b, names);
        }
        Expression::Compare(first, chain) => {
            collect_names(first, names);
            chain.iter().for_each(|(_, part)| collect_names(part, names));
        }
        Expression::Tuple(items) | Expression::List(items) | Expression::Call(_, items) => {
            items.iter().for_each(|item| collect_names(item, names));
        }
        Expression::Choice(choice) => {
            let (a, b, c) = &**choice;
            [a, b, c].into_iter().for_each(|part| collect_names(part, names));
        }
        Expression::Integer(_)
        | Expression::Float(_)
        | Expression::Text(_)
        | Expression::Format(_)
        | Expression::True
        | Expression::False
        | Expression::None => {}
    }
}
