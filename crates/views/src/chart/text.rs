//! Text in charts.

use slowpath_model::shown;

/// The line height, and the width reserved for a character, wider than in most fonts.
pub(super) const LINE: f64 = 18.0;
const LETTER: f64 = 7.2;

/// The width to reserve for a text.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Escapes text for HTML or SVG, as content or in a double-quoted attribute.
///
/// XML forbids most control characters, even escaped, so they are shown as on a terminal.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in shown::line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Wraps text into lines of at most `letters` characters; a longer word is cut.
pub(super) fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word: String = word.chars().take(letters).collect();
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > letters {
            lines.push(word);
        } else if let Some(line) = lines.last_mut() {
            if last > 0 {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines
}

/// The centres of labels that want to be at `wanted`: at least `apart` from each other and within `low..=high`, as far
/// as there is room; in the order of `wanted`.
pub(super) fn apart(wanted: &[f64], apart: f64, [low, high]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut free = low;
    for number in &order {
        places[*number] = places[*number].max(free);
        free = places[*number] + apart;
    }
    // Labels beyond the end move back, and push those before them.
    let mut free = high;
    for number in order.iter().rev() {
        places[*number] = places[*number].min(free);
        free = places[*number] - apart;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_element() {
        assert_eq!(escaped("a\u{0}\u{202e}b\"<>&"), r"a\u{0}\u{202e}b&quot;&lt;&gt;&amp;");
        let title: Vec<String> = wrapped(&"word ".repeat(60), 88);
        assert!(title.len() > 2 && title.iter().all(|line| line.chars().count() <= 88));
    }

    #[test]
    fn overlapping_labels_are_moved_apart() {
        assert_eq!(apart(&[50.0, 10.0], 15.0, [0.0, 100.0]), [50.0, 10.0]);
        assert_eq!(apart(&[50.0, 48.0, 51.0], 15.0, [0.0, 100.0]), [63.0, 48.0, 78.0]);
        assert_eq!(apart(&[99.0, 98.0, -4.0], 15.0, [0.0, 100.0]), [100.0, 85.0, 0.0]);
    }
}
