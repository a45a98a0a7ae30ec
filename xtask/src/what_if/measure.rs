//! The label's own experiment with a remedy: in the simulator, and on this machine's kernel.

use anyhow::{Context, Result, ensure};
use slowpath_analyses::{Analysis, AnalysisOptions, VantageOverride};
use slowpath_capture::Capture;
use slowpath_lab::experiment::Experiment;
use slowpath_lab::host::Host;
use slowpath_lab::recording::{Format, Recording};
use slowpath_lab::run::{Keep, Packing, recording_file, run};
use slowpath_lab::scratch::Scratch;
use slowpath_lab::settings::Offload;
use slowpath_lab::workload::{Stream, Workload, Writer};
use slowpath_model::statistics::median;
use slowpath_path::loss::LossConfig;
use slowpath_scenario::{Override, check};
use slowpath_whatif::{Fitted, Remedy, Seen, Traces, simulate};
use std::sync::atomic::AtomicBool;

/// Runs of each, whose median counts.
const RUNS: u64 = 3;

/// An experiment with a remedy; `None` if the lab cannot have it, it is already so, or it is not the one transfer of an amount that
/// is measured.
pub fn remedied(experiment: &Experiment, remedy: &Remedy) -> Option<Experiment> {
    if !matches!(experiment.workload, Workload::Streams(_)) {
        return None;
    }
    let mut new = experiment.clone();
    new.recording = Recording::default();
    new.warm_up_bytes = None;
    let settings = &mut new.settings;
    let drop = |sysctls: &mut Vec<(String, String)>, names: &[&str]| {
        sysctls.retain(|(key, _)| !names.iter().any(|name| key.ends_with(name)));
    };
    match remedy {
        Remedy::ReceiveBuffer(most) => {
            let socket = &mut settings.receiver_socket;
            (socket.so_rcvbuf_bytes, socket.window_clamp_bytes) = (None, None);
            socket.window_clamp_at_handshake_bytes = None;
            drop(&mut settings.receiver_sysctls, &["tcp_rmem", "tcp_moderate_rcvbuf"]);
            settings
                .receiver_sysctls
                .push(("net.ipv4.tcp_rmem".into(), format!("4096 131072 {}", most.get())));
        }
        Remedy::SendBuffer(most) => {
            settings.sender_socket.so_sndbuf_bytes = None;
            drop(&mut settings.sender_sysctls, &["tcp_wmem"]);
            settings.sender_sysctls.push(("net.ipv4.tcp_wmem".into(), format!("4096 16384 {}", most.get())));
        }
        Remedy::WindowScaling => {
            drop(&mut settings.sender_sysctls, &["tcp_window_scaling"]);
            drop(&mut settings.receiver_sysctls, &["tcp_window_scaling"]);
        }
        Remedy::CongestionControl(control) => {
            settings.sender_socket.congestion_control = Some(control.name().to_owned());
        }
        Remedy::Loss(0.0) => {
            new.forward.loss.retain(|loss| !matches!(loss, LossConfig::Random { .. }));
            new.forward.policer = None;
        }
        Remedy::InitialWindow(segments) => settings.sender_route = Some(format!("initcwnd {segments}")),
        _ => return None,
    }
    Some(new)
}

/// The median rate in the simulator, in bit/s.
pub fn in_simulator(experiment: &Experiment, bytes: u64, fitted: &Fitted) -> Option<f64> {
    let settings = &experiment.settings;
    // No key of a scenario is that.
    if settings.receiver_socket.window_clamp_at_handshake_bytes.is_some() {
        return None;
    }
    let is_super = settings.offload != Offload::PerPacket;
    let mut all = vec![
        format!("flows.amount={bytes} B"),
        format!("duration={} ns", (fitted.lasted * 10).as_nanos() + 10_000_000_000),
        "hosts.sender.machine=free".to_owned(),
        "hosts.receiver.machine=free".to_owned(),
    ];
    for host in ["sender", "receiver"] {
        all.push(format!("hosts.{host}.nic.mtu={} B", fitted.mtu.get()));
        all.push(format!("hosts.{host}.nic.tso={is_super}"));
        all.push(format!("hosts.{host}.nic.gro={is_super}"));
    }
    for (host, sysctls) in [("sender", &settings.sender_sysctls), ("receiver", &settings.receiver_sysctls)] {
        for (key, value) in sysctls {
            let name = key.rsplit('.').next().unwrap_or(key);
            all.push(format!("hosts.{host}.sysctl.{name}={value}"));
        }
    }
    for (end, socket) in [("sender", &settings.sender_socket), ("receiver", &settings.receiver_socket)] {
        let mut put = |name: &str, value: Option<String>| {
            all.extend(value.map(|value| format!("flows.{end}.socket.{name}={value}")));
        };
        put("SO_SNDBUF", socket.so_sndbuf_bytes.map(|bytes| format!("{bytes} B")));
        put("SO_RCVBUF", socket.so_rcvbuf_bytes.map(|bytes| format!("{bytes} B")));
        put("TCP_CONGESTION", socket.congestion_control.clone().filter(|_| end == "sender"));
        put("TCP_NODELAY", socket.nodelay.then(|| "true".to_owned()));
    }
    let segments = settings.sender_route.as_deref().and_then(|route| route.strip_prefix("initcwnd "));
    all.extend(segments.map(|segments| format!("hosts.sender.kernel.initial-window={segments} segments")));
    let overrides: Vec<Override> = all.iter().map(|text| text.parse().expect("a key and a value")).collect();
    let rates = (1..=RUNS).filter_map(|seed| {
        let mut scenario = check("label", "", &overrides, Some(seed)).ok()?.scenario;
        scenario.paths[0].forward = experiment.forward.clone();
        scenario.paths[0].reverse = experiment.backward.clone();
        Some(simulate(&scenario, &AtomicBool::new(false))?.rate.get() as f64)
    });
    median(rates)
}

/// The median rate on this machine's kernel, in bit/s.
pub fn on_kernel(experiment: &Experiment, bytes: u64) -> Result<f64> {
    let mut rates = Vec::new();
    let mut last = None;
    for seed in 1..=RUNS {
        let mut experiment = experiment.clone();
        experiment.seeds = Some([seed, seed + RUNS]);
        experiment.workload = Workload::Streams(vec![Stream::one(Writer::Total { bytes })]);
        match once(&experiment) {
            Ok(rate) => rates.push(rate),
            Err(error) => last = Some(error),
        }
    }
    match (median(rates), last) {
        (Some(rate), _) => Ok(rate),
        (None, error) => Err(error.context("no run counts")?),
    }
}

fn once(experiment: &Experiment) -> Result<f64> {
    let scratch = Scratch::create()?;
    let folder = scratch.file("run");
    let outcome = run(experiment, &folder, Keep { packing: Packing::Quick, probe: false })?;
    ensure!(outcome.written, "the machine was too busy");
    let options = AnalysisOptions { vantage: Some(VantageOverride::Sender), ..AnalysisOptions::default() };
    let mut analysis = Analysis::with_labels(options, Traces::new(None));
    Capture::open(folder.join(recording_file(Host::Sender, Format::Pcap)))?.run(&mut analysis)?;
    Ok(Seen::of_largest(analysis).context("no data")?.rate.get() as f64)
}
