//! The paper's experiments: kernels, delays, streams, and tuned buffers.

use crate::PaperCase;

const FILE: &str = "scenarios/weigle/grid.toml";
const TEXT: &str = include_str!("../../../../scenarios/weigle/grid.toml");

/// A kernel, with the paper's name and slowpath's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub name: &'static str,
    pub base: &'static str,
}

/// The three kernels compared.
pub const KERNELS: [Kernel; 3] = [
    Kernel { name: "2.2.20-none", base: "2.2.20" },
    Kernel { name: "2.4.17-Auto", base: "2.4.17" },
    Kernel { name: "2.4.17-DRS", base: "2.4.17-drs" },
];
pub const NONE: usize = 0;
pub const AUTO: usize = 1;
pub const DRS: usize = 2;

/// The RTTs that the path adds, in microseconds.
pub const DELAYS: [u32; 4] = [500, 25_000, 50_000, 100_000];

/// Processes at each end, each with a connection.
pub const STREAMS: [u32; 4] = [1, 2, 4, 8];

/// Buffers, in bytes: 32 KiB to 32 MiB.
pub const SIZES: [u32; 11] = sizes(32 << 10);

/// The buffers of figure 5: 8 KiB to 64 MiB.
pub const ALL_SIZES: [u32; 14] = sizes(8 << 10);

const fn sizes<const N: usize>(first: u32) -> [u32; N] {
    let mut sizes = [first; N];
    let mut at = 1;
    while at < N {
        sizes[at] = 2 * sizes[at - 1];
        at += 1;
    }
    sizes
}

/// The buffers that were tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tuned {
    /// None: buffers and their limits have their defaults.
    Nothing,
    /// The kernel's limit.
    Kernel(u32),
    /// The kernel's limit, and each process sets both of its buffers to this size.
    Both(u32),
}

/// A size of a buffer in words.
pub fn size(bytes: u32) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// One experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Number in [`KERNELS`].
    pub kernel: usize,
    /// One of [`DELAYS`].
    pub delay: u32,
    /// One of [`STREAMS`].
    pub streams: u32,
    pub tuned: Tuned,
}

/// All of them, in the order of [`cases`].
pub fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for kernel in 0..KERNELS.len() {
        for delay in DELAYS {
            for streams in STREAMS {
                let mut add = |tuned| points.push(Point { kernel, delay, streams, tuned });
                add(Tuned::Nothing);
                // 2.2 never enlarges a buffer: one limit is as good as another.
                let most = SIZES[SIZES.len() - 1];
                for size in SIZES.into_iter().filter(|size| kernel != NONE || *size == most) {
                    add(Tuned::Kernel(size));
                }
                let figure_5 = kernel == AUTO && delay == DELAYS[0];
                for size in ALL_SIZES.into_iter().filter(|size| figure_5 || SIZES.contains(size)) {
                    add(Tuned::Both(size));
                }
            }
        }
    }
    points
}

/// The paper's experiments.
pub fn cases() -> impl Iterator<Item = PaperCase> {
    points().into_iter().map(Point::case)
}

/// The experiments in short: the command of each kernel and kind of tuning for one process at 25 ms, and how the others
/// differ from it.
pub fn described() -> Vec<(String, String)> {
    let tunings = [Tuned::Nothing, Tuned::Kernel(32 << 20), Tuned::Both(4 << 20)];
    let points = (0..KERNELS.len())
        .flat_map(|kernel| tunings.map(|tuned| Point { kernel, delay: DELAYS[1], streams: 1, tuned }.case()));
    let others = (
        "the others".to_owned(),
        "path.delay is half of the delay; flows.streams=N with flows.messages.count=128/N; sizes from 32 KiB to 32 MiB"
            .to_owned(),
    );
    points.map(|case| (case.name.clone(), case.command())).chain([others]).collect()
}

impl Point {
    /// Its scenario.
    pub fn case(self) -> PaperCase {
        let (kernel, half) = (KERNELS[self.kernel], self.delay / 2);
        let sets = vec![
            format!("hosts.sender.kernel={}", kernel.base),
            format!("hosts.receiver.kernel={}", kernel.base),
            format!("path.delay={half}us"),
            format!("flows.streams={}", self.streams),
            format!("flows.messages.count={}", 128 / self.streams),
        ];
        let mut case = PaperCase { name: self.name(), file: FILE, text: TEXT, sets, flow: 0 };
        if let Tuned::Kernel(most) | Tuned::Both(most) = self.tuned {
            // 2.2 has no TCP sysctls for this.
            let first = (self.kernel != NONE).then_some([87_380, 16_384]);
            for host in ["sender", "receiver"] {
                case.bound_buffers(host, most.into(), first);
            }
        }
        if let Tuned::Both(size) = self.tuned {
            case.set_buffers(size.into());
        }
        case
    }

    fn name(self) -> String {
        let kernel = KERNELS[self.kernel].name;
        let tuned = match self.tuned {
            Tuned::Nothing => "no tuning".to_owned(),
            Tuned::Kernel(bound) => format!("kernel up to {}", size(bound)),
            Tuned::Both(set) => format!("user and kernel, {}", size(set)),
        };
        let delay = f64::from(self.delay) / 1000.0;
        let processes = if self.streams == 1 { "process" } else { "processes" };
        format!("{kernel}, {delay} ms, {} {processes}, {tuned}", self.streams)
    }
}
