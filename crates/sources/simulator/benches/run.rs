//! How fast a run is: CPU time, data packets per CPU second, and memory.
//!
//! `cargo bench -p slowpath-simulator --bench run -- FILE [KEY=VALUE…]`

use slowpath_simulator::{Observer, Sight, Simulation};

/// Counts data packets sent.
#[derive(Default)]
struct Counter {
    data: u64,
    bytes: u64,
}

impl Observer for Counter {
    fn packet(&mut self, sight: &Sight<'_>) {
        if sight.sent && sight.frame.packet.len > 0 {
            self.data += 1;
            self.bytes += u64::from(sight.frame.packet.len);
        }
    }
}

/// CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(file) = arguments.next() else {
        println!("name a scenario file");
        return Ok(());
    };
    let overrides: Vec<String> = arguments.collect();
    let text = std::fs::read_to_string(&file)?;
    let overrides = overrides.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
    let checked = slowpath_scenario::check(&file, &text, &overrides, None)?;
    let begin = cpu_time();
    let mut simulation = Simulation::new(&checked.scenario);
    let mut counter = Counter::default();
    simulation.run(&mut counter);
    let seconds = (cpu_time() - begin) as f64 / 1e9;
    let simulated = simulation.now().seconds();
    println!(
        "{simulated:.1} s simulated in {seconds:.2} s: {} data packets, {:.0} per CPU second, {:.2} events each, {:.1} Mbit/s",
        counter.data,
        counter.data as f64 / seconds,
        simulation.events() as f64 / counter.data.max(1) as f64,
        counter.bytes as f64 * 8.0 / simulated / 1e6,
    );
    for wire in simulation.wires() {
        let totals = wire.totals();
        println!(
            "  wire: {} offered, {} dropped, {} delivered, {} most in flight, longest queue {}, conserved: {}",
            totals.offered_packets,
            totals.dropped(),
            wire.delivered(),
            wire.most_in_flight(),
            totals.longest_queue_packets,
            wire.is_conserved()
        );
    }
    Ok(())
}
