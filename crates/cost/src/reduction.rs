//! Where a random walk between states ends: absorbing Markov chains, solved state by state.
//!
//! Attribution by edges is such a walk: from a function to one of its callers, with probabilities by their edges, to
//! the first named one. On a graph without cycles the result is the sum over all paths of the product of the shares
//! along them. With cycles there are infinitely many paths, and the sum is the solution of a linear system. Condensing
//! each cycle to one node, as for strongly connected components, would give all of its functions the same share, and an
//! interrupt, which may occur in any function and call most, makes one component of half the kernel.
//!
//! The system is solved by state reduction (Grassmann, Taksar and Heyman, "Regenerative analysis and steady state
//! distributions for Markov chains", Operations Research 33, 1985): states are removed one by one, and steps to a
//! removed state go to its successors. There is no subtraction, so no digits cancel however seldom a cycle is left. The
//! state with the fewest new steps goes first (Markowitz's count), so that states outside cycles cost nothing, and
//! typical kernel calls little. The rest of a graph in which everybody calls everybody is walked instead, sweep after
//! sweep ([`Core`]): shares only grow there, and what is undecided after the last sweep is reported as a walk that
//! never ends, not as anybody's share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The maximum number of new steps when removing a state, while many are left.
const CHEAP: usize = 256;

/// This many are removed at any cost.
const FEW: usize = 64;

/// The maximum number of multiplications in sweeps over the rest: less than a second.
const WORK: usize = 500_000_000;

/// The part of a walk that may be undecided after the sweeps.
const UNDECIDED: f64 = 1e-12;

/// A walk's states, with the steps from each and their weights.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The next states, sorted, with weights.
    steps: Vec<Vec<(u32, f64)>>,
    /// The weights of the ends; for each state one per end and one more, for walks that never end.
    ends: Vec<f64>,
    columns: usize,
}

impl Walk {
    pub fn new(states: usize, ends: usize) -> Self {
        Self { steps: vec![Vec::new(); states], ends: vec![0.0; states * (ends + 1)], columns: ends + 1 }
    }

    /// Adds a step from `state` to `to` with this weight. Steps to itself only delay the walk and are ignored.
    pub fn step(&mut self, state: usize, to: usize, weight: f64) {
        if to == state || weight <= 0.0 {
            return;
        }
        add_step(&mut self.steps[state], to as u32, weight);
    }

    /// Adds an end of the walk at `state` with this weight.
    pub fn end(&mut self, state: usize, end: usize, weight: f64) {
        self.ends[state * self.columns + end] += weight;
    }

    /// For each state the probability of each end, the last being that of never ending. They sum to one.
    pub fn solve(mut self) -> Ends {
        self.end_what_never_ends();
        Reduction::of(self).run()
    }

    /// States that cannot reach an end become ends themselves.
    fn end_what_never_ends(&mut self) {
        let states = self.steps.len();
        let mut from = vec![Vec::new(); states];
        for (state, steps) in self.steps.iter().enumerate() {
            steps.iter().for_each(|(to, _)| from[*to as usize].push(state));
        }
        let ends =
            |state: usize| self.ends[state * self.columns..][..self.columns].iter().any(|end| *end > 0.0);
        let mut can_end: Vec<bool> = (0..states).map(ends).collect();
        let mut next: Vec<usize> = (0..states).filter(|state| can_end[*state]).collect();
        while let Some(state) = next.pop() {
            for &before in &from[state] {
                if !can_end[before] {
                    can_end[before] = true;
                    next.push(before);
                }
            }
        }
        for state in (0..states).filter(|state| !can_end[*state]) {
            self.steps[state].clear();
            self.ends[(state + 1) * self.columns - 1] = 1.0;
        }
    }
}

/// The probability of each end, state by state.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    shares: Vec<f64>,
    columns: usize,
}

impl Ends {
    pub fn of(&self, state: usize) -> &[f64] {
        &self.shares[state * self.columns..][..self.columns]
    }
}

fn add_step(steps: &mut Vec<(u32, f64)>, to: u32, weight: f64) -> bool {
    match steps.binary_search_by_key(&to, |step| step.0) {
        Ok(at) => {
            steps[at].1 += weight;
            false
        }
        Err(at) => {
            steps.insert(at, (to, weight));
            true
        }
    }
}

struct Reduction {
    walk: Walk,
    /// The states that lead to each, sorted.
    from: Vec<Vec<u32>>,
    /// The maximum number of new steps when removing a state; `None` once removed.
    cost: Vec<Option<usize>>,
    cheapest: BinaryHeap<Reverse<(usize, u32)>>,
    order: Vec<u32>,
    left: usize,
}

impl Reduction {
    fn of(walk: Walk) -> Self {
        let states = walk.steps.len();
        let mut from = vec![Vec::new(); states];
        for (state, steps) in walk.steps.iter().enumerate() {
            for (to, _) in steps {
                from[*to as usize].push(state as u32);
            }
        }
        let cost = vec![Some(usize::MAX); states];
        let order = Vec::with_capacity(states);
        let mut reduction = Self { walk, from, cost, cheapest: BinaryHeap::new(), order, left: states };
        for state in 0..states as u32 {
            reduction.weigh(state);
        }
        reduction
    }

    fn weigh(&mut self, state: u32) {
        let at = state as usize;
        let cost = self.from[at].len() * self.walk.steps[at].len();
        if self.cost[at].is_some_and(|before| before != cost) {
            self.cost[at] = Some(cost);
            self.cheapest.push(Reverse((cost, state)));
        }
    }

    fn run(mut self) -> Ends {
        while let Some(Reverse((cost, state))) = self.cheapest.pop() {
            // A state weighed again since is in the heap again.
            if self.cost[state as usize] == Some(cost) {
                if cost > CHEAP && self.left > FEW {
                    break;
                }
                self.take_out(state);
            }
        }
        let core: Vec<u32> =
            (0..self.cost.len() as u32).filter(|state| self.cost[*state as usize].is_some()).collect();
        Core::of(&self.walk, &core).walk_into(&mut self.walk.ends);
        self.put_back()
    }

    /// Redirects steps to `state` to its successors.
    fn take_out(&mut self, state: u32) {
        let at = state as usize;
        self.cost[at] = None;
        self.left -= 1;
        self.order.push(state);
        let columns = self.walk.columns;
        let steps = std::mem::take(&mut self.walk.steps[at]);
        let ends = self.walk.ends[at * columns..][..columns].to_vec();
        let total = steps.iter().map(|step| step.1).sum::<f64>() + ends.iter().sum::<f64>();
        for &(to, _) in &steps {
            let from = &mut self.from[to as usize];
            if let Ok(found) = from.binary_search(&state) {
                from.remove(found);
            }
        }
        for before in std::mem::take(&mut self.from[at]) {
            let into = &mut self.walk.steps[before as usize];
            let Ok(found) = into.binary_search_by_key(&state, |step| step.0) else { continue };
            let (_, weight) = into.remove(found);
            let sums = &mut self.walk.ends[before as usize * columns..][..columns];
            for (sum, end) in sums.iter_mut().zip(&ends) {
                *sum += weight * (end / total);
            }
            for &(to, step) in steps.iter().filter(|step| step.0 != before) {
                if add_step(into, to, weight * (step / total)) {
                    let from = &mut self.from[to as usize];
                    let place = from.binary_search(&before).unwrap_or_else(|place| place);
                    from.insert(place, before);
                }
            }
            self.weigh(before);
        }
        for &(to, _) in &steps {
            self.weigh(to);
        }
        self.walk.steps[at] = steps;
    }

    /// In reverse order of removal, each leads only to states whose ends are known.
    fn put_back(self) -> Ends {
        let Self { walk: Walk { steps, mut ends, columns }, order, .. } = self;
        let mut sums = vec![0.0; columns];
        for &state in order.iter().rev() {
            let at = state as usize * columns;
            sums.copy_from_slice(&ends[at..][..columns]);
            for &(to, weight) in &steps[state as usize] {
                for (sum, share) in sums.iter_mut().zip(&ends[to as usize * columns..][..columns]) {
                    *sum += weight * share;
                }
            }
            // Every state has an end or leads to one.
            let total: f64 = sums.iter().sum();
            ends[at..][..columns].iter_mut().zip(&sums).for_each(|(end, sum)| *end = sum / total);
        }
        Ends { shares: ends, columns }
    }
}

/// The remaining states, each with many predecessors and successors.
struct Core<'a> {
    states: &'a [u32],
    /// The indices of its successors, with their shares.
    steps: Vec<(u32, f64)>,
    /// Where its steps end.
    stops: Vec<usize>,
    /// Its share of each end.
    ends: Vec<f64>,
    columns: usize,
}

impl<'a> Core<'a> {
    fn of(walk: &Walk, states: &'a [u32]) -> Self {
        let columns = walk.columns;
        let mut core = Self { states, steps: Vec::new(), stops: Vec::new(), ends: Vec::new(), columns };
        for &state in states {
            let (steps, ends) =
                (&walk.steps[state as usize], &walk.ends[state as usize * columns..][..columns]);
            let total = steps.iter().map(|step| step.1).sum::<f64>() + ends.iter().sum::<f64>();
            for (to, weight) in steps {
                // No step leads to a removed state.
                let Ok(place) = states.binary_search(to) else { continue };
                core.steps.push((place as u32, weight / total));
            }
            core.stops.push(core.steps.len());
            core.ends.extend(ends.iter().map(|end| end / total));
        }
        core
    }

    /// Starting from zero, each state takes over the shares of its successors, in one order and then in the other.
    fn walk_into(self, ends: &mut [f64]) {
        let many = self.states.len();
        let mut shares = vec![0.0; many * self.columns];
        let mut sums = vec![0.0; self.columns];
        let sweeps = WORK / ((self.steps.len() + many) * self.columns).max(1);
        for sweep in 0..sweeps.max(1) {
            let mut undecided: f64 = 0.0;
            for at in 0..many {
                let at = if sweep % 2 == 0 { at } else { many - 1 - at };
                self.take_over(at, &shares, &mut sums);
                shares[at * self.columns..][..self.columns].copy_from_slice(&sums);
                undecided = undecided.max(1.0 - sums.iter().sum::<f64>());
            }
            if undecided < UNDECIDED {
                break;
            }
        }
        for (&state, solved) in self.states.iter().zip(shares.chunks(self.columns)) {
            let row = &mut ends[state as usize * self.columns..][..self.columns];
            row.copy_from_slice(solved);
            row[self.columns - 1] += (1.0 - solved.iter().sum::<f64>()).max(0.0);
        }
    }

    fn take_over(&self, at: usize, shares: &[f64], sums: &mut [f64]) {
        sums.copy_from_slice(&self.ends[at * self.columns..][..self.columns]);
        let begin = at.checked_sub(1).map_or(0, |before| self.stops[before]);
        for &(to, share) in &self.steps[begin..self.stops[at]] {
            for (sum, other) in sums.iter_mut().zip(&shares[to as usize * self.columns..][..self.columns]) {
                *sum += share * other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;

    #[test]
    fn seldom_left_cycle_loses_no_digits() {
        // 0 ⇄ 1, left to the first end once in 10¹² rounds from 0, to the second once in 3·10¹² from 1.
        let mut walk = Walk::new(2, 2);
        walk.step(0, 1, 1e12);
        walk.end(0, 0, 1.0);
        walk.step(1, 0, 3e12);
        walk.end(1, 1, 1.0);
        let ends = walk.solve();
        // From 0: a = (1 + 10¹²·b) / (10¹² + 1), b = 3·10¹²·a / (3·10¹² + 1), so a = (3·10¹² + 1) / (4·10¹² + 1).
        let expected = (3e12 + 1.0) / (4e12 + 1.0);
        assert!((ends.of(0)[0] / expected - 1.0).abs() < 1e-14, "{:?}", ends.of(0));
        assert!((ends.of(0)[1] - (1.0 - expected)).abs() < 1e-14, "{:?}", ends.of(0));
    }

    /// Everybody leads to everybody, so that most is walked. From each of n states the walk goes to each other with
    /// equal probability; each has two ends with its own weights, of which only the sums over all matter.
    #[test]
    fn dense_core_is_solved_by_sweeps() {
        let states = 300;
        let mut walk = Walk::new(states, 2);
        for from in 0..states {
            (0..states).for_each(|to| walk.step(from, to, 1.0));
            walk.end(from, 0, 30.0);
            walk.end(from, 1, 10.0);
        }
        let ends = walk.solve();
        for state in [0, 150, 299] {
            assert!((ends.of(state)[0] - 0.75).abs() < 1e-11, "{:?}", ends.of(state));
            assert!((ends.of(state).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    /// What sweeps do not reach belongs to nobody; no share is too large.
    #[test]
    fn unfinished_sweeps_overestimate_no_share() {
        let states = 300;
        let mut walk = Walk::new(states, 2);
        for from in 0..states {
            (0..states).for_each(|to| walk.step(from, to, 1.0));
            walk.end(from, 0, 3e-3);
            walk.end(from, 1, 1e-3);
        }
        let ends = walk.solve();
        let [first, second, undecided] = ends.of(7) else { panic!("two ends and for ever") };
        assert!((first / second - 3.0).abs() < 1e-9 && *first < 0.75 && *second < 0.25, "{first} {second}");
        assert!((first + second + undecided - 1.0).abs() < 1e-12 && *undecided > 0.0);
    }

    #[test]
    fn cycle_without_an_end_never_ends() {
        let mut walk = Walk::new(3, 1);
        walk.step(0, 1, 3.0);
        walk.end(0, 0, 1.0);
        walk.step(1, 2, 1.0);
        walk.step(2, 1, 1.0);
        let ends = walk.solve();
        assert_eq!(ends.of(0), [0.25, 0.75]);
        assert_eq!(ends.of(1), [0.0, 1.0]);
        assert_eq!(ends.of(2), [0.0, 1.0]);
    }
}
