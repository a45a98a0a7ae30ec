//! Draws the graphs.

use super::look::{IN_FILE, Look, ON_PAGE};
use super::order::{Layers, Stop};
use super::place::{LETTER, LINE, PADDING, Places};
use super::{Box, Graph, Line, Picture};
use crate::chart::escaped;
use std::fmt::Write;

const MARGIN: f64 = 16.0;
/// The widths of the thinnest and the thickest line.
const THICK: (f64, f64) = (1.0, 9.0);
/// The length of an arrow.
const ARROW: f64 = 7.0;
/// The margin around a graph in a page.
const RIM: f64 = 2.0;

/// Draws the picture as a file.
pub fn svg(picture: &Picture) -> String {
    let laid: Vec<(Layers, Places)> = picture.graphs.iter().map(laid).collect();
    let letters = |text: &str| text.chars().count() as f64 * LETTER;
    let texts = picture
        .remarks
        .iter()
        .chain(picture.graphs.iter().map(|graph| &graph.title))
        .map(|text| letters(text));
    // The title has larger characters.
    let wide = laid
        .iter()
        .map(|(_, places)| places.size.0)
        .chain(texts)
        .fold(letters(&picture.title) * 1.4, f64::max);
    let head = MARGIN + 20.0 + LINE * 1.25 * picture.remarks.len() as f64;
    let height = laid.iter().map(|(_, places)| places.size.1 + 56.0).sum::<f64>() + head + MARGIN;
    let width = wide + 2.0 * MARGIN;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"monospace\" font-size=\"11\">\n<title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"{1}\" font-size=\"14\" font-weight=\"bold\">{0}</text>",
        escaped(&picture.title),
        MARGIN + 10.0
    );
    for (row, remark) in (1..).zip(&picture.remarks) {
        let y = MARGIN + 10.0 + LINE * 1.25 * f64::from(row);
        let _ =
            writeln!(out, "<text x=\"{MARGIN}\" y=\"{y:.1}\" fill=\"#444444\">{}</text>", escaped(remark));
    }
    let mut top = head + 20.0;
    for (graph, (layers, places)) in picture.graphs.iter().zip(&laid) {
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"12\" font-weight=\"bold\">{}</text>",
            top,
            escaped(&graph.title)
        );
        let _ = writeln!(
            out,
            "<g transform=\"translate({:.1} {:.1})\">",
            MARGIN + (wide - places.size.0) / 2.0,
            top + 14.0
        );
        draw_graph(graph, layers, places, &IN_FILE, &mut out);
        out.push_str("</g>\n");
        top += places.size.1 + 56.0;
    }
    out.push_str("</svg>\n");
    out
}

/// Draws a graph as a part of a page that has [`PAGE_STYLE`](super::PAGE_STYLE). The page shows the title, and colours
/// follow its theme. The width is fixed in pixels, so that text stays legible; the page scrolls.
pub fn inline(graph: &Graph) -> String {
    let (layers, places) = laid(graph);
    // Lines are drawn up to the edge, so half their width extends beyond it.
    let (wide, high) = (places.size.0 + 2.0 * RIM, places.size.1 + 2.0 * RIM);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg class=\"layers\" role=\"img\" aria-label=\"{}\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"0 0 {wide:.0} {high:.0}\" font-family=\"monospace\" font-size=\"11\">\n<g transform=\"translate({RIM} {RIM})\">",
        escaped(&graph.title)
    );
    draw_graph(graph, &layers, &places, &ON_PAGE, &mut out);
    out.push_str("</g>\n</svg>\n");
    out
}

fn laid(graph: &Graph) -> (Layers, Places) {
    let layers = Layers::of(graph);
    let places = Places::of(graph, &layers);
    (layers, places)
}

fn draw_graph(graph: &Graph, layers: &Layers, places: &Places, look: &Look, out: &mut String) {
    let ports = ports(graph, layers, places);
    let row_of = layers.row_of();
    let ways: Vec<Vec<(f64, f64)>> =
        (0..graph.lines.len()).map(|number| points(number, layers, places, &row_of, &ports)).collect();
    // Thin lines are drawn over thick ones, then labels, then boxes.
    let mut order: Vec<usize> = (0..graph.lines.len()).collect();
    order.sort_by(|a, b| graph.lines[*b].weight.total_cmp(&graph.lines[*a].weight));
    for number in &order {
        draw_line(&graph.lines[*number], &ways[*number], layers.turned[*number], look, out);
    }
    for number in &order {
        draw_label(&graph.lines[*number], &ways[*number], layers.turned[*number], look, out);
    }
    for (at, of) in graph.boxes.iter().enumerate() {
        let left = places.middle[at] - places.width[at] / 2.0;
        draw_box(of, [left, places.width[at]], places.rows[row_of[at]], look, out);
    }
}

/// For each line, where it leaves its upper box and enters its lower one. Lines are side by side, in the order of their
/// other ends.
fn ports(graph: &Graph, layers: &Layers, places: &Places) -> Vec<[f64; 2]> {
    let mut ports = vec![[0.0; 2]; graph.lines.len()];
    for at in 0..graph.boxes.len() {
        for is_lower in [false, true] {
            let ending = |way: &[usize]| if is_lower { way[way.len() - 1] == at } else { way[0] == at };
            let mut lines: Vec<usize> =
                (0..layers.ways.len()).filter(|number| ending(&layers.ways[*number])).collect();
            let towards = |number: usize| {
                let way = &layers.ways[number];
                places.middle[if is_lower { way[way.len() - 2] } else { way[1] }]
            };
            lines.sort_by(|a, b| towards(*a).total_cmp(&towards(*b)));
            let step = places.width[at] / (lines.len() as f64).max(1.0);
            for (place, number) in lines.iter().enumerate() {
                ports[*number][usize::from(is_lower)] =
                    places.middle[at] - places.width[at] / 2.0 + (place as f64 + 0.5) * step;
            }
        }
    }
    ports
}

/// The course of a line from top to bottom: two points at each of its stops, which are equal at its ends.
fn points(
    number: usize,
    layers: &Layers,
    places: &Places,
    row_of: &[usize],
    ports: &[[f64; 2]],
) -> Vec<(f64, f64)> {
    let way = &layers.ways[number];
    let mut points = Vec::new();
    for (at, stop) in way.iter().enumerate() {
        let (top, height) = places.rows[row_of[*stop]];
        match layers.stops[*stop] {
            // All boxes of a layer are as high as its highest.
            Stop::Box(_) if at == 0 => points.push((ports[number][0], top + height)),
            Stop::Box(_) => points.push((ports[number][1], top)),
            Stop::Passing(_) => {
                points.extend([(places.middle[*stop], top), (places.middle[*stop], top + height)])
            }
        }
    }
    points
}

fn thickness(line: &Line) -> f64 {
    THICK.0 + (THICK.1 - THICK.0) * line.weight.clamp(0.0, 1.0)
}

fn draw_line(line: &Line, points: &[(f64, f64)], is_turned: bool, look: &Look, out: &mut String) {
    let thickness = thickness(line);
    let mut way = points.to_vec();
    // The arrow extends beyond the line's end.
    if is_turned {
        way[0].1 += ARROW;
    } else if let Some(end) = way.last_mut() {
        end.1 -= ARROW;
    }
    let mut path = format!("M{:.1} {:.1}", way[0].0, way[0].1);
    for pair in way.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let middle = (y0 + y1) / 2.0;
        if (x0 - x1).abs() < 0.05 {
            let _ = write!(path, "L{x1:.1} {y1:.1}");
        } else {
            let _ = write!(path, "C{x0:.1} {middle:.1} {x1:.1} {middle:.1} {x1:.1} {y1:.1}");
        }
    }
    let dashes = if line.is_direct { "" } else { " stroke-dasharray=\"6 4\"" };
    let half = 3.0 + thickness / 2.0;
    let ((x, y), down) = if is_turned { (points[0], -1.0) } else { (points[points.len() - 1], 1.0) };
    let _ = writeln!(
        out,
        "<g><title>{}</title><path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{thickness:.1}\"{dashes}/>\
         <path d=\"M{x:.1} {y:.1}l-{half:.1} {back:.1}h{wide:.1}z\" fill=\"{}\"/></g>",
        escaped(&line.about),
        look.line,
        look.arrow,
        back = -down * ARROW,
        wide = 2.0 * half
    );
}

/// Draws the label next to the arrow, at the line's own part of the box's edge, outlined because other lines may pass
/// below it.
fn draw_label(line: &Line, points: &[(f64, f64)], is_turned: bool, look: &Look, out: &mut String) {
    let ((x, y), below) =
        if is_turned { (points[0], ARROW + 9.0) } else { (points[points.len() - 1], -ARROW) };
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" paint-order=\"stroke\" stroke=\"{}\" stroke-width=\"3\" \
         fill=\"{}\">{}</text>",
        x + 3.0 + thickness(line) / 2.0,
        y + below,
        look.around,
        look.label,
        escaped(&line.label)
    );
}

fn draw_box(of: &Box, [left, wide]: [f64; 2], (top, height): (f64, f64), look: &Look, out: &mut String) {
    let (ground, fill) = look.colours(of.kind);
    let letters = look.letters;
    let _ = write!(
        out,
        "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"{ground}\"/>\
         <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"{fill}\"/>\
         <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"none\" stroke=\"{}\" \
         stroke-width=\"0.8\"/>",
        escaped(&of.about),
        wide * of.filled.clamp(0.0, 1.0),
        look.edge
    );
    let baseline = |row: usize| top + PADDING / 2.0 + (row as f64 + 0.8) * LINE;
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\"{letters}>{}</text>",
        left + PADDING,
        baseline(0),
        escaped(&of.name)
    );
    for (row, line) in (1..).zip(&of.lines) {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\"{letters}>{}</text>",
            left + PADDING,
            baseline(row),
            escaped(line)
        );
    }
    out.push_str("</g>\n");
}
