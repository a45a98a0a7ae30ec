//! The table: a row for each connection or service.

use super::Screen;
use super::put::put;
use crate::flows::{Key, Row};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use slowpath_model::shown;
use slowpath_views::quantity::count;
use slowpath_views::terminal::letter;
use std::time::Duration;

/// Letters of the bar, each a tenth of the time.
const TENTHS: usize = 10;
/// From this width on, there is room for more of everything.
const WIDE: u16 = 100;
/// Eighths of a block.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Where the columns are.
struct Columns {
    flows: usize,
    rates: usize,
    name: usize,
    cause: usize,
}

impl Columns {
    fn new(width: u16, has_flows: bool) -> Self {
        let flows = if has_flows { 7 } else { 0 };
        let rates = if width < WIDE { 6 } else { 20 };
        // The mark, and the columns of fixed width with the blank after each.
        let fixed = 1 + 6 + 12 + rates + 1 + 6 + TENTHS + 1 + flows;
        let left = usize::from(width).saturating_sub(fixed);
        let name = left * 11 / 20;
        Self { flows, rates, name, cause: left.saturating_sub(name + 1) }
    }
}

pub(super) fn draw(screen: &Screen, frame: &mut Frame<'_>, body: Rect) {
    let (rows, more) = screen.rows();
    let is_of_services = matches!(rows.first(), Some(Row { key: Key::Service(_), .. }));
    let columns = Columns::new(body.width, is_of_services);
    let what = match screen.flows.by() {
        Some(by) if is_of_services => by.name(),
        _ => "connection",
    };
    put(frame, body, body.y, heading(&columns, what));
    let Some(room) = usize::from(body.height).checked_sub(2).filter(|room| *room > 0) else { return };
    let place = screen.place();
    let first = (place + 1).saturating_sub(room);
    let window = screen.moment().map_or(Duration::ZERO, |moment| moment.window);
    for (nth, y) in (first..rows.len()).zip(body.y + 1..body.bottom() - 1) {
        put(frame, body, y, line(screen, rows[nth], &columns, window, nth == place));
    }
    let below = rows.len().saturating_sub(first + room) + more;
    if below > 0 {
        put(frame, body, body.bottom() - 1, Line::raw(format!(" {} more", count(below as u64))));
    } else if rows.is_empty() {
        put(frame, body, body.y + 1, Line::raw(" No connections."));
    }
}

fn heading(columns: &Columns, what: &str) -> Line<'static> {
    let Columns { flows, rates, name, .. } = *columns;
    let flows = if flows == 0 { String::new() } else { format!("{:>6} ", "flows") };
    let text = format!(
        " {:>5} {:>11} {:rates$} {:>5} {:TENTHS$} {flows}{:name$} {}",
        "lost", "rate", "", "retr", "limits", what, "cause"
    );
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

fn line(screen: &Screen, row: &Row, columns: &Columns, window: Duration, is_selected: bool) -> Line<'static> {
    let figures = &row.figures;
    let rate = screen.moment().and_then(|moment| moment.rate(figures)).filter(|rate| rate.get() > 0);
    let rate = rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    let retransmitted = figures.retransmitted.map_or_else(|| "?".to_owned(), count);
    let mark = if is_selected { '>' } else { ' ' };
    let Columns { flows, rates, name, cause } = *columns;
    let lost = lost(figures.lost(), window);
    let mut spans = vec![Span::raw(format!("{mark}{lost:>5} {rate:>11} "))];
    let levels = &row.rates[row.rates.len() - rates..];
    spans.push(Span::raw(levels.iter().map(|level| BLOCKS[usize::from(*level).min(8)]).collect::<String>()));
    spans.push(Span::raw(format!(" {retransmitted:>5} ")));
    let tenths = figures.tenths(window * u32::try_from(row.flows).unwrap_or(u32::MAX), TENTHS);
    let gap = " ".repeat(TENTHS + 1 - tenths.len());
    spans.extend(
        tenths.into_iter().map(|limit| Span::styled(letter(limit).to_string(), screen.theme.style(limit))),
    );
    spans.push(Span::raw(gap));
    if flows > 0 {
        spans.push(Span::raw(format!("{:>6} ", count(row.flows))));
    }
    let main = figures.main();
    let words = main.map_or_else(String::new, |main| {
        if main.title().len() <= cause {
            return main.title().to_owned();
        }
        let slug = main.to_string();
        slug.rsplit('/').next().unwrap_or(&slug).to_owned()
    });
    let text = short_name(row, name);
    spans.push(Span::raw(format!("{text:name$} {}", shown::shortened(&words, cause))));
    let line = Line::from(spans);
    if is_selected { line.style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
}

/// Time lost as a share of the time; that of several connections together may be above 100 %.
fn lost(lost: Duration, window: Duration) -> String {
    if window.is_zero() {
        return "-".to_owned();
    }
    let percent = lost.as_secs_f64() / window.as_secs_f64() * 100.0;
    if percent < 0.5 { "-".to_owned() } else { format!("{percent:.0}%") }
}

/// The name of a row, in as many columns.
fn short_name(row: &Row, columns: usize) -> String {
    let whole = name(row);
    let text = match (&row.ends, whole.chars().count() > columns) {
        (Some((key, sender, Some(near))), true) => {
            let direction = if sender == near { ">" } else { "<" };
            format!("{direction} {}", key.endpoint(!*near))
        }
        (Some((key, ..)), true) => key.b.to_string(),
        _ => whole,
    };
    shown::shortened(&text, columns).into_owned()
}

/// The whole name of a row: the sender of a connection comes first.
pub(super) fn name(row: &Row) -> String {
    match (&row.key, &row.ends) {
        (_, Some((key, sender, _))) => {
            let process = row.process.as_ref();
            let process =
                process.map_or(String::new(), |process| format!(" ({})", shown::line(&process.name)));
            format!("{} > {}{process}", key.endpoint(*sender), key.endpoint(!*sender))
        }
        (Key::Service(name), None) => shown::line(&name.text(&[])).into_owned(),
        (Key::Flow(id), None) => format!("connection {id}"),
    }
}
