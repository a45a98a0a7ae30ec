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
/// Those of `out`.
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

/// Writes what the handbook has on one cause: `page`, in Markdown.
///
/// # Errors
///
/// Those of `out`.
pub fn cause_page(cause: Cause, page: &str, look: &Look, out: &mut impl io::Write) -> io::Result<()> {
    let style = Style::new().fg_color(Some(colour(cause.limit()))).bold();
    writeln!(out, "{}", look.paint(style, &cause.to_string()))?;
    writeln!(out)?;
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if code {
            writeln!(out, "    {line}")?;
        } else if let Some(heading) = line.strip_prefix('#') {
            writeln!(out, "{}", look.strong(heading.trim_start_matches('#').trim()))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
