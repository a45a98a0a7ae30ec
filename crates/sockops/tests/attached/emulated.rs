//! iperf3, which knows nothing of it, on hosts with the small buffers of old systems, over the lab's emulated path: as it is, with
//! buffers set by the program, and with limits that were raised by hand.

use crate::{buffers, config, group::Group};
use slowpath_lab::error::LabError;
use slowpath_lab::host::Host;
use slowpath_lab::iperf3;
use slowpath_lab::relay::Relay;
use slowpath_lab::settings::{Family, Offload, Settings};
use slowpath_lab::testbed;
use slowpath_model::Rate;
use slowpath_model::statistics::median;
use slowpath_sockops::{Most, Prefix, Targets, Tuner};
use std::time::Duration;

/// `tcp_wmem` and `tcp_rmem` of Linux 2.6.
const OLD: [&str; 2] = ["4096 16384 131072", "4096 87380 174760"];

/// How the connection gets its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    Untuned,
    Sockops,
    ByHand,
}

/// A path, and how much is moved over it.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub rate_mbit: u64,
    /// Both directions together, without queues.
    pub rtt: Duration,
    pub amount: u64,
}

impl Cell {
    /// Mbit/s of the whole command, of each run with each tuning. They take turns.
    pub fn rates(&self, runs: u64) -> [f64; 3] {
        let tunings = [Tuning::Untuned, Tuning::Sockops, Tuning::ByHand];
        let mut rates = [const { Vec::new() }; 3];
        for run in 0..runs {
            for (tuning, rates) in tunings.into_iter().zip(&mut rates) {
                // Slow ones have one rate from beginning to end.
                let amount = if tuning == Tuning::Untuned { self.amount / 64 } else { self.amount };
                let lasted = self.run(tuning, amount, run).expect("as root");
                rates.push(amount as f64 * 8.0 / 1e6 / lasted.as_secs_f64());
            }
        }
        rates.map(|rates| median(rates).expect("runs"))
    }

    fn run(&self, tuning: Tuning, amount: u64, seed: u64) -> Result<Duration, LabError> {
        let group = Group::enter("emulated");
        let mut settings = Settings::plain();
        settings.offload = Offload::SuperPackets;
        let most = 64 << 20;
        let hand = [format!("4096 16384 {most}"), format!("4096 131072 {most}")];
        let [wmem, rmem] = if tuning == Tuning::ByHand { hand } else { OLD.map(str::to_owned) };
        settings.sender_sysctls = vec![("net.ipv4.tcp_wmem".to_owned(), wmem)];
        settings.receiver_sysctls = vec![("net.ipv4.tcp_rmem".to_owned(), rmem)];
        let (namespaces, _) = testbed::build(&settings)?;
        let rate = Rate::mbit(self.rate_mbit);
        let product = rate.amount_in(self.rtt);
        let way = testbed::direction(rate, self.rtt);
        let ways = testbed::ways(&settings, [&way, &way], [seed * 2 + 1, seed * 2 + 2]);
        let relay = Relay::open(&namespaces, ways)?;
        // What `--to PREFIX,rate=,rtt=` asks for is computed by a crate above; these are the rules of `arithmetic`.
        let target = buffers(product.get() * 4, product.get() * 4);
        let hosts = [Host::Sender, Host::Receiver].map(|host| testbed::address(Family::V4, host));
        let targets = Targets::of(&hosts.map(|address| (Prefix::of(address), target.clone())), &[]);
        let tuner = (tuning == Tuning::Sockops).then(|| {
            Tuner::attach(group.path(), Most { prefixes: 2 }, &config(), &targets).expect("it is attached")
        });
        let lasted = relay.during(|| iperf3::send(&namespaces, Host::Sender, amount, &["-C", "cubic"]));
        if let Some(tuner) = tuner {
            let counts = tuner.counts().expect("the kernel answers");
            assert!(counts.tuned >= 4, "control and data connection at both ends: {counts:?}");
        }
        lasted
    }
}
