//! Arguments of a call, in order, as numbers and structs.

use crate::script::Expr;
use crate::symbols;

/// Why an argument is invalid.
pub type Fault = String;

/// The arguments of a call.
pub struct Arguments<'a> {
    call: &'a str,
    list: &'a [Expr],
}

impl<'a> Arguments<'a> {
    /// The arguments of `call`; there must be `count` of them.
    pub fn new(
        call: &'a str,
        list: &'a [Expr],
        count: std::ops::RangeInclusive<usize>,
    ) -> Result<Self, Fault> {
        if !count.contains(&list.len()) {
            let wanted = if count.start() == count.end() {
                count.start().to_string()
            } else {
                format!("{} to {}", count.start(), count.end())
            };
            return Err(format!("{call} takes {wanted} arguments, not {}", list.len()));
        }
        Ok(Self { call, list })
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn get(&self, index: usize) -> Result<&'a Expr, Fault> {
        self.list.get(index).ok_or_else(|| format!("{} has no argument {}", self.call, index + 1))
    }

    /// A 64-bit number.
    pub fn long(&self, index: usize) -> Result<i64, Fault> {
        let argument = self.get(index)?;
        number(argument).map_err(|fault| format!("argument {} of {}: {fault}", index + 1, self.call))
    }

    /// A 32-bit number, signed or not.
    pub fn int(&self, index: usize) -> Result<i32, Fault> {
        let value = self.long(index)?;
        as_int(value).ok_or_else(|| {
            format!("argument {} of {}: {value} does not fit into 32 bits", index + 1, self.call)
        })
    }

    /// Whether it is `...`.
    pub fn is_any(&self, index: usize) -> bool {
        self.list.get(index) == Some(&Expr::Ellipsis)
    }
}

/// A 32-bit number, signed or not.
pub fn as_int(value: i64) -> Option<i32> {
    i32::try_from(value).ok().or_else(|| u32::try_from(value).ok().map(|value| value as i32))
}

/// The value of a numeric expression.
pub fn number(expr: &Expr) -> Result<i64, Fault> {
    match expr {
        Expr::Integer(value) => Ok(*value),
        Expr::Word(word) => symbols::value(word).ok_or_else(|| unknown(word)),
        Expr::Or(left, right) => Ok(number(left)? | number(right)?),
        Expr::Apply(name, arguments, None) if name == "htons" || name == "htonl" => match &arguments[..] {
            [argument] => number(argument),
            _ => Err(format!("{name} takes one argument")),
        },
        Expr::Apply(name, arguments, None) if name == "inet_addr" => match &arguments[..] {
            [Expr::Text(text)] => {
                let address: Option<std::net::Ipv4Addr> =
                    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                // In network byte order in little-endian memory.
                address
                    .map(|address| i64::from(u32::from_le_bytes(address.octets())))
                    .ok_or_else(|| "inet_addr takes an IPv4 address".to_owned())
            }
            _ => Err("inet_addr takes an address in quotes".to_owned()),
        },
        other => Err(format!("a number is expected, not {}", kind(other))),
    }
}

fn unknown(word: &str) -> Fault {
    let near = symbols::resembling(word);
    let hint = if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
    format!("the constant {word} is not known{hint}")
}

/// The kind of an expression, in words.
pub fn kind(expr: &Expr) -> &'static str {
    match expr {
        Expr::Ellipsis => "...",
        Expr::Integer(_) | Expr::Word(_) | Expr::Or(..) => "a number",
        Expr::Text(_) => "a string",
        Expr::Assign(..) => "a field",
        Expr::Apply(..) => "a function",
        Expr::List(_) => "a list",
        Expr::Struct(_) => "a struct",
    }
}

/// The items of a list.
pub fn items(expr: &Expr) -> Result<&[Expr], Fault> {
    match expr {
        Expr::List(items) => Ok(items),
        other => Err(format!("a list in brackets is expected, not {}", kind(other))),
    }
}

/// The only number in a list.
pub fn boxed(expr: &Expr) -> Result<i64, Fault> {
    match items(expr)? {
        [item] => number(item),
        items => Err(format!("one value in brackets is expected, not {}", items.len())),
    }
}

/// The fields of a struct, by name.
pub struct Fields<'a>(&'a [Expr]);

impl<'a> Fields<'a> {
    pub fn of(expr: &'a Expr) -> Result<Self, Fault> {
        match expr {
            Expr::Struct(fields) => Ok(Self(fields)),
            other => Err(format!("a struct in braces is expected, not {}", kind(other))),
        }
    }

    /// A field's value, if it is there.
    pub fn find(&self, name: &str) -> Option<&'a Expr> {
        self.0.iter().find_map(|field| match field {
            Expr::Assign(own, value) if own == name => Some(&**value),
            Expr::Apply(own, _, Some(value)) if own == name => Some(&**value),
            _ => None,
        })
    }

    /// A field's number.
    pub fn number(&self, name: &str) -> Result<i64, Fault> {
        let value = self.find(name).ok_or_else(|| format!("the field {name} is missing"))?;
        number(value).map_err(|fault| format!("{name}: {fault}"))
    }

    pub fn int(&self, name: &str) -> Result<i32, Fault> {
        as_int(self.number(name)?).ok_or_else(|| format!("{name} does not fit into 32 bits"))
    }

    /// All of them.
    pub fn all(&self) -> &'a [Expr] {
        self.0
    }
}
