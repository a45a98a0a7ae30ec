//! The looks of lines.

/// The colours of Okabe and Ito (Color universal design, 2008) without yellow, which is invisible on white.
pub(super) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777"];
/// The names of these colours as CSS variables, which the page defines for its light and dark theme ([`PAGE_STYLE`]).
const ON_PAGE: [&str; 8] = [
    "var(--line-0)",
    "var(--line-1)",
    "var(--line-2)",
    "var(--line-3)",
    "var(--line-4)",
    "var(--line-5)",
    "var(--line-6)",
    "var(--line-7)",
];
/// Dashes alternate between neighbours, so that both of two overlapping lines are visible.
const DASHES: [&str; 3] = ["", "10 5", "3 4"];
/// Half the size of a mark; large and small alternate for the same reason.
const MARKS: [f64; 2] = [5.2, 3.6];
/// Half the size of the mark of a single run.
pub(super) const ONE: f64 = 3.0;

/// The style of a file, and attributes for all of it.
pub(super) const FILE_STYLE: &str = "<style>.title{font-size:15px;font-weight:600}.faint{fill:#555c64}\
    .grid{stroke:#dcdad5;fill:none}.line{fill:none;stroke-width:2;stroke-linejoin:round}\
    .mark{stroke:#fff;stroke-width:.8}.one{fill:none;stroke-width:1;stroke-opacity:.75}\
    .letter{font-weight:700;text-anchor:middle}.thin{stroke-width:1.2}.leader{fill:none}</style>\n\
    <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";

/// The CSS that a page needs once for all its charts, in addition to the report's variables.
pub const PAGE_STYLE: &str = "\
:root{--line-0:#0072b2;--line-1:#c65400;--line-2:#00805d;--line-3:#b0559a;--line-4:#a87400;--line-5:#2c8fc4;\
--line-6:#1d2126;--line-7:#707680}
@media (prefers-color-scheme:dark){:root{--line-0:#4fa8e8;--line-1:#ef7a2f;--line-2:#35cfa2;--line-3:#e391c6;\
--line-4:#f0ad1a;--line-5:#8fd3f7;--line-6:#e8e6e1;--line-7:#9aa3ac}}
.chart{display:block;width:100%;height:auto;fill:var(--ink);font:12px system-ui,'DejaVu Sans',Arial,sans-serif}
.chart .faint{fill:var(--faint)}.chart .grid{stroke:var(--grid);fill:none}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}.chart .thin{stroke-width:1.2}
.chart .mark{stroke:var(--raised);stroke-width:.8}.chart .one{fill:none;stroke-width:1;stroke-opacity:.75}
.chart .leader{fill:none;stroke-width:1;stroke-opacity:.5}
.chart .letter{font-weight:700;text-anchor:middle;paint-order:stroke;stroke:var(--raised);stroke-width:2.5px}
";

/// A line's colour, dashes and half the size of its marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stroke {
    pub colour: &'static str,
    pub dashes: &'static str,
    pub mark: f64,
}

/// The stroke of a line by its number, unless the line has its own.
pub(super) fn stroke(number: usize, own: Option<(usize, bool)>, on_page: bool) -> Stroke {
    let colours = if on_page { &ON_PAGE } else { &COLOURS };
    let (colour, dashes) = match own {
        Some((colour, is_dashed)) => (colour, DASHES[usize::from(is_dashed)]),
        None => (number, DASHES[number % DASHES.len()]),
    };
    Stroke { colour: colours[colour % colours.len()], dashes, mark: MARKS[number % MARKS.len()] }
}

/// The mark of a line: a circle, a square, a triangle, a diamond, or a triangle on its tip.
pub(super) fn shape(number: usize, x: f64, y: f64, half: f64) -> String {
    match number % 5 {
        0 => format!(
            "M{:.1} {y:.1}a{half} {half} 0 1 0 {w} 0a{half} {half} 0 1 0 -{w} 0z",
            x - half,
            w = 2.0 * half
        ),
        1 => format!("M{:.1} {:.1}h{w}v{w}h-{w}z", x - half, y - half, w = 2.0 * half),
        2 => format!(
            "M{x:.1} {:.1}l{h:.1} {w:.1}h-{v:.1}z",
            y - half * 1.2,
            h = half * 1.15,
            w = half * 2.1,
            v = half * 2.3
        ),
        3 => format!(
            "M{x:.1} {:.1}l{h:.1} {h:.1}l-{h:.1} {h:.1}l-{h:.1} -{h:.1}z",
            y - half * 1.3,
            h = half * 1.3
        ),
        _ => format!(
            "M{x:.1} {:.1}l{h:.1} -{w:.1}h-{v:.1}z",
            y + half * 1.2,
            h = half * 1.15,
            w = half * 2.1,
            v = half * 2.3
        ),
    }
}
