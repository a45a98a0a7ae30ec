//! Scenario files: hosts, paths and flows, checked before anything runs.
