//! The rules of the repository that can be checked by reading it: who may depend on whom, who may touch the system,
//! what no file may contain, and that links resolve. ARCHITECTURE.md gives the reasons.

mod dependencies;
mod documents;
mod files;
mod json;
mod licences;
mod purity;
mod repository;
