//! The rules of the house that can be checked by reading the repository: who may depend on whom, who may touch the
//! system, what no file may hold, and that documents lead somewhere. ARCHITECTURE.md gives the reasons.

mod dependencies;
mod documents;
mod files;
mod json;
mod purity;
mod repository;
