//! Runs compared with theory, with a tolerance for each.

use crate::run::{Run, scenario};
use slowpath_model::{CaState, End, EventKind};
use slowpath_scenario::HostId;
use slowpath_simulator::outside::{Occurrence, Wants};
use slowpath_simulator::{Observer, Sight, Simulation};
use std::time::Duration;

/// The payload of a full segment with timestamps at an MTU of 1500.
const MSS: f64 = 1448.0;

/// Zero-cost hosts, so that only protocol and path matter.
const FREE: &str = "[hosts.sender]\nmachine = \"free\"\n[hosts.receiver]\nmachine = \"free\"\n";

fn assert_near(what: &str, got: f64, expected: f64, tolerance: f64) {
    let off = (got - expected).abs() / expected;
    assert!(off <= tolerance, "{what}: {got:.4e} instead of {expected:.4e}, {:.2} % off", off * 100.0);
}

#[test]
fn long_transfer_fills_the_link_and_never_exceeds_it() {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"20 s\"\n{FREE}[path]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"1 bdp\"\n"
    ));
    let most = 100e6 * MSS / 1500.0;
    let got = run.acknowledged(5.0, 20.0);
    // One packet may be outside the bounds.
    assert!(got <= most * 1.0001, "{got:.4e} over a link of {most:.4e}");
    assert!(got >= 0.93 * most, "{got:.4e} over a link of {most:.4e}");
}

#[test]
fn window_limited_transfer_moves_one_window_per_rtt() {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"20 s\"\n{FREE}[path]\nrate = \"10 Gbit/s\"\ndelay = \"25 ms\"\nqueue = \"1 bdp\"\n\
         [flows.receiver.socket]\nSO_RCVBUF = \"256 KiB\"\n"
    ));
    let window = run
        .segments
        .iter()
        .filter(|(_, at, s)| s.from == End::B && *at > 10_000_000_000)
        .filter_map(|(_, _, s)| s.ack.map(|ack| ack.0 + (i64::from(s.window) << scale(&run))))
        .max()
        .zip(run.segments.iter().filter(|(_, _, s)| s.from == End::B).filter_map(|(_, _, s)| s.ack).max())
        .map(|(edge, ack)| (edge - ack.0) as f64)
        .expect("acknowledgments");
    // The sender only sends whole segments.
    let usable = (window / MSS).floor() * MSS;
    assert_near("window / RTT", run.acknowledged(10.0, 20.0), usable * 8.0 / 0.050, 0.01);
}

fn scale(run: &Run) -> u8 {
    run.segments.iter().find_map(|(_, _, s)| s.window_scale.filter(|_| s.from == End::B)).unwrap_or(0)
}

#[test]
fn slow_start_doubles_per_rtt() {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"600 ms\"\n{FREE}[path]\nrate = \"10 Gbit/s\"\ndelay = \"50 ms\"\nqueue = \"1 bdp\"\n"
    ));
    let mut flights = vec![0; 6];
    for (at, segment) in run.data() {
        // The handshake takes the first RTT.
        let flight = (at - 100_000_000) / 100_000_000;
        if let Some(count) = flights.get_mut(flight as usize) {
            *count += u64::from(segment.len.div_ceil(1448));
        }
    }
    assert_eq!(flights[0], 10, "{flights:?}");
    for pair in flights.windows(2).take(3) {
        assert!((19..=21).contains(&(pair[1] * 10 / pair[0])), "{flights:?}");
    }
}

/// Mathis et al. 1997: MSS/RTT · C/√p. Linux counts acknowledged segments, not ACKs, so delayed ACKs do not slow the
/// growth of the window, and C is √(3/2).
#[test]
fn reno_throughput_follows_the_square_root_of_the_loss_rate() {
    for (loss, seconds) in [(1e-5, 400), (1e-4, 400), (1e-3, 200), (1e-2, 200)] {
        let percent = loss * 100.0;
        // Slow start must end soon: data sent with a window far above the mean would count for hundreds of RTTs.
        let run = Run::of(&format!(
            "title = \"t\"\nduration = \"{seconds} s\"\n{FREE}[path]\nrate = \"10 Gbit/s\"\ndelay = \"25 ms\"\nqueue = \"1 bdp\"\n\
             loss = \"{percent} %\"\n[[path.forward.lose]]\npackets = [1000]\n\
             [flows.sender.socket]\nTCP_CONGESTION = \"reno\"\n"
        ));
        let expected = MSS * 8.0 / 0.050 * (1.5_f64 / loss).sqrt();
        assert_near(&format!("{percent} %"), run.acknowledged(20.0, f64::from(seconds)), expected, 0.15);
    }
}

/// Every millisecond: the sender's cwnd, whether it is in recovery, and its ssthresh.
struct Windows(Vec<(u32, bool, u32)>);

impl Observer for Windows {
    fn packet(&mut self, _sight: &Sight<'_>) {}

    fn wants(&self) -> Wants {
        Wants { samples: Some(Duration::from_millis(1)), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        if let (EventKind::Sampled(sample), HostId(0)) = (occurrence.kind, occurrence.host) {
            let recovers = sample.ca_state == Some(CaState::Recovery);
            let numbers = sample.snd_cwnd.zip(sample.snd_ssthresh);
            self.0.extend(numbers.map(|(window, threshold)| (window, recovers, threshold)));
        }
    }
}

/// RFC 9438, section 4.2: W(t) = C (t - K)³ + Wmax, K = ∛(Wmax (1 - β) / C), with the kernel's β of 717/1024.
#[test]
fn cubic_follows_the_curve_of_rfc_9438() {
    const BETA: f64 = 717.0 / 1024.0;
    let plan = scenario(&format!(
        "title = \"t\"\nduration = \"16 s\"\n{FREE}[hosts.receiver.sysctl]\ntcp_rmem = \"4096 67108864 67108864\"\n\
         [path]\nrate = \"10 Gbit/s\"\ndelay = \"25 ms\"\nqueue = \"1 bdp\"\n\
         [[path.forward.lose]]\npackets = [2000]\n[flows.sender.socket]\nTCP_CONGESTION = \"cubic\"\n"
    ));
    let mut watch = Windows(Vec::new());
    Simulation::new(&plan).run(&mut watch);
    // cwnd before the loss follows from the reduced ssthresh. The epoch begins with the first ACK after recovery.
    let recovered = watch.0.windows(2).position(|pair| pair[0].1 && !pair[1].1).expect("a recovery") + 1;
    let windows = &watch.0[recovered..];
    let w_max = f64::from(windows[0].2) / BETA;
    let k = (w_max * (1.0 - BETA) / 0.4).cbrt();
    assert!(w_max > 1000.0 && windows.len() > 12_000, "{w_max} segments for {} ms", windows.len());
    for elapsed in (500..12_000).step_by(100) {
        // The kernel aims at the curve's value an RTT ahead, and reaches it then.
        let expected = w_max + 0.4 * (elapsed as f64 / 1e3 - k).powi(3);
        assert_near(&format!("the window after {elapsed} ms"), f64::from(windows[elapsed].0), expected, 0.02);
    }
}

/// The RTO doubles (RFC 6298, section 5.5), within the precision of the kernel's timer wheel: an eighth.
#[test]
fn rto_backs_off_exponentially() {
    let run = Run::of(&format!(
        "title = \"t\"\nduration = \"28 s\"\n{FREE}[path]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\n\
         stalls = [{{ at = \"1 s\", lasts = \"28 s\" }}]\n"
    ));
    let late: Vec<i64> = run.data().map(|(at, _)| at).filter(|at| *at > 2_000_000_000).collect();
    let gaps: Vec<i64> = late.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 3, "{gaps:?}");
    for pair in gaps.windows(2) {
        assert_near("the next timeout", pair[1] as f64, 2.0 * pair[0] as f64, 0.13);
    }
}
