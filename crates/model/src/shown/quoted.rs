//! A line of a file that an error points at.

use super::text;
use std::iter;

/// A line as it is shown, and where the caret below it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The line, or the part of it around the place.
    pub line: String,
    /// What stands below it, before the caret. Tabs are kept, so that the caret stands under what it points at.
    pub indent: String,
    /// The columns that the place takes.
    pub width: usize,
}

impl Quoted {
    /// The line around the `width` characters at `column`, from 1: at most `context` characters before it, and as many
    /// from there on. Of a hostile file a line may be as long as the file.
    pub fn new(source: &str, column: usize, width: usize, context: usize) -> Self {
        let before = column.saturating_sub(1);
        let cut = before.saturating_sub(context);
        let mut shown = source.chars().skip(cut).take(context.saturating_mul(2));
        let left: String = shown.by_ref().take(before - cut).collect();
        let place: String = shown.by_ref().take(width).collect();
        let beyond = width - place.chars().count();
        let [left, place, right] = [left, place, shown.collect()].map(|part| text(&part).into_owned());
        Self {
            indent: left.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect(),
            width: place.chars().count() + beyond,
            line: [left, place, right].concat(),
        }
    }

    /// The carets, at most `most` of them.
    pub fn carets(&self, most: usize) -> String {
        iter::repeat_n('^', self.width.min(most)).collect()
    }
}
