//! The page as one file that needs no network.

use super::build::{Pictures, page};
use crate::diagnosis::Diagnosis;
use crate::json;
use slowpath_analyses::picture::MOST_MARKS;
use std::io;

const TEMPLATE: &str = include_str!("../../assets/report.html");
/// The style of the page, which other pages share.
pub const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// No page is larger than this, so that it can be sent by mail and opened anywhere.
const MOST_BYTES: usize = 5_000_000;
/// Even with this few marks a picture shows what a screen can.
const LEAST_MARKS: usize = 250;

/// How large the page became, and with how much detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    /// Bytes written.
    pub bytes: usize,
    /// Marks of each kind that a picture could have.
    pub most_marks: usize,
}

/// Writes the page. Where it would be larger than 5 MB, its pictures have less detail, which it says.
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
    loop {
        let mut data = Vec::new();
        json::write_line(&page(diagnosis, pictures, most_marks), &mut data)?;
        let text = embed(String::from_utf8_lossy(&data).trim_end());
        if text.len() <= MOST_BYTES {
            out.write_all(text.as_bytes())?;
            return Ok(PageSize { bytes: text.len(), most_marks });
        }
        if most_marks <= LEAST_MARKS {
            let problem = format!(
                "the page would have {} bytes, and {MOST_BYTES} is the most; show fewer flows (--top, --min-bytes)",
                text.len()
            );
            return Err(io::Error::other(problem));
        }
        most_marks /= 2;
    }
}

/// `data` and the drawing in the template. The parts are put in from the last to the first, so that none is looked
/// for inside another.
fn embed(data: &str) -> String {
    // Inside a script element only `<` can end it, as in `</script>` or `<!--` in a file's name; in XHTML, `]]>`.
    let data = data.replace('<', "\\u003c").replace("]]>", "]]\\u003e");
    let (before, after) = split(TEMPLATE, "{{data}}");
    let (head, middle) = split(before, "{{style}}");
    let (after_data, end) = split(after, "{{script}}");
    [head, STYLE, middle, &data, after_data, SCRIPT, end].concat()
}

fn split<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    text.split_once(mark).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_element() {
        let page = embed(r#"{"name":"</script><script>alert(1)<!--]]>"}"#);
        assert!(page.contains(r"\u003c/script>\u003cscript>alert(1)\u003c!--]]\u003e"));
        assert_eq!(page.matches("</script").count(), TEMPLATE.matches("</script").count());
    }

    #[test]
    fn template_has_each_placeholder_once() {
        for mark in ["{{data}}", "{{style}}", "{{script}}"] {
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
