//! Whole runs: invariants of every run, comparisons with theory, and determinism.

mod backlog_drain;
mod bus;
mod busy_poll;
mod coexistence;
mod datagrams;
mod header_prediction;
mod invariants;
mod large_window;
mod leith;
mod local_queue;
mod metrics_cache;
mod middleboxes;
mod observer;
mod receive_window;
mod round_robin_interrupts;
mod run;
mod sack_walk_cost;
mod theory;
mod yielding;
