//! Real transfers in network namespaces over an emulated path, with the truth about them.
//!
//! An [`experiment`] is what is run: hosts with their [`settings`], a path and a workload. A [`case`] is an experiment
//! with the limit and the cause that bind it; [`cases`] is the table of them. [`run::run`] runs it on this kernel,
//! captures it at both ends, [`check`]s that the fault really occurred, and writes the captures with their [`truth`].
//!
//! - The path: [`path`] decides, purely, what becomes of each packet; [`relay`] reads packets, asks it, and
//!   delivers them when due; [`frame`] says what they carry. [`netem`] is a path of the
//!   kernel's own, [`wire`] one that delays nothing.
//! - The hosts: [`namespaces`], which never outlive a run for long; [`testbed`], their interfaces, addresses
//!   and settings; [`vlan`], tags; [`tun`], devices of a program; [`signals`] and [`scratch`], which leave nothing behind.
//! - What runs: [`workload`]; what else does: [`load`]. How either is scheduled: [`task`]; on which of the machine's
//!   CPUs: [`cpus`].
//! - What is kept: [`watch`] (captures), [`recording`] (what is left out of it on purpose), [`pcap`], [`pcapng`].
//! - Scripts in packetdrill's language on this kernel, which say what the model must do: [`drill`].
//! - A web server under load, for profiles of what serving costs: [`web`]. Copies over ssh: [`ssh`]. [`iperf3`]. The
//!   programs that they need: [`tools`].
//! - What is known afterwards: [`samples`] and [`sampled`].
//!
//! It needs root, or a user namespace of its own ([`privilege`]), and `ip`, `tc` and `ethtool`. Nothing on the host is
//! changed except for the namespaces that it creates; sysctls are set only inside those.
//!
//! # Decisions
//!
//! **The path carries packets, whatever the hosts offload.** A frame is stored once, in a ring of memory. A packet is
//! a 32-byte description of a part of it until it is delivered with a header of its own. A super-packet costs one
//! system call and one copy, but each of its packets has its own place in the queue, its own loss and its own order.
//! A property test compares cutting and joining with a NIC that builds each packet byte by byte.
//!
//! **It uses as little of the hosts' CPU time as possible.** No thread is woken for a captured packet: captures and the
//! relay read rings that the kernel fills ([`watch`], `slots`). Every wakeup on a loaded CPU ends a time slice early,
//! so the watch for late CPUs does not run next to load, and load programs count their own CPU time.
//!
//! **A run keeps the probe's output** (`probe.raw.zst`, of the run's own namespaces). `slowpath lab` replays it for
//! waits. `cargo xtask score` replays it for verdicts, against the same truth as the captures.

pub mod background;
pub mod case;
pub mod cases;
pub mod check;
pub mod clock;
pub mod cpus;
pub mod drill;
pub mod error;
pub mod experiment;
pub mod flush;
pub mod frame;
pub mod host;
pub mod iperf3;
pub mod lateness;
pub mod load;
pub mod machine;
pub mod namespaces;
pub mod netem;
pub mod pcap;
pub mod pcapng;
pub mod privilege;
pub mod probe;
pub mod recording;
pub use slowpath_path as path;
pub mod relay;
pub mod run;
pub mod sampled;
pub mod samples;
pub mod scenario;
pub mod scratch;
pub mod settings;
pub mod signals;
pub mod slots;
pub mod ssh;
pub mod task;
pub mod testbed;
pub mod tools;
pub mod truth;
pub mod tun;
pub mod vlan;
pub mod watch;
pub mod web;
pub mod wire;
pub mod workload;
