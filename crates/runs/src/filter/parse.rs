//! Reads expressions. Their length and depth are bounded, since a script may pass on what somebody else wrote.

use super::error::{FilterError, quoted};
use super::{Direction, Expression, Junction, Network, Primitive, Version, What, number};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// The longest expression, in bytes.
pub(super) const LONGEST: usize = 65_536;
/// The most parentheses and `not`s inside each other.
pub(super) const DEEPEST: usize = 64;

/// A word and its position, in characters from 1.
type Token<'a> = (usize, &'a str);

/// The keywords in front of an address or a number.
#[derive(Clone, Copy)]
struct Qualifiers {
    version: Option<Version>,
    direction: Direction,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

struct Parser<'a> {
    tokens: std::vec::IntoIter<Token<'a>>,
    /// The position after the last word.
    end: usize,
    /// What an address or number without keywords takes; `None` before the first keyword.
    last: Option<Qualifiers>,
}

pub(super) fn expression(text: &str) -> Result<Expression, FilterError> {
    if text.len() > LONGEST {
        return Err(FilterError::new(
            1,
            format!("this is longer than {LONGEST} bytes; write a shorter expression, such as with net"),
        ));
    }
    let end = text.chars().count() + 1;
    let mut parser = Parser { tokens: tokens(text).into_iter(), end, last: None };
    let expression = parser.chain(0)?;
    match parser.next() {
        None => Ok(expression),
        Some((at, ")")) => Err(FilterError::new(at, "this ) has no ( before it; remove it")),
        Some((at, word)) => Err(FilterError::new(at, format!("write and, or or ) before {}", quoted(word)))),
    }
}

/// The words of `text`. Parentheses, `!`, `&&` and `||` end a word.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut word: Option<(usize, usize)> = None;
    let mut marks = text.char_indices().enumerate().peekable();
    while let Some((place, (from, mark))) = marks.next() {
        let pair = matches!(mark, '&' | '|') && text[from + 1..].starts_with(mark);
        let ends_word = pair || mark.is_whitespace() || "()!".contains(mark);
        if !ends_word {
            word.get_or_insert((place + 1, from));
            continue;
        }
        if let Some((at, start)) = word.take() {
            tokens.push((at, &text[start..from]));
        }
        if pair {
            marks.next();
        }
        if !mark.is_whitespace() {
            tokens.push((place + 1, &text[from..from + if pair { 2 } else { 1 }]));
        }
    }
    if let Some((at, start)) = word {
        tokens.push((at, &text[start..]));
    }
    tokens
}

fn junction(word: &str) -> Option<Junction> {
    match word {
        "and" | "&&" => Some(Junction::And),
        "or" | "||" => Some(Junction::Or),
        _ => None,
    }
}

/// Whether an address or number can begin so: all keywords begin otherwise, or are letters only.
fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit()) || word.contains(':')
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.as_slice().first().copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        self.tokens.next()
    }

    /// Takes the next word if it is this one.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_some_and(|(_, next)| next == word);
        if is_next {
            self.next();
        }
        is_next
    }

    fn chain(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let first = self.term(depth)?;
        let mut rest = Vec::new();
        while let Some(junction) = self.peek().and_then(|(_, word)| junction(word)) {
            self.next();
            rest.push((junction, self.term(depth)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) })
    }

    fn term(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let Some((at, word)) = self.peek() else {
            return Err(FilterError::new(
                self.end,
                "the expression ends here; write such as host 192.0.2.1 and port 443",
            ));
        };
        if depth > DEEPEST {
            return Err(FilterError::new(
                at,
                format!("more than {DEEPEST} parentheses and nots are inside each other; write fewer"),
            ));
        }
        match word {
            "not" | "!" => {
                self.next();
                Ok(Expression::Not(Box::new(self.term(depth + 1)?)))
            }
            "(" => self.group(depth),
            _ => self.primitive(depth),
        }
    }

    /// `( … )`
    fn group(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let opened = self.next().map_or(self.end, |(at, _)| at);
        let inside = self.chain(depth + 1)?;
        match self.next() {
            Some((_, ")")) => Ok(inside),
            None => Err(FilterError::new(opened, "this ( is not closed; write a ) at the end")),
            Some((at, word)) => {
                Err(FilterError::new(at, format!("write and, or or ) before {}", quoted(word))))
            }
        }
    }

    /// `[ip|ip6|tcp] [src|dst] [host|net|port|portrange] VALUE`
    fn primitive(&mut self, depth: usize) -> Result<Expression, FilterError> {
        let (at, first) = self.peek().unwrap_or((self.end, ""));
        if is_value(first) {
            self.next();
            let plain = Qualifiers { version: None, direction: Direction::Either, kind: Kind::Host };
            if self.last.is_none() && first.parse::<u64>().is_ok() {
                return Err(FilterError::new(at, format!("write port {first}, or what else {first} is")));
            }
            let qualifiers = self.last.unwrap_or(plain);
            self.last = Some(qualifiers);
            return self.value(qualifiers, (at, first));
        }
        let (version, has_protocol) = self.protocol();
        let direction = self.direction();
        let kind = self.kind();
        if direction.is_none() && kind.is_none() {
            // `ip` by itself, or in front of an address.
            return match self.peek() {
                Some((_, word)) if has_protocol && !is_value(word) && word != "(" => Ok(any(version)),
                None if has_protocol => Ok(any(version)),
                Some(value) if has_protocol => self.qualified(version, None, None, value, depth),
                _ => Err(self.refused(at, first)),
            };
        }
        match self.peek() {
            Some(value) => self.qualified(version, direction, kind, value, depth),
            None => Err(FilterError::new(self.end, format!("write {} here", Kind::of(kind).example()))),
        }
    }

    /// What follows keywords: a value, or several in parentheses.
    fn qualified(
        &mut self,
        version: Option<Version>,
        direction: Option<Direction>,
        kind: Option<Kind>,
        value: Token<'a>,
        depth: usize,
    ) -> Result<Expression, FilterError> {
        let direction = direction.unwrap_or(Direction::Either);
        let qualifiers = Qualifiers { version, direction, kind: Kind::of(kind) };
        self.last = Some(qualifiers);
        if value.1 == "(" {
            return self.group(depth);
        }
        self.next();
        self.value(qualifiers, value)
    }

    /// The version of IP that is asked for, and whether there is a protocol at all.
    fn protocol(&mut self) -> (Option<Version>, bool) {
        if self.takes("ip") {
            (Some(Version::Four), true)
        } else if self.takes("ip6") {
            (Some(Version::Six), true)
        } else {
            (None, self.takes("tcp"))
        }
    }

    /// `src`, `dst`, `src or dst`, `src and dst`
    fn direction(&mut self) -> Option<Direction> {
        let (one, other) = if self.takes("src") {
            (Direction::Source, "dst")
        } else if self.takes("dst") {
            (Direction::Destination, "src")
        } else {
            return None;
        };
        let follows = match self.tokens.as_slice() {
            [(_, word), (_, next), ..] if *next == other => junction(word),
            _ => None,
        };
        let Some(junction) = follows else { return Some(one) };
        self.next();
        self.next();
        Some(if junction == Junction::Or { Direction::Either } else { Direction::Both })
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.peek()?.1 {
            "host" => Kind::Host,
            "net" => Kind::Net,
            "port" => Kind::Port,
            "portrange" => Kind::PortRange,
            _ => return None,
        };
        self.next();
        Some(kind)
    }

    fn value(&mut self, qualifiers: Qualifiers, (at, word): Token<'a>) -> Result<Expression, FilterError> {
        let what = match qualifiers.kind {
            Kind::Host => What::Host(host(at, word)?),
            Kind::Net => What::Net(self.net(at, word)?),
            Kind::Port => {
                let port = word.parse().map_err(|_| port_error(at, word))?;
                What::Ports(port..=port)
            }
            Kind::PortRange => What::Ports(port_range(at, word)?),
        };
        let is_four = match &what {
            What::Host(address) => Some(address.is_ipv4()),
            What::Net(network) => Some(network.base.is_ipv4()),
            What::Any | What::Ports(_) => None,
        };
        if let (Some(version), Some(is_four)) = (qualifiers.version, is_four)
            && (version == Version::Four) != is_four
        {
            let (is, asked) = if is_four { ("IPv4", "ip6") } else { ("IPv6", "ip") };
            return Err(FilterError::new(
                at,
                format!("this is an {is} address after {asked}; remove {asked}"),
            ));
        }
        Ok(Expression::Is(Primitive { version: qualifiers.version, direction: qualifiers.direction, what }))
    }

    /// `10.0.0.0/8`, `10`, `192.168`, `10.0.0.0 mask 255.0.0.0`, `2001:db8::/32`
    fn net(&mut self, at: usize, word: &str) -> Result<Network, FilterError> {
        let (text, length) = match word.split_once('/') {
            Some((text, length)) => (text, Some(length)),
            None => (word, None),
        };
        let (base, by_itself) = match text.parse() {
            Ok(address @ IpAddr::V4(_)) => (address, 32),
            Ok(address @ IpAddr::V6(_)) => (address, 128),
            Err(_) => abbreviated(text).ok_or_else(|| FilterError::no_address(at, text))?,
        };
        let bits = if base.is_ipv4() { 32 } else { 128 };
        if length.is_none() && base.is_ipv4() && self.takes("mask") {
            let (at, mask) = self.next().unwrap_or((self.end, ""));
            let mask: Ipv4Addr = mask.parse().map_err(|_| FilterError::no_address(at, mask))?;
            return network(at, base, mask.to_bits().into());
        }
        let length = match length {
            None => by_itself,
            Some(length) => length.parse().ok().filter(|length| *length <= bits).ok_or_else(|| {
                FilterError::new(
                    at,
                    format!("{} is not a prefix length; write one from 0 to {bits}", quoted(length)),
                )
            })?,
        };
        network(at, base, mask(length, bits))
    }

    /// Why a word where a primitive has to begin is refused.
    fn refused(&self, at: usize, word: &str) -> FilterError {
        match word {
            ")" => FilterError::new(at, "write an expression before this )"),
            "and" | "or" | "&&" | "||" => FilterError::new(at, format!("write an expression before {word}")),
            "udp" | "icmp" | "icmp6" | "sctp" | "arp" => FilterError::new(
                at,
                format!("{word} is not TCP, and only TCP connections are shown; remove it"),
            ),
            _ if self.last.is_some_and(|last| last.kind == Kind::Port) => {
                let word = quoted(word);
                FilterError::new(
                    at,
                    format!("{word} is neither a port nor a keyword; write ports as numbers"),
                )
            }
            _ => FilterError::unknown(at, word),
        }
    }
}

impl Kind {
    /// What is meant without a keyword: a host.
    fn of(kind: Option<Self>) -> Self {
        kind.unwrap_or(Self::Host)
    }

    fn example(self) -> &'static str {
        match self {
            Self::Host => "an address such as 192.0.2.1",
            Self::Net => "a network such as 192.0.2.0/24",
            Self::Port => "a port such as 443",
            Self::PortRange => "two ports such as 8000-8080",
        }
    }
}

fn any(version: Option<Version>) -> Expression {
    Expression::Is(Primitive { version, direction: Direction::Either, what: What::Any })
}

fn host(at: usize, word: &str) -> Result<IpAddr, FilterError> {
    if let Ok(address) = word.parse() {
        return Ok(address);
    }
    if let Some((address, port)) = word.rsplit_once(':')
        && let (Ok(address), Ok(port)) = (address.parse::<Ipv4Addr>(), port.parse::<u16>())
    {
        return Err(FilterError::new(at, format!("write host {address} and port {port}")));
    }
    match word.split_once('/') {
        Some((address, _)) if address.parse::<IpAddr>().is_ok() => {
            Err(FilterError::new(at, format!("{} is a network; write net {0}", word)))
        }
        _ => Err(FilterError::no_address(at, word)),
    }
}

fn port_range(at: usize, word: &str) -> Result<RangeInclusive<u16>, FilterError> {
    let (first, last) = word.split_once('-').ok_or_else(|| {
        FilterError::new(at, format!("{} is not a range; write two ports such as 8000-8080", quoted(word)))
    })?;
    let port = |text: &str| text.parse::<u16>().map_err(|_| FilterError::no_port(at, text));
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(FilterError::new(at, format!("the first port is above the last; write {last}-{first}")));
    }
    Ok(first..=last)
}

fn port_error(at: usize, word: &str) -> FilterError {
    match port_range(at, word) {
        Ok(range) => FilterError::new(at, format!("write portrange {}-{}", range.start(), range.end())),
        Err(_) => FilterError::no_port(at, word),
    }
}

/// The first one to three numbers of an IPv4 address, and how many bits they are.
fn abbreviated(text: &str) -> Option<(IpAddr, u32)> {
    let parts: Vec<u8> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let mut octets = [0; 4];
    octets.get_mut(..parts.len()).filter(|_| parts.len() < 4)?.copy_from_slice(&parts);
    Some((Ipv4Addr::from(octets).into(), parts.len() as u32 * 8))
}

/// The mask of a prefix.
fn mask(length: u32, bits: u32) -> u128 {
    let all = u128::MAX >> (128 - bits);
    all & !all.checked_shr(length).unwrap_or(0)
}

/// A network whose address has nothing beyond the mask.
fn network(at: usize, base: IpAddr, mask: u128) -> Result<Network, FilterError> {
    let within = number(base) & mask;
    if within == number(base) {
        return Ok(Network { base, mask });
    }
    let address: IpAddr = match base {
        IpAddr::V4(_) => Ipv4Addr::from_bits(within as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(within).into(),
    };
    Err(FilterError::new(
        at,
        format!("{base} has bits beyond the prefix; write {address} in its place, or host {base}"),
    ))
}
