//! Selects flows by expressions in the language of tcpdump (pcap-filter(7), libpcap 1.10).
//!
//! An expression is about a flow's first packet, from the end that opened the connection to the other. A word without a
//! direction is about either end. Where the opening was not recorded, the end that sent the first packet counts as the
//! one that opened it. The filter only selects: a flow's verdict is the same with and without it.
//!
//! As in tcpdump, `and` and `or` bind equally and from left to right, `not` binds more tightly, and an address or number
//! without a keyword takes the keywords before it: `port 80 or 443`.

mod error;
mod parse;
#[cfg(test)]
mod tests;

pub use error::FilterError;

use slowpath_model::FlowKey;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Which flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    expression: Expression,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Is(Primitive),
    Not(Box<Expression>),
    /// Evaluated from left to right.
    Chain(Box<Expression>, Vec<(Junction, Expression)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Junction {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Primitive {
    version: Option<Version>,
    direction: Direction,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Four,
    Six,
}

/// The end that a primitive is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// One of them, whichever.
    Either,
    /// The end that opened the connection.
    Source,
    /// The other one.
    Destination,
    /// Each of them.
    Both,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// `tcp`, `ip`, `ip6`: every flow, as far as the version agrees.
    Any,
    Host(IpAddr),
    Net(Network),
    Ports(RangeInclusive<u16>),
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    /// The address, with zeroes after the prefix.
    base: IpAddr,
    /// A mask of its length; its lower bits count for IPv4.
    mask: u128,
}

/// An address as a number.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => four.to_bits().into(),
        IpAddr::V6(six) => six.to_bits(),
    }
}

impl Filter {
    /// Whether it selects the flow.
    pub fn takes(&self, flow: &FlowKey) -> bool {
        self.expression.takes(flow)
    }
}

impl Expression {
    fn takes(&self, flow: &FlowKey) -> bool {
        match self {
            Self::Is(primitive) => primitive.takes(flow),
            Self::Not(expression) => !expression.takes(flow),
            Self::Chain(first, rest) => {
                rest.iter().fold(first.takes(flow), |so_far, (junction, next)| match junction {
                    Junction::And => so_far && next.takes(flow),
                    Junction::Or => so_far || next.takes(flow),
                })
            }
        }
    }
}

impl Primitive {
    fn takes(&self, flow: &FlowKey) -> bool {
        let is_version =
            self.version.is_none_or(|version| (version == Version::Four) == flow.a.address.is_ipv4());
        let [source, destination] = [flow.a, flow.b].map(|end| match &self.what {
            What::Any => true,
            What::Host(address) => *address == end.address,
            What::Net(network) => network.contains(end.address),
            What::Ports(ports) => ports.contains(&end.port),
        });
        is_version
            && match self.direction {
                Direction::Either => source || destination,
                Direction::Source => source,
                Direction::Destination => destination,
                Direction::Both => source && destination,
            }
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        self.base.is_ipv4() == address.is_ipv4() && number(address) & self.mask == number(self.base)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Ok(Self { expression: parse::expression(text)?, text: text.to_owned() })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
