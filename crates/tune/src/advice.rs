//! What buffers a transfer needs, by the arithmetic of a kernel; what they cost, and when they do harm. Pure.
//!
//! The bandwidth-delay product is what the empty pipe holds. ubik V: a window slightly larger than that gives the whole rate, and
//! a much larger one only fills queues. Two limits are given for each buffer: the least, with which the window reaches an eighth
//! more than the product, computed by the model of the kernel ([`slowpath_kernels::buffers`]); and the one to set, which leaves
//! room for data behind a loss and behind a queue ([`arithmetic::buffer_for`], as `doctor` does).
//!
//! References: ubik IV-A, IV-B, V; `tcp_init_mem`, `tcp_rcvbuf_grow`, `tcp_sndbuf_expand` (6.18); ip-sysctl.rst.

use slowpath_kernels::buffers::Host;
use slowpath_kernels::{KernelProfile, registry};
use slowpath_model::{Bytes, Rate};
use slowpath_remedies::{Change, Setting, Target, arithmetic};
use std::time::Duration;

/// The part of the product by which a window is larger than the empty pipe.
const MARGIN: u64 = 8;
/// Payload of a full segment on Ethernet, with timestamps.
const MSS: u32 = 1448;
/// Sysctls of buffers are of type int; this is the largest of whole MiB.
const MOST: u64 = (i32::MAX as u64) >> 20 << 20;
/// The kernel lets TCP take this part of the memory before it is under pressure (`tcp_init_mem`, 6.18).
const PART_OF_MEMORY: u64 = 16;

/// The transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The rate wanted from all connections together.
    pub rate: Rate,
    /// The RTT.
    pub rtt: Duration,
    /// Parallel connections, at least one.
    pub streams: u32,
    /// The memory of the host; that of this one if not given.
    pub memory: Option<Bytes>,
}

/// What is known of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The kernel's release: `6.18.1`.
    pub release: String,
    /// The size of a page.
    pub page: u64,
    /// Sysctls with their values, as far as they could be read.
    pub sysctls: Vec<(&'static str, String)>,
}

/// The sysctls that matter.
pub const READ: [&str; 5] = [RMEM, WMEM, RMEM_MAX, WMEM_MAX, MEM];
const RMEM: &str = "net.ipv4.tcp_rmem";
const WMEM: &str = "net.ipv4.tcp_wmem";
const RMEM_MAX: &str = "net.core.rmem_max";
const WMEM_MAX: &str = "net.core.wmem_max";
const MEM: &str = "net.ipv4.tcp_mem";

/// The numbers for a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// What was asked for.
    pub transfer: Transfer,
    /// The running kernel's release.
    pub release: String,
    /// The kernel whose arithmetic this is: `linux-6.18`.
    pub kernel: String,
    /// The bandwidth-delay product.
    pub product: Bytes,
    /// The part of each connection.
    pub each: Bytes,
    /// Slightly more than that: the window that each connection needs.
    pub window: Bytes,
    /// The receive buffer of a connection.
    pub receive: Buffer,
    /// The send buffer of a connection.
    pub send: Buffer,
    /// What to set, and what suffices.
    pub settings: Vec<Needed>,
    /// What all connections cost.
    pub memory: Memory,
    /// What windows as large as the limits let them be would add to the queue of the path.
    pub excess: Bytes,
    /// How long that takes at the rate.
    pub delay: Duration,
    /// If one connection cannot have so large a window: how many connections can.
    pub streams_needed: Option<u64>,
}

/// A buffer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The limit to set.
    pub limit: Bytes,
    /// The window, or the data in flight, that this limit allows.
    pub allows: Bytes,
    /// The smallest limit that allows the window; `None` if none does.
    pub least: Option<Bytes>,
    /// What the limit of now allows; `None` if it is not known.
    pub allows_now: Option<Bytes>,
    /// What a program has to ask for that sets the buffer itself (`SO_RCVBUF`, `SO_SNDBUF`); `None` if no value suffices.
    pub ask: Option<Bytes>,
}

/// A setting that the transfer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// Whether it is the receiver's, or the sender's.
    pub is_receivers: bool,
    /// Whether only programs need it that set their buffers themselves.
    pub is_for_own_buffers: bool,
    /// The setting, its value now if that is known, and the value that suffices.
    pub change: Change,
    /// Whether the value of now suffices.
    pub suffices: bool,
}

/// Memory of all connections together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What they take while the pipe is full: with the overhead of packets, twice the data.
    pub usual: Bytes,
    /// What they take if each receive buffer is full.
    pub most: Bytes,
    /// Above this, TCP is under memory pressure (the second number of `tcp_mem`); `None` if it is not known.
    pub pressure: Option<Bytes>,
    /// How many connections with full buffers stay below it.
    pub fits: Option<u64>,
}

/// Why there are no numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNumbers {
    /// The kernel is older than all that are modelled.
    #[error(
        "the arithmetic of Linux {release} is not known; `slowpath explain buffer` has that of the kernels that \
             `slowpath kernels` lists"
    )]
    UnknownKernel {
        /// The running kernel's release.
        release: String,
    },
}

/// The newest modelled kernel that is not newer than a release.
fn profile(release: &str) -> Option<KernelProfile> {
    let wanted = version(release)?;
    let known = registry::all().into_iter().filter_map(|kernel| {
        let version =
            kernel.name.strip_prefix("linux-").filter(|name| !name.contains(char::is_alphabetic))?;
        Some((self::version(version)?, kernel))
    });
    known
        .filter(|(version, _)| *version <= wanted)
        .max_by_key(|(version, _)| *version)
        .map(|(_, kernel)| kernel)
}

/// The first two numbers of a release, and the third of kernels before 3.0, where it was the version.
fn version(release: &str) -> Option<[u32; 3]> {
    let mut parts = release.split(['.', '-', '+', ' ']).map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    let patch = if major < 3 { parts.next().flatten().unwrap_or(0) } else { 0 };
    Some([major, minor, patch])
}

impl Known {
    fn value(&self, name: &str) -> Option<&str> {
        self.sysctls.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// A number of a sysctl.
    fn part(&self, name: &str, place: usize) -> Option<u64> {
        self.value(name)?.split_whitespace().nth(place)?.parse().ok()
    }
}

impl Numbers {
    /// The numbers for a transfer by a host.
    ///
    /// # Errors
    /// If its kernel is older than all that are modelled.
    pub fn of(transfer: Transfer, known: &Known) -> Result<Self, NoNumbers> {
        let unknown = || NoNumbers::UnknownKernel { release: known.release.clone() };
        let mut kernel = profile(&known.release).ok_or_else(unknown)?;
        let streams = u64::from(transfer.streams.max(1));
        let product = arithmetic::window_for(transfer.rate, transfer.rtt);
        let each = Bytes::new(product.get().div_ceil(streams));
        let window = Bytes::new(each.get().saturating_add(each.get().div_ceil(MARGIN)));
        let limit = Bytes::new(arithmetic::buffer_for(each).get().min(MOST));
        let name = kernel.name.clone();
        let mut allows = |receive: u64, send: u64| {
            let clamp = |limit: u64| u32::try_from(limit.min(MOST)).unwrap_or(u32::MAX);
            kernel.sysctls.tcp_rmem.max = clamp(receive);
            kernel.sysctls.tcp_wmem.max = clamp(send);
            let host = Host::new(&kernel, MSS, None);
            (Bytes::new(host.receive(None).most_window.into()), Bytes::new(host.send(None).holds), host)
        };
        let [receive_now, send_now] = [RMEM, WMEM].map(|name| known.part(name, 2));
        let (window_now, flight_now, _) = allows(receive_now.unwrap_or(0), send_now.unwrap_or(0));
        let (most_window, most_flight, host) = allows(limit.get(), limit.get());
        let size = |size: Option<u32>| size.map(|size| Bytes::new(size.into()));
        let receive = Buffer {
            limit,
            allows: most_window,
            least: size(host.tuned_receive_needed(window.get())),
            allows_now: receive_now.map(|_| window_now),
            ask: size(host.receive_needed(window.get())),
        };
        let send = Buffer {
            limit,
            allows: most_flight,
            least: size(host.tuned_send_needed(window.get())),
            allows_now: send_now.map(|_| flight_now),
            ask: size(host.send_needed(window.get())),
        };
        let bound = most_window.min(most_flight);
        // Larger limits of now stay.
        let kept = |buffer: &Buffer| buffer.allows.max(buffer.allows_now.unwrap_or_default());
        let reached = kept(&receive).min(kept(&send));
        let excess = Bytes::new(reached.get().saturating_sub(each.get()).saturating_mul(streams));
        let pressure = match transfer.memory {
            Some(memory) => Some(Bytes::new(memory.get() / PART_OF_MEMORY)),
            None => known.part(MEM, 1).map(|pages| Bytes::new(pages.saturating_mul(known.page))),
        };
        let memory = Memory {
            usual: Bytes::new(product.get().saturating_mul(arithmetic::BUFFER_PER_WINDOW)),
            most: Bytes::new(receive.limit.get().saturating_mul(streams)),
            pressure,
            fits: pressure.map(|pressure| pressure.get() / receive.limit.get().max(1)),
        };
        let settings = settings(known, &receive, &send);
        let streams_needed = (bound < each).then(|| product.get().div_ceil(bound.get().max(1)));
        Ok(Self {
            transfer,
            release: known.release.clone(),
            kernel: name,
            product,
            each,
            window,
            receive,
            send,
            settings,
            memory,
            excess,
            delay: transfer.rate.time_for(excess).unwrap_or_default(),
            streams_needed,
        })
    }
}

fn settings(known: &Known, receive: &Buffer, send: &Buffer) -> Vec<Needed> {
    let own = |buffer: &Buffer| buffer.ask.map(|ask| ask.get().to_string());
    let wanted = [
        (RMEM, true, false, Some(format!("4096 131072 {}", receive.limit.get()))),
        (WMEM, false, false, Some(format!("4096 16384 {}", send.limit.get()))),
        (RMEM_MAX, true, true, own(receive)),
        (WMEM_MAX, false, true, own(send)),
    ];
    let needed = wanted.into_iter().filter_map(|(name, is_receivers, is_for_own_buffers, then)| {
        let then = then?;
        let now = known.value(name).map(str::to_owned);
        let setting = Setting::Sysctl(name.to_owned());
        let mut change = Change { setting, now: now.clone(), then, target: Target::AtLeast };
        // Numbers that are larger already stay.
        if let Some(raised) = now.as_deref().and_then(|now| change.onto(now)) {
            change.then = raised;
        }
        let suffices = now.as_ref().is_some_and(|now| change.setting.canonical(now) == change.then);
        Some(Needed { is_receivers, is_for_own_buffers, change, suffices })
    });
    needed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(release: &str) -> Known {
        let sysctls = [
            (RMEM, "4096 131072 6291456"),
            (WMEM, "4096 16384 4194304"),
            (RMEM_MAX, "212992"),
            (WMEM_MAX, "212992"),
            (MEM, "190000 256000 380000"),
        ];
        let sysctls = sysctls.map(|(name, value)| (name, value.to_owned())).to_vec();
        Known { release: release.to_owned(), page: 4096, sysctls }
    }

    fn transfer(rate: u64, rtt: u64, streams: u32) -> Transfer {
        Transfer { rate: Rate::mbit(rate), rtt: Duration::from_millis(rtt), streams, memory: None }
    }

    fn numbers(transfer: Transfer) -> Numbers {
        Numbers::of(transfer, &known("6.18.3-generic")).expect("it is modelled")
    }

    #[test]
    fn ubiks_path_needs_what_ubik_says() {
        // 1000 Mbit/s over 40 ms holds 5 MB (ubik V).
        let one = numbers(transfer(1000, 40, 1));
        assert_eq!((one.product, one.each), (Bytes::new(5_000_000), Bytes::new(5_000_000)));
        assert_eq!(one.window, Bytes::new(5_625_000));
        // As doctor computes it.
        assert_eq!([one.receive.limit, one.send.limit], [Bytes::kib(20 << 10); 2]);
        for buffer in [&one.receive, &one.send] {
            assert!(buffer.allows >= one.window, "{buffer:?}");
            let least = buffer.least.expect("some limit suffices");
            assert!(least <= buffer.limit && least >= one.window, "{buffer:?}");
            assert!(
                buffer.allows_now.is_some_and(|now| now < one.window),
                "6 and 4 MiB are too little: {buffer:?}"
            );
        }
        let shown: Vec<String> = one
            .settings
            .iter()
            .map(|one| format!("{}: {:?} {}", one.change.setting, one.suffices, one.change.then))
            .collect();
        assert_eq!(
            shown[..2],
            [
                "sysctl net.ipv4.tcp_rmem: false 4096 131072 20971520",
                "sysctl net.ipv4.tcp_wmem: false 4096 16384 20971520",
            ]
        );
        // What the kernel makes of the least limit is a window that is just large enough.
        let mut kernel = profile("6.18").expect("modelled");
        let least = one.receive.least.expect("some limit suffices").get() as u32;
        for (limit, is_enough) in [(least, true), (least - 4096, false)] {
            kernel.sysctls.tcp_rmem.max = limit;
            let reached = u64::from(Host::new(&kernel, MSS, None).receive(None).most_window);
            assert_eq!(reached >= one.window.get(), is_enough, "{limit}: {reached}");
        }
    }

    #[test]
    fn streams_share_the_product_and_add_up_in_memory() {
        let (one, four) = (numbers(transfer(10_000, 80, 1)), numbers(transfer(10_000, 80, 4)));
        assert_eq!((one.product, four.product), (Bytes::new(100_000_000), Bytes::new(100_000_000)));
        assert_eq!(four.each, Bytes::new(25_000_000));
        assert!(four.receive.limit < one.receive.limit);
        assert_eq!(four.memory.most.get(), four.receive.limit.get() * 4);
        assert_eq!(four.memory.pressure, Some(Bytes::new(256_000 * 4096)));
        assert_eq!(four.memory.fits, Some(256_000 * 4096 / four.receive.limit.get()));
        let small = Transfer { memory: Some(Bytes::new(1 << 30)), ..transfer(10_000, 80, 4) };
        assert_eq!(numbers(small).memory.pressure, Some(Bytes::new(1 << 26)));
    }

    #[test]
    fn large_enough_settings_stay() {
        let little = numbers(transfer(10, 5, 1));
        let sizes: Vec<(bool, &str)> =
            little.settings.iter().map(|one| (one.suffices, one.change.then.as_str())).collect();
        assert_eq!(
            sizes,
            [(true, "4096 131072 6291456"), (true, "4096 16384 4194304"), (true, "212992"), (true, "212992"),]
        );
        assert_eq!(little.streams_needed, None);
    }

    #[test]
    fn a_window_that_tcp_cannot_express_needs_several_connections() {
        // 10 GB in one connection; a window has at most 1 GiB.
        let huge = numbers(transfer(400_000, 200, 1));
        assert_eq!(huge.receive.limit.get(), MOST);
        assert!(huge.receive.least.is_none() && huge.receive.ask.is_none(), "{huge:#?}");
        let needed = huge.streams_needed.expect("one is not enough") as u32;
        assert!((10..=40).contains(&needed), "{needed}");
        assert_eq!(numbers(transfer(400_000, 200, needed)).streams_needed, None);
    }

    #[test]
    fn a_kernel_is_taken_for_the_newest_one_before_it() {
        for (release, name) in [
            ("6.18.44", Some("linux-6.18")),
            ("7.2.0-rc1", Some("linux-6.18")),
            ("6.17.9", Some("linux-6.12")),
            ("5.15.0-91-generic", Some("linux-5.15")),
            ("2.6.32", Some("linux-2.6.14")),
            ("2.2.1", None),
            ("unknown", None),
        ] {
            assert_eq!(profile(release).map(|kernel| kernel.name).as_deref(), name, "{release}");
        }
        assert!(Numbers::of(transfer(10, 5, 1), &known("1.0")).is_err());
        let unread = Known { sysctls: Vec::new(), ..known("6.18") };
        let blind = Numbers::of(transfer(1000, 40, 1), &unread).expect("modelled");
        assert_eq!((blind.receive.allows_now, blind.memory.pressure), (None, None));
        assert!(blind.settings.iter().all(|one| !one.suffices && one.change.now.is_none()));
    }
}
