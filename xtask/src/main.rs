//! Chores of the slowpath repository: labelled captures, benchmark input, generated documents.

fn main() {}
