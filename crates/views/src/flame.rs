//! Flame graphs (B. Gregg, "The Flame Graph", ACM Queue 14(2), 2016): a box for each function in each call path, as
//! wide as its share of the samples, on top of its caller's box; in an icicle, below it. The SVG file is
//! self-contained; its script (`flame.js`) zooms and searches, and a box's tooltip has the text that does not fit.
//!
//! The graphs are drawn here, not by `inferno`: it is under CDDL-1.0, which applies to its source files in any work
//! that contains them, and slowpath as a whole is MIT OR Apache-2.0.

use crate::chart::escaped;
use slowpath_model::shown;
use std::fmt::Write;

/// A flame graph.
#[derive(Clone, Debug)]
pub struct Flame<'a> {
    /// Its title.
    pub title: String,
    /// Remarks below the title.
    pub remarks: Vec<String>,
    /// The boxes.
    pub boxes: Vec<Box<'a>>,
    /// Whether callees are below their callers.
    pub is_icicle: bool,
}

/// A function in a call path.
#[derive(Clone, Debug)]
pub struct Box<'a> {
    /// The number of its callers.
    pub depth: usize,
    /// Its left edge, as a part of the width, 0 to 1.
    pub from: f64,
    /// Its width, as a part of the whole, 0 to 1.
    pub share: f64,
    /// Its name.
    pub name: &'a str,
    /// Its tooltip.
    pub about: String,
    /// The kind of function.
    pub kind: Kind,
}

/// The kind of a function, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All stacks together.
    All,
    /// The kernel's.
    Kernel,
    /// A program's or library's.
    Program,
    /// Unknown.
    Unknown,
}

impl Kind {
    /// Colours light enough for dark text, and distinct in grey and for colour-blind readers.
    const fn colour(self) -> &'static str {
        match self {
            Self::All => "#d9d9d9",
            Self::Kernel => "#f6b26b",
            Self::Program => "#9fc5e8",
            Self::Unknown => "#eeeeee",
        }
    }
}

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
/// The height of a box, including the line between two.
const HEIGHT: f64 = 17.0;
const LINE: f64 = 18.0;
/// The largest width of a character.
const LETTER: f64 = 6.7;
/// Narrower boxes are invisible and not drawn.
const NARROWEST: f64 = 0.3;
/// The script for zoom and search.
const SCRIPT: &str = include_str!("flame.js");
/// A name cut to fewer characters is not shown.
const LEAST_LETTERS: usize = 3;

/// Draws the flame graph as a file.
pub fn svg(flame: &Flame<'_>) -> String {
    let wide = WIDTH - 2.0 * MARGIN;
    let seen = || flame.boxes.iter().filter(|one| one.share * wide >= NARROWEST);
    let layers = seen().map(|one| one.depth + 1).max().unwrap_or(0);
    let top = MARGIN + LINE * (1 + flame.remarks.len()) as f64 + 8.0;
    let height = top + layers as f64 * HEIGHT + MARGIN;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\" data-letter=\"{LETTER}\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
        escaped(&flame.title)
    );
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
        MARGIN + 10.0,
        escaped(&flame.title)
    );
    for (row, remark) in (1..).zip(&flame.remarks) {
        let y = MARGIN + 10.0 + LINE * f64::from(row);
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"#444444\">{}</text>", escaped(remark));
    }
    for one in seen() {
        let layer = if flame.is_icicle { one.depth } else { layers - 1 - one.depth };
        draw(one, MARGIN + one.from * wide, top + layer as f64 * HEIGHT, one.share * wide, &mut out);
    }
    let _ = writeln!(
        out,
        "<text id=\"search\" x=\"{0}\" y=\"{1}\" text-anchor=\"end\" cursor=\"pointer\">Search</text>\n\
         <text id=\"found\" x=\"{0}\" y=\"{2}\" text-anchor=\"end\"></text>",
        WIDTH - MARGIN,
        MARGIN + 10.0,
        MARGIN + 10.0 + LINE
    );
    let _ = writeln!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>");
    out
}

fn draw(one: &Box<'_>, x: f64, y: f64, width: f64, out: &mut String) {
    let letters = ((width - 4.0) / LETTER).max(0.0) as usize;
    let shown = shown::line(one.name);
    let fits = shown.chars().count() <= letters;
    // Data that the script cannot derive from the box.
    let name = if fits && letters >= LEAST_LETTERS {
        String::new()
    } else {
        format!(" data-name=\"{}\"", escaped(&shown))
    };
    let _ = write!(
        out,
        "<g{name}><title>{}</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"/>",
        escaped(&one.about),
        (width - 0.2).max(0.1),
        HEIGHT - 1.0,
        one.kind.colour()
    );
    if letters >= LEAST_LETTERS {
        let name =
            if fits { shown.into_owned() } else { shown.chars().take(letters - 1).chain(['…']).collect() };
        let _ = write!(out, "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>", x + 2.0, y + 12.0, escaped(&name));
    }
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(depth: usize, from: f64, share: f64, name: &str) -> Box<'_> {
        Box { depth, from, share, name, about: format!("{name}: about"), kind: Kind::Program }
    }

    fn flame(is_icicle: bool) -> Flame<'static> {
        let one = |depth, from, share, name: &'static str, kind| Box {
            depth,
            from,
            share,
            name,
            about: format!("{name}: about"),
            kind,
        };
        Flame {
            title: "<a> & b".to_owned(),
            remarks: vec!["a remark".to_owned()],
            boxes: vec![
                one(0, 0.0, 1.0, "all", Kind::All),
                one(1, 0.0, 0.75, "main", Kind::Program),
                one(2, 0.0, 0.02, "a_function_with_a_long_name", Kind::Kernel),
                one(2, 0.1, 0.000_1, "unseen", Kind::Kernel),
            ],
            is_icicle,
        }
    }

    #[test]
    fn box_width_is_the_share_and_names_are_cut_to_fit() {
        let svg = svg(&flame(false));
        assert!(svg.contains("&lt;a&gt; &amp; b") && svg.contains("a remark"));
        assert!(svg.contains("width=\"881.80\"") && svg.contains(">main</text>"), "{svg}");
        assert!(svg.contains("<title>a_function_with_a_long_name: about</title>"), "{svg}");
        assert!(!svg.contains(">a_function_with_a_long_name</text>") && !svg.contains("unseen"), "{svg}");
    }

    /// The sample that `web/test/flame.test.mjs` opens in a browser.
    #[test]
    fn deep_stack_is_drawn() {
        let (wide, narrow): (Vec<_>, Vec<_>) =
            (0..120).map(|depth| (format!("wide_{depth}"), format!("deep_{depth}"))).unzip();
        let mut boxes = vec![sample(0, 0.0, 1.0, "all")];
        boxes.extend((1..4).map(|depth| sample(depth, 0.0, 0.75, &wide[depth])));
        boxes.extend((1..120).map(|depth| sample(depth, 0.8, 0.01, &narrow[depth])));
        boxes.push(sample(1, 0.9, 0.1, "a<b>::c"));
        let flame = Flame { title: "deep".to_owned(), remarks: vec![], boxes, is_icicle: false };
        insta::assert_snapshot!("deep", svg(&flame).replace(SCRIPT, "SCRIPT\n"));
    }

    /// Which of two layers is higher: callees are above their callers, in an icicle below.
    #[test]
    fn flames_grow_upwards_and_icicles_downwards() {
        let place = |svg: &str, name: &str| {
            let rest = &svg[svg.find(&format!("<title>{name}: about")).expect("it is drawn")..];
            let y = &rest[rest.find("y=\"").expect("its box") + 3..];
            y[..y.find('"').expect("a number")].parse::<f64>().expect("a number")
        };
        let (upwards, downwards) = (svg(&flame(false)), svg(&flame(true)));
        assert!(place(&upwards, "main") < place(&upwards, "all"));
        assert!(place(&downwards, "main") > place(&downwards, "all"));
    }
}
