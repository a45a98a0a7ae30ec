//! `slowpath explain buffer`: the window that each kernel derives from a buffer's size (ubik IV-A and B), as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_kernels::KernelProfile;
use slowpath_kernels::buffers::{BufferSizes, Host, Step};
use slowpath_model::{Bytes, Rate, nanos};
use std::time::Duration;

/// From a buffer's size to the window, kernel by kernel.
#[derive(Serialize, JsonSchema)]
pub struct Buffer {
    /// `slowpath/explain-buffer/1`.
    schema: &'static str,
    /// The size set with `SO_RCVBUF` and `SO_SNDBUF`; absent if a program sets none.
    pub asked_bytes: Option<u32>,
    /// Payload of a full segment.
    pub mss: u32,
    /// The path's RTT, where it was given.
    pub rtt_ns: Option<u64>,
    /// Its rate, where it was given.
    pub rate_bit_per_s: Option<u64>,
    /// Its bandwidth-delay product.
    pub bdp_bytes: Option<u64>,
    /// The kernels, in the order asked for.
    pub kernels: Vec<Kernel>,
}

/// One kernel's arithmetic.
#[derive(Serialize, JsonSchema)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// `SO_RCVBUF`, or the buffer that `tcp_rmem` bounds.
    pub receive: Way,
    /// `SO_SNDBUF`, or the buffer that `tcp_wmem` bounds.
    pub send: Way,
}

/// One of the two buffers.
#[derive(Serialize, JsonSchema)]
pub struct Way {
    /// Step by step.
    pub steps: Vec<OneStep>,
    /// What `getsockopt` returns after the option is set.
    pub getsockopt_bytes: u64,
    /// The buffer at its largest, in bytes of memory.
    pub buffer_bytes: u64,
    /// The shift count in the SYN; absent for a send buffer, and without window scaling.
    pub window_scale: Option<u8>,
    /// The first window that is advertised once the connection is made; absent for a send buffer.
    pub first_bytes: Option<u64>,
    /// The largest window; for a send buffer, the most that can be in flight in separate segments.
    pub most_bytes: u64,
    /// The rate of one such window per RTT; absent without an RTT.
    pub rate_bit_per_s: Option<u64>,
    /// The settings that the path needs; absent without a rate.
    pub needed: Option<Needed>,
}

/// The settings that a path needs.
#[derive(Serialize, JsonSchema)]
pub struct Needed {
    /// Whether the current settings are enough.
    pub is_enough: bool,
    /// The smallest size that the program has to set; absent if no value is enough.
    pub ask_bytes: Option<u32>,
    /// The sysctl that has to be raised for that, as for `sysctl -w`; absent if none has to be.
    pub ask_sysctl: Option<String>,
    /// The limit that autotuning needs, for a program that sets no size; absent if the kernel's autotuning cannot reach
    /// it.
    pub tuned_bytes: Option<u32>,
    /// The sysctl that has to be raised for that, as for `sysctl -w`; absent if none has to be.
    pub tuned_sysctl: Option<String>,
}

/// A step.
#[derive(Serialize, JsonSchema)]
pub struct OneStep {
    /// The name of its result.
    pub name: &'static str,
    /// The kernel's function, with its file.
    pub function: &'static str,
    /// Its formula, in numbers.
    pub formula: String,
    /// Its input, if that is the result of an earlier step.
    pub from: Option<u64>,
    /// Its output.
    pub to: u64,
    /// Its unit: `B`, `shift`, or `of 256`.
    pub unit: &'static str,
}

impl From<Step> for OneStep {
    fn from(step: Step) -> Self {
        let Step { name, function, formula, from, to, unit } = step;
        Self { name, function, formula, from, to, unit }
    }
}

/// The given parts of the path.
#[derive(Clone, Copy)]
struct Path {
    rtt: Option<Duration>,
    holds: Option<u64>,
}

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct BufferQuestion {
    /// The size that a program sets with `SO_RCVBUF` and `SO_SNDBUF`; `None` if it sets none.
    pub size: Option<u32>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Memory that the receiver charges for a full segment, if known.
    pub truesize: Option<u32>,
    /// The path's RTT.
    pub rtt: Option<Duration>,
    /// The path's rate.
    pub rate: Option<Rate>,
}

impl Buffer {
    /// The arithmetic of these kernels.
    pub fn of(args: &BufferQuestion, kernels: &[KernelProfile]) -> Self {
        let holds = args.rate.zip(args.rtt).map(|(rate, rtt)| rate.amount_in(rtt).get());
        let path = Path { rtt: args.rtt, holds };
        let explained = kernels.iter().map(|kernel| {
            let host = Host::new(kernel, args.mss, args.truesize);
            let asked = args.size.map(i64::from);
            Kernel {
                name: kernel.name.clone(),
                receive: receive(&host, kernel, asked, path),
                send: send(&host, kernel, asked, path),
            }
        });
        Self {
            schema: "slowpath/explain-buffer/1",
            asked_bytes: args.size,
            mss: args.mss,
            rtt_ns: args.rtt.map(nanos),
            rate_bit_per_s: args.rate.map(Rate::get),
            bdp_bytes: holds,
            kernels: explained.collect(),
        }
    }
}

fn receive(host: &Host, kernel: &KernelProfile, asked: Option<i64>, path: Path) -> Way {
    let buffer = host.receive(asked);
    let most = u64::from(buffer.most_window);
    let sysctls = &kernel.sysctls;
    Way {
        steps: host.receive_steps(asked).into_iter().map(OneStep::from).collect(),
        getsockopt_bytes: buffer.getsockopt.unsigned_abs(),
        buffer_bytes: buffer.most.into(),
        window_scale: buffer.scale.map(|(_, shift)| shift),
        first_bytes: Some(buffer.first_window.into()),
        most_bytes: most,
        rate_bit_per_s: rate(most, path),
        needed: path.holds.map(|holds| {
            let ask = host.receive_needed(holds);
            let tuned = host.tunes()[0].then(|| host.tuned_receive_needed(holds)).flatten();
            Needed {
                is_enough: most >= holds,
                ask_bytes: ask,
                ask_sysctl: ask
                    .filter(|ask| *ask > sysctls.rmem_max)
                    .map(|ask| format!("net.core.rmem_max={ask}")),
                tuned_bytes: tuned,
                tuned_sysctl: tuned.and_then(|most| match host.is_tuned_to_rmem_max() {
                    true => (most > sysctls.rmem_max).then(|| format!("net.core.rmem_max={most}")),
                    false => raised("tcp_rmem", sysctls.tcp_rmem, most),
                }),
            }
        }),
    }
}

fn send(host: &Host, kernel: &KernelProfile, asked: Option<i64>, path: Path) -> Way {
    let buffer = host.send(asked);
    let sysctls = &kernel.sysctls;
    Way {
        steps: host.send_steps(asked).into_iter().map(OneStep::from).collect(),
        getsockopt_bytes: buffer.getsockopt.unsigned_abs(),
        buffer_bytes: buffer.most.into(),
        window_scale: None,
        first_bytes: None,
        most_bytes: buffer.holds,
        rate_bit_per_s: rate(buffer.holds, path),
        needed: path.holds.map(|holds| {
            let ask = host.send_needed(holds);
            let tuned = host.tunes()[1].then(|| host.tuned_send_needed(holds)).flatten();
            Needed {
                is_enough: buffer.holds >= holds,
                ask_bytes: ask,
                ask_sysctl: ask
                    .filter(|ask| *ask > sysctls.wmem_max)
                    .map(|ask| format!("net.core.wmem_max={ask}")),
                tuned_bytes: tuned,
                tuned_sysctl: tuned.and_then(|most| raised("tcp_wmem", sysctls.tcp_wmem, most)),
            }
        }),
    }
}

/// The `sysctl -w` argument that raises the third number of a sysctl to `most`, if it is lower.
fn raised(name: &str, sizes: BufferSizes, most: u32) -> Option<String> {
    (most > sizes.max).then(|| format!("net.ipv4.{name}={} {} {most}", sizes.min, sizes.default))
}

fn rate(bytes: u64, path: Path) -> Option<u64> {
    Rate::of(Bytes::new(bytes), path.rtt?).map(Rate::get)
}
