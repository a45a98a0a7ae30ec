//! The results of the techniques on paths with a known answer.

use slowpath_model::{Bytes, Rate};
use slowpath_papers::tunings::{Outcome, Path, Technique, measure};
use std::time::Duration;

/// A gigabit over 40 ms: a bandwidth-delay product of 5 MB, eighty times an untuned buffer.
fn long() -> Path {
    Path {
        rate: Rate::mbit(1000),
        delay: Duration::from_millis(40),
        streams: 1,
        memory: None,
        amount: Bytes::new(500_000_000),
    }
}

fn on(path: &Path, technique: Technique) -> Outcome {
    measure(technique, path).unwrap_or_else(|error| panic!("{technique:?}: {error}"))
}

#[test]
fn every_technique_transfers_all_data() {
    let path = Path { amount: Bytes::new(20_000_000), streams: 2, ..long() };
    for technique in Technique::ALL {
        let outcome = on(&path, technique);
        assert_eq!(outcome.bytes, 20_000_000, "{technique:?}");
        assert!(outcome.rate > 0 && outcome.rate < path.rate.get(), "{technique:?}");
    }
}

#[test]
fn untuned_transfer_moves_one_buffer_per_rtt() {
    let path = Path { amount: Bytes::new(20_000_000), ..long() };
    let outcome = on(&path, Technique::None);
    // Half to all of 64 KiB is window.
    let most = (64 << 10) as f64 * 8.0 / path.delay.as_secs_f64();
    assert!((0.4 * most..=most).contains(&(outcome.rate as f64)), "{}", outcome.rate);
    assert_eq!((outcome.receive_buffer, outcome.send_buffer), (64 << 10, 64 << 10));
}

/// The bug that weigle found (section IV-B): the scale is chosen for the first buffer, and the window field cannot
/// express the grown buffer's size.
#[test]
fn linux_2_4_window_scale_is_too_small_for_the_grown_buffer() {
    let outcome = on(&long(), Technique::Linux24);
    assert!(outcome.window <= 65_535, "{}", outcome.window);
    assert!(outcome.rate < 20_000_000, "{}", outcome.rate);
}

#[test]
fn techniques_that_follow_the_path_fill_it() {
    let path = long();
    for technique in [Technique::Manual, Technique::Psc, Technique::Drs, Technique::DrsFtp, Technique::Today]
    {
        let outcome = on(&path, technique);
        assert!(outcome.rate > path.rate.get() / 2, "{technique:?}: {}", outcome.rate);
        assert!(outcome.window > path.bdp().get(), "{technique:?}: {}", outcome.window);
    }
}

/// CPU time per byte on the long path, in nanoseconds: 1.02 at the sender and 1.47 at the receiver without tuning, whose
/// small windows arrive in small super-packets; 0.38 and 0.94 with every technique that fills the path.
#[test]
fn untuned_transfer_costs_more_cpu_time_per_byte() {
    let each = |technique| {
        let outcome = on(&Path { amount: Bytes::new(1_250_000_000), ..long() }, technique);
        let cpu = [outcome.sender_cpu_ns, outcome.receiver_cpu_ns];
        (outcome, cpu.map(|cpu| outcome.cpu_ns_per_byte(cpu).expect("data")))
    };
    let near = |ours: f64, value: f64| (ours / value - 1.0).abs() < 0.1;
    let (_, [sender, receiver]) = each(Technique::None);
    assert!(near(sender, 1.02) && near(receiver, 1.47), "{sender}, {receiver}");
    for technique in [Technique::Manual, Technique::Psc, Technique::Drs, Technique::DrsFtp, Technique::Today]
    {
        let (outcome, [sender, receiver]) = each(technique);
        assert!(near(sender, 0.38) && near(receiver, 0.94), "{technique:?}: {sender}, {receiver}");
        let busy = outcome.busy(outcome.receiver_cpu_ns).expect("time");
        assert!((0.10..0.12).contains(&busy), "{technique:?}: {busy}");
    }
}

#[test]
fn no_technique_exceeds_the_memory_limit() {
    let memory = 4 << 20;
    let path =
        Path { memory: Some(Bytes::new(memory)), streams: 4, amount: Bytes::new(100_000_000), ..long() };
    for technique in Technique::ALL {
        let outcome = on(&path, technique);
        // A buffer that is not yet full takes one more packet.
        let most = memory + 4 * (128 << 10);
        assert!(outcome.sender_memory <= most, "{technique:?}: {}", outcome.sender_memory);
        assert!(outcome.receiver_memory <= most, "{technique:?}: {}", outcome.receiver_memory);
    }
}
