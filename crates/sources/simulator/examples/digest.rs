//! A digest of everything that happens in runs of scenario files. Run it before and after a performance change, to
//! check that nothing else changed.
//!
//! `cargo run --release -p slowpath-simulator --example digest -- SECONDS FILE…`

use slowpath_simulator::{Observer, Sight, Simulation};
use std::fmt::Write as _;
use std::time::Duration;

/// FNV-1a (Fowler, Noll and Vo), over the packets seen at each host, in their order there.
struct Digest {
    hosts: Vec<u64>,
    line: String,
}

impl Observer for Digest {
    fn packet(&mut self, sight: &Sight<'_>) {
        self.line.clear();
        let frame = sight.frame;
        let seen = write!(self.line, "{} {} {frame:?}", sight.at.nanos(), sight.sent);
        debug_assert!(seen.is_ok(), "a string takes everything");
        let number = sight.host.0;
        if self.hosts.len() <= number {
            self.hosts.resize(number + 1, 0xcbf2_9ce4_8422_2325);
        }
        for byte in self.line.bytes() {
            self.hosts[number] = (self.hosts[number] ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(seconds) = arguments.next().and_then(|text| text.parse().ok()) else {
        println!("say how many seconds of each scenario to run, and name scenario files");
        return Ok(());
    };
    for file in arguments {
        let text = std::fs::read_to_string(&file)?;
        let mut scenario = slowpath_scenario::check(&file, &text, &[], None)?.scenario;
        scenario.duration = scenario.duration.min(Duration::from_secs(seconds));
        let mut simulation = Simulation::new(&scenario);
        let mut digest = Digest { hosts: Vec::new(), line: String::new() };
        simulation.run(&mut digest);
        let bytes: Vec<_> = simulation.transfers().iter().map(|transfer| transfer.bytes.get()).collect();
        println!(
            "{file}: {:016x?} {:x?} {}",
            digest.hosts,
            bytes.iter().sum::<u64>(),
            simulation.now().nanos()
        );
    }
    Ok(())
}
