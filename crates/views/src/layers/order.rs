//! Assigns boxes to layers, and orders the boxes of a layer.

use super::Graph;

/// Limit of ordering passes over all layers; later ones remove hardly any crossing.
const SWEEPS: usize = 24;

/// A box, or the place where a line passes through a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Box(usize),
    /// The passing line.
    Passing(usize),
}

/// Stops in their layers.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    /// All stops; those of boxes have the boxes' indices.
    pub stops: Vec<Stop>,
    /// The layers from top to bottom: their stops from left to right.
    pub rows: Vec<Vec<usize>>,
    /// The stops of each line, from top to bottom.
    pub ways: Vec<Vec<usize>>,
    /// For each line, whether it points upwards.
    pub turned: Vec<bool>,
}

impl Layers {
    pub fn of(graph: &Graph) -> Self {
        let turned = turned(graph);
        let layer = depths(graph, &turned);
        let mut stops: Vec<Stop> = (0..graph.boxes.len()).map(Stop::Box).collect();
        let mut rows = vec![Vec::new(); layer.iter().max().map_or(0, |most| most + 1)];
        for (at, layer) in layer.iter().enumerate() {
            rows[*layer].push(at);
        }
        let mut ways = Vec::new();
        for (number, line) in graph.lines.iter().enumerate() {
            let (top, bottom) = if turned[number] { (line.to, line.from) } else { (line.from, line.to) };
            let mut way = vec![top];
            for row in rows.iter_mut().take(layer[bottom]).skip(layer[top] + 1) {
                row.push(stops.len());
                way.push(stops.len());
                stops.push(Stop::Passing(number));
            }
            way.push(bottom);
            ways.push(way);
        }
        let mut layers = Self { stops, rows, ways, turned };
        layers.untangle();
        layers
    }

    /// The neighbours of each stop in the layers above and below.
    pub fn neighbours(&self) -> [Vec<Vec<usize>>; 2] {
        let mut neighbours = [vec![Vec::new(); self.stops.len()], vec![Vec::new(); self.stops.len()]];
        for pair in self.ways.iter().flat_map(|way| way.windows(2)) {
            neighbours[0][pair[1]].push(pair[0]);
            neighbours[1][pair[0]].push(pair[1]);
        }
        neighbours
    }

    /// Moves each stop to the mean position of its neighbours, downwards and upwards alternately, and keeps the best
    /// order found.
    fn untangle(&mut self) {
        let neighbours = self.neighbours();
        let mut best = (self.crossings(), self.rows.clone());
        for sweep in 0..SWEEPS {
            let [above, below] = &neighbours;
            let down = sweep % 2 == 0;
            let count = self.rows.len();
            for step in 1..count {
                let (row, beside) = if down { (step, above) } else { (count - 1 - step, below) };
                self.sort(row, beside);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    fn sort(&mut self, row: usize, beside: &[Vec<usize>]) {
        let place = self.places();
        let mean = |stop: usize| {
            let all = &beside[stop];
            if all.is_empty() {
                return place[stop] as f64;
            }
            all.iter().map(|other| place[*other] as f64).sum::<f64>() / all.len() as f64
        };
        let mut row_of: Vec<(f64, usize)> = self.rows[row].iter().map(|stop| (mean(*stop), *stop)).collect();
        row_of.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.rows[row] = row_of.into_iter().map(|(_, stop)| stop).collect();
    }

    /// The layer of each stop.
    pub fn row_of(&self) -> Vec<usize> {
        let mut row_of = vec![0; self.stops.len()];
        for (at, row) in self.rows.iter().enumerate() {
            for stop in row {
                row_of[*stop] = at;
            }
        }
        row_of
    }

    /// The position of each stop in its layer.
    fn places(&self) -> Vec<usize> {
        let mut place = vec![0; self.stops.len()];
        for row in &self.rows {
            for (at, stop) in row.iter().enumerate() {
                place[*stop] = at;
            }
        }
        place
    }

    /// The number of crossings of lines between adjacent layers.
    pub fn crossings(&self) -> usize {
        let (place, row_of) = (self.places(), self.row_of());
        let mut spans: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.rows.len()];
        for pair in self.ways.iter().flat_map(|way| way.windows(2)) {
            spans[row_of[pair[0]]].push((place[pair[0]], place[pair[1]]));
        }
        let crossing = |span: &[(usize, usize)]| {
            let pairs =
                span.iter().enumerate().flat_map(|(at, a)| span[at + 1..].iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count()
        };
        spans.iter().map(|span| crossing(span)).sum()
    }
}

/// For each line, whether it is reversed to break cycles: heavier lines are considered first, so the lightest of a
/// cycle is reversed.
fn turned(graph: &Graph) -> Vec<bool> {
    let mut order: Vec<usize> = (0..graph.lines.len()).collect();
    order.sort_by(|a, b| graph.lines[*b].weight.total_cmp(&graph.lines[*a].weight).then(a.cmp(b)));
    let mut called: Vec<Vec<usize>> = vec![Vec::new(); graph.boxes.len()];
    let mut turned = vec![false; graph.lines.len()];
    for number in order {
        let line = &graph.lines[number];
        // The root has no callers here.
        let closes = line.to == 0 || reaches(&called, line.to, line.from);
        turned[number] = closes;
        let (top, bottom) = if closes { (line.to, line.from) } else { (line.from, line.to) };
        called[top].push(bottom);
    }
    turned
}

fn reaches(called: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut next, mut seen) = (vec![from], vec![false; called.len()]);
    while let Some(at) = next.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            next.extend(&called[at]);
        }
    }
    false
}

/// The layer of each box: one below the lowest of its callers.
fn depths(graph: &Graph, turned: &[bool]) -> Vec<usize> {
    let mut depth = vec![0; graph.boxes.len()];
    // Without cycles, no path is longer than the number of boxes.
    for _ in 0..graph.boxes.len() {
        for (line, is_turned) in graph.lines.iter().zip(turned) {
            let (top, bottom) = if *is_turned { (line.to, line.from) } else { (line.from, line.to) };
            depth[bottom] = depth[bottom].max(depth[top] + 1);
        }
    }
    depth
}
