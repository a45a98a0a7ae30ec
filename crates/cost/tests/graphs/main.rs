//! Call graphs and who a cost belongs to: worked by hand, and against slow and obvious counting.

mod agree;
mod called;
mod compare;
mod each;
mod folded;
mod names;
mod subgraph;
mod worked;
