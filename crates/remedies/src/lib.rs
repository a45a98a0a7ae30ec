//! Advice: from a finding to the changes that would recover the time.
//!
//! [`advise`] turns a finding into advice that is specific to the flow: numbers computed from its report, the commands
//! that change something, where to run each, what it changes and how to undo it. It is pure: it reads no setting and
//! changes none.
//!
//! A capture does not show a host's settings. If a number depends on an assumption (how much of a receive buffer Linux
//! advertises, which rate the path could carry), the text calls it an estimate, and the assumption is stated at the
//! arithmetic ([`arithmetic`]).
//!
//! Every sysctl named here is in Linux's `Documentation/networking/ip-sysctl.rst` or
//! `Documentation/admin-guide/sysctl/net.rst` (6.18); `tests/advice.rs` holds the list.

use slowpath_analyses::Cause;
use slowpath_analyses::report::{Finding, FlowReport};

mod application;
pub mod arithmetic;
mod congestion_window;
mod connection;
mod drops;
mod facts;
mod fix;
mod handbook;
mod hosts;
mod loss_recovery;
mod path;
mod receive_window;
mod receiver_processing;
mod reset;
mod send_buffer;
mod sending_host;
pub mod setting;
mod system;
mod unknown;
mod windows;

pub use drops::drop_meaning;
pub use facts::percent;
pub use fix::{Fix, Host, NET_ADMIN, NET_RAW, OWNER, SYS_NICE};
pub use handbook::handbook_text;
pub use hosts::{advise_on_host, advise_sending};
pub use path::{long_queue, much_lost};
pub use setting::{Change, Setting, Target};

use facts::Facts;

/// Advice about a finding, or about one part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What is wrong, with its numbers, and what would help.
    pub text: String,
    /// The commands, in the order to run them; those that only show something come first.
    pub fixes: Vec<Fix>,
    /// What it costs, or when not to do it.
    pub caution: Option<String>,
}

/// The changes that would recover the time that `finding` took from the main direction of `report`, the most effective
/// first.
///
/// Never empty: if no setting of a host helps, the advice states that, and what would help.
///
/// For hosts whose TTL is not that of Linux, the commands are those of their system, where any are known.
pub fn advise(finding: &Finding, report: &FlowReport) -> Vec<Advice> {
    system::fit(for_linux(finding, report), finding.from, report)
}

fn for_linux(finding: &Finding, report: &FlowReport) -> Vec<Advice> {
    let facts = Facts::of(finding, report);
    match finding.cause {
        Cause::Handshake => connection::handshake(&facts),
        Cause::SynLost => connection::syn_lost(&facts),
        Cause::OldConnection => connection::old_connection(&facts),
        Cause::FastOpenLost => connection::fast_open_lost(&facts),
        Cause::NotAnswered => connection::not_answered(&facts),
        Cause::NoAnswer => connection::no_answer(&facts),
        Cause::Refused => connection::refused(&facts),
        Cause::Unreachable => connection::unreachable(&facts),
        Cause::AcceptQueueFull => connection::accept_queue_full(&facts),
        Cause::PeerGone => connection::peer_gone(&facts),
        Cause::ResetUnknown => reset::unknown(&facts),
        Cause::ResetClosed => reset::closed(&facts),
        Cause::ResetAborted => reset::aborted(&facts),
        Cause::ResetOnPath => reset::on_path(&facts),
        Cause::SenderIdle => application::sender_idle(&facts),
        Cause::ThinkTime => application::think_time(&facts),
        Cause::NagleDelayedAck => application::nagle_delayed_ack(&facts),
        Cause::ProtocolWindow => application::protocol_window(&facts),
        Cause::SendBufferFull => send_buffer::full(&facts),
        Cause::LocalRateLimit => sending_host::rate_limit(&facts),
        Cause::ReceiveBufferTooSmall => receive_window::buffer_too_small(&facts),
        Cause::NoWindowScaling => receive_window::no_scaling(&facts),
        Cause::WindowScaleTooSmall => receive_window::scale_too_small(&facts),
        Cause::AutotuningLag => receive_window::autotuning_lag(&facts),
        Cause::SlowReader => receive_window::slow_reader(&facts),
        Cause::ReaderStopped => receive_window::reader_stopped(&facts),
        Cause::WindowTakenBack => receive_window::taken_back(&facts),
        Cause::NotAccepted => receiver_processing::not_accepted(&facts),
        Cause::AcksHeldBack => receiver_processing::acks_held_back(&facts),
        Cause::SlowStart => congestion_window::slow_start(&facts),
        Cause::AfterLoss => congestion_window::after_loss(&facts),
        Cause::EarlyExit => congestion_window::early_exit(&facts),
        Cause::EcnMarks => congestion_window::ecn_marks(&facts),
        Cause::FastRecovery => loss_recovery::fast_recovery(&facts),
        Cause::Timeout => loss_recovery::timeout(&facts),
        Cause::SpuriousTimeout => loss_recovery::spurious_timeout(&facts),
        Cause::TailLoss => loss_recovery::tail_loss(&facts),
        Cause::LostRetransmission => loss_recovery::lost_retransmission(&facts),
        Cause::SackReneging => loss_recovery::sack_reneging(&facts),
        Cause::Reordering => loss_recovery::reordering(&facts),
        Cause::MtuBlackHole => loss_recovery::mtu_black_hole(&facts),
        Cause::SuperPacketsDropped => loss_recovery::super_packets_dropped(&facts),
        Cause::BeyondUnscaledWindow => loss_recovery::beyond_unscaled_window(&facts),
        Cause::SackUntranslated => loss_recovery::sack_untranslated(&facts),
        Cause::BottleneckFull => path::bottleneck_full(&facts),
        Cause::StandingQueue => path::standing_queue(&facts),
        Cause::AckPathQueue => path::ack_path_queue(&facts),
        Cause::EcnCleared => path::ecn_cleared(&facts),
        Cause::DelaySpike => path::delay_spike(&facts),
        Cause::Policer => path::policer(&facts),
        Cause::CaptureGap => unknown::capture_gap(&facts),
        Cause::OneDirection => unknown::one_direction(&facts),
        Cause::Undetermined => unknown::undetermined(&facts),
        Cause::ReaderOffCpu
        | Cause::LockHolderOffCpu
        | Cause::ReceiverDrops
        | Cause::ReceiverBusy
        | Cause::LocalQueue
        | Cause::SenderBusy
        | Cause::FaultyLink
        | Cause::SmallPackets => advise_on_host(finding.cause).into_iter().collect(),
    }
}

impl Advice {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), fixes: Vec::new(), caution: None }
    }

    fn with(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }

    fn with_all(mut self, fixes: impl IntoIterator<Item = Fix>) -> Self {
        self.fixes.extend(fixes);
        self
    }

    fn caution(mut self, text: impl Into<String>) -> Self {
        self.caution = Some(text.into());
        self
    }

    /// Replaces IFACE by the name of the device, if known.
    #[must_use]
    pub fn on_device(mut self, name: &str) -> Self {
        // Linux allows device names that a shell would interpret (dev_valid_name).
        if name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.@".contains(letter)) {
            for fix in &mut self.fixes {
                fix.command = fix.command.replace("IFACE", name);
                fix.undo = fix.undo.take().map(|undo| undo.replace("IFACE", name));
            }
        }
        self
    }
}
