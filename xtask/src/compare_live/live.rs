//! A scenario on this machine's kernel, in network namespaces, captured at both hosts.

use super::seen::{Collector, Connection, Seen};
use anyhow::{Context, Result, bail, ensure};
use slowpath_analyses::report::FlowReport;
use slowpath_capture::Capture;
use slowpath_kernels::{KernelProfile, sysctls::SYSCTLS};
use slowpath_lab::case::{Case, Set, Settings};
use slowpath_lab::host::Host;
use slowpath_lab::recording::Format;
use slowpath_lab::run::{self, recording_file};
use slowpath_lab::scratch::Scratch;
use slowpath_lab::workload::{Reader, SocketOptions, Stream, Workload as Work, Writer};
use slowpath_model::Bytes;
use slowpath_scenario::{Bulk, Pause, Scenario, Workload};
use std::path::Path;
use std::time::Duration;

/// Runs it.
pub fn run(scenario: &Scenario) -> Result<Seen> {
    let case = case(scenario)?;
    let scratch = Scratch::create()?;
    let folder = scratch.file("run");
    ensure!(run::run(&case, &folder)?.written, "the machine is too busy for a capture");
    read(&folder)
}

fn read(folder: &Path) -> Result<Seen> {
    let one = |host| -> Result<(Vec<Connection>, Option<FlowReport>)> {
        let mut collector = Collector::new();
        Capture::open(folder.join(recording_file(host, Format::Pcap)))?.run(&mut collector)?;
        let (mut connections, verdict) = collector.finish();
        // The lab's ports count the streams.
        connections.sort_by_key(|connection| connection.port);
        Ok((connections, verdict))
    };
    let (sender, receiver) = (one(Host::Sender)?, one(Host::Receiver)?);
    Ok(Seen { sender: sender.0, receiver: receiver.0, verdict: sender.1.context("the capture is empty")? })
}

/// The scenario as the lab runs it. What has no counterpart there is refused.
fn case(scenario: &Scenario) -> Result<Case> {
    let [path] = scenario.paths.as_slice() else { bail!("one path, between two hosts") };
    let first = &scenario.flows[0];
    let (sender, receiver) = (scenario.host(first.sender_host()), scenario.host(first.receiver_host()));
    ensure!(path.ends == [first.sender_host(), first.receiver_host()], "the path begins at the sender");
    ensure!(!sender.nic.tso && !receiver.nic.gro, "captures with single packets: tso and gro are off");
    let sysctls = |host: &slowpath_scenario::Host| {
        // What is not of IPv4 is not a namespace's own, and the congestion control is set on the sockets.
        let is_own = |name: &str| name.starts_with("net.ipv4.") && name != "net.ipv4.tcp_congestion_control";
        let own = SYSCTLS.iter().filter(|sysctl| is_own(sysctl.name));
        own.map(|sysctl| (sysctl.name.to_owned(), sysctl.of(&host.kernel))).collect()
    };
    let mut case = Case::new(Set::Fresh, "compare-live", "unknown/undetermined", 1, 0, work(scenario)?);
    case.variant = scenario.title.clone();
    case.forward = path.forward.clone();
    case.backward = path.reverse.clone();
    // How late the machine is says the watch over the whole comparison.
    case.checks = Vec::new();
    case.settings = Settings {
        sender_sysctls: sysctls(sender),
        receiver_sysctls: sysctls(receiver),
        sender_socket: socket(&first.sender.socket, &sender.kernel)?,
        receiver_socket: socket(&first.receiver.socket, &receiver.kernel)?,
        ..Settings::plain()
    };
    Ok(case)
}

/// One flow, as the lab's applications do it.
fn work(scenario: &Scenario) -> Result<Work> {
    let [flow] = scenario.flows.as_slice() else { bail!("one flow, of any number of streams") };
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let writer = match &flow.workload {
        Workload::Bulk(Bulk::Amount(amount)) => Writer::Total { bytes: amount.get() },
        Workload::Bulk(Bulk::Time(time)) => Writer::For { duration_ns: nanos(*time) },
        Workload::Bulk(Bulk::Endless) => bail!("a transfer without an end"),
        Workload::Messages(messages) => Writer::Messages {
            bytes: messages.size.get(),
            every_ns: nanos(messages.interval),
            count: messages.count.and_then(|count| u32::try_from(count).ok()).context("how many messages")?,
        },
        Workload::RequestResponse(_) => bail!("requests and responses"),
    };
    if matches!(flow.workload, Workload::Bulk(_)) {
        // What workload/end.rs writes and reads at once.
        let sizes = (flow.sender.call_size, flow.receiver.call_size);
        ensure!(sizes == (Bytes::kib(64), Bytes::kib(256)), "call-size is 64 KiB and 256 KiB");
    }
    let reader = match flow.receiver.pauses.as_slice() {
        [] => Reader::Greedy,
        // The lab's reader would stop again; all has come by then.
        [Pause { at, lasts: Some(lasts) }] => {
            Reader::Stopping { runs_ns: nanos(*at), stops_ns: nanos(*lasts) }
        }
        _ => bail!("one pause, with an end"),
    };
    let after = |n: u32| nanos(flow.start + flow.stagger * n);
    let stream = |n| Stream { after_ns: after(n), reader, ..Stream::one(writer) };
    Ok(Work::Streams((0..flow.streams).map(stream).collect()))
}

fn socket(options: &slowpath_scenario::SocketOptions, kernel: &KernelProfile) -> Result<SocketOptions> {
    let bytes = |amount: Option<Bytes>| amount.map(|bytes| u32::try_from(bytes.get())).transpose();
    let control = options.congestion_control.unwrap_or(kernel.tcp.congestion_control);
    let made = SocketOptions {
        so_sndbuf_bytes: bytes(options.send_buffer)?,
        so_rcvbuf_bytes: bytes(options.receive_buffer)?,
        window_clamp_at_handshake_bytes: None,
        congestion_control: Some(control.name().to_owned()),
        nodelay: options.no_delay,
    };
    let told = slowpath_scenario::SocketOptions {
        send_buffer: options.send_buffer,
        receive_buffer: options.receive_buffer,
        congestion_control: options.congestion_control,
        no_delay: options.no_delay,
        ..slowpath_scenario::SocketOptions::default()
    };
    ensure!(told == *options, "a socket option that the lab does not set: {options:?}");
    Ok(made)
}
