//! A window of 100,000 packets of which 1,000 are lost: recovery must not use up the sender's CPU (leith, section 1.1).

use crate::run::scenario;
use slowpath_model::{CaState, EventKind, Instant};
use slowpath_simulator::outside::{Occurrence, Wants};
use slowpath_simulator::{Observer, Sight, Simulation};
use std::time::Duration;

const LOSSES: u32 = 1000;
/// The window is full by then.
const FIRST_LOST: u32 = 400_000;
/// One in this many segments of a window is lost.
const APART: u32 = 100;
const SENDER: usize = 0;
const ROUND_TRIP: Duration = Duration::from_millis(120);
const LOOK: Duration = Duration::from_millis(50);

/// 10 Gbit/s over 120 ms hold 100,000 packets of 1500 bytes. Both hosts are of the same time: with GRO few ACKs come
/// back, and cwnd hardly grows in a kernel that counts ACKs.
fn lossy(sender: &str) -> String {
    let receiver = sender.trim_end_matches("-leith");
    let lost: Vec<String> = (0..LOSSES).map(|n| (FIRST_LOST + n * APART).to_string()).collect();
    format!(
        r#"
title = "1,000 losses in 100,000 packets"
duration = "5 s"

[hosts.sender]
cpus = 1
machine = "server-2020"
nic = {{ rate = "25 Gbit/s" }}
kernel = "{sender}"

[hosts.sender.sysctl]
tcp_wmem = "4096 65536 1073741824"

[hosts.receiver]
kernel = "{receiver}"
cpus = 1
machine = "free"
nic = {{ rate = "25 Gbit/s" }}

[hosts.receiver.sysctl]
"net.core.rmem_max" = 1073741824

[flows.receiver.socket]
SO_RCVBUF = "512 MiB"

[path]
rate = "10 Gbit/s"
delay = "60 ms"
queue = "1 bdp"

[[path.lose]]
packets = [{}]
"#,
        lost.join(", ")
    )
}

/// The state of the sender's connection during recovery.
#[derive(Default)]
struct Recovery {
    most_cwnd: u32,
    began: Option<Instant>,
    ended: Option<Instant>,
    timed_out: bool,
}

impl Observer for Recovery {
    fn packet(&mut self, _sight: &Sight<'_>) {}

    fn wants(&self) -> Wants {
        Wants { samples: Some(Duration::from_millis(1)), ..Wants::default() }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let EventKind::Sampled(sample) = occurrence.kind else { return };
        if occurrence.host.0 != SENDER {
            return;
        }
        self.most_cwnd = self.most_cwnd.max(sample.snd_cwnd.unwrap_or(0));
        match sample.ca_state {
            Some(CaState::Recovery) => self.began = self.began.or(Some(occurrence.at)),
            Some(CaState::Loss) => self.timed_out = true,
            Some(CaState::Open) if self.began.is_some() => self.ended = self.ended.or(Some(occurrence.at)),
            _ => {}
        }
    }
}

impl Recovery {
    /// Its result, the maximum load of the sender's CPU, and the number of retransmissions.
    fn of(text: &str) -> (Self, f64, u64) {
        let mut simulation = Simulation::new(&scenario(text));
        let mut recovery = Self::default();
        let (mut at, mut busy, mut most) = (Instant::START, Duration::ZERO, 0.0_f64);
        while at < simulation.end() {
            at = at + LOOK;
            simulation.run_until(at, &mut recovery);
            let until_now: Duration = simulation.host_reports()[SENDER].cpus[0].levels.iter().sum();
            if recovery.began.is_some() && recovery.ended.is_none() {
                most = most.max((until_now - busy).as_secs_f64() / LOOK.as_secs_f64());
            }
            busy = until_now;
        }
        (recovery, most, simulation.total(0).retransmits)
    }

    fn lasted(&self) -> Option<Duration> {
        self.ended?.since(self.began?)
    }
}

/// With the index, each loss is retransmitted once, in little more than two RTTs, and most of the CPU is idle.
#[test]
fn sack_processing_of_6_18_leaves_most_of_the_cpu_idle() {
    let (recovery, most, again) = Recovery::of(&lossy("6.18"));
    assert!(recovery.most_cwnd > 100_000, "a window of {}", recovery.most_cwnd);
    assert!(recovery.lasted().is_some_and(|lasted| lasted < ROUND_TRIP * 5 / 2), "{:?}", recovery.lasted());
    assert!(!recovery.timed_out);
    assert_eq!(again, u64::from(LOSSES));
    assert!(most < 0.2, "{most} of the CPU");
}

/// From the head of the write queue, an ACK takes so long that the ACK clock breaks; over holes, the same machine
/// recovers.
#[test]
fn sack_walk_over_holes_recovers_where_a_walk_from_the_head_does_not() {
    let (holes, busy, again) = Recovery::of(&lossy("2.4.23-leith"));
    println!("over holes: {:?}, {again} retransmitted, {busy:.2} of the CPU", holes.lasted());
    assert!(holes.lasted().is_some_and(|lasted| lasted < ROUND_TRIP * 5), "{:?}", holes.lasted());
    let (head, most, _) = Recovery::of(&lossy("2.4.23"));
    assert!(head.began.is_some() && head.ended.is_none() && most > 0.99, "{:?} {most}", head.lasted());
}
