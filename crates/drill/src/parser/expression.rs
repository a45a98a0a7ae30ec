//! Arguments and results of system calls.

use super::cursor::Cursor;
use crate::lexer::{self, Kind};
use crate::script::Expr;
use crate::source::ScriptError;

/// The maximum nesting of brackets: more than any call needs, without exhausting the stack.
const DEEPEST: u32 = 32;
/// The maximum number of values joined by `|`: more than there are bits.
const MOST_TERMS: u32 = 64;

/// Comma-separated expressions, including the closing sign.
pub fn list(cursor: &mut Cursor<'_>, close: char) -> Result<Vec<Expr>, ScriptError> {
    list_at(cursor, close, 0)
}

/// One expression.
pub fn expression(cursor: &mut Cursor<'_>) -> Result<Expr, ScriptError> {
    expression_at(cursor, 0)
}

fn list_at(cursor: &mut Cursor<'_>, close: char, depth: u32) -> Result<Vec<Expr>, ScriptError> {
    if depth > DEEPEST {
        return Err(cursor.error("brackets are nested too deeply here"));
    }
    let mut items = Vec::new();
    if cursor.take_sign(close) {
        return Ok(items);
    }
    loop {
        items.push(expression_at(cursor, depth)?);
        if cursor.take_sign(close) {
            return Ok(items);
        }
        cursor.sign(',', &format!("or {close}, after an argument"))?;
    }
}

fn expression_at(cursor: &mut Cursor<'_>, depth: u32) -> Result<Expr, ScriptError> {
    let mut left = operand(cursor, depth)?;
    for terms in 1.. {
        if !cursor.take_sign('|') {
            break;
        }
        if terms > MOST_TERMS {
            return Err(cursor.error("too many values are joined by | here"));
        }
        let right = operand(cursor, depth)?;
        left = Expr::Or(Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn operand(cursor: &mut Cursor<'_>, depth: u32) -> Result<Expr, ScriptError> {
    match cursor.peek().cloned() {
        Some(Kind::Ellipsis) => {
            cursor.advance();
            Ok(Expr::Ellipsis)
        }
        Some(Kind::Integer(value) | Kind::Hex(value)) => {
            cursor.advance();
            Ok(Expr::Integer(value))
        }
        Some(Kind::Text(_)) => text(cursor),
        Some(Kind::Sign('[')) => {
            cursor.advance();
            list_at(cursor, ']', depth + 1).map(Expr::List)
        }
        Some(Kind::Sign('{')) => {
            cursor.advance();
            list_at(cursor, '}', depth + 1).map(Expr::Struct)
        }
        Some(Kind::Sign('(')) => {
            // Labels of MPLS stacks are in parentheses.
            cursor.advance();
            list_at(cursor, ')', depth + 1).map(Expr::Struct)
        }
        Some(Kind::Word(word)) => {
            cursor.advance();
            named(cursor, word, depth)
        }
        _ => {
            let hint = "write a number, a constant, \"a string\", [a list], {a struct} or ...";
            Err(cursor.expected("a value").hint(hint))
        }
    }
}

/// What begins with a name: a constant, a field with its value, or a function.
fn named(cursor: &mut Cursor<'_>, word: String, depth: u32) -> Result<Expr, ScriptError> {
    // A result is followed by its errno and a comment in parentheses; not inside brackets.
    if depth > 0 || is_function(&word) {
        if cursor.take_sign('(') {
            let arguments = list_at(cursor, ')', depth + 1)?;
            let value = match cursor.take_sign('=') {
                true => Some(Box::new(nested(cursor, depth)?)),
                false => None,
            };
            return Ok(Expr::Apply(word, arguments, value));
        }
        if cursor.take_sign('=') {
            return Ok(Expr::Assign(word, Box::new(nested(cursor, depth)?)));
        }
    }
    Ok(Expr::Word(word))
}

/// The value of a field, one level deeper to limit chains of `=`.
fn nested(cursor: &mut Cursor<'_>, depth: u32) -> Result<Expr, ScriptError> {
    if depth > DEEPEST {
        return Err(cursor.error("values are nested too deeply here"));
    }
    expression_at(cursor, depth + 1)
}

fn is_function(word: &str) -> bool {
    ["htons", "htonl", "inet_addr", "inet6_addr"].contains(&word)
}

/// Adjacent strings are joined; an ellipsis after one means that more follows.
fn text(cursor: &mut Cursor<'_>) -> Result<Expr, ScriptError> {
    let mut bytes = Vec::new();
    while let Some(Kind::Text(raw)) = cursor.peek() {
        let unescaped = lexer::unescape(raw)
            .map_err(|escape| cursor.error(format!("{escape} is no escape in a string")))?;
        bytes.extend(unescaped);
        cursor.advance();
    }
    if cursor.peek() == Some(&Kind::Ellipsis) {
        cursor.advance();
    }
    Ok(Expr::Text(bytes))
}
