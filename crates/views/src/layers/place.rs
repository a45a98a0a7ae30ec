//! Positions stops: in order, without overlap, and near their neighbours.

use super::Graph;
use super::order::{Layers, Stop};

/// The largest width of a character.
pub(super) const LETTER: f64 = 6.7;
/// The height of a line of text.
pub(super) const LINE: f64 = 14.0;
/// The padding of a box.
pub(super) const PADDING: f64 = 7.0;
/// The gap between boxes side by side.
const APART: f64 = 22.0;
/// The width of a line that passes through a layer.
const PASSING: f64 = 18.0;
/// The gap between layers, where the labels of lines are.
pub(super) const BETWEEN: f64 = 48.0;
/// The part of a box's top edge that belongs to an incoming line, for its label.
pub(super) const PORT: f64 = 50.0;
const ROUNDS: usize = 40;

/// The positions of stops.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The horizontal centre of each stop.
    pub middle: Vec<f64>,
    /// The width of each.
    pub width: Vec<f64>,
    /// The top of each layer, and its height.
    pub rows: Vec<(f64, f64)>,
    /// The size of the whole graph.
    pub size: (f64, f64),
}

impl Places {
    pub fn of(graph: &Graph, layers: &Layers) -> Self {
        let width: Vec<f64> = (0..layers.stops.len()).map(|stop| width(graph, layers, stop)).collect();
        let mut middle = vec![0.0; layers.stops.len()];
        for row in &layers.rows {
            let mut free = 0.0;
            for stop in row {
                middle[*stop] = free + width[*stop] / 2.0;
                free += width[*stop] + APART;
            }
        }
        let neighbours = layers.neighbours();
        for round in 0..ROUNDS {
            let beside = &neighbours[round % 2];
            let count = layers.rows.len();
            for step in 0..count {
                let row = &layers.rows[if round % 2 == 0 { step } else { count - 1 - step }];
                draw_near(row, beside, &width, &mut middle);
            }
        }
        let left = extent(&middle, &width).0;
        middle.iter_mut().for_each(|middle| *middle -= left);
        let mut rows = Vec::new();
        let mut top = 0.0;
        for row in &layers.rows {
            let height = row.iter().map(|stop| height(graph, layers.stops[*stop])).fold(0.0, f64::max);
            rows.push((top, height));
            top += height + BETWEEN;
        }
        let size = (extent(&middle, &width).1, (top - BETWEEN).max(0.0));
        Self { middle, width, rows, size }
    }
}

fn extent(middle: &[f64], width: &[f64]) -> (f64, f64) {
    let ends = || middle.iter().zip(width);
    let left = ends().map(|(middle, width)| middle - width / 2.0).fold(f64::INFINITY, f64::min);
    let right = ends().map(|(middle, width)| middle + width / 2.0).fold(0.0, f64::max);
    (if left.is_finite() { left } else { 0.0 }, right)
}

fn width(graph: &Graph, layers: &Layers, stop: usize) -> f64 {
    let Stop::Box(at) = layers.stops[stop] else { return PASSING };
    let of = &graph.boxes[at];
    let letters = of.lines.iter().chain([&of.name]).map(|line| line.chars().count()).max().unwrap_or(0);
    let ending = graph.lines.iter().filter(|line| line.to == at).count();
    (letters as f64 * LETTER + 2.0 * PADDING).max(ending as f64 * PORT)
}

fn height(graph: &Graph, stop: Stop) -> f64 {
    let Stop::Box(at) = stop else { return 0.0 };
    (1 + graph.boxes[at].lines.len()) as f64 * LINE + PADDING
}

/// Moves the stops of a layer towards the mean of their neighbours, as far as order and widths permit. Stops that would
/// overlap move as a group, to their average target.
fn draw_near(row: &[usize], beside: &[Vec<usize>], width: &[f64], middle: &mut [f64]) {
    // Groups of adjacent stops: their number, the average target of the first, and the distance of the last from it.
    let mut groups: Vec<(Vec<usize>, f64, f64)> = Vec::new();
    for stop in row {
        let all = &beside[*stop];
        let wanted = if all.is_empty() {
            middle[*stop]
        } else {
            all.iter().map(|other| middle[*other]).sum::<f64>() / all.len() as f64
        };
        groups.push((vec![*stop], wanted, 0.0));
        while let [.., before, last] = &groups[..] {
            let gap = apart(width, before.0[before.0.len() - 1], last.0[0]);
            if before.1 + before.2 + gap <= last.1 {
                break;
            }
            let (offset, counts) = (before.2 + gap, (before.0.len() as f64, last.0.len() as f64));
            let first = (before.1 * counts.0 + (last.1 - offset) * counts.1) / (counts.0 + counts.1);
            let joined = ([before.0.clone(), last.0.clone()].concat(), first, offset + last.2);
            groups.truncate(groups.len() - 2);
            groups.push(joined);
        }
    }
    for (stops, first, _) in groups {
        let mut at = first;
        for (number, stop) in stops.iter().enumerate() {
            if number > 0 {
                at += apart(width, stops[number - 1], *stop);
            }
            middle[*stop] = at;
        }
    }
}

/// The minimum distance between the centres of two neighbours.
fn apart(width: &[f64], left: usize, right: usize) -> f64 {
    (width[left] + width[right]) / 2.0 + APART
}
