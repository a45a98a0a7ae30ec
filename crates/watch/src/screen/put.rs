//! Lines, where they are drawn, and the colours of limits.

use super::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use slowpath_analyses::Limit;
use slowpath_views::terminal::colour_index;

impl Theme {
    /// The style of a limit.
    pub(super) fn style(self, limit: Limit) -> Style {
        if self.colour { Style::new().fg(Color::Indexed(colour_index(limit))) } else { Style::new() }
    }
}

/// Draws a line, if there is room for it.
pub(super) fn put(frame: &mut Frame<'_>, area: Rect, y: u16, line: Line<'_>) {
    if y < area.bottom() {
        frame.buffer_mut().set_line(area.x, y, &line, area.width);
    }
}
