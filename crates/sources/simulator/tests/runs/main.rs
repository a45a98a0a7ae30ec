//! Whole runs: what is always true of one, what theory says of some, and that a run depends on nothing but its scenario.

mod always;
mod anchors;
mod busy_poll;
mod datagrams;
mod drained;
mod gives_way;
mod in_turn;
mod large_window;
mod leith;
mod local_queue;
mod middleboxes;
mod predicted;
mod remembered;
mod run;
mod told;
mod walks;
