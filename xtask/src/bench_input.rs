//! `xtask bench-input`: large captures of real traffic, for the benchmarks.

use crate::tcpdump::{Watch, WatchOptions};
use anyhow::{Context, Result, ensure};
use clap::Args;
use slowpath_lab::host::DEVICE;
use slowpath_lab::namespaces::Place;
use slowpath_lab::samples::Sampler;
use slowpath_lab::settings::{Offload, Settings};
use slowpath_lab::testbed;
use slowpath_lab::wire::{self, Limit};
use slowpath_lab::workload::end::{CASE_TIME, Surroundings};
use slowpath_lab::workload::{Exchange, SocketOptions, Stream, Workload, Writer, exchange, stream};
use slowpath_lab::{clock, error::LabError};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Make the benchmarks' captures.
#[derive(Args)]
pub struct BenchInput {
    /// Where to write
    #[arg(long, value_name = "DIR", default_value = "out/bench-input")]
    out: PathBuf,
    /// Make only these
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
}

/// Nine connections, 3.9 million packets, headers only.
const NINE: &str = "nine-connections";
/// Nine connections without their first 400 packets, so that handshakes are missing.
const NINE_CUT: &str = "nine-connections-without-start";
/// 40,000 short connections.
const SHORT: &str = "short-connections";
/// One connection with its payload.
const PAYLOAD: &str = "full-payload";

struct Traffic {
    name: &'static str,
    settings: Settings,
    receiver_gro: bool,
    limits: Vec<Limit>,
    workload: Workload,
    watch: WatchOptions,
}

impl BenchInput {
    pub(crate) fn run(&self) -> Result<()> {
        std::fs::create_dir_all(&self.out).with_context(|| self.out.display().to_string())?;
        let wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        for traffic in [nine_connections(), short_connections(), full_payload()] {
            if wanted(traffic.name) {
                traffic.capture(&self.file(traffic.name))?;
            }
        }
        if wanted(NINE_CUT) {
            without_start(&self.file(NINE), &self.file(NINE_CUT), 400)?;
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.out.join(name).with_extension("pcap")
    }
}

fn nine_connections() -> Traffic {
    let writer = Writer::For { duration_ns: 125_000_000_000 };
    let messages = |bytes, every_ms: u64| {
        let count = u32::try_from(124_000 / every_ms).unwrap_or(u32::MAX);
        Stream::one(Writer::Messages { bytes, every_ns: every_ms * 1_000_000, count })
    };
    let mut streams = vec![Stream::one(writer); 6];
    streams[4].opener_socket =
        Some(SocketOptions { congestion_control: Some("bbr".into()), ..SocketOptions::default() });
    streams[5].reversed = true;
    streams.extend([messages(4096, 100), messages(200, 20), messages(30_000, 500)]);
    let limit = |port, mbit: u64, queue_packets| {
        let towards = if port == 5006 { Place::Sender } else { Place::Receiver };
        Limit { towards, port, rate_bit_per_s: mbit * 1_000_000, queue_packets }
    };
    Traffic {
        name: NINE,
        settings: Settings::plain(),
        receiver_gro: false,
        // Queues of about 24 packets make cubic lose about one packet in 150.
        limits: vec![
            limit(5001, 64, 24),
            limit(5002, 60, 24),
            limit(5003, 56, 23),
            limit(5004, 60, 25),
            limit(5005, 40, 70),
            limit(5006, 30, 24),
        ],
        workload: Workload::Streams(streams),
        watch: WatchOptions {
            snap_bytes: 96,
            buffer_kib: 128 * 1024,
            immediate: false,
            packets: Some(3_900_000),
        },
    }
}

fn short_connections() -> Traffic {
    let mut settings = Settings::plain();
    settings.receiver_sysctls.push(("net.ipv4.ip_local_port_range".into(), "1024 65535".into()));
    Traffic {
        name: SHORT,
        settings,
        receiver_gro: false,
        limits: Vec::new(),
        workload: Workload::Exchange(Exchange {
            clients: 8,
            connections_per_client: 5000,
            recorded: false,
            ..Exchange::one(200, 14_000)
        }),
        watch: WatchOptions { snap_bytes: 96, buffer_kib: 128 * 1024, immediate: false, packets: None },
    }
}

fn full_payload() -> Traffic {
    Traffic {
        name: PAYLOAD,
        settings: Settings::plain(),
        // With GRO the receiver acknowledges seldom, so that nearly all packets carry data.
        receiver_gro: true,
        limits: vec![Limit {
            towards: Place::Receiver,
            port: 5001,
            rate_bit_per_s: 450_000_000,
            queue_packets: 800,
        }],
        workload: Workload::Streams(vec![Stream::one(Writer::Total { bytes: 858_000 * 1448 })]),
        watch: WatchOptions { snap_bytes: 0, buffer_kib: 512 * 1024, immediate: false, packets: None },
    }
}

impl Traffic {
    fn capture(&self, file: &Path) -> Result<()> {
        let (namespaces, hosts) = testbed::build(&self.settings)?;
        if self.receiver_gro {
            testbed::offload(&namespaces, Place::Receiver, Offload::SuperPackets)?;
        }
        wire::join(&namespaces, &self.limits)?;
        // The bridge needs a moment until its ports forward.
        std::thread::sleep(Duration::from_millis(500));
        let sampler = Sampler::default();
        let deadline_ns = clock::monotonic_ns() + u64::try_from(CASE_TIME.as_nanos())?;
        let around = Surroundings { sampler: &sampler, deadline_ns, cut_ns: None, may_break: false };
        let watch = Watch::start(&namespaces, Place::Sender, DEVICE, file, self.watch)?;
        let records = match &self.workload {
            Workload::Streams(streams) => stream::run(&namespaces, &hosts, streams, around)?,
            Workload::Exchange(plan) => exchange::run(&namespaces, &hosts, plan, around)?,
            Workload::Programs(_) => Vec::new(),
        };
        std::thread::sleep(Duration::from_millis(500));
        let report = watch.stop()?;
        let infos = records.iter().flat_map(|(a, b)| [a, b]).filter_map(|end| end.info.as_ref());
        let (sent, again) = infos.fold((0, 0), |(sent, again), info| {
            (sent + u64::from(info.data_segs_out), again + u64::from(info.total_retrans_packets))
        });
        let size = std::fs::metadata(file).with_context(|| file.display().to_string())?.len();
        println!(
            "{}: {} packets, {} MB, {again} of {sent} data packets retransmitted, {} lost by the capture",
            file.display(),
            report.captured_packets,
            size / 1_000_000,
            report.dropped_packets,
        );
        ensure!(report.dropped_packets == 0, "the capture lost packets");
        Ok(())
    }
}

/// Copies a pcap file without its first packets.
fn without_start(from: &Path, to: &Path, packets: u32) -> Result<()> {
    let doing = |path: &Path| LabError::file(path.to_owned());
    let mut input = BufReader::new(File::open(from).map_err(doing(from))?);
    let mut output = BufWriter::new(File::create(to).map_err(doing(to))?);
    let mut header = [0; 24];
    input.read_exact(&mut header).map_err(doing(from))?;
    output.write_all(&header).map_err(doing(to))?;
    for _ in 0..packets {
        let mut record = [0; 16];
        input.read_exact(&mut record).map_err(doing(from))?;
        // tcpdump writes in this machine's byte order.
        let captured = u32::from_ne_bytes([record[8], record[9], record[10], record[11]]);
        std::io::copy(&mut input.by_ref().take(captured.into()), &mut std::io::sink())
            .map_err(doing(from))?;
    }
    std::io::copy(&mut input, &mut output).map_err(doing(to))?;
    output.flush().map_err(doing(to))?;
    println!("{}: the same without its first {packets} packets", to.display());
    Ok(())
}
