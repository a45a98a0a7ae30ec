//! Pages of text: a connection, a cause, the keys.

use super::{Screen, table};
use crate::flows::Unit;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use slowpath_analyses::{Cause, Limit};
use slowpath_model::{Bytes, FlowId, shown};
use slowpath_remedies::handbook_text;
use slowpath_views::quantity::{count, counted, duration, share};
use slowpath_views::terminal::{Look, cause_page, letter};
use std::time::Duration;

/// Letters of the bar of a connection, each a fortieth of the time.
const BAR: usize = 40;

/// A connection: what limits it, and its sockets' numbers.
pub(super) fn flow(screen: &Screen, id: FlowId, width: u16) -> Vec<Line<'static>> {
    let (Some(moment), Some(row)) = (screen.moment(), screen.row(id)) else {
        return vec![Line::raw(format!("Connection {id} has ended, or was not among those that were kept."))];
    };
    let figures = &row.figures;
    let mut lines = wrapped(&table::name(row), width);
    lines.iter_mut().for_each(|line| line.style = Style::new().add_modifier(Modifier::BOLD));
    let rate = moment.rate(figures).filter(|rate| rate.get() > 0);
    let mut text = format!("{} in {}", Bytes::new(figures.bytes), duration(moment.window));
    if let Some(rate) = rate {
        text += &format!(", {rate}");
    }
    text += &match figures.retransmitted {
        Some(number) => format!(", {} retransmitted", counted(number, "segment")),
        None => String::new(),
    };
    lines.extend([Line::raw(text), Line::raw("")]);
    let mut bar = vec![Span::raw("  ")];
    for limit in figures.tenths(moment.window, BAR) {
        bar.push(Span::styled(letter(limit).to_string(), screen.theme.style(limit)));
    }
    lines.push(Line::from(bar));
    let all = moment.window.as_secs_f64();
    for (cause, lasted) in figures.sorted() {
        let part = share((lasted.as_secs_f64() / all).min(1.0));
        let words = Span::raw(format!(" {part:>6}  {cause}: {}", cause.title()));
        let limit = Span::styled(format!("  {}", letter(cause.limit())), screen.theme.style(cause.limit()));
        lines.push(Line::from(vec![limit, words]));
    }
    if figures.causes.is_empty() {
        lines.extend(wrapped(
            "  Nothing was reported: its sender is on another host, and nothing waits here.",
            width,
        ));
    }
    let numbers = &row.numbers;
    for (who, numbers) in [("sender", &numbers.sender), ("receiver", &numbers.receiver)] {
        if numbers.is_empty() {
            continue;
        }
        lines.extend([Line::raw(""), Line::raw(format!("Socket of the {who}"))]);
        let texts: Vec<String> =
            numbers.iter().map(|(name, unit, value)| format!("{name} {}", unit.text(*value))).collect();
        lines.extend(wrapped(&format!("  {}", texts.join(" · ")), width));
    }
    if !numbers.waits.is_empty() {
        lines.extend([Line::raw(""), Line::raw("Waits in the last second: median, longest")]);
        for (on, median, longest) in &numbers.waits {
            lines.push(Line::raw(format!("  {on}: {}, {}", duration(*median), duration(*longest))));
        }
    }
    lines
}

impl Unit {
    fn text(self, value: u64) -> String {
        match self {
            Self::Micros => duration(Duration::from_micros(value)),
            Self::Bytes => Bytes::new(value).to_string(),
            Self::Segments | Self::Times => count(value),
        }
    }
}

/// The handbook's page of a cause.
pub(super) fn cause(cause: Cause, width: u16) -> Vec<Line<'static>> {
    let mut text = Vec::new();
    let look = Look::new(false, width.into());
    // Memory takes everything.
    let _ = cause_page(cause, handbook_text(cause), &look, &mut text);
    String::from_utf8_lossy(&text).lines().map(|line| Line::raw(shown::line(line).into_owned())).collect()
}

/// What the columns and letters mean, the keys, and what is not seen.
pub(super) fn help(screen: &Screen, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for paragraph in [
        "Each row is what a connection, or all connections of a service, did in the last 3 seconds.",
        "",
        "  lost    Time that could be recovered, as a share of the time: not limited by the application, the path's capacity or the unknown. Connections of a service are added up: 250% is the time of two and a half.",
        "  rate    Data without retransmissions, in the direction that carries more; then, over the last seconds, as a share of the highest.",
        "  retr    Retransmitted segments; ? if the sender is on another host.",
        "  limits  What limited the sender: a letter for each tenth of the time. Time that no report has yet is blank. If the sender is on another host, only what the receiver limits is seen.",
    ] {
        lines.extend(wrapped(paragraph, width));
    }
    for pair in Limit::ALL.chunks(2) {
        let mut spans = vec![Span::raw("          ")];
        for limit in pair {
            spans.push(Span::styled(letter(*limit).to_string(), screen.theme.style(*limit)));
            spans.push(Span::raw(format!(" {:22}", limit.title())));
        }
        lines.push(Line::from(spans));
    }
    for (keys, what) in [
        ("↑ ↓ j k", "select a row, or scroll"),
        ("Enter", "open: a service, its connection, its cause"),
        ("Esc", "back; on the first page, without the filter"),
        ("← →", "back and forth in time: the 30 rows that lost most, for ten minutes"),
        ("p", "pause, and go on"),
        ("/", "a filter in the words of tcpdump: host 192.0.2.1 and port 443"),
        ("q", "quit"),
    ] {
        lines.push(Line::raw(format!("  {keys:9} {what}")));
    }
    if !screen.unseen.is_empty() {
        lines.extend([Line::raw(""), Line::raw("Not seen here:")]);
        screen
            .unseen
            .iter()
            .for_each(|what| lines.extend(wrapped(&format!("  {}", shown::line(what)), width)));
    }
    lines
}

/// Text in lines of this width; lines after the first are indented as an item's text is.
fn wrapped(text: &str, width: u16) -> Vec<Line<'static>> {
    let indent = text.strip_prefix("  ").map_or(0, |item| {
        let gap = item.find("  ").unwrap_or(0);
        2 + gap + (item.len() - gap - item[gap..].trim_start().len())
    });
    let (mut lines, mut line) = (Vec::new(), String::new());
    let mut room = usize::from(width).max(20);
    for word in text.split_inclusive(' ') {
        if !line.trim().is_empty() && line.chars().count() + word.trim_end().chars().count() > room {
            lines.push(Line::raw(line.trim_end().to_owned()));
            line = " ".repeat(indent);
            room = usize::from(width).max(20);
        }
        line.push_str(word);
    }
    lines.push(Line::raw(line.trim_end().to_owned()));
    lines
}
