//! The program that is built into the crate.

#[path = "../bpf/compile.rs"]
mod compile;

fn main() {
    compile::object("sockops");
}
