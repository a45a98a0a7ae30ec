//! A script: options, and events at their times.

use crate::config::Config;
use crate::packet::PacketSpec;
use crate::source::{Place, Source};
use std::time::Duration;

/// A script that has been read, by [`Script::parse`] in `parser`.
#[derive(Clone, Debug)]
pub struct Script {
    /// Its text.
    pub source: Source,
    /// What its option lines and the caller's settings come to.
    pub config: Config,
    /// What happens, in order. Commands before the first and after the last event are among them.
    pub events: Vec<Event>,
}

/// Something that the script does, or waits for.
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
    /// So long after the script's start.
    At(Duration),
    /// So long after the event before.
    After(Duration),
    /// Between two times after the script's start.
    Between(Duration, Duration),
    /// Between two times after the event before.
    AfterBetween(Duration, Duration),
    /// At any time.
    Any,
    /// Before the first event, or after the last: no time is kept.
    Outside,
}

/// What an event is.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet from the network.
    Inject(PacketSpec),
    /// A packet that is to be sent.
    Expect(PacketSpec),
    /// A system call.
    Call(CallSpec),
    /// A shell command.
    Shell(String),
    /// Code over the measures of the socket.
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
    /// The name of the error that it fails with.
    pub errno: Option<String>,
    /// When it returns, if it is to block: after the script's start, or after the event before as its event says.
    pub returns: Option<Duration>,
}

/// An expression in an argument or a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`: whatever it is.
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
