//! The shell commands of scripts that affect a kernel: settings of it and of its device.
//!
//! Nothing is executed here. A kernel gets the parsed command, and its words if it supports more.

use crate::counters::Query;
use std::fmt;

/// The meaning of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A sysctl is set: its dotted name and the value.
    Sysctl {
        /// The name, such as `net.ipv4.tcp_sack`.
        name: String,
        /// The value, words separated by spaces.
        value: String,
    },
    /// `ip`: routes, addresses, links, metrics.
    Ip(Vec<String>),
    /// `tc`: qdiscs.
    Tc(Vec<String>),
    /// `ethtool`: offloads of the device.
    Ethtool(Vec<String>),
    /// `nstat`: whether the counters are as the script expects.
    Counters(Query),
    /// `sleep`, in milliseconds.
    Sleep(u64),
    /// Another script, by its path: its lines are commands too.
    Include(String),
    /// `first || second`: the second runs if the first fails.
    Either {
        /// Fails if the kernel does not know it.
        first: Box<Command>,
        /// What runs then.
        second: Vec<Command>,
    },
    /// Without effect on a kernel, such as `true` or `echo`, or a restored setting at the end.
    Nothing,
    /// Not supported.
    Unknown(String),
}

/// The maximum number of commands in a script; limits scripts that include themselves.
pub const MOST: usize = 1000;

/// The commands in a text. Separators are newlines, `;`, `&&` and `||`.
pub fn commands(text: &str) -> Vec<Command> {
    let joined = text.replace("\\\n", " ");
    let mut commands = Vec::new();
    for line in joined.lines() {
        let line = strip_comment(line);
        for part in split_outside_quotes(line, &["&&", ";"]) {
            let choices = split_outside_quotes(part, &["||"]);
            let mut parsed =
                choices.iter().map(|choice| choice.trim()).filter(|c| !c.is_empty()).map(command);
            let Some(mut first) = parsed.next() else { continue };
            let second: Vec<Command> = parsed.flatten().collect();
            let fails = matches!(
                first.last(),
                Some(Command::Sysctl { .. } | Command::Ip(_) | Command::Tc(_) | Command::Ethtool(_))
            );
            if fails && !second.is_empty() {
                let last = first.pop().map(|last| Command::Either { first: Box::new(last), second });
                first.extend(last);
            }
            commands.extend(first);
        }
    }
    commands.truncate(MOST);
    commands
}

fn strip_comment(line: &str) -> &str {
    match line.find('#') {
        Some(0) => "",
        Some(at) if line[..at].ends_with([' ', '\t']) => &line[..at],
        _ => line,
    }
}

/// Splits at separators outside quotes and `$(...)`.
fn split_outside_quotes<'a>(text: &'a str, separators: &[&str]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut from, mut quote, mut depth) = (0, None, 0u32);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 && at >= from => {
                if let Some(separator) = separators.iter().find(|s| text[at..].starts_with(**s)) {
                    parts.push(&text[from..at]);
                    from = at + separator.len();
                }
            }
            (None, _) => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The words of a command, without quotes and redirections, and the file it writes to.
fn words(text: &str) -> (Vec<String>, Option<String>) {
    let mut words = vec![];
    let (mut word, mut started, mut quote) = (String::new(), false, None);
    for character in text.chars().chain([' ']) {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => (quote, started) = (Some(character), true),
            (None, character) if character.is_whitespace() => {
                if std::mem::take(&mut started) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, character) => {
                word.push(character);
                started = true;
            }
        }
    }
    redirections(words)
}

fn redirections(words: Vec<String>) -> (Vec<String>, Option<String>) {
    let (mut kept, mut target) = (Vec::new(), None);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some((before, after)) = word.split_once('>') else {
            kept.push(word);
            continue;
        };
        let is_redirection = before.is_empty() || before == "&" || before.parse::<u8>().is_ok();
        if !is_redirection {
            kept.push(word);
            continue;
        }
        let file = after.trim_start_matches('>');
        let file = if file.is_empty() { words.next().unwrap_or_default() } else { file.to_owned() };
        if before != "2" && !file.starts_with('&') {
            target = Some(file);
        }
    }
    (kept, target)
}

fn command(text: &str) -> Vec<Command> {
    let stages = split_outside_quotes(text, &["|"]);
    let (mut words, target) = words(stages[0]);
    // Environment variables before a command.
    while words.len() > 1 && words[0].split_once('=').is_some_and(|(name, _)| is_name(name)) {
        words.remove(0);
    }
    let Some(program) = words.first().cloned() else { return vec![Command::Nothing] };
    let arguments = words.split_off(1);
    let unknown = || vec![Command::Unknown(text.to_owned())];
    match program.rsplit('/').next().unwrap_or("") {
        "sysctl" => sysctls(&arguments).unwrap_or_else(unknown),
        "echo" | "printf" => match target.as_deref().and_then(proc_name) {
            Some(name) => vec![Command::Sysctl { name, value: plain_value(&arguments.join(" ")) }],
            None => vec![Command::Nothing],
        },
        "ip" => vec![Command::Ip(arguments)],
        "tc" => vec![Command::Tc(arguments)],
        "ethtool" => vec![Command::Ethtool(arguments)],
        "nstat" => {
            let stages: Vec<_> = stages.iter().map(|stage| self::words(stage).0).collect();
            Query::parse(text, &stages).map_or_else(unknown, |query| vec![Command::Counters(query)])
        }
        _ if stages.len() > 1 => unknown(),
        "sleep" => sleep(&arguments).map_or_else(unknown, |millis| vec![Command::Sleep(millis)]),
        "set_sysctls.py" => files(&arguments),
        "." | "source" | "sh" | "bash" => match arguments.first() {
            Some(path) if !path.starts_with('-') => vec![Command::Include(path.clone())],
            _ => unknown(),
        },
        "true" | ":" | "exit" | "set" | "test" | "[" | "rm" | "mkdir" | "cat" | "grep" | "export" => {
            vec![Command::Nothing]
        }
        // Written by `set_sysctls.py` to restore settings.
        name if name.starts_with("sysctl_restore_") => vec![Command::Nothing],
        name if name.ends_with(".sh") => vec![Command::Include(program)],
        _ if is_name(program.split('=').next().unwrap_or("")) && program.contains('=') => {
            vec![Command::Nothing]
        }
        _ => unknown(),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `sysctl -q -w a.b=c d.e="f g"`; `None` if nothing is set.
fn sysctls(arguments: &[String]) -> Option<Vec<Command>> {
    let mut settings = Vec::new();
    let mut rest = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    while let Some(argument) = rest.next() {
        // sysctl(8) also accepts `name = value`.
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if !value.is_empty() => (name.to_owned(), value.to_owned()),
            _ if rest.peek().is_some_and(|next| *next == "=") => {
                rest.next();
                (argument.clone(), rest.next()?.clone())
            }
            _ => return None,
        };
        settings.push(Command::Sysctl { name: name.trim().replace('/', "."), value: plain_value(&value) });
    }
    (!settings.is_empty()).then_some(settings)
}

/// `/proc/sys/net/ipv4/tcp_sack=1 ...`
fn files(arguments: &[String]) -> Vec<Command> {
    let setting = |argument: &String| {
        let (path, value) = argument.split_once('=')?;
        Some(Command::Sysctl { name: proc_name(path)?, value: plain_value(value) })
    };
    arguments.iter().map(|a| setting(a).unwrap_or_else(|| Command::Unknown(a.clone()))).collect()
}

fn proc_name(path: &str) -> Option<String> {
    path.strip_prefix("/proc/sys/").map(|name| name.replace('/', "."))
}

/// A value with normalised spaces and `$((a*b))` evaluated.
fn plain_value(value: &str) -> String {
    let mut text = value.to_owned();
    while let Some(start) = text.find("$((") {
        let Some(length) = text[start..].find("))") else { break };
        let Some(product) = product(&text[start + 3..start + length]) else { break };
        text.replace_range(start..start + length + 2, &product.to_string());
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn product(text: &str) -> Option<i64> {
    text.split('*').try_fold(1i64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}

fn sleep(arguments: &[String]) -> Option<u64> {
    let text = arguments.first()?;
    let seconds: f64 = text.strip_suffix('s').unwrap_or(text).parse().ok()?;
    (0.0..=3600.0).contains(&seconds).then_some((seconds * 1000.0).round() as u64)
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl { name, value } => write!(f, "sysctl {name}={value:?}"),
            Self::Ip(words) => write!(f, "ip {}", words.join(" ")),
            Self::Tc(words) => write!(f, "tc {}", words.join(" ")),
            Self::Ethtool(words) => write!(f, "ethtool {}", words.join(" ")),
            Self::Counters(query) => query.fmt(f),
            Self::Sleep(millis) => write!(f, "sleep {}", *millis as f64 / 1000.0),
            Self::Include(path) => write!(f, "{path}"),
            Self::Either { first, second } => {
                write!(f, "{first}")?;
                second.iter().try_for_each(|command| write!(f, " || {command}"))
            }
            Self::Nothing => f.write_str("true"),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Command {
        Command::Sysctl { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn sysctls_are_parsed_in_every_form() {
        assert_eq!(commands("sysctl -q net.ipv4.tcp_sack=0"), [set("net.ipv4.tcp_sack", "0")]);
        assert_eq!(
            commands("sysctl -w net.ipv4.tcp_rmem=\"4096  87380\t6291456\" a.b=1 >/dev/null 2>&1"),
            [set("net.ipv4.tcp_rmem", "4096 87380 6291456"), set("a.b", "1")]
        );
        assert_eq!(commands("echo 2 > /proc/sys/net/ipv4/tcp_ecn"), [set("net.ipv4.tcp_ecn", "2")]);
        assert_eq!(
            commands(
                "../common/set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\\n  /proc/sys/a/b=\"1 2\""
            ),
            [set("net.ipv4.tcp_timestamps", "0"), set("a.b", "1 2")]
        );
        assert_eq!(
            commands("sysctl -q net.ipv4.tcp_wmem=\"4096 $((256*1024)) 4194304\""),
            [set("net.ipv4.tcp_wmem", "4096 262144 4194304")]
        );
    }

    #[test]
    fn command_separators_are_parsed() {
        let found =
            commands("./defaults.sh\nip route add 1.2.3.0/24 dev tun0 || true; sleep 0.5 && nstat -n");
        assert_eq!(found[0], Command::Include("./defaults.sh".to_owned()));
        let Command::Either { first, second } = &found[1] else { panic!("{:?}", found[1]) };
        assert!(matches!(&**first, Command::Ip(words) if words.len() == 5));
        assert_eq!(second[..], [Command::Nothing]);
        assert_eq!(found[2], Command::Sleep(500));
        assert!(matches!(&found[3], Command::Counters(_)));
        assert_eq!(commands("# nothing\n\n"), []);
        assert_eq!(commands("/tmp/sysctl_restore_${PPID}.sh"), [Command::Nothing]);
    }

    #[test]
    fn unsupported_commands_are_kept() {
        let piped = "nstat | awk '{ print $2 }'";
        assert_eq!(commands(piped), [Command::Unknown(piped.to_owned())]);
        assert_eq!(commands("iptables -A INPUT"), [Command::Unknown("iptables -A INPUT".to_owned())]);
        assert_eq!(commands("sysctl -a"), [Command::Unknown("sysctl -a".to_owned())]);
    }
}
