//! Call graphs and attribution: computed by hand, and compared with slow and obvious counting.

mod against_counting;
mod by_hand;
mod callers;
mod compare;
mod each;
mod folded;
mod names;
mod subgraph;
