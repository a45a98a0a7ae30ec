//! The picture itself.

use super::scale::Scale;
use super::{Chart, Line, Point};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
/// Of the area between the axes.
const HEIGHT: f64 = 380.0;
const MARGIN: f64 = 24.0;
/// The line height of what is written, and the width that is kept free for a letter of it: wider than most fonts are.
const LINE: f64 = 18.0;
const LETTER: f64 = 7.2;
/// Distance between what is written along the axes.
const APART: f64 = 26.0;
/// Letters in a line of the title and of the remarks.
const LETTERS: usize = 110;

/// Okabe and Ito's colours (Color universal design, 2008) without the yellow, which white paper does not show.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777"];
/// Neighbours have others, so that of two lines that lie on each other both show.
const DASHES: [&str; 3] = ["", "10 5", "3 4"];
/// Half the size of a mark: large and small in turns, likewise.
const MARKS: [f64; 2] = [5.2, 3.6];
/// Of a single run's.
const ONE: f64 = 3.0;

/// The picture as a file.
pub fn svg(chart: &Chart) -> String {
    let points = || chart.lines.iter().flat_map(|line| &line.points);
    let xs: Vec<f64> = points().map(|point| point.x).collect();
    let ys: Vec<f64> = points().flat_map(|point| point.each.iter().copied().chain([point.y])).collect();
    let mut picture = Picture { body: String::new(), y: MARGIN };
    picture.heading(chart);
    if xs.is_empty() {
        picture.text(MARGIN, "There is nothing to show.", "");
        return picture.whole();
    }
    let top = picture.y + 4.0;
    let bottom = top + HEIGHT;
    let up = Scale::new(&ys, &chart.y, true, bottom, top);
    let labels: Vec<(f64, String)> =
        up.ticks(&chart.y, APART).into_iter().map(|tick| (up.place(tick), (chart.y.write)(tick))).collect();
    let widest = labels.iter().map(|(_, text)| width(text)).fold(0.0, f64::max);
    let (left, right) = (MARGIN + widest + 8.0, WIDTH - MARGIN);
    let across = Scale::new(&xs, &chart.x, false, left, right);
    picture.grid(&labels, left, right);
    picture.values_across(chart, &xs, &across, (top, bottom));
    picture.y = bottom + LINE;
    let title = axis_title(&chart.x.title, &across);
    picture.centred((left + right) / 2.0, &title);
    for (number, line) in chart.lines.iter().enumerate() {
        picture.line(chart, line, number, (&across, &up));
    }
    if chart.lines.len() > 1 {
        picture.legend(&chart.lines, left, right);
    }
    picture.whole()
}

fn axis_title(title: &str, scale: &Scale) -> String {
    match (scale.is_logarithmic(), scale.has_nothing_apart()) {
        (true, true) => format!("{title} (logarithmic, with 0 apart)"),
        (true, false) => format!("{title} (logarithmic)"),
        _ => title.to_owned(),
    }
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// What is drawn so far, and where the next line goes.
struct Picture {
    body: String,
    y: f64,
}

impl Picture {
    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // A String takes all.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }

    fn text(&mut self, x: f64, text: &str, attributes: &str) {
        let y = self.y;
        self.add(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\"{attributes}>{}</text>", escaped(text)));
        self.y += LINE;
    }

    fn centred(&mut self, x: f64, text: &str) {
        self.y += LINE;
        self.text(x, text, " text-anchor=\"middle\"");
    }

    /// Title, remarks, and what lies upwards.
    fn heading(&mut self, chart: &Chart) {
        for line in wrapped(&chart.title, LETTERS * 4 / 5) {
            self.text(MARGIN, &line, " class=\"title\"");
        }
        for line in chart.remarks.iter().flat_map(|remark| wrapped(remark, LETTERS)) {
            self.text(MARGIN, &line, " class=\"faint\"");
        }
        self.y += LINE / 2.0;
        let ys: Vec<f64> = chart.lines.iter().flat_map(|line| &line.points).map(|point| point.y).collect();
        let title = if ys.is_empty() {
            chart.y.title.clone()
        } else {
            let all = chart.lines.iter().flat_map(|line| &line.points).flat_map(|point| &point.each);
            let all: Vec<f64> = all.copied().chain(ys).collect();
            axis_title(&chart.y.title, &Scale::new(&all, &chart.y, true, 1.0, 0.0))
        };
        self.text(MARGIN, &title, "");
    }

    fn grid(&mut self, labels: &[(f64, String)], left: f64, right: f64) {
        for (y, text) in labels {
            self.add(format_args!("<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>"));
            let (x, y) = (left - 8.0, y + 4.0);
            self.add(format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                escaped(text)
            ));
        }
    }

    /// The values that were tried, each with its name where there is room.
    fn values_across(&mut self, chart: &Chart, xs: &[f64], across: &Scale, (top, bottom): (f64, f64)) {
        let mut values = xs.to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let mut free = 0.0;
        for value in values {
            let x = across.place(value);
            self.add(format_args!("<path class=\"grid\" d=\"M{x:.1} {top:.1}V{:.1}\"/>", bottom + 5.0));
            let text = (chart.x.write)(value);
            let half = width(&text) / 2.0;
            // The last one may reach over the edge of the area, not over that of the picture.
            let middle = x.min(WIDTH - half - 4.0);
            if middle - half < free {
                continue;
            }
            free = middle + half + 10.0;
            let y = bottom + 20.0;
            self.add(format_args!(
                "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                escaped(&text)
            ));
        }
        self.y = bottom;
    }

    fn line(&mut self, chart: &Chart, line: &Line, number: usize, (across, up): (&Scale, &Scale)) {
        let colour = COLOURS[number % COLOURS.len()];
        let places: Vec<String> = line
            .points
            .iter()
            .map(|point| format!("{:.1} {:.1}", across.place(point.x), up.place(point.y)))
            .collect();
        let dashes = DASHES[number % DASHES.len()];
        self.add(format_args!(
            "<path class=\"line\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\" d=\"M{}\"/>",
            places.join("L")
        ));
        for Point { x, y, each } in &line.points {
            let at = across.place(*x);
            for one in each.iter().filter(|_| each.len() > 1) {
                let mark = shape(number, at, up.place(*one), ONE);
                self.add(format_args!("<path class=\"one\" stroke=\"{colour}\" d=\"{mark}\"/>"));
            }
            let mark = shape(number, at, up.place(*y), MARKS[number % 2]);
            let name = if line.name.is_empty() { String::new() } else { format!("{}, ", line.name) };
            let told = format!("{name}{} {}: {}", chart.x.title, (chart.x.write)(*x), (chart.y.write)(*y));
            self.add(format_args!(
                "<path class=\"mark\" fill=\"{colour}\" d=\"{mark}\"><title>{}</title></path>",
                escaped(&told)
            ));
        }
    }

    /// Names in as many columns as have room.
    fn legend(&mut self, lines: &[Line], left: f64, right: f64) {
        let cell = lines.iter().map(|line| width(&line.name)).fold(0.0, f64::max) + 60.0;
        let columns = ((right - left) / cell).floor().max(1.0) as usize;
        let top = self.y + LINE / 2.0;
        for (number, line) in lines.iter().enumerate() {
            let (x, y) = (left + (number % columns) as f64 * cell, top + (number / columns) as f64 * LINE);
            let colour = COLOURS[number % COLOURS.len()];
            let dashes = DASHES[number % DASHES.len()];
            self.add(format_args!(
                "<path class=\"line\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\" d=\"M{x:.1} {y:.1}h34\"/>"
            ));
            let mark = shape(number, x + 17.0, y, MARKS[number % 2]);
            self.add(format_args!("<path fill=\"{colour}\" d=\"{mark}\"/>"));
            self.add(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 42.0,
                y + 4.0,
                escaped(&line.name)
            ));
        }
        self.y = top + lines.len().div_ceil(columns) as f64 * LINE;
    }

    fn whole(self) -> String {
        let height = self.y + MARGIN / 2.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" width=\"{WIDTH:.0}\" \
             height=\"{height:.0}\" font-family=\"system-ui, 'DejaVu Sans', Arial, sans-serif\" font-size=\"12\" \
             fill=\"#1d2126\">\n<style>.title{{font-size:15px;font-weight:600}}.faint{{fill:#555c64}}\
             .grid{{stroke:#dcdad5;fill:none}}.line{{fill:none;stroke-width:2;stroke-linejoin:round}}\
             .mark{{stroke:#fff;stroke-width:.8}}.one{{fill:none;stroke-width:1;stroke-opacity:.75}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// The mark of a line: a circle, a square, a triangle, a diamond, a triangle on its tip.
fn shape(number: usize, x: f64, y: f64, half: f64) -> String {
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

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            // XML has no other control characters, not even escaped.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Lines of so many letters at most, broken between words; a longer word is cut.
fn wrapped(text: &str, letters: usize) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::super::Axis;
    use super::*;

    fn chart(lines: usize, points: usize) -> Chart {
        let axis = |title: &str| Axis {
            title: title.to_owned(),
            write: |number| format!("{number} Mbit/s"),
            binary: false,
        };
        let point = |number: usize| {
            let y = number as f64 * 3.0 + 1.0;
            Point { x: number as f64, y, each: vec![y - 0.5, y, y + 0.5] }
        };
        let line = |number: usize| Line {
            name: format!("line <{number}> & others"),
            points: (0..points).map(point).collect(),
        };
        Chart {
            title: "Slow & <slower> ".repeat(12),
            remarks: vec!["simulated".to_owned()],
            x: axis("delay"),
            y: axis("rate"),
            lines: (0..lines).map(line).collect(),
        }
    }

    /// What is written in a picture: the place, where it is anchored, and the text.
    fn texts(picture: &str) -> Vec<(f64, f64, bool, String)> {
        let attribute = |element: &str, name: &str| {
            let rest = element.split_once(&format!(" {name}=\""))?.1;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let number = |text: Option<String>| text.expect("a place").parse().expect("a number");
        let text = |element: &str| {
            let (x, y) = (number(attribute(element, "x")), number(attribute(element, "y")));
            let is_middle = attribute(element, "text-anchor").as_deref() == Some("middle");
            let inside = element.split_once('>').expect("its end").1.split_once('<').expect("its end").0;
            (x, y, is_middle, inside.to_owned())
        };
        picture.split("<text").skip(1).map(text).collect()
    }

    #[test]
    fn nothing_written_along_the_axis_overlaps() {
        for points in [1, 2, 7, 40, 300] {
            let along = texts(&svg(&chart(3, points)));
            let is_value =
                |(.., is_middle, text): &&(f64, f64, bool, String)| *is_middle && !text.starts_with("delay");
            let along: Vec<_> = along.iter().filter(is_value).collect();
            assert!(!along.is_empty());
            for (left, right) in along.iter().zip(along.iter().skip(1)) {
                let (a, b) = (width(&left.3) / 2.0, width(&right.3) / 2.0);
                assert!(left.0 + a < right.0 - b, "{points} points: {left:?} {right:?}");
            }
        }
    }

    #[test]
    fn every_line_can_be_told_from_the_others() {
        let picture = svg(&chart(super::super::MOST_LINES, 3));
        let marks: Vec<&str> = picture.lines().filter(|line| line.starts_with("<path fill=")).collect();
        assert_eq!(marks.len(), super::super::MOST_LINES, "one for each in the legend");
        let looks = |number: usize| {
            (COLOURS[number % COLOURS.len()], DASHES[number % DASHES.len()], shape(number, 0.0, 0.0, 1.0))
        };
        for (a, b) in (0..super::super::MOST_LINES).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert_ne!(looks(a), looks(b));
            assert!(looks(a).0 != looks(b).0 || looks(a).2 != looks(b).2, "in print {a} and {b} are alike");
        }
    }

    #[test]
    fn names_cannot_leave_their_element() {
        let picture = svg(&chart(2, 2));
        assert!(picture.contains("line &lt;1&gt; &amp; others") && !picture.contains("<slower>"));
        assert_eq!(escaped("a\u{0}\u{8}b\"<>&"), "a  b&quot;&lt;&gt;&amp;");
        let title: Vec<String> = wrapped(&"word ".repeat(60), 88);
        assert!(title.len() > 2 && title.iter().all(|line| line.chars().count() <= 88));
    }

    #[test]
    fn nothing_to_show_is_said() {
        assert!(svg(&chart(0, 0)).contains("There is nothing to show."));
    }
}
