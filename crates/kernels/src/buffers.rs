//! The size of a buffer and the window it gives: each step with its kernel function and formula.
//!
//! The figures come from [`slowpath_tcp::buffers`], which runs a connection; this adds the words. `needed` is the
//! inverse: which size to request for a window or for data in flight as large as a path holds.

mod steps;

pub use slowpath_tcp::sysctl::BufferSizes;
pub use steps::Step;

use crate::profile::KernelProfile;
use slowpath_tcp::Settings;
use slowpath_tcp::buffers::{ReceiveBuffer, SendBuffer};
use slowpath_tcp::choices::{ReceiveTuning, SendTuning};
use slowpath_tcp::socket::PacketMemory;

/// The host and its route.
#[derive(Clone, Debug)]
pub struct Host {
    settings: Settings,
    truesize: u32,
    takes: &'static str,
}

/// The headers of a segment without options: IPv4 and TCP.
const HEADERS: u32 = 40;
/// The timestamps option, padded.
const TIMESTAMPS: u32 = 12;

impl Host {
    /// A host with this kernel, on a route whose full segments carry `mss` bytes of payload. They are charged
    /// `truesize`, or what the kernel's drivers usually allocate.
    pub fn new(kernel: &KernelProfile, mss: u32, truesize: Option<u32>) -> Self {
        let stamps = if kernel.sysctls.tcp_timestamps == 0 { 0 } else { TIMESTAMPS };
        let mut choices = kernel.tcp.clone();
        choices.super_packets &= kernel.transmit.gso;
        let settings = Settings {
            choices,
            sysctls: kernel.sysctls.clone(),
            mtu: mss + stamps + HEADERS,
            ip_header: 20,
            gso_max: (65_535, 65_536),
            route: Default::default(),
        };
        let layout =
            PacketMemory::of_kernel(settings.choices.buffer_memory, settings.mtu, kernel.receive.gro);
        let usual = layout.of_segment(mss, HEADERS + stamps);
        let takes = match (truesize, layout) {
            (Some(_), _) => "as given",
            (_, PacketMemory::Frames(_)) => {
                "room for a frame, as the driver asked for it, and struct sk_buff"
            }
            (_, PacketMemory::Ring(_)) => {
                "half a page of the card's ring, a small head and struct sk_buff; merged with others (GRO), less"
            }
            _ => "the buffer as kmalloc rounds it, and struct sk_buff",
        };
        Self { settings, truesize: truesize.unwrap_or(usual), takes }
    }

    /// A receive buffer with this `SO_RCVBUF`; `None`: not set.
    pub fn receive(&self, asked: Option<i64>) -> ReceiveBuffer {
        ReceiveBuffer::of_segments(&self.settings, asked, self.truesize)
    }

    /// A send buffer with this `SO_SNDBUF`; `None`: not set.
    pub fn send(&self, asked: Option<i64>) -> SendBuffer {
        SendBuffer::of(&self.settings, asked)
    }

    /// The minimum `SO_RCVBUF` for a window of `window` bytes, with `rmem_max` raised to it if necessary; `None` if no
    /// value is enough.
    pub fn receive_needed(&self, window: u64) -> Option<u32> {
        least(|asked| {
            let mut host = self.clone();
            let most = &mut host.settings.sysctls.rmem_max;
            *most = asked.max(*most);
            u64::from(host.receive(Some(asked.into())).most_window) >= window
        })
    }

    /// The minimum `SO_SNDBUF` for `flight` bytes in flight, with `wmem_max` raised to it if necessary.
    pub fn send_needed(&self, flight: u64) -> Option<u32> {
        least(|asked| {
            let mut host = self.clone();
            let most = &mut host.settings.sysctls.wmem_max;
            *most = asked.max(*most);
            host.send(Some(asked.into())).holds >= flight
        })
    }

    /// The minimum `tcp_rmem[2]` for a window of `window` bytes without `SO_RCVBUF`; `rmem_max` if that limits
    /// autotuning; `None` without autotuning.
    pub fn tuned_receive_needed(&self, window: u64) -> Option<u32> {
        least(|most| {
            let mut host = self.clone();
            let sysctls = &mut host.settings.sysctls;
            sysctls.tcp_rmem.max = most;
            if host.is_tuned_to_rmem_max() {
                host.settings.sysctls.rmem_max = most;
            }
            u64::from(host.receive(None).most_window) >= window
        })
    }

    /// Whether `rmem_max` limits autotuning instead of `tcp_rmem` (LANL's patch).
    pub fn is_tuned_to_rmem_max(&self) -> bool {
        self.settings.choices.receive_tuning == ReceiveTuning::SenderWindow
    }

    /// The minimum `tcp_wmem[2]` for `flight` bytes in flight.
    pub fn tuned_send_needed(&self, flight: u64) -> Option<u32> {
        least(|most| {
            let mut host = self.clone();
            host.settings.sysctls.tcp_wmem.max = most;
            host.send(None).holds >= flight
        })
    }

    /// Whether autotuning grows the receive buffer, and the send buffer.
    pub fn tunes(&self) -> [bool; 2] {
        let choices = &self.settings.choices;
        let receive = match choices.receive_tuning {
            ReceiveTuning::Fixed | ReceiveTuning::Memory => false,
            ReceiveTuning::RightSizing | ReceiveTuning::RightSizingAhead | ReceiveTuning::Growing => {
                self.settings.sysctls.tcp_moderate_rcvbuf
            }
            ReceiveTuning::SenderWindow | ReceiveTuning::Largest => true,
        };
        [receive, matches!(choices.send_tuning, SendTuning::Windows(_))]
    }
}

/// The minimum sufficient number that `setsockopt` accepts; `None` if none is sufficient.
fn least(is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (0, i32::MAX as u32);
    if !is_enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn host(name: &str) -> Host {
        Host::new(&registry::named(name).unwrap(), 1448, None)
    }

    #[test]
    fn each_step_continues_an_earlier_one() {
        for kernel in registry::all() {
            let host = Host::new(&kernel, 1448, None);
            for asked in [None, Some(0), Some(65_536), Some(-1)] {
                for steps in [host.receive_steps(asked), host.send_steps(asked)] {
                    assert!(steps.len() >= 4, "{steps:?}");
                    for (at, step) in steps.iter().enumerate().skip(1) {
                        assert!(step.function.contains(['.', ':', ',']), "{step:?}");
                        let came = steps[..at].iter().any(|before| Some(before.to) == step.from);
                        let of_segment = step.from == Some(1448);
                        let first = step.name == "buffer" || step.name == "window scale in the SYN";
                        assert!(came || of_segment || first, "{}: {step:?}", kernel.name);
                    }
                }
            }
        }
    }

    /// ubik IV-A and B: the request needed for the same window differs by kernel.
    #[test]
    fn needed_buffer_is_the_minimum() {
        for name in ["2.2.20", "2.4.17", "2.6.14", "6.18"] {
            let host = host(name);
            let needed = host.receive_needed(5_000_000).unwrap();
            let window = |asked: u32| {
                let mut host = host.clone();
                host.settings.sysctls.rmem_max = u32::MAX;
                host.settings.sysctls.tcp_rmem.max = u32::MAX;
                host.receive(Some(asked.into())).most_window
            };
            assert!(window(needed) >= 5_000_000 && window(needed - 8192) < 5_000_000, "{name}: {needed}");
            assert!(host.receive_needed(u64::from(u32::MAX)).is_none());
            let sent = host.send_needed(5_000_000).unwrap();
            assert!(sent > 3_000_000 && sent < 5_000_000, "{name}: {sent}");
        }
        assert_eq!(host("2.4.17").tuned_receive_needed(5_000_000), None);
        assert!(host("6.18").tuned_receive_needed(5_000_000).is_some_and(|most| most > 5_000_000));
        // The same request gives a window half as large again in 2.4, and as large in 2.2.
        let [old, newer] = ["2.2.20", "2.4.17"].map(|name| host(name).receive_needed(6_000_000).unwrap());
        assert!((5_990_000..6_010_000).contains(&old) && (3_990_000..4_010_000).contains(&newer));
    }

    /// What 4.18 to 6.18 make of the same buffers.
    #[test]
    fn buffers_since_4_18() {
        let wide = |name: &str| {
            let mut host = host(name);
            host.settings.sysctls.rmem_max = 4 << 20;
            host
        };
        // The first window of SO_RCVBUF = 2 MiB: twenty segments, what the field holds, and all of it.
        let first = |name: &str| wide(name).receive(Some(2 << 20)).first_window;
        assert!((28_960..=29_312).contains(&first("4.18")), "{}", first("4.18"));
        for name in ["5.14", "6.1", "6.8"] {
            assert!((65_000..=65_664).contains(&first(name)), "{name}: {}", first(name));
        }
        assert!(first("6.12") > 2_000_000);
        // The largest window of SO_RCVBUF = 64 KiB: half the memory, a quarter, and the measured share of
        // segments that are not merged.
        let most = |name: &str| host(name).receive(Some(65_536)).most_window;
        let [old, quarter, measured] = [most("6.1"), most("6.6"), most("6.12")];
        assert!((60_000..=65_664).contains(&old), "{old}");
        assert!(quarter * 2 < old + 2_000, "{quarter} of {old}");
        assert!(measured > quarter + 20_000, "{measured} and {quarter}");
        // The least buffer of 4.18, and the memory of a segment to send.
        assert_eq!(host("4.18").receive(None).made, 367_360);
        assert_eq!(host("5.14").receive(None).made, 131_072);
        assert_eq!(host("6.1").send(None).truesize, 1448 + 1280);
        assert_eq!(host("6.6").send(None).truesize, 1448 + 832);
    }
}
