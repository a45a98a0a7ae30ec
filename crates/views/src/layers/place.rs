//! Places stops: in order, apart, and near their neighbours.

use super::Graph;
use super::order::{Layers, Stop};

/// What a letter of the font takes at most.
pub(super) const LETTER: f64 = 6.7;
/// The height of a line of text.
pub(super) const LINE: f64 = 14.0;
/// Within a box, next to its text.
pub(super) const PADDING: f64 = 7.0;
/// Between two boxes side by side.
const APART: f64 = 22.0;
/// What a line takes that passes a layer.
const PASSING: f64 = 18.0;
/// Between two layers: there are the lines' labels.
pub(super) const BETWEEN: f64 = 48.0;
/// A line that ends in a box has so much of its top to itself: its label is there.
pub(super) const PORT: f64 = 50.0;
const ROUNDS: usize = 40;

/// Where stops are.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The middle of each stop, from the left.
    pub middle: Vec<f64>,
    /// The width of each.
    pub width: Vec<f64>,
    /// The top of each layer, and its height.
    pub rows: Vec<(f64, f64)>,
    /// All of it.
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

/// Moves the stops of a layer towards the mean of their neighbours, as far as their order and their widths let them: those that come
/// too near each other are moved as one, to where they would like to be on average.
fn draw_near(row: &[usize], beside: &[Vec<usize>], width: &[f64], middle: &mut [f64]) {
    // Stops that touch: how many, where the first would like to be on average, and how far the last is from it.
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

/// How far the middles of two neighbours are apart at least.
fn apart(width: &[f64], left: usize, right: usize) -> f64 {
    (width[left] + width[right]) / 2.0 + APART
}
