//! Call graphs and who a cost belongs to: worked by hand, and against slow and obvious counting.

mod agree;
mod compare;
mod folded;
mod names;
mod worked;
