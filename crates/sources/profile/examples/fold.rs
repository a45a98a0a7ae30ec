//! A profile as folded stacks: `cargo run -p slowpath-profile --example fold -- perf.data`.

use slowpath_profile::{Contents, Measure, Options, open, write_folded};
use std::error::Error;
use std::io::{BufWriter, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("which file?")?;
    let input = open(path, &Options::default())?;
    for note in &input.notes {
        eprintln!("{note}");
    }
    if let Some(stop) = &input.stopped {
        eprintln!("{}: {stop}", input.name);
    }
    match &input.contents {
        Contents::Stacks(profile) => {
            eprintln!("{:?}: {:?}, {:?}", input.format, profile.events, profile.lost);
            write_folded(profile, 0, Measure::Samples, &mut BufWriter::new(stdout()))?;
        }
        Contents::Calls(graph) => {
            eprintln!("{} functions, {} calls", graph.functions.len(), graph.edges.len())
        }
    }
    Ok(())
}
