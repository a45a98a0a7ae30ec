//! The fitted scenario: its settings as keys of a scenario file, and the scenario itself.

use crate::fit::WMEM_MOST;
use crate::fitted::{Control, Fitted, LossProcess, ReceiveBuffer};
use crate::trace::Loss;
use slowpath_kernels::Release;
use slowpath_model::{Bytes, Rate};
use slowpath_path::loss::{LossConfig, Stretch};
use slowpath_scenario::{Override, Scenario, check};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a setting of the scenario expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// How long a run may take.
    Limit,
    /// The bottleneck.
    Rate,
    /// The RTT.
    Rtt,
    /// The queue.
    Queue,
    /// Losses.
    Loss,
    /// The amount of data.
    Amount,
    /// The receiver's buffer.
    ReceiveBuffer,
    /// The sender's buffer.
    SendBuffer,
    /// Congestion control.
    Control,
    /// The initial window.
    InitialWindow,
    /// Packet size, options and offloads.
    Packets,
    /// The hosts' kernel.
    Kernel,
    /// CPU costs.
    Costs,
}

/// A key of the scenario file, its value, and what it expresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, as `--set` takes it.
    pub key: Cow<'static, str>,
    /// The value: text with a unit, or a number, `true` or `false`.
    pub value: String,
    /// What it expresses.
    pub subject: Subject,
}

impl Setting {
    pub(crate) fn new(subject: Subject, key: impl Into<Cow<'static, str>>, value: String) -> Self {
        Self { key: key.into(), value, subject }
    }

    fn as_override(&self) -> Override {
        format!("{}={}", self.key, self.value).parse().expect("every key is one of a scenario")
    }
}

pub(crate) fn bytes(amount: Bytes) -> String {
    format!("{} B", amount.get())
}

pub(crate) fn rate(rate: Rate) -> String {
    format!("{} bit/s", rate.get())
}

pub(crate) fn time(time: Duration) -> String {
    format!("{} ns", time.as_nanos())
}

/// The keys that a remedy may replace.
pub(crate) mod keys {
    pub const RATE: &str = "path.forward.rate";
    pub const QUEUE: &str = "path.forward.queue";
    pub const DELAY: &str = "path.delay";
    pub const LOSS: &str = "path.forward.loss";
    pub const POLICER_RATE: &str = "path.forward.policer.rate";
    pub const POLICER_BURST: &str = "path.forward.policer.burst";
    pub const SO_RCVBUF: &str = "flows.receiver.socket.SO_RCVBUF";
    pub const SO_SNDBUF: &str = "flows.sender.socket.SO_SNDBUF";
    pub const RMEM: &str = "hosts.receiver.sysctl.tcp_rmem";
    pub const MODERATE: &str = "hosts.receiver.sysctl.tcp_moderate_rcvbuf";
    pub const WMEM: &str = "hosts.sender.sysctl.tcp_wmem";
    pub const CONTROL: &str = "flows.sender.socket.TCP_CONGESTION";
    pub const SLOW_START_AFTER_IDLE: &str = "hosts.sender.sysctl.tcp_slow_start_after_idle";
    pub const INITIAL_WINDOW: &str = "hosts.sender.kernel.initial-window";
    /// Of both hosts.
    pub const HOSTS: [&str; 2] = ["hosts.sender", "hosts.receiver"];
    pub const SCALING: [&str; 2] =
        ["hosts.sender.sysctl.tcp_window_scaling", "hosts.receiver.sysctl.tcp_window_scaling"];
}

/// The three values of `tcp_rmem`; its first two are the defaults of 6.18 where nothing else shows.
pub(crate) fn rmem(first: Bytes, most: Bytes) -> String {
    format!("4096 {} {}", first.get().min(most.get()), most.get())
}

/// How much longer than the captured transfer a simulated one may take.
const LONGER: u32 = 6;

/// The settings of a fit, with one congestion control.
pub fn settings(fitted: &Fitted, control: Control) -> Vec<Setting> {
    let mut all = Vec::new();
    if fitted.kernel != Release::Linux6_18 {
        for host in keys::HOSTS {
            all.push(Setting::new(
                Subject::Kernel,
                format!("{host}.kernel.base"),
                fitted.kernel.name().to_owned(),
            ));
        }
    }
    let mut put = |subject, key, value| all.push(Setting::new(subject, key, value));
    let limit = fitted.lasted * LONGER + Duration::from_secs(10);
    put(Subject::Limit, "duration", time(limit));
    put(Subject::Rate, keys::RATE, rate(fitted.rate.value));
    put(Subject::Rtt, keys::DELAY, time(fitted.rtt.value / 2));
    put(Subject::Queue, keys::QUEUE, format!("{} packets", fitted.queue.value));
    match &fitted.loss {
        LossProcess::None => {}
        LossProcess::Chance(ppm) => put(Subject::Loss, keys::LOSS, format!("{:.0} ppm", ppm.value)),
        LossProcess::Policer { rate: policed, burst } => {
            put(Subject::Loss, keys::POLICER_RATE, rate(policed.value));
            put(Subject::Loss, keys::POLICER_BURST, bytes(burst.value));
        }
    }
    match fitted.requests {
        None => put(Subject::Amount, "flows.amount", bytes(fitted.amount)),
        Some(requests) => {
            // The client is the first host unless it is named.
            put(Subject::Amount, "flows.from", "receiver".to_owned());
            put(Subject::Amount, "flows.requests.count", requests.count.to_string());
            put(Subject::Amount, "flows.requests.request", bytes(requests.request));
            put(Subject::Amount, "flows.requests.response", bytes(requests.response));
            put(Subject::Amount, "flows.requests.server-time", time(requests.server_time));
            put(Subject::Amount, "flows.requests.client-time", time(requests.client_time));
        }
    }
    match &fitted.receive {
        ReceiveBuffer::Fixed { size, .. } => {
            put(Subject::ReceiveBuffer, keys::SO_RCVBUF, bytes(size.value));
        }
        ReceiveBuffer::Tuned(most) => {
            put(Subject::ReceiveBuffer, keys::RMEM, rmem(fitted.first_buffer.value, most.value));
        }
        ReceiveBuffer::Untuned { size, most } => {
            put(Subject::ReceiveBuffer, keys::RMEM, rmem(size.value, *most));
            put(Subject::ReceiveBuffer, keys::MODERATE, "0".to_owned());
        }
    }
    for (key, is_offered) in keys::SCALING.into_iter().zip(fitted.scaling) {
        if !is_offered {
            put(Subject::ReceiveBuffer, key, "0".to_owned());
        }
    }
    if fitted.send_most != WMEM_MOST {
        put(Subject::SendBuffer, keys::WMEM, format!("4096 16384 {}", fitted.send_most.get()));
    }
    if let Some(size) = &fitted.send {
        put(Subject::SendBuffer, keys::SO_SNDBUF, bytes(size.value));
        // With Nagle's algorithm, Linux appends to a short segment beyond the buffer's limit (tcp_sendmsg_locked, 6.18).
        if fitted.writing.nodelay {
            put(Subject::SendBuffer, "flows.sender.socket.TCP_NODELAY", "true".to_owned());
        }
        if !fitted.writing.waits_for_nic {
            put(Subject::SendBuffer, "hosts.sender.kernel.small-queues", "false".to_owned());
        }
    }
    put(Subject::Control, keys::CONTROL, control.name().to_owned());
    put(Subject::InitialWindow, keys::INITIAL_WINDOW, format!("{} segments", fitted.initial_window.value));
    for key in ["hosts.sender.nic.mtu", "hosts.receiver.nic.mtu"] {
        put(Subject::Packets, key, bytes(fitted.mtu));
    }
    for key in ["hosts.sender.nic.tso", "hosts.sender.nic.gro"] {
        put(Subject::Packets, key, fitted.super_packets.to_string());
    }
    for key in ["hosts.receiver.nic.tso", "hosts.receiver.nic.gro"] {
        put(Subject::Packets, key, fitted.merges.to_string());
    }
    if !fitted.timestamps {
        put(Subject::Packets, "hosts.sender.sysctl.tcp_timestamps", "0".to_owned());
    }
    if !fitted.sack {
        put(Subject::Packets, "hosts.receiver.sysctl.tcp_sack", "0".to_owned());
    }
    for key in ["hosts.sender.machine", "hosts.receiver.machine"] {
        put(Subject::Costs, key, "free".to_owned());
    }
    all
}

/// The scenario of settings.
///
/// # Errors
///
/// What its own check says.
pub fn scenario(settings: &[Setting], seed: u64) -> Result<Scenario, String> {
    let overrides: Vec<Override> = settings.iter().map(Setting::as_override).collect();
    check("fitted", "", &overrides, Some(seed))
        .map(|checked| checked.scenario)
        .map_err(|rejected| rejected.to_string())
}

/// Replaces chance by these losses: each segment is lost as often as it was.
pub fn replay(scenario: &mut Scenario, losses: &[Loss]) {
    let mut times: BTreeMap<(u64, u64), u32> = BTreeMap::new();
    for loss in losses {
        *times.entry((loss.from, loss.to)).or_default() += 1;
    }
    let mut by_times: BTreeMap<u32, Vec<Stretch>> = BTreeMap::new();
    let mut end = 0;
    for ((from, to), count) in times {
        // Stretches must not overlap; a retransmission may hold more than one lost segment.
        let from = from.max(end);
        if to > from {
            by_times.entry(count).or_default().push(Stretch { from_byte: from, to_byte: to });
            end = to;
        }
    }
    let scripted = by_times.into_iter().map(|(times, stretches)| LossConfig::Stretches { stretches, times });
    let scripted: Vec<LossConfig> = scripted.collect();
    for path in &mut scenario.paths {
        path.forward.loss.retain(|loss| !matches!(loss, LossConfig::Random { .. }));
        path.forward.loss.extend_from_slice(&scripted);
    }
}
