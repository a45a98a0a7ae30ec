//! Draws a chart.

use super::look::{self, FILE_STYLE, ONE, Stroke, shape};
use super::scale::Scale;
use super::text::{self, LINE, escaped, wrapped};
use super::{Chart, Line, Look, Point};
use std::fmt::Write;

/// The width, and the height of the plot area: in a file, and in a page, where several charts are side by side.
const SIZE: [f64; 2] = [860.0, 380.0];
const SIZE_ON_PAGE: [f64; 2] = [660.0, 240.0];
const MARGIN: f64 = 24.0;
/// The minimum distance between ticks: vertically, and horizontally between round numbers.
const APART: f64 = 26.0;
const APART_ACROSS: f64 = 60.0;
/// Characters per line of the title and of the remarks.
const LETTERS: usize = 110;
/// Charts with more lines have a legend instead of names at the ends of the lines.
const MOST_NAMED_AT_END: usize = 8;

/// Draws the chart as a file.
pub fn svg(chart: &Chart) -> String {
    Picture::of(chart, false)
}

/// Draws the chart as a part of a page that has [`PAGE_STYLE`](super::PAGE_STYLE). The page shows title and remarks,
/// colours follow the page's theme, and names are at the ends of lines.
pub fn inline(chart: &Chart) -> String {
    Picture::of(chart, true)
}

/// The plot area.
#[derive(Clone, Copy)]
struct Area<'a> {
    across: &'a Scale,
    up: &'a Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn axis_title(title: &str, scale: &Scale) -> String {
    match (scale.is_logarithmic(), scale.has_nothing_apart()) {
        (true, true) => format!("{title} (logarithmic, with 0 apart)"),
        (true, false) => format!("{title} (logarithmic)"),
        _ => title.to_owned(),
    }
}

/// The SVG under construction, and the position of the next element.
struct Picture {
    body: String,
    y: f64,
    on_page: bool,
    width: f64,
}

impl Picture {
    fn of(chart: &Chart, on_page: bool) -> String {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let ys: Vec<f64> = points().flat_map(|point| point.each.iter().copied().chain([point.y])).collect();
        let ([width, height], y) = if on_page { (SIZE_ON_PAGE, LINE * 0.75) } else { (SIZE, MARGIN) };
        let mut picture = Self { body: String::new(), y, on_page, width };
        if !on_page {
            picture.heading(chart);
        }
        if xs.is_empty() {
            picture.text(picture.left(), "There is nothing to show.", "");
            return picture.whole(chart);
        }
        let upwards = |bottom, top| Scale::new(&ys, &chart.y, true, bottom, top);
        picture.text(picture.left(), &axis_title(&chart.y.title, &upwards(1.0, 0.0)), "");
        let top = picture.y + 4.0;
        let bottom = top + height;
        let up = upwards(bottom, top);
        let labels: Vec<(f64, String)> = up
            .ticks(&chart.y, APART)
            .into_iter()
            .map(|tick| (up.place(tick), (chart.y.write)(tick)))
            .collect();
        let widest = labels.iter().map(|(_, text)| text::width(text)).fold(0.0, f64::max);
        let (left, right) = (picture.left() + widest + 8.0, width - picture.room_to_the_right(chart));
        let across = Scale::new(&xs, &chart.x, false, left, right);
        let area = Area { across: &across, up: &up, left, right, top, bottom };
        picture.grid(&labels, left, right);
        picture.values_across(chart, &xs, area);
        picture.y = bottom + LINE;
        picture.centred((left + right) / 2.0, &axis_title(&chart.x.title, &across));
        for (number, line) in chart.lines.iter().enumerate() {
            picture.line(chart, line, number, area);
        }
        picture.names(chart, area);
        picture.whole(chart)
    }

    /// The left margin: a page has its own, and digits of some fonts are wider than assumed.
    fn left(&self) -> f64 {
        if self.on_page { 4.0 } else { MARGIN }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
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

    /// Draws title and remarks.
    fn heading(&mut self, chart: &Chart) {
        for line in wrapped(&chart.title, LETTERS * 4 / 5) {
            self.text(MARGIN, &line, " class=\"title\"");
        }
        for line in chart.remarks.iter().flat_map(|remark| wrapped(remark, LETTERS)) {
            self.text(MARGIN, &line, " class=\"faint\"");
        }
        self.y += LINE / 2.0;
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

    /// Draws the horizontal ticks, at values or round numbers, with labels where there is room.
    fn values_across(&mut self, chart: &Chart, xs: &[f64], area: Area<'_>) {
        let mut values = if chart.x.round { area.across.ticks(&chart.x, APART_ACROSS) } else { xs.to_vec() };
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (top, bottom) = (area.top, area.bottom);
        let mut free = 0.0;
        for value in values {
            let x = area.across.place(value);
            self.add(format_args!("<path class=\"grid\" d=\"M{x:.1} {top:.1}V{:.1}\"/>", bottom + 5.0));
            let text = (chart.x.write)(value);
            let half = text::width(&text) / 2.0;
            // The last label may extend beyond the plot area, but not beyond the image.
            let middle = x.min(self.width - half - 4.0);
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

    fn stroke(&self, line: &Line, number: usize) -> Stroke {
        look::stroke(number, line.stroke, self.on_page)
    }

    fn line(&mut self, chart: &Chart, line: &Line, number: usize, area: Area<'_>) {
        let places = line.points.iter().map(|point| [area.across.place(point.x), area.up.place(point.y)]);
        let places: Vec<[f64; 2]> = places.collect();
        let stroke = self.stroke(line, number);
        match line.look {
            Look::Letters(letter) => self.letters(&places, letter, stroke.colour),
            Look::Steps => self.path(&steps(&places), "line thin", stroke),
            Look::Plain => self.path(&straight(&places), "line thin", stroke),
            Look::Marked => {
                self.path(&straight(&places), "line", stroke);
                self.marks(chart, line, number, area);
            }
        }
    }

    fn path(&mut self, d: &str, class: &str, Stroke { colour, dashes, .. }: Stroke) {
        self.add(format_args!(
            "<path class=\"{class}\" stroke=\"{colour}\" stroke-dasharray=\"{dashes}\" d=\"{d}\"/>"
        ));
    }

    fn marks(&mut self, chart: &Chart, line: &Line, number: usize, area: Area<'_>) {
        let Stroke { colour, mark, .. } = self.stroke(line, number);
        for Point { x, y, each } in &line.points {
            let at = area.across.place(*x);
            for one in each.iter().filter(|_| each.len() > 1) {
                let mark = shape(number, at, area.up.place(*one), ONE);
                self.add(format_args!("<path class=\"one\" stroke=\"{colour}\" d=\"{mark}\"/>"));
            }
            let mark = shape(number, at, area.up.place(*y), mark);
            let name = if line.name.is_empty() { String::new() } else { format!("{}, ", line.name) };
            let told = format!("{name}{} {}: {}", chart.x.title, (chart.x.write)(*x), (chart.y.write)(*y));
            self.add(format_args!(
                "<path class=\"mark\" fill=\"{colour}\" d=\"{mark}\"><title>{}</title></path>",
                escaped(&told)
            ));
        }
    }

    /// Draws a letter at each place that does not have one yet.
    fn letters(&mut self, places: &[[f64; 2]], letter: char, colour: &str) {
        let mut taken: Vec<[f64; 2]> = Vec::new();
        for &[x, y] in places {
            if taken.iter().any(|[a, b]| (x - a).abs() < 5.0 && (y - b).abs() < 5.0) {
                continue;
            }
            taken.push([x, y]);
            let y = y + 4.0;
            self.add(format_args!(
                "<text class=\"letter\" fill=\"{colour}\" x=\"{x:.1}\" y=\"{y:.1}\">{letter}</text>"
            ));
        }
    }

    /// Whether names are at the ends of lines, because they distinguish the lines.
    fn has_names_at_ends(&self, chart: &Chart) -> bool {
        self.on_page && (2..=MOST_NAMED_AT_END).contains(&chart.lines.len())
    }

    fn room_to_the_right(&self, chart: &Chart) -> f64 {
        if !self.has_names_at_ends(chart) {
            return MARGIN;
        }
        named_at_end(&chart.lines).map(|(_, line)| text::width(&line.name)).fold(0.0, f64::max) + 14.0
    }

    fn names(&mut self, chart: &Chart, area: Area<'_>) {
        if self.has_names_at_ends(chart) {
            self.names_at_ends(&chart.lines, area);
            let rest: Vec<_> = in_legend(&chart.lines).collect();
            self.legend(&rest, area);
        } else if chart.lines.len() > 1 {
            self.legend(&chart.lines.iter().enumerate().collect::<Vec<_>>(), area);
        }
    }

    fn names_at_ends(&mut self, lines: &[Line], area: Area<'_>) {
        let ends = named_at_end(lines).filter_map(|(number, line)| {
            let last = line.points.last()?;
            Some((number, line, [area.across.place(last.x), area.up.place(last.y)]))
        });
        let ends: Vec<_> = ends.collect();
        let wanted: Vec<f64> = ends.iter().map(|(.., [_, y])| *y).collect();
        let places = text::apart(&wanted, LINE * 0.85, [area.top + 4.0, area.bottom - 2.0]);
        for ((number, line, [from, y]), place) in ends.into_iter().zip(places) {
            let (colour, x) = (self.stroke(line, number).colour, area.right + 10.0);
            self.add(format_args!(
                "<path class=\"leader\" stroke=\"{colour}\" d=\"M{from:.1} {y:.1}L{:.1} {place:.1}\"/>",
                x - 3.0
            ));
            self.add(format_args!(
                "<text fill=\"{colour}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                place + 4.0,
                escaped(&line.name)
            ));
        }
    }

    /// Draws the legend, in as many columns as fit.
    fn legend(&mut self, lines: &[(usize, &Line)], area: Area<'_>) {
        let (left, right) = (area.left, area.right);
        let cell = lines.iter().map(|(_, line)| text::width(&line.name)).fold(0.0, f64::max) + 60.0;
        let columns = ((right - left) / cell).floor().max(1.0) as usize;
        let top = self.y + LINE / 2.0;
        for (place, (number, line)) in lines.iter().enumerate() {
            let (x, y) = (left + (place % columns) as f64 * cell, top + (place / columns) as f64 * LINE);
            let stroke = self.stroke(line, *number);
            if let Look::Letters(letter) = line.look {
                self.letters(&[[x + 17.0, y]], letter, stroke.colour);
            } else {
                self.path(&format!("M{x:.1} {y:.1}h34"), "line", stroke);
            }
            if line.look == Look::Marked {
                let (mark, colour) = (shape(*number, x + 17.0, y, stroke.mark), stroke.colour);
                self.add(format_args!("<path fill=\"{colour}\" d=\"{mark}\"/>"));
            }
            self.add(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 42.0,
                y + 4.0,
                escaped(&line.name)
            ));
        }
        self.y = top + lines.len().div_ceil(columns) as f64 * LINE;
        self.y += if self.on_page { LINE / 2.0 } else { 0.0 };
    }

    fn whole(self, chart: &Chart) -> String {
        let width = self.width;
        let height = self.y + if self.on_page { -LINE * 0.75 } else { MARGIN / 2.0 };
        let size = format!("viewBox=\"0 0 {width:.0} {height:.0}\"");
        if self.on_page {
            let title = escaped(&chart.title);
            return format!(
                "<svg class=\"chart\" role=\"img\" aria-label=\"{title}\" {size}>\n{}</svg>\n",
                self.body
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"system-ui, 'DejaVu Sans', Arial, sans-serif\" font-size=\"12\" \
             fill=\"#1d2126\">\n{FILE_STYLE}{}</svg>\n",
            self.body
        )
    }
}

/// Lines named at their end, and their numbers.
fn named_at_end(lines: &[Line]) -> impl Iterator<Item = (usize, &Line)> {
    lines.iter().enumerate().filter(|(_, line)| !matches!(line.look, Look::Letters(_)))
}

/// Lines named in the legend, if they have points.
fn in_legend(lines: &[Line]) -> impl Iterator<Item = (usize, &Line)> {
    let has_letters = |line: &Line| matches!(line.look, Look::Letters(_)) && !line.points.is_empty();
    lines.iter().enumerate().filter(move |(_, line)| has_letters(line))
}

fn straight(places: &[[f64; 2]]) -> String {
    let places: Vec<String> = places.iter().map(|[x, y]| format!("{x:.1} {y:.1}")).collect();
    format!("M{}", places.join("L"))
}

fn steps(places: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (number, [x, y]) in places.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = if number == 0 { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::Axis;
    use super::super::look::COLOURS;
    use super::*;

    fn chart(lines: usize, points: usize) -> Chart {
        let axis = |title: &str| Axis {
            title: title.to_owned(),
            write: |number| format!("{number} Mbit/s"),
            binary: false,
            logarithmic: None,
            round: false,
        };
        let point = |number: usize| {
            let y = number as f64 * 3.0 + 1.0;
            Point { x: number as f64, y, each: vec![y - 0.5, y, y + 0.5] }
        };
        let line = |number: usize| Line {
            name: format!("line <{number}> & others"),
            points: (0..points).map(point).collect(),
            look: Look::Marked,
            stroke: None,
        };
        Chart {
            title: "Slow & <slower> ".repeat(12),
            remarks: vec!["simulated".to_owned()],
            x: axis("delay"),
            y: axis("rate"),
            lines: (0..lines).map(line).collect(),
        }
    }

    /// The texts of an SVG: x, y, whether centred, and the text.
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
    fn axis_labels_do_not_overlap() {
        for points in [1, 2, 7, 40, 300] {
            let along = texts(&svg(&chart(3, points)));
            let is_value =
                |(.., is_middle, text): &&(f64, f64, bool, String)| *is_middle && !text.starts_with("delay");
            let along: Vec<_> = along.iter().filter(is_value).collect();
            assert!(!along.is_empty());
            for (left, right) in along.iter().zip(along.iter().skip(1)) {
                let (a, b) = (text::width(&left.3) / 2.0, text::width(&right.3) / 2.0);
                assert!(left.0 + a < right.0 - b, "{points} points: {left:?} {right:?}");
            }
        }
    }

    #[test]
    fn every_line_has_a_distinct_look() {
        let picture = svg(&chart(super::super::MOST_LINES, 3));
        let marks: Vec<&str> = picture.lines().filter(|line| line.starts_with("<path fill=")).collect();
        assert_eq!(marks.len(), super::super::MOST_LINES, "one for each in the legend");
        let looks = |number: usize| {
            let Stroke { colour, dashes, .. } = look::stroke(number, None, false);
            (colour, dashes, shape(number, 0.0, 0.0, 1.0))
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
    }

    #[test]
    fn empty_chart_says_so() {
        assert!(svg(&chart(0, 0)).contains("There is nothing to show."));
    }

    /// In a page nothing has a fixed colour, so that everything is visible in the dark theme too.
    #[test]
    fn inline_chart_uses_the_page_colours() {
        let mut chart = chart(3, 5);
        chart.lines[1].look = Look::Steps;
        chart.lines[2].look = Look::Letters('R');
        let picture = inline(&chart);
        assert!(!picture.contains('#') && !picture.contains("<style"), "{picture}");
        for number in 0..3 {
            assert!(picture.contains(&format!("var(--line-{number})")));
            assert_eq!(super::super::PAGE_STYLE.matches(&format!("--line-{number}:")).count(), 2);
        }
        assert_eq!(COLOURS.len(), super::super::PAGE_STYLE.matches("--line-").count() / 2);
        assert_eq!(picture.matches("class=\"letter\"").count(), 5 + 1, "and one in the legend");
        assert_eq!(picture.matches(">line &lt;0&gt; &amp; others<").count(), 1, "at its end");
    }

    #[test]
    fn steps_hold_until_the_next_point() {
        assert_eq!(steps(&[[1.0, 9.0], [2.0, 5.0], [4.0, 7.0]]), "M1.0 9.0H2.0V5.0H4.0V7.0");
    }

    #[test]
    fn overlapping_letters_are_merged() {
        let mut chart = chart(1, 300);
        chart.lines[0].look = Look::Letters('Z');
        let letters = svg(&chart).matches("class=\"letter\"").count();
        assert!((20..200).contains(&letters), "{letters}");
    }
}
