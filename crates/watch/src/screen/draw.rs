//! Draws the screen: head, body and foot.

use super::put::put;
use super::{Page, Screen};
use crate::host::ago;
use crate::screen::{page, table};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use slowpath_model::shown;
use slowpath_views::quantity::{count, counted, share};

/// CPUs that are shown one by one.
const MOST_CPUS: usize = 4;

impl Screen {
    /// Draws all of it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let (head, foot) = (self.head(), self.foot());
        let mut y = area.y;
        for line in head {
            put(frame, area, y, line);
            y = y.saturating_add(1);
        }
        let foot_at = area.bottom().saturating_sub(foot.len() as u16).max(y);
        let body = Rect { y, height: foot_at - y, ..area };
        match self.page().clone() {
            Page::Top | Page::Service(_) => table::draw(self, frame, body),
            Page::Flow(id) => self.text(frame, body, |screen| page::flow(screen, id, body.width)),
            Page::Cause(cause) => self.text(frame, body, |_| page::cause(cause, body.width)),
            Page::Help => self.text(frame, body, |screen| page::help(screen, body.width)),
        }
        for (line, y) in foot.into_iter().zip(foot_at..) {
            put(frame, area, y, line);
        }
    }

    /// Draws a page of text from where it is scrolled to.
    fn text(&mut self, frame: &mut Frame<'_>, body: Rect, lines: impl Fn(&Self) -> Vec<Line<'static>>) {
        let lines = lines(self);
        self.scroll = self.scroll.min(lines.len().saturating_sub(body.height.into()));
        for (line, y) in lines.into_iter().skip(self.scroll).zip(body.y..body.bottom()) {
            put(frame, body, y, line);
        }
    }

    fn head(&self) -> Vec<Line<'static>> {
        let strong = Style::new().add_modifier(Modifier::BOLD);
        let Some(moment) = self.moment() else {
            return vec![
                Line::styled("slowpath watch", strong),
                Line::raw("The first second is not over yet."),
                self.not_seen(),
            ];
        };
        let rate = moment.rate(&moment.all).filter(|rate| rate.get() > 0);
        let mut what = counted(moment.flows, "connection");
        if let Some(filter) = &self.focus.filter {
            what = format!("{what} of {} ({filter})", count(moment.flows + moment.left_out));
        }
        if let Some(rate) = rate {
            what = format!("{what}, {rate}");
        }
        let when = match (self.is_paused, self.back) {
            (false, _) => String::new(),
            (true, 0) => "  [paused]".to_owned(),
            (true, _) => {
                let last = self.flows.back(0).map_or(moment.at, |last| last.at);
                format!("  [{} ago]", ago(last.saturating_sub(moment.at)))
            }
        };
        let first = Line::from(vec![
            Span::styled("slowpath watch", strong),
            Span::styled(when, Style::new().add_modifier(Modifier::REVERSED)),
            Span::raw(format!("  last {}: {what}", ago(round(moment.window)))),
        ]);
        vec![first, Line::raw(self.host()), self.not_seen()]
    }

    /// That something is not seen, and the first of it.
    fn not_seen(&self) -> Line<'static> {
        let first = self.unseen.first();
        Line::raw(
            first.map_or_else(String::new, |what| format!("Not seen (? for all): {}", shown::line(what))),
        )
    }

    /// What the host reports of itself.
    fn host(&self) -> String {
        let Some(moment) = self.moment() else { return String::new() };
        let host = &moment.host;
        let mut parts = Vec::new();
        if moment.not_kept > 0 {
            parts.push(format!("{} connections too many to be watched", count(moment.not_kept)));
        }
        if let Some(overflows) = host.accept_overflows.filter(|number| *number > 0) {
            parts.push(format!("accept queue overflows {}", count(overflows)));
        }
        if let Some(pruned) = host.pruned.filter(|number| *number > 0) {
            parts.push(format!("receive queues pruned {}", count(pruned)));
        }
        if let Some(memory) = host.memory {
            let pressure = if memory >= 1.0 { " (pressure)" } else { "" };
            parts.push(format!("tcp_mem {}{pressure}", share(memory)));
        }
        match host.softirq.as_slice() {
            [] => {}
            cpus if cpus.len() <= MOST_CPUS => {
                let shares: Vec<String> = cpus.iter().map(|part| share(*part)).collect();
                parts.push(format!("softirq per CPU {}", shares.join(", ")));
            }
            cpus => {
                let most = cpus.iter().copied().fold(0.0, f64::max);
                parts.push(format!("softirq of the busiest of {} CPUs {}", cpus.len(), share(most)));
            }
        }
        parts.join(" · ")
    }

    fn foot(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(selection) = self.selection() {
            lines.extend(selection.map(Line::raw));
        }
        lines.push(match (&self.typed, &self.refused) {
            (Some(typed), _) => Line::raw(format!("filter, as of tcpdump: {}_", shown::line(typed))),
            (None, Some(why)) => Line::raw(format!("filter: {}", shown::line(why))),
            (None, None) => {
                let keys = match self.page() {
                    Page::Top | Page::Service(_) => {
                        "↑↓ select  Enter open  ←→ time  p pause  / filter  ? help  q quit"
                    }
                    Page::Flow(_) => "Enter cause  Esc back  ←→ time  p pause  ? help  q quit",
                    Page::Cause(_) | Page::Help => "↑↓ scroll  Esc back  q quit",
                };
                Line::raw(keys)
            }
        });
        lines
    }

    /// The selected row in full: its name, and its main cause.
    fn selection(&self) -> Option<[String; 2]> {
        let (rows, _) = self.rows();
        let row = rows.get(self.place())?;
        let cause = row.figures.main();
        let words = cause.map_or_else(
            || "nothing was reported".to_owned(),
            |cause| format!("{}: {}", cause.limit(), cause.title()),
        );
        Some([table::name(row), words])
    }
}

/// In whole seconds, at least one.
fn round(time: std::time::Duration) -> std::time::Duration {
    std::time::Duration::from_secs_f64(time.as_secs_f64().round().max(1.0))
}
