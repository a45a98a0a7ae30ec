//! Writes the page as a self-contained file.

use super::Page;
use super::build::{Pictures, page};
use crate::chart::escaped;
use crate::diagnosis::Diagnosis;
use crate::json;
use slowpath_analyses::picture::{self, MOST_MARKS};
use slowpath_analyses::report::FlowReport;
use std::io;

const TEMPLATE: &str = include_str!("../../assets/report.html");
/// The style of the page, which other pages share.
pub const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// The limit of a page's size, so that it can be sent by mail and opened anywhere.
const MOST_BYTES: usize = 5_000_000;
/// What a row of the list of flows may add to that.
const BYTES_OF_A_LINE: usize = 75;
/// With this few marks, a plot still shows as much as a screen can.
const LEAST_MARKS: usize = 250;

/// The size of the page, and its level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    /// Bytes written.
    pub bytes: usize,
    /// The most marks of each kind per plot.
    pub most_marks: usize,
}

/// Writes the page. If it would be larger than 5 MB and 75 bytes for each flow, its plots have less detail, and the page
/// says so.
///
/// # Errors
///
/// The errors of `out`, and one if even the least detail does not make it small enough.
pub fn write(
    diagnosis: &Diagnosis<'_>,
    pictures: &Pictures<'_>,
    out: &mut impl io::Write,
) -> io::Result<PageSize> {
    let mut most_marks = MOST_MARKS;
    let most_bytes = MOST_BYTES + diagnosis.ranking.lines.len() * BYTES_OF_A_LINE;
    loop {
        let page = page(diagnosis, pictures, most_marks);
        let text = html(&page)?;
        if text.len() <= most_bytes {
            out.write_all(text.as_bytes())?;
            return Ok(PageSize { bytes: text.len(), most_marks });
        }
        if most_marks <= LEAST_MARKS {
            let problem = format!(
                "the page would have {} bytes, and {most_bytes} is the most; show fewer flows (--top, --min-bytes)",
                text.len()
            );
            return Err(io::Error::other(problem));
        }
        // Not more often than needed: each time costs as much as writing the page.
        let fitting = most_marks * most_bytes / text.len() * 7 / 8;
        most_marks = fitting.min(most_marks / 2).max(LEAST_MARKS);
    }
}

/// The page of the flows whose plots are `kept`.
///
/// # Errors
///
/// If even the least detail does not make it small enough.
pub fn of_pictures(diagnosis: &Diagnosis<'_>, kept: &picture::Pictures) -> io::Result<Vec<u8>> {
    let draw = |flow: &FlowReport| kept.picture(flow.id, flow.sender);
    let mut page = Vec::new();
    write(diagnosis, &Pictures { of: &draw, dropped: kept.dropped() }, &mut page)?;
    Ok(page)
}

/// The page with this data.
pub(crate) fn html(page: &Page) -> io::Result<String> {
    let mut data = Vec::new();
    json::write_line(page, &mut data)?;
    Ok(embed(&page.title, String::from_utf8_lossy(&data).trim_end()))
}

/// Inserts `data` and the script into the template. Parts are inserted from last to first, so that a placeholder is
/// never looked for inside another part.
fn embed(title: &str, data: &str) -> String {
    // In a script element only `<` can end it, as in a file named `</script>` or `<!--`; in XHTML, `]]>`.
    let data = data.replace('<', "\\u003c").replace("]]>", "]]\\u003e");
    let (before, after) = split(TEMPLATE, "{{data}}");
    let (before, middle) = split(before, "{{style}}");
    let (head, after_title) = split(before, "{{title}}");
    let (after_data, end) = split(after, "{{script}}");
    [head, &escaped(title), after_title, STYLE, middle, &data, after_data, SCRIPT, end].concat()
}

fn split<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    text.split_once(mark).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_element() {
        let page = embed("</title><b>", r#"{"name":"</script><script>alert(1)<!--]]>"}"#);
        assert!(page.contains(r"\u003c/script>\u003cscript>alert(1)\u003c!--]]\u003e"));
        assert_eq!(page.matches("</script").count(), TEMPLATE.matches("</script").count());
        assert!(page.contains("<title>&lt;/title&gt;&lt;b&gt; – slowpath</title>"));
    }

    #[test]
    fn template_has_each_placeholder_once() {
        for mark in ["{{title}}", "{{data}}", "{{style}}", "{{script}}"] {
            assert_eq!(TEMPLATE.matches(mark).count(), 1, "{mark}");
        }
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn page_loads_nothing_from_a_network() {
        for text in [TEMPLATE, STYLE, SCRIPT] {
            for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
                let allowed = word == "http:" && text.contains("http://www.w3.org/");
                assert!(allowed || !text.contains(word), "{word}");
            }
        }
    }
}
