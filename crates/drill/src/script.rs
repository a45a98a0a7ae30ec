//! A script: options and timed events.

use crate::config::Config;
use crate::packet::PacketSpec;
use crate::source::{Place, Source};
use std::time::Duration;

/// A parsed script, by [`Script::parse`] in `parser`.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its text.
    pub source: Source,
    /// The result of its option lines and the caller's settings.
    pub config: Config,
    /// The events, in order, including commands before the first and after the last.
    pub events: Vec<Event>,
}

/// An action of the script, or an expected one.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where it is written.
    pub place: Place,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
}

/// When an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// This long after the script's start.
    At(Duration),
    /// This long after the previous event.
    After(Duration),
    /// Between two times after the script's start.
    Between(Duration, Duration),
    /// Between two times after the previous event.
    AfterBetween(Duration, Duration),
    /// At any time.
    Any,
    /// Before the first event, or after the last: untimed.
    Outside,
}

impl When {
    /// Whether it counts from the script's start.
    pub const fn is_absolute(self) -> bool {
        matches!(self, Self::At(_) | Self::Between(..))
    }
}

/// The action of an event.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet from the network.
    Inject(PacketSpec),
    /// A packet that must be sent.
    Expect(PacketSpec),
    /// A system call.
    Call(CallSpec),
    /// A shell command.
    Shell(String),
    /// Code over the socket's measurements.
    Code(String),
}

/// A system call as written.
#[derive(Clone, Debug)]
pub struct CallSpec {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// What it returns.
    pub result: Expr,
    /// The name of its error.
    pub errno: Option<String>,
    /// When it returns, if it blocks: absolute or relative, like its event's time.
    pub returns: Option<Duration>,
}

/// An expression in an argument or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`: any value.
    Ellipsis,
    /// A number.
    Integer(i64),
    /// The name of a constant.
    Word(String),
    /// A string of bytes.
    Text(Vec<u8>),
    /// `a | b`
    Or(Box<Expr>, Box<Expr>),
    /// `name = value`
    Assign(String, Box<Expr>),
    /// `name(a, b)`; with a value, `name(a) = value` as in `msg_iov(1) = [...]`.
    Apply(String, Vec<Expr>, Option<Box<Expr>>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a, b}`
    Struct(Vec<Expr>),
}
