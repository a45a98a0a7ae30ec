//! The probe: loaded, attached, and read.

use crate::drops::Reasons;
use crate::error::LiveError;
use crate::flows::{Flows, Way};
use crate::object;
use crate::raw::{Look, REASONS};
use crate::record::{Config, Exact, NETNSES, Softirqs, Totals, Waits};
use crate::ring::Ring;
use crate::stamps::{Stamps, are_made_before_queue, tai_minus_realtime_ns, tick_ns};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{FuncProto, Typedef};
use libbpf_rs::{Link, Object};
use slowpath_bpf::{Cost, program};
use slowpath_files::need_descriptors;

/// Which flows are watched. A flow has to match everything that is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Flows with this port at either end.
    pub port: Option<u16>,
    /// Sockets in one of the network namespaces with these inodes; zeros are unused, and come last.
    pub netns: [u32; NETNSES],
    /// Each segment is also found by its sequence numbers instead of its timestamp: an oracle, which costs a table
    /// lookup for every packet of the host.
    pub exact: bool,
    /// Flows are read one by one, as where the kernel refuses to iterate over them: for tests.
    pub one_by_one: bool,
}

impl Filter {
    /// Sockets in these network namespaces; no more than [`NETNSES`].
    pub fn of_netns(asked: &[u32]) -> Self {
        let mut netns = [0; NETNSES];
        netns.iter_mut().zip(asked).for_each(|(into, asked)| *into = *asked);
        Self { netns, ..Self::default() }
    }

    /// Whether all sockets of this network namespace are watched.
    pub fn has_all_of(&self, netns: u32) -> bool {
        self.port.is_none() && (self.netns[0] == 0 || self.netns.contains(&netns))
    }
}

/// A hook of the probe.
struct Hook {
    program: &'static str,
    tracepoint: &'static str,
    /// What is not seen without it; `None` if nothing works without it.
    without: Option<&'static str>,
}

/// Files that it has open at once, some of them while it is loaded: maps, programs and their links.
const DESCRIPTORS: u32 = 64;
const HOOKS: [Hook; 13] = [
    Hook { program: "slowpath_direct", tracepoint: "tcp_probe", without: None },
    Hook { program: "slowpath_backlog", tracepoint: "tcp_probe", without: None },
    Hook {
        program: "slowpath_read",
        tracepoint: "tcp_rcv_space_adjust",
        without: Some("how long data waited to be read, and the reader for a CPU"),
    },
    Hook {
        program: "slowpath_grow",
        tracepoint: "tcp_rcvbuf_grow",
        without: Some("when exactly receive buffers grew: reported with the next read"),
    },
    Hook {
        program: "slowpath_state_direct",
        tracepoint: "tcp_cong_state_set",
        without: Some("timeouts and recoveries, and those that were spurious"),
    },
    Hook {
        program: "slowpath_state_backlog",
        tracepoint: "tcp_cong_state_set",
        without: Some("timeouts and recoveries, and those that were spurious"),
    },
    Hook { program: "slowpath_again_direct", tracepoint: "tcp_retransmit_skb", without: Some(SIZES) },
    Hook { program: "slowpath_again_backlog", tracepoint: "tcp_retransmit_skb", without: Some(SIZES) },
    Hook {
        program: "slowpath_close",
        tracepoint: "inet_sock_set_state",
        without: Some("the end of a stream: a byte too much is counted as written"),
    },
    Hook {
        program: "slowpath_end",
        tracepoint: "tcp_destroy_sock",
        without: Some("flows that end between two looks"),
    },
    Hook { program: "slowpath_raise", tracepoint: "softirq_raise", without: Some(SOFTIRQS) },
    Hook { program: "slowpath_softirq", tracepoint: "softirq_entry", without: Some(SOFTIRQS) },
    Hook {
        program: "slowpath_drop",
        tracepoint: KFREE_SKB,
        without: Some("what the kernel dropped, and why"),
    },
];
const SIZES: &str = "the sizes of what was lost";
const SOFTIRQS: &str = "how long receive softirqs waited to run";
const KFREE_SKB: &str = "kfree_skb";
/// The oracle's hook.
const ARRIVAL: Hook = Hook { program: "slowpath_arrival", tracepoint: "netif_receive_skb", without: None };
const DROPPED_FOR: &str =
    "which connection the packets that TCP dropped on receipt belong to: reported since Linux 6.11";
const DROPPED_IN: &str =
    "packets that TCP dropped on receipt: before Linux 6.11 none says of which namespace it is";
const IN_RING: &str =
    "how long each packet lay in a card's ring: the kernel stamps them after it has taken them out";
const IN_CPU_QUEUE: &str = "how long packets waited in a CPU's queue: they are stamped after that (net.core.netdev_tstamp_prequeue = 0)";

/// Whether a line is one of those that say what cannot be seen.
pub(crate) fn is_unseen(line: &str) -> bool {
    let of_hooks = HOOKS.iter().filter_map(|hook| hook.without);
    of_hooks.chain([DROPPED_FOR, DROPPED_IN, IN_RING, IN_CPU_QUEUE]).any(|known| known == line)
}

/// Active as long as it lives; nothing stays in the kernel afterwards, however the process ends.
pub struct Probe {
    object: Object,
    links: Vec<Link>,
    flows: Flows,
    records: Ring,
    look: Look,
    unseen: Vec<&'static str>,
    reasons: Reasons,
    _stamps: Stamps,
}

impl Probe {
    /// Loads and attaches it.
    ///
    /// # Errors
    /// If this process is not allowed to, or the kernel lacks what it needs; the error says what would fix it.
    pub fn start(filter: Filter) -> Result<Self, LiveError> {
        need_descriptors(DESCRIPTORS).map_err(LiveError::system("open the probe"))?;
        slowpath_bpf::keep_messages();
        let btf = Btf::from_vmlinux().map_err(|_| LiveError::NoBtf)?;
        let is_there = |hook: &Hook| arguments(&btf, hook.tracepoint).is_some();
        let wanted = HOOKS.iter().chain(filter.exact.then_some(&ARRIVAL));
        let (there, missing): (Vec<&Hook>, Vec<&Hook>) = wanted.partition(|hook| is_there(hook));
        if let Some(hook) = missing.iter().find(|hook| hook.without.is_none()) {
            return Err(LiveError::NoTracepoint { name: hook.tracepoint });
        }
        // Packet, place, reason, and since 6.11 the socket that would have received it.
        let drops_name_socket = arguments(&btf, KFREE_SKB) >= Some(4);
        let config = |way| Config {
            tai_minus_realtime_ns: tai_minus_realtime_ns(),
            netns: filter.netns,
            port: filter.port.unwrap_or(0),
            is_exact: filter.exact.into(),
            drops_name_socket: drops_name_socket.into(),
            tick_ns: tick_ns(),
            has_iterator: (way == Way::Iterator).into(),
            ..Config::default()
        };
        let load = |way: Way| {
            let hooks = there.iter().map(|hook| hook.program);
            object::load(&hooks.chain([way.program()]).collect::<Vec<_>>(), &config(way))
                .map(|object| (object, way))
        };
        let (object, way) = match filter.one_by_one {
            true => load(Way::List)?,
            // Some kernels refuse just the iterator; if they refuse the other way too, the first error says why.
            false => load(Way::Iterator).or_else(|error| load(Way::List).map_err(|_| error))?,
        };
        let flows = Flows::of(&object, way)?;
        flows.set_clocks(&object)?;
        let stamps = Stamps::on()?;
        let mut links = Vec::new();
        for hook in there {
            let attached = program(&object, hook.program)?.attach_trace();
            links.push(attached.map_err(LiveError::bpf("attach the probe"))?);
        }
        let records = Ring::of(&object, "records")?;
        let mut unseen: Vec<_> = missing.iter().filter_map(|hook| hook.without).collect();
        unseen.dedup();
        if !drops_name_socket {
            // By then TCP has removed the device from a packet, and with it the namespace (tcp_v4_rcv).
            unseen.push(if filter.netns[0] == 0 { DROPPED_FOR } else { DROPPED_IN });
        }
        unseen.push(IN_RING);
        if !are_made_before_queue() {
            unseen.push(IN_CPU_QUEUE);
        }
        let reasons = Reasons::of_kernel(&btf);
        let look = Look::default();
        Ok(Self { links, flows, records, look, unseen, reasons, _stamps: stamps, object })
    }

    /// What this kernel does not show.
    pub fn unseen(&self) -> &[&'static str] {
        &self.unseen
    }

    /// Stops counting packets. What was added up can still be read.
    pub fn stop(&mut self) {
        self.links.clear();
    }

    /// What was reported since the last time, and every live flow.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn look(&mut self) -> Result<&Look, LiveError> {
        let Look { records, flows } = &mut self.look;
        records.clear();
        self.records.take(records)?;
        flows.clear();
        self.flows.read(&self.object, flows)?;
        Ok(&self.look)
    }

    /// The oracle's counts, if it was asked for.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn exact(&self) -> Result<Vec<Exact>, LiveError> {
        self.of_cpus("exact")
    }

    /// The counts for the whole host.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn totals(&self) -> Result<Totals, LiveError> {
        let add = |sum: Totals, one: Totals| Totals {
            ring_full: sum.ring_full + one.ring_full,
            no_memory: sum.no_memory + one.no_memory,
        };
        Ok(self.of_cpus("totals")?.into_iter().fold(Totals::default(), add))
    }

    /// How long the receive softirqs of all CPUs waited to run.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn softirqs(&self) -> Result<Waits, LiveError> {
        let cpus = self.of_cpus::<Softirqs>("softirqs")?;
        Ok(cpus.iter().fold(Waits::zeroed(), |sum, cpu| sum.join(&cpu.waits)))
    }

    /// Kernel drops that belong to no watched socket, by the number of the reason.
    ///
    /// # Errors
    /// If the kernel returns an error.
    pub fn drops(&self) -> Result<[u64; REASONS], LiveError> {
        let mut dropped = [0; REASONS];
        for (reason, packets) in (0..).zip(&mut dropped) {
            *packets = self.entry_of_cpus::<u64>("drops", reason)?.into_iter().sum();
        }
        Ok(dropped)
    }

    /// The reasons' names.
    pub fn reasons(&self) -> &Reasons {
        &self.reasons
    }

    /// How often a hook was hit while its program was running on the same CPU: that event is not seen.
    pub fn misses(&self) -> u64 {
        slowpath_bpf::misses(&self.object)
    }

    /// How often each program ran while the kernel measured it, and its total time: see [`slowpath_bpf::measure_programs`].
    pub fn costs(&self) -> Vec<Cost> {
        slowpath_bpf::costs(&self.object)
    }

    /// The only entry of a per-CPU map.
    fn of_cpus<T: Pod>(&self, name: &str) -> Result<Vec<T>, LiveError> {
        self.entry_of_cpus(name, 0)
    }

    fn entry_of_cpus<T: Pod>(&self, name: &str, entry: u32) -> Result<Vec<T>, LiveError> {
        Ok(slowpath_bpf::of_cpus(&self.object, name, entry, "read what the probe counted")?)
    }
}

/// How many arguments this kernel's tracepoint has; `None` if there is none.
fn arguments(btf: &Btf<'_>, tracepoint: &str) -> Option<usize> {
    let pointer = btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{tracepoint}"))?.next_type()?;
    let function = FuncProto::try_from(pointer.next_type()?).ok()?;
    // The first is the tracing machinery's own.
    function.len().checked_sub(1)
}
