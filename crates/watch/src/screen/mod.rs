//! The screen: what is shown, and what keys change.

mod draw;
mod page;
mod put;
mod table;
#[cfg(test)]
mod tests;

use crate::flows::{Flows, Focus, Interval, Key, Moment, Row};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use slowpath_analyses::Cause;
use slowpath_model::FlowId;
use slowpath_views::services::{By, Name};

/// How it looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theme {
    /// Whether to use colour.
    pub colour: bool,
}

/// What is open.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Page {
    /// All services, or without them all connections.
    Top,
    /// The connections of a service.
    Service(Name),
    /// A connection.
    Flow(FlowId),
    /// The handbook's page of a cause.
    Cause(Cause),
    Help,
}

/// The screen.
#[derive(Debug)]
pub struct Screen {
    flows: Flows,
    focus: Focus,
    theme: Theme,
    /// What cannot be seen here.
    unseen: Vec<String>,
    /// The pages that are open, the one that is shown last; never empty.
    pages: Vec<Page>,
    /// The selected row, and its place when it was selected: it may be gone.
    selected: Option<(Key, usize)>,
    /// The first line that is shown of a page of text.
    scroll: usize,
    /// Whether new intervals are not shown.
    is_paused: bool,
    /// Which interval is shown, counted back from the last one.
    back: usize,
    /// What was typed of a filter.
    typed: Option<String>,
    /// Why a filter was refused.
    refused: Option<String>,
}

impl Screen {
    /// An empty one; `unseen` is what cannot be seen on this host.
    pub fn new(by: Option<By>, theme: Theme, unseen: Vec<String>) -> Self {
        Self {
            flows: Flows::new(by),
            focus: Focus::default(),
            theme,
            unseen,
            pages: vec![Page::Top],
            selected: None,
            scroll: 0,
            is_paused: false,
            back: 0,
            typed: None,
            refused: None,
        }
    }

    /// What the rows have in common; `None` if each is a connection.
    pub const fn by(&self) -> Option<By> {
        self.flows.by()
    }

    /// Takes in an interval.
    pub fn take(&mut self, interval: Interval<'_>) {
        let is_shown = self.is_paused && self.back == 0;
        self.flows.take(interval, &self.focus, is_shown);
        if self.is_paused {
            // What is shown stays, until the history is full and loses it.
            self.back = (self.back + 1).min(self.flows.moments().saturating_sub(1));
        }
    }

    /// Does what a key asks for; returns whether to end.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return matches!(key.code, KeyCode::Char('c'));
        }
        if self.typed.is_some() {
            self.type_filter(key.code);
            return false;
        }
        self.refused = None;
        match key.code {
            KeyCode::Char('q') => return true,
            KeyCode::Up | KeyCode::Char('k') => self.go(|place| place.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.go(|place| place + 1),
            KeyCode::PageUp => self.go(|place| place.saturating_sub(PAGE)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(|place| place + PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.go(|_| 0),
            KeyCode::End | KeyCode::Char('G') => self.go(|_| usize::MAX),
            KeyCode::Left | KeyCode::Char('h') => self.step(1),
            KeyCode::Right | KeyCode::Char('l') => self.step(-1),
            KeyCode::Enter => self.open(),
            KeyCode::Esc | KeyCode::Backspace => self.close(),
            KeyCode::Char('p') => self.pause(),
            KeyCode::Char('?') if *self.page() != Page::Help => self.push(Page::Help),
            KeyCode::Char('/') => self.typed = Some(self.filter_text()),
            _ => {}
        }
        false
    }

    fn page(&self) -> &Page {
        self.pages.last().unwrap_or(&Page::Top)
    }

    fn moment(&self) -> Option<&Moment> {
        self.flows.back(self.back)
    }

    fn filter_text(&self) -> String {
        self.focus.filter.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// The rows of the page that is shown, and how many more there are.
    fn rows(&self) -> (Vec<&Row>, usize) {
        let Some(moment) = self.moment() else { return (Vec::new(), 0) };
        match self.page() {
            Page::Top if self.flows.by().is_some() => {
                (moment.services.iter().collect(), moment.more_services)
            }
            Page::Top => (moment.rows.iter().collect(), moment.more),
            Page::Service(name) if moment.service.as_ref() == Some(name) => {
                (moment.rows.iter().collect(), moment.more)
            }
            // It was not open then: of its connections, those are known that were among all that lost most.
            Page::Service(name) => {
                let is_of_it = |row: &&Row| row.service(self.flows.by()).as_ref() == Some(name);
                (moment.rows.iter().filter(is_of_it).collect(), 0)
            }
            _ => (Vec::new(), 0),
        }
    }

    /// The place of the selected row: that of its key, or if that is gone where it was.
    fn place(&self) -> usize {
        let (rows, _) = self.rows();
        let Some((key, before)) = &self.selected else { return 0 };
        rows.iter().position(|row| row.key == *key).unwrap_or(*before).min(rows.len().saturating_sub(1))
    }

    fn go(&mut self, to: impl Fn(usize) -> usize) {
        if matches!(self.page(), Page::Top | Page::Service(_)) {
            let (rows, _) = self.rows();
            let place = to(self.place()).min(rows.len().saturating_sub(1));
            self.selected = rows.get(place).map(|row| (row.key.clone(), place));
        } else {
            // Drawing limits it to the length of the text.
            self.scroll = to(self.scroll);
        }
    }

    /// Steps back in time, or forth if negative.
    fn step(&mut self, back: isize) {
        let most = self.flows.moments().saturating_sub(1);
        self.back = self.back.saturating_add_signed(back).min(most);
        self.is_paused = self.back > 0;
    }

    fn pause(&mut self) {
        self.is_paused = !self.is_paused;
        if !self.is_paused {
            self.back = 0;
        }
    }

    fn open(&mut self) {
        match self.page() {
            Page::Top | Page::Service(_) => {
                let (rows, _) = self.rows();
                let Some(key) = rows.get(self.place()).map(|row| row.key.clone()) else { return };
                match key {
                    Key::Flow(id) => self.push(Page::Flow(id)),
                    Key::Service(name) => self.push(Page::Service(name)),
                }
            }
            Page::Flow(id) => {
                let row = self.row(*id);
                if let Some(cause) = row.and_then(|row| row.figures.main()) {
                    self.push(Page::Cause(cause));
                }
            }
            Page::Cause(_) | Page::Help => {}
        }
    }

    /// The row of a connection, if it was kept.
    fn row(&self, id: FlowId) -> Option<&Row> {
        self.moment()?.rows.iter().find(|row| row.key == Key::Flow(id))
    }

    fn push(&mut self, page: Page) {
        self.pages.push(page);
        self.turned();
    }

    fn close(&mut self) {
        if self.pages.len() > 1 {
            let closed = self.pages.pop();
            self.turned();
            self.selected = match closed {
                Some(Page::Service(name)) => Some((Key::Service(name), 0)),
                Some(Page::Flow(id)) => Some((Key::Flow(id), 0)),
                _ => None,
            };
        } else if self.focus.filter.take().is_some() {
            self.turned();
        }
    }

    /// Another page is shown: rows are needed of other connections.
    fn turned(&mut self) {
        (self.scroll, self.selected) = (0, None);
        self.focus.service = self.pages.iter().find_map(|page| match page {
            Page::Service(name) => Some(name.clone()),
            _ => None,
        });
        self.focus.flow = self.pages.iter().find_map(|page| match page {
            Page::Flow(id) => Some(*id),
            _ => None,
        });
        self.flows.look_at(&self.focus);
    }

    fn type_filter(&mut self, key: KeyCode) {
        let Some(typed) = &mut self.typed else { return };
        match key {
            KeyCode::Esc => self.typed = None,
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(letter) if typed.len() < LONGEST_FILTER => typed.push(letter),
            KeyCode::Enter => {
                let text = std::mem::take(typed);
                self.typed = None;
                if text.trim().is_empty() {
                    self.focus.filter = None;
                } else {
                    match text.parse() {
                        Ok(filter) => self.focus.filter = Some(filter),
                        Err(error) => {
                            self.refused =
                                Some(error.to_string().lines().next().unwrap_or_default().to_owned());
                        }
                    }
                }
                self.turned();
            }
            _ => {}
        }
    }
}

/// Rows or lines that a key for a page goes on by.
const PAGE: usize = 15;
/// Bytes of a filter that is typed.
const LONGEST_FILTER: usize = 500;
