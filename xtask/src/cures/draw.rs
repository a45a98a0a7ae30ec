//! Random transfers: a path, two hosts, and one or two faults.

use clap::ValueEnum;
use serde::Serialize;
use slowpath_path::chance::Draws;

/// What may hold a transfer back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    Link,
    ShortQueue,
    LongQueue,
    CrossTraffic,
    Loss,
    BurstyLoss,
    Policer,
    Marks,
    Reordering,
    Jitter,
    Stalls,
    AckLoss,
    SlowAcks,
    ReceiveBuffer,
    NoScaling,
    SendBuffer,
    Pacing,
    SlowWriter,
    PausingWriter,
    Messages,
    Turns,
    SlowReader,
    PausingReader,
}

impl Fault {
    /// Whether it decides what is transferred, so that only a transfer of its own has it.
    const fn is_workload(self) -> bool {
        matches!(self, Self::Messages | Self::Turns)
    }
}

/// A key of the scenario, with its value, and the fault that it makes.
#[derive(Clone, Debug)]
pub struct Key {
    /// The fault; none for a key of the path or the hosts.
    pub fault: Option<Fault>,
    /// As in `--set`.
    pub text: String,
}

/// A transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Which one: the same number gives the same transfer.
    pub seed: u64,
    /// What was done to it.
    pub faults: Vec<Fault>,
    /// Rate of the bottleneck, in bit/s.
    pub rate: f64,
    /// RTT of the path, in seconds.
    pub rtt: f64,
    /// Size of the bottleneck's queue, in bytes.
    pub queue: f64,
    /// All keys; later ones replace earlier ones.
    pub keys: Vec<Key>,
}

const KERNELS: [&str; 9] = [
    "linux-4.18",
    "linux-4.18-el8",
    "linux-5.14",
    "linux-5.15",
    "linux-6.1",
    "linux-6.6",
    "linux-6.8",
    "linux-6.12",
    "linux-6.18",
];

/// One transfer in three has a second fault.
const SECOND: f64 = 1.0 / 3.0;

/// Draws values.
struct Dice(Draws);

impl Dice {
    /// Evenly distributed.
    fn even(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.0.below(1 << 32) as f64 / (1u64 << 32) as f64
    }

    /// Evenly distributed by magnitude.
    fn magnitude(&mut self, from: f64, to: f64) -> f64 {
        self.even(from.ln(), to.ln()).exp()
    }

    fn happens(&mut self, chance: f64) -> bool {
        self.even(0.0, 1.0) < chance
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize]
    }
}

fn micros(seconds: f64) -> String {
    format!("{} us", (seconds * 1e6) as u64)
}

fn bytes(count: f64) -> String {
    format!("{} B", count as u64)
}

fn rate(bits: f64) -> String {
    format!("{} bit/s", bits as u64)
}

fn percent(share: f64) -> String {
    format!("{:.4} %", share * 100.0)
}

/// Pauses or stalls, `count` of them in `lasts` seconds: each takes up to `part` of its turn.
fn spread(dice: &mut Dice, count: u32, lasts: f64, part: f64) -> String {
    let turn = lasts / f64::from(count + 1);
    let one = |nth: u32| {
        let at = turn * f64::from(nth) + dice.even(0.0, 0.1 * turn);
        format!("{{ at = \"{}\", lasts = \"{}\" }}", micros(at), micros(dice.even(0.1, part) * turn))
    };
    format!("[{}]", (1..=count).map(one).collect::<Vec<_>>().join(", "))
}

impl Transfer {
    /// The transfer of this number: its first fault is the one whose turn it is.
    pub fn drawn(seed: u64) -> Self {
        let mut dice = Dice(Draws::new(seed));
        let all = Fault::value_variants();
        let first = all[(seed % all.len() as u64) as usize];
        let second = dice.one(all);
        let has_second = dice.happens(SECOND) && second != first && !second.is_workload();
        let mut faults = vec![first];
        faults.extend(has_second.then_some(second));

        let (bottleneck, rtt) = (dice.magnitude(3e6, 200e6), dice.magnitude(1e-3, 250e-3));
        let queue = (dice.one(&[0.3, 0.6, 1.0, 1.0, 1.5, 3.0]) * bottleneck * rtt / 8.0).max(15e3);
        let mut transfer = Self { seed, faults, rate: bottleneck, rtt, queue, keys: Vec::new() };
        let lasts = dice.even(3.0, 9.0);
        transfer.put(None, "path.rate", rate(bottleneck));
        transfer.put(None, "path.delay", micros(rtt / 2.0));
        transfer.put(None, "path.forward.queue", bytes(queue));
        transfer.put(None, "path.reverse.queue", "1000 packets");
        if !first.is_workload() {
            transfer.put(None, "flows.amount", bytes((bottleneck * lasts / 10.0).max(200e3)));
        }
        let control = dice.one(&["cubic", "cubic", "cubic", "cubic", "cubic", "reno", "bbr", "bbr"]);
        transfer.put(None, "flows.sender.socket.TCP_CONGESTION", control);
        for host in ["sender", "receiver"] {
            transfer.put(None, &format!("hosts.{host}.kernel"), dice.one(&KERNELS));
            transfer.put(None, &format!("hosts.{host}.nic.tso"), dice.happens(0.7).to_string());
            transfer.put(None, &format!("hosts.{host}.nic.gro"), dice.happens(0.7).to_string());
            let delay = dice.one(&["5 us", "20 us", "50 us", "100 us"]);
            transfer.put(None, &format!("hosts.{host}.nic.interrupt-delay"), delay);
        }
        if dice.happens(0.15) {
            transfer.put(None, "hosts.sender.sysctl.tcp_timestamps", "0");
        }
        for fault in transfer.faults.clone() {
            transfer.add(fault, lasts, &mut dice);
        }
        transfer
    }

    fn put(&mut self, fault: Option<Fault>, key: &str, value: impl AsRef<str>) {
        self.keys.push(Key { fault, text: format!("{key}={}", value.as_ref()) });
    }

    /// Transfers so many bytes, if it is one of an amount.
    fn transfer(&mut self, amount: f64) {
        if self.keys.iter().any(|key| key.text.starts_with("flows.amount")) {
            self.put(None, "flows.amount", bytes(amount));
        }
    }

    /// Adds a fault to a transfer that takes `lasts` seconds at the bottleneck's rate.
    fn add(&mut self, fault: Fault, lasts: f64, dice: &mut Dice) {
        let product = self.rate * self.rtt / 8.0;
        let (slower, enough) = (self.rate * dice.even(0.1, 0.85), product * 2.0);
        let put = |transfer: &mut Self, key: &str, value: String| transfer.put(Some(fault), key, value);
        match fault {
            Fault::Link => {}
            Fault::ShortQueue => {
                put(self, "path.forward.queue", bytes((product * dice.even(0.03, 0.2)).max(6e3)));
            }
            Fault::LongQueue => {
                put(self, "path.forward.queue", bytes(product * dice.even(3.0, 10.0) + 60e3));
            }
            Fault::CrossTraffic => {
                let (pattern, of) = (dice.one(&["poisson", "on-off"]), dice.even(0.2, 0.7));
                let cross = format!("[{{ pattern = \"{pattern}\", rate = \"{}\" }}]", rate(self.rate * of));
                put(self, "path.forward.cross", cross);
            }
            Fault::Loss => put(self, "path.forward.loss", percent(dice.magnitude(5e-4, 0.03))),
            Fault::BurstyLoss => {
                let (enter, leave) = (dice.magnitude(1e-4, 1e-3), dice.even(0.05, 0.5));
                let bursts = format!("{{ enter = \"{}\", leave = \"{}\" }}", percent(enter), percent(leave));
                put(self, "path.forward.bursts", bursts);
            }
            Fault::Policer => {
                let (share, depth) = (dice.even(0.2, 0.8), dice.magnitude(16e3, 1e6));
                let policer =
                    format!("{{ rate = \"{}\", burst = \"{}\" }}", rate(self.rate * share), bytes(depth));
                put(self, "path.forward.policer", policer);
            }
            Fault::Marks => {
                let marks = format!("[{{ ecn-mark = \"{}\" }}]", percent(dice.magnitude(1e-3, 0.02)));
                put(self, "path.forward.middleboxes", marks);
                put(self, "hosts.sender.sysctl.tcp_ecn", "1".into());
            }
            Fault::Reordering => {
                put(self, "path.forward.reorder", percent(dice.magnitude(2e-3, 0.1)));
                put(self, "path.forward.reorder-by", micros(dice.even(0.1, 1.2) * self.rtt.max(4e-3)));
            }
            Fault::Jitter => put(self, "path.forward.jitter", micros(dice.even(0.05, 0.8) * self.rtt)),
            Fault::Stalls => put(self, "path.forward.stalls", spread(dice, 4, lasts, 0.7)),
            Fault::AckLoss => put(self, "path.reverse.loss", percent(dice.even(0.02, 0.3))),
            Fault::SlowAcks => {
                put(self, "path.reverse.rate", rate(self.rate * dice.even(0.006, 0.03)));
                put(self, "path.reverse.queue", dice.one(&["20 packets", "100 packets"]).to_owned());
            }
            Fault::ReceiveBuffer => {
                let size = (product * dice.even(0.15, 0.7)).max(8e3);
                match dice.0.below(3) {
                    0 => put(self, "flows.receiver.socket.SO_RCVBUF", bytes(size)),
                    1 => put(self, "flows.receiver.socket.TCP_WINDOW_CLAMP", bytes(size)),
                    _ => {
                        let most = (size * 2.0) as u64;
                        let sizes = format!("4096 {} {most}", most.min(131_072));
                        put(self, "hosts.receiver.sysctl.tcp_rmem", sizes);
                    }
                }
            }
            Fault::NoScaling => put(self, "hosts.receiver.sysctl.tcp_window_scaling", "0".into()),
            Fault::SendBuffer => {
                let size = (product * dice.even(0.2, 0.9)).max(8e3);
                if dice.happens(0.5) {
                    put(self, "flows.sender.socket.SO_SNDBUF", bytes(size));
                } else {
                    let most = (size * 2.0) as u64;
                    let sizes = format!("4096 {} {most}", most.min(16_384));
                    put(self, "hosts.sender.sysctl.tcp_wmem", sizes);
                }
                let call = dice.one(&["2 KiB", "8 KiB", "64 KiB", "128 KiB"]);
                self.put(None, "flows.sender.call-size", call);
            }
            Fault::Pacing => {
                put(self, "flows.sender.socket.SO_MAX_PACING_RATE", rate(slower.max(0.2 * self.rate)));
            }
            Fault::SlowWriter => {
                put(self, "flows.sender.rate", rate(slower));
                let call = dice.one(&["1000 B", "4096 B", "8192 B", "16384 B", "65536 B", "131072 B"]);
                self.put(None, "flows.sender.call-size", call);
                self.transfer((slower * lasts / 8.0).max(100e3));
            }
            Fault::PausingWriter => put(self, "flows.sender.pauses", spread(dice, 5, lasts, 0.75)),
            Fault::Messages => {
                let size = dice.one(&["100 B", "500 B", "2000 B", "3000 B", "8000 B"]);
                let interval = dice.one(&["5 ms", "20 ms", "50 ms"]);
                self.put(None, "flows.messages.size", size);
                self.put(None, "flows.messages.count", "200");
                put(self, "flows.messages.interval", interval.to_owned());
                self.put(None, "flows.sender.socket.TCP_NODELAY", dice.happens(0.5).to_string());
            }
            Fault::Turns => {
                let response = dice.one(&[100.0, 900.0, 4e3, 20e3, 100e3]);
                let request = dice.one(&["50 B", "200 B", "1400 B", "8000 B"]);
                let think = dice.even(1e-3, 0.1);
                let each = self.rtt + think + response * 8.0 / self.rate;
                for (key, value) in [
                    ("path.between", "[\"sender\", \"receiver\"]".to_owned()),
                    ("flows.from", "receiver".to_owned()),
                    ("flows.to", "sender".to_owned()),
                    ("flows.requests.request", request.to_owned()),
                    ("flows.requests.response", bytes(response)),
                    ("flows.requests.count", format!("{}", (lasts / each).clamp(5.0, 400.0) as u64)),
                ] {
                    self.put(None, key, value);
                }
                let whose = dice.one(&["server-time", "client-time"]);
                put(self, &format!("flows.requests.{whose}"), micros(think));
            }
            Fault::SlowReader => {
                put(self, "flows.receiver.rate", rate(slower));
                let call = dice.one(&["4 KiB", "16 KiB", "64 KiB", "128 KiB"]);
                self.put(None, "flows.receiver.call-size", call);
                self.transfer((slower * lasts / 8.0).max(2e6));
                self.put(None, "hosts.receiver.sysctl.tcp_rmem", room(enough.max(300e3)));
            }
            Fault::PausingReader => {
                put(self, "flows.receiver.pauses", spread(dice, 3, lasts, 0.8));
                self.put(None, "hosts.receiver.sysctl.tcp_rmem", room(enough.max(200e3)));
            }
        }
    }
}

fn room(most: f64) -> String {
    format!("4096 131072 {}", most as u64)
}
