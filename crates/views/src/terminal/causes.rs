//! The catalogue of causes.

use super::look::Look;
use super::palette::colour;
use anstyle::Style;
use slowpath_analyses::{Cause, Limit};
use std::io;

/// Writes all causes, by limit.
///
/// # Errors
///
/// The errors of `out`.
pub fn cause_catalogue(look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let widest = Cause::ALL.iter().map(|cause| cause.to_string().len()).max().unwrap_or(0);
    for limit in Limit::ALL {
        let style = Style::new().fg_color(Some(colour(limit))).bold();
        writeln!(out, "{}", look.paint(style, limit.title()))?;
        for cause in Cause::ALL.iter().filter(|cause| cause.limit() == limit) {
            look.paragraph(out, &format!("  {:<widest$}  ", cause.to_string()), cause.title())?;
        }
    }
    writeln!(out)?;
    look.paragraph(out, "", "What a cause is, how it shows and what to do about it: slowpath causes CAUSE")
}

/// Prints the handbook's page on a cause from Markdown, wrapped to the terminal and without comments.
///
/// # Errors
///
/// The errors of `out`.
pub fn cause_page(cause: Cause, page: &str, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let style = Style::new().fg_color(Some(colour(cause.limit()))).bold();
    let mut code = false;
    let mut blank = false;
    for line in page.lines() {
        let was_blank = std::mem::replace(&mut blank, line.is_empty());
        if line.starts_with("```") {
            code = !code;
        } else if code {
            writeln!(out, "    {line}")?;
        } else if line.starts_with("<!--") {
            // The blank lines before and after a comment become one paragraph break.
            blank = true;
        } else if line.is_empty() {
            if !was_blank {
                writeln!(out)?;
            }
        } else if let Some(title) = line.strip_prefix("# ") {
            writeln!(out, "{}", look.paint(style, title))?;
        } else if line.starts_with('#') {
            writeln!(out, "{}", look.strong(line.trim_start_matches('#').trim()))?;
        } else if line.starts_with('|') {
            writeln!(out, "{line}")?;
        } else if let Some(item) = line.strip_prefix("- ") {
            look.paragraph(out, "  • ", &without_links(item))?;
        } else {
            look.paragraph(out, "", &without_links(line))?;
        }
    }
    Ok(())
}

/// `text` with each link `[words](place)` replaced by its words, since a terminal cannot follow it.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1))) {
            Some((words, after)) if !words.contains('[') => {
                plain.push_str(words);
                rest = after;
            }
            _ => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_text() {
        assert_eq!(without_links("a [b c](d.md), a[0] and [e]"), "a b c, a[0] and [e]");
    }

    #[test]
    fn handbook_page_is_rendered_as_plain_text() {
        let page = "# Title\n\nOne\n\n<!-- note -->\n\n```text\n$ x  y\n```\n\n- [two](x.md)\n";
        let mut out = Vec::new();
        cause_page(Cause::SlowReader, page, &Look::default(), &mut out).expect("memory takes all");
        assert_eq!(String::from_utf8_lossy(&out), "Title\n\nOne\n\n    $ x  y\n\n  • two\n");
    }
}
