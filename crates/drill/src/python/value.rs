//! Values and operators.

use super::CodeError;
use super::syntax::{Comparison, Operator};
use std::cmp::Ordering;
use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// `True` or `False`
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A string.
    Text(String),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A list.
    List(Vec<Value>),
}

/// The maximum length of a string or list made by an operator.
const LARGEST: usize = 1 << 16;

fn failed<T>(message: impl Into<String>) -> Result<T, CodeError> {
    Err(CodeError::Runtime(message.into()))
}

impl Value {
    /// Whether it counts as true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Boolean(value) => *value,
            Self::Integer(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(value) => !value.is_empty(),
            Self::Tuple(items) | Self::List(items) => !items.is_empty(),
        }
    }

    /// The whole number of a number or boolean.
    pub fn integer(&self) -> Result<i64, CodeError> {
        match self {
            Self::Integer(value) => Ok(*value),
            Self::Boolean(value) => Ok(i64::from(*value)),
            other => failed(format!("{other:#} is not a whole number")),
        }
    }

    /// A number.
    pub fn float(&self) -> Result<f64, CodeError> {
        match self {
            Self::Float(value) => Ok(*value),
            other => other.integer().map(|value| value as f64),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Boolean(_) | Self::Float(_))
    }

    /// The items of a sequence.
    pub fn items(&self) -> Result<Vec<Self>, CodeError> {
        match self {
            Self::Tuple(items) | Self::List(items) => Ok(items.clone()),
            Self::Text(text) => Ok(text.chars().map(|character| Self::Text(character.to_string())).collect()),
            other => failed(format!("{other:#} has no items")),
        }
    }

    /// An item, counted from the end if the index is negative.
    pub fn item(&self, index: &Self) -> Result<Self, CodeError> {
        let items = self.items()?;
        let index = index.integer()?;
        let at = if index < 0 { index.checked_add(items.len() as i64) } else { Some(index) };
        let item = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get(at).cloned());
        item.ok_or_else(|| CodeError::Runtime(format!("{self:#} has no index {index}")))
    }

    /// The result of an operator.
    pub fn operate(&self, operator: Operator, other: &Self) -> Result<Self, CodeError> {
        match (operator, self, other) {
            (Operator::Add, Self::Text(a), Self::Text(b)) => Ok(Self::Text(format!("{a}{b}"))),
            (Operator::Add, Self::List(a), Self::List(b)) => Ok(Self::List([&a[..], b].concat())),
            (Operator::Add, Self::Tuple(a), Self::Tuple(b)) => Ok(Self::Tuple([&a[..], b].concat())),
            (Operator::Multiply, Self::Text(text), Self::Integer(times)) => repeat(text, *times),
            (Operator::Modulo, Self::Text(text), values) => percent_format(text, values),
            (_, a, b) if a.is_number() && b.is_number() => arithmetic(operator, a, b),
            (_, a, b) => failed(format!("{a:#} and {b:#} cannot be combined")),
        }
    }

    /// Whether a comparison holds.
    pub fn compare(&self, comparison: Comparison, other: &Self) -> Result<bool, CodeError> {
        let ordering = || -> Result<Option<Ordering>, CodeError> {
            match self.order(other) {
                Some(ordering) => Ok(ordering),
                None => failed(format!("{self:#} and {other:#} cannot be compared")),
            }
        };
        Ok(match comparison {
            Comparison::Equal | Comparison::Is => self.equals(other),
            Comparison::NotEqual | Comparison::IsNot => !self.equals(other),
            Comparison::Less => ordering()? == Some(Ordering::Less),
            Comparison::Greater => ordering()? == Some(Ordering::Greater),
            Comparison::LessOrEqual => matches!(ordering()?, Some(Ordering::Less | Ordering::Equal)),
            Comparison::GreaterOrEqual => matches!(ordering()?, Some(Ordering::Greater | Ordering::Equal)),
            Comparison::In => other.contains(self)?,
            Comparison::NotIn => !other.contains(self)?,
        })
    }

    fn contains(&self, item: &Self) -> Result<bool, CodeError> {
        match (self, item) {
            (Self::Text(text), Self::Text(part)) => Ok(text.contains(part.as_str())),
            _ => Ok(self.items()?.iter().any(|own| own.equals(item))),
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tuple(a), Self::Tuple(b)) | (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            _ if self.is_number() && other.is_number() => self.order(other) == Some(Some(Ordering::Equal)),
            _ => self == other,
        }
    }

    /// The outer `None`: for kinds without an order.
    fn order(&self, other: &Self) -> Option<Option<Ordering>> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(Some(a.cmp(b))),
            (Self::Float(_), _) | (_, Self::Float(_)) => {
                Some(self.float().ok()?.partial_cmp(&other.float().ok()?))
            }
            (Self::Tuple(a), Self::Tuple(b)) | (Self::List(a), Self::List(b)) => {
                let differing = a.iter().zip(b).find(|(a, b)| !a.equals(b));
                differing.map_or(Some(Some(a.len().cmp(&b.len()))), |(a, b)| a.order(b))
            }
            _ => Some(Some(self.integer().ok()?.cmp(&other.integer().ok()?))),
        }
    }
}

fn repeat(text: &str, times: i64) -> Result<Value, CodeError> {
    let times = usize::try_from(times).unwrap_or(0);
    match text.len().checked_mul(times) {
        Some(length) if length <= LARGEST => Ok(Value::Text(text.repeat(times))),
        _ => failed("this string would be too long"),
    }
}

fn arithmetic(operator: Operator, a: &Value, b: &Value) -> Result<Value, CodeError> {
    let fractional = matches!(a, Value::Float(_)) || matches!(b, Value::Float(_));
    if !fractional && operator != Operator::Divide {
        return whole(operator, a.integer()?, b.integer()?);
    }
    let (a, b) = (a.float()?, b.float()?);
    if b == 0.0 && matches!(operator, Operator::Divide | Operator::FloorDivide | Operator::Modulo) {
        return failed("division by zero");
    }
    Ok(Value::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => (a / b).floor(),
        Operator::Modulo => a - b * (a / b).floor(),
        Operator::Power => a.powf(b),
        _ => return failed("bits are of whole numbers"),
    }))
}

fn whole(operator: Operator, a: i64, b: i64) -> Result<Value, CodeError> {
    let shift = u32::try_from(b).ok();
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::FloorDivide | Operator::Modulo if b == 0 => return failed("division by zero"),
        Operator::FloorDivide => a.checked_div(b).map(|q| q - i64::from(a % b != 0 && (a < 0) != (b < 0))),
        Operator::Modulo => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        Operator::Power if b < 0 => return Ok(Value::Float((a as f64).powf(b as f64))),
        Operator::Power => shift.and_then(|exponent| a.checked_pow(exponent)),
        Operator::And => Some(a & b),
        Operator::Or => Some(a | b),
        Operator::Xor => Some(a ^ b),
        Operator::ShiftLeft => shift.filter(|shift| *shift < 63).and_then(|shift| a.checked_mul(1 << shift)),
        Operator::ShiftRight => shift.map(|shift| a >> shift.min(63)),
        Operator::Divide => return failed("division of whole numbers has a fraction"),
    };
    match result {
        Some(result) => Ok(Value::Integer(result)),
        None => failed("a number that does not fit into 64 bits"),
    }
}

/// `"%d of %s" % (1, 2)`: every conversion shows the plain value.
fn percent_format(text: &str, values: &Value) -> Result<Value, CodeError> {
    let mut values = match values {
        Value::Tuple(values) => values.clone().into_iter(),
        single => vec![single.clone()].into_iter(),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(next) = after.strip_prefix('%') {
            out.push('%');
            rest = next;
            continue;
        }
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        let (Some(end), Some(value)) = (end, values.next()) else {
            return failed("% in a string has no value");
        };
        out.push_str(&value.to_string());
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    Ok(Value::Text(out))
}

impl fmt::Display for Value {
    /// As `str()`; with `#`, as `repr()`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Boolean(value) => f.write_str(if *value { "True" } else { "False" }),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) if f.alternate() => write!(f, "{text:?}"),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(items) => write_items(f, "(", items, if items.len() == 1 { ",)" } else { ")" }),
            Self::List(items) => write_items(f, "[", items, "]"),
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, open: &str, items: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item:#}", if index == 0 { "" } else { ", " })?;
    }
    f.write_str(close)
}
