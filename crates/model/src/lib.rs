//! Units, flows, segments and events: the vocabulary every source and analysis of slowpath shares.
