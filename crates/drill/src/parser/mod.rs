//! Parses a script: options first, then events.

mod cursor;
mod expression;
mod icmp;
mod options;
mod packet;
mod tcp;

use crate::config::{Config, OptionLine};
use crate::lexer::{self, Kind};
use crate::packet::Direction;
use crate::script::{Action, CallSpec, Event, Script, When};
use crate::source::{ScriptError, Source};
use cursor::Cursor;
use std::time::Duration;

impl Script {
    /// Parses a script. `given` holds the settings before the script's own options: defaults, or the command line's.
    /// The script's own options override it.
    ///
    /// # Errors
    /// At the first error.
    pub fn parse(source: &Source, given: &Config) -> Result<Self, ScriptError> {
        let tokens = lexer::tokens(source)?;
        let mut cursor = Cursor::new(source, tokens);
        let mut config = given.clone();
        while let Some(option) = option_line(&mut cursor)? {
            config.set(source, &option)?;
        }
        cursor.substitute(&config)?;
        let mut events = Vec::new();
        while !cursor.is_at_end() {
            events.push(event(&mut cursor, &config, events.is_empty())?);
        }
        if let Some(first) = events.iter().find(|event| event.when != When::Outside)
            && matches!(first.when, When::At(at) | When::Between(at, _) if !at.is_zero())
        {
            let error = source.error(first.place, "the first event is at time 0");
            return Err(error.hint("write 0, or +0"));
        }
        Ok(Self { source: source.clone(), config, events })
    }
}

fn option_line(cursor: &mut Cursor<'_>) -> Result<Option<OptionLine>, ScriptError> {
    let place = cursor.place();
    let Some(Kind::Option(name)) = cursor.peek() else { return Ok(None) };
    let name = name.clone();
    cursor.advance();
    let value = cursor.take_sign('=').then(|| cursor.raw_value()).transpose()?;
    Ok(Some(OptionLine { place, name, value }))
}

fn event(cursor: &mut Cursor<'_>, config: &Config, is_first: bool) -> Result<Event, ScriptError> {
    let place = cursor.place();
    if let Some(Kind::Shell(command)) = cursor.peek() {
        let command = command.clone();
        cursor.advance();
        if !is_first && !cursor.is_at_end() && !matches!(cursor.peek(), Some(Kind::Shell(_))) {
            let error = cursor.source().error(place, "a command between events has a time");
            return Err(error.hint("write its time before it, such as +0"));
        }
        return Ok(Event { place, when: When::Outside, action: Action::Shell(command) });
    }
    let when = event_time(cursor)?;
    let action = action(cursor, config, when)?;
    check_time(cursor, place, when, &action)?;
    Ok(Event { place, when, action })
}

/// A time with its own tolerance only makes sense for expected events.
fn check_time(
    cursor: &Cursor<'_>,
    place: crate::source::Place,
    when: When,
    action: &Action,
) -> Result<(), ScriptError> {
    if matches!(action, Action::Expect(_)) {
        return Ok(());
    }
    let kind = match when {
        When::Any => "*",
        When::Between(..) | When::AfterBetween(..) => "a range",
        When::At(_) | When::After(_) | When::Outside => return Ok(()),
    };
    let error =
        cursor.source().error(place, format!("{kind} as a time is for packets that are expected (>)"));
    Err(error.hint("write the time at which this happens"))
}

fn event_time(cursor: &mut Cursor<'_>) -> Result<When, ScriptError> {
    let place = cursor.place();
    if cursor.take_sign('*') {
        return Ok(When::Any);
    }
    let relative = cursor.take_sign('+');
    let Some(from) = cursor.time()? else {
        let error = cursor.source().error(place, "here an event begins, with its time");
        return Err(error.hint("write 0, +.1, 1~2, +1~+2 or *"));
    };
    if !cursor.take_sign('~') {
        return Ok(if relative { When::After(from) } else { When::At(from) });
    }
    if relative {
        // packetdrill requires the second sign; its absence has only one meaning.
        cursor.take_sign('+');
    }
    let to_place = cursor.place();
    let to =
        cursor.time()?.ok_or_else(|| cursor.source().error(to_place, "here a range ends, with a time"))?;
    if to < from {
        return Err(cursor.source().error(to_place, "this range ends before it begins"));
    }
    Ok(if relative { When::AfterBetween(from, to) } else { When::Between(from, to) })
}

fn action(cursor: &mut Cursor<'_>, config: &Config, when: When) -> Result<Action, ScriptError> {
    let place = cursor.place();
    match cursor.peek().cloned() {
        Some(Kind::Sign('<')) => {
            cursor.advance();
            packet::packet(cursor, config, Direction::In).map(Action::Inject)
        }
        Some(Kind::Sign('>')) => {
            cursor.advance();
            packet::packet(cursor, config, Direction::Out).map(Action::Expect)
        }
        Some(Kind::Shell(command)) => {
            cursor.advance();
            Ok(Action::Shell(command))
        }
        Some(Kind::Code(code)) => {
            cursor.advance();
            Ok(Action::Code(code))
        }
        Some(Kind::Ellipsis) => {
            cursor.advance();
            let end_place = cursor.place();
            let returns = cursor.time()?;
            let returns =
                returns.ok_or_else(|| cursor.source().error(end_place, "here a call returns, at a time"))?;
            call(cursor, Some(returns)).map(Action::Call)
        }
        Some(Kind::Word(_)) => call(cursor, None).map(Action::Call),
        _ => {
            let error = cursor.source().error(place, format!("nothing can happen here at {when:?}"));
            Err(error.hint("write < packet, > packet, a system call, `command` or %{ code }%"))
        }
    }
}

fn call(cursor: &mut Cursor<'_>, returns: Option<Duration>) -> Result<CallSpec, ScriptError> {
    let name = cursor.word("the name of a system call")?;
    cursor.sign('(', "the arguments of the call")?;
    let arguments = expression::list(cursor, ')')?;
    cursor.sign('=', "what the call returns")?;
    let result = expression::expression(cursor)?;
    let errno = match cursor.peek() {
        Some(Kind::Word(name)) => {
            let name = name.clone();
            cursor.advance();
            Some(name)
        }
        _ => None,
    };
    // The strerror(3) text is a comment.
    if cursor.take_sign('(') {
        while !cursor.take_sign(')') {
            cursor.any("a closing parenthesis")?;
        }
    }
    Ok(CallSpec { name, arguments, result, errno, returns })
}

#[cfg(test)]
mod tests;
