//! Where does a Linux TCP transfer lose its time, and what would give it back?.

fn main() {}
