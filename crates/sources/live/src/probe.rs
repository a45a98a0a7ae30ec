//! The probe: loaded, attached, and read.

use crate::error::LiveError;
use crate::record::{self, Config, Exact, Record, Totals};
use crate::said;
use crate::stamps::{Stamps, tai_minus_realtime_ns};
use bytemuck::Pod;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{
    Iter, Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBuffer, RingBufferBuilder,
};
use std::cell::RefCell;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::rc::Rc;

/// The programs, compiled from `bpf/` as the kernel takes them.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);
static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o")));

/// Which flows are watched. All that is given has to fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this port at either end.
    pub port: Option<u16>,
    /// Of sockets in the network namespace with this inode.
    pub netns: Option<u32>,
    /// Each segment is found again by its numbers as well as by its stamp: an oracle, which costs a look into a table for
    /// every packet of the host.
    pub exact: bool,
}

/// A hook of the probe.
struct Hook {
    program: &'static str,
    tracepoint: &'static str,
    /// What is not seen without it; nothing works without those that do not say.
    without: Option<&'static str>,
}

const HOOKS: [Hook; 9] = [
    Hook { program: "slowpath_direct", tracepoint: "tcp_probe", without: None },
    Hook { program: "slowpath_backlog", tracepoint: "tcp_probe", without: None },
    Hook {
        program: "slowpath_read",
        tracepoint: "tcp_rcv_space_adjust",
        without: Some("how long data waited to be read, and the reader for a CPU"),
    },
    Hook {
        program: "slowpath_switch",
        tracepoint: "sched_switch",
        without: Some("whether the process with the socket's lock was off the CPU"),
    },
    Hook {
        program: "slowpath_state_direct",
        tracepoint: "tcp_cong_state_set",
        without: Some("timeouts and recoveries, and those that were needless"),
    },
    Hook {
        program: "slowpath_state_backlog",
        tracepoint: "tcp_cong_state_set",
        without: Some("timeouts and recoveries, and those that were needless"),
    },
    Hook {
        program: "slowpath_close",
        tracepoint: "inet_sock_set_state",
        without: Some("the end of a stream: a byte too much is counted as written"),
    },
    Hook {
        program: "slowpath_retransmit",
        tracepoint: "tcp_retransmit_skb",
        without: Some("what was sent again"),
    },
    Hook {
        program: "slowpath_end",
        tracepoint: "tcp_destroy_sock",
        without: Some("flows that end between two looks"),
    },
];
/// The oracle's, and its maps.
const ARRIVAL: Hook = Hook { program: "slowpath_arrival", tracepoint: "netif_receive_skb", without: None };
const ORACLE_MAPS: [&str; 2] = ["flights", "exact"];
const ITERATOR: &str = "slowpath_flows";

/// At work for as long as it lives; nothing is left in the kernel after that, however the process ends.
pub struct Probe {
    object: Object,
    links: Vec<Link>,
    iterator: Link,
    ring: RingBuffer<'static>,
    told: Rc<RefCell<Vec<u8>>>,
    buffer: Vec<u8>,
    unseen: Vec<&'static str>,
    _stamps: Stamps,
}

impl Probe {
    /// Loads and attaches it.
    ///
    /// # Errors
    /// If this process is not allowed to, or the kernel lacks what it needs; the error says what would mend it.
    pub fn start(filter: Filter) -> Result<Self, LiveError> {
        said::keep();
        let btf = Btf::from_vmlinux().map_err(|_| LiveError::NoBtf)?;
        let is_there = |hook: &Hook| {
            btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{}", hook.tracepoint)).is_some()
        };
        let wanted = HOOKS.iter().chain(filter.exact.then_some(&ARRIVAL));
        let (there, missing): (Vec<&Hook>, Vec<&Hook>) = wanted.partition(|hook| is_there(hook));
        if let Some(hook) = missing.iter().find(|hook| hook.without.is_none()) {
            return Err(LiveError::NoTracepoint { name: hook.tracepoint });
        }
        let mut open =
            ObjectBuilder::default().open_memory(&OBJECT.0).map_err(LiveError::bpf("open the probe"))?;
        for mut program in open.progs_mut() {
            let is_used =
                program.name() == ITERATOR || there.iter().any(|hook| program.name() == hook.program);
            program.set_autoload(is_used);
        }
        for mut map in open.maps_mut().filter(|map| ORACLE_MAPS.iter().any(|name| map.name() == *name)) {
            map.set_autocreate(filter.exact).map_err(LiveError::bpf("open the probe"))?;
        }
        configure(&mut open, filter)?;
        let object = open.load().map_err(LiveError::bpf("load the probe"))?;
        let stamps = Stamps::on()?;
        let mut links = Vec::new();
        for hook in there {
            let program = object.progs_mut().find(|program| program.name() == hook.program);
            let attached = program.map(|program| program.attach_trace()).transpose();
            links.extend(attached.map_err(LiveError::bpf("attach the probe"))?);
        }
        let map = |name: &str| object.maps().find(|map| map.name() == name).ok_or(LiveError::BadProbe);
        let iterator =
            object.progs_mut().find(|program| program.name() == ITERATOR).ok_or(LiveError::BadProbe)?;
        let iterator = iterator
            .attach_iter(map("flows")?.as_fd())
            .map_err(LiveError::bpf("attach the probe's iterator"))?;
        let told = Rc::new(RefCell::new(Vec::new()));
        let mut ring = RingBufferBuilder::new();
        let records = map("records")?;
        let into = Rc::clone(&told);
        ring.add(&records, move |bytes| {
            into.borrow_mut().extend_from_slice(bytes);
            0
        })
        .map_err(LiveError::bpf("listen to the probe"))?;
        let ring = ring.build().map_err(LiveError::bpf("listen to the probe"))?;
        let mut unseen: Vec<_> = missing.iter().filter_map(|hook| hook.without).collect();
        unseen.dedup();
        Ok(Self { links, iterator, ring, told, buffer: Vec::new(), unseen, _stamps: stamps, object })
    }

    /// What this kernel does not let it see.
    pub fn unseen(&self) -> &[&'static str] {
        &self.unseen
    }

    /// Takes no more packets into account. What it has added up can still be read.
    pub fn stop(&mut self) {
        self.links.clear();
    }

    /// Hands out what was told since the last time, then every flow that lives.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn read(&mut self, mut take: impl FnMut(Record<'_>)) -> Result<(), LiveError> {
        self.ring.consume().map_err(LiveError::bpf("listen to the probe"))?;
        let told = std::mem::take(&mut *self.told.borrow_mut());
        record::each(&told, &mut take)?;
        let mut iterator = Iter::new(&self.iterator).map_err(LiveError::bpf("read the probe"))?;
        self.buffer.clear();
        loop {
            match iterator.read_to_end(&mut self.buffer) {
                Ok(_) => break,
                // The kernel looks again for a while at a table that changes.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(LiveError::system("read the probe")(error)),
            }
        }
        Ok(record::each(&self.buffer, take)?)
    }

    /// What the oracle found, if it was asked for.
    ///
    /// # Errors
    /// If the kernel does not give it.
    pub fn exact(&self) -> Result<Vec<Exact>, LiveError> {
        self.of_cpus("exact")
    }

    /// What it counted of the whole host.
    ///
    /// # Errors
    /// If the kernel does not give it.
    pub fn totals(&self) -> Result<Totals, LiveError> {
        let add = |sum: Totals, one: Totals| Totals {
            ring_full: sum.ring_full + one.ring_full,
            no_memory: sum.no_memory + one.no_memory,
        };
        Ok(self.of_cpus("totals")?.into_iter().fold(Totals::default(), add))
    }

    /// The only entry of a map that has one for each CPU.
    fn of_cpus<T: Pod>(&self, name: &str) -> Result<Vec<T>, LiveError> {
        let map = self.object.maps().find(|map| map.name() == name).ok_or(LiveError::BadProbe)?;
        let found = map.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let found = found.map_err(LiveError::bpf("read what the probe counted"))?.unwrap_or_default();
        let read = |bytes: &Vec<u8>| Some(bytemuck::pod_read_unaligned(bytes.get(..size_of::<T>())?));
        found.iter().map(|bytes| read(bytes).ok_or(LiveError::BadProbe)).collect()
    }
}

/// Writes what the programs are to be loaded with.
fn configure(open: &mut OpenObject, filter: Filter) -> Result<(), LiveError> {
    let config = Config {
        tai_minus_realtime_ns: tai_minus_realtime_ns(),
        netns: filter.netns.unwrap_or(0),
        port: filter.port.unwrap_or(0),
        is_exact: filter.exact.into(),
    };
    let mut map = open.maps_mut().find(|map| map.name() == ".rodata.config").ok_or(LiveError::BadProbe)?;
    let value = map.initial_value_mut().ok_or(LiveError::BadProbe)?;
    value
        .get_mut(..size_of::<Config>())
        .ok_or(LiveError::BadProbe)?
        .copy_from_slice(bytemuck::bytes_of(&config));
    Ok(())
}
