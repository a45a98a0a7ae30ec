//! What is cured in a transfer, and which causes a cure that helps makes right.

use super::draw::{Fault, Key, Transfer};
use serde::Serialize;
use slowpath_analyses::{Cause, Limit};

/// A change that takes one limit away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cure {
    /// A fault is not there.
    Without(Fault),
    /// The receive buffer may grow far beyond what the path needs.
    LargeReceiveBuffer,
    /// The send buffer may.
    LargeSendBuffer,
    /// The bottleneck has three times the rate.
    FasterLink,
    /// Its queue holds four times as much, or four times what fills the path.
    LongerQueue,
    /// A third of the RTT.
    ShorterPath,
}

/// Faults that one of the general cures takes away: of the link, its queue, and buffers.
const fn has_general_cure(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Link
            | Fault::ShortQueue
            | Fault::LongQueue
            | Fault::ReceiveBuffer
            | Fault::NoScaling
            | Fault::SendBuffer
    )
}

impl Cure {
    /// Those that a transfer can have.
    pub fn all(transfer: &Transfer) -> Vec<Self> {
        let faults = transfer.faults.iter().copied().filter(|fault| !has_general_cure(*fault));
        let general = [
            Self::LargeReceiveBuffer,
            Self::LargeSendBuffer,
            Self::FasterLink,
            Self::LongerQueue,
            Self::ShorterPath,
        ];
        faults.map(Self::Without).chain(general).collect()
    }

    /// The keys of `transfer` with it.
    pub fn of(self, transfer: &Transfer) -> Vec<String> {
        let put = |text: String| Key { fault: None, text };
        let mut keys = transfer.keys.clone();
        // Larger buffers take away what made them small.
        let gone: &[Fault] = match &self {
            Self::Without(fault) => &[*fault],
            Self::LargeReceiveBuffer => &[Fault::ReceiveBuffer, Fault::NoScaling],
            Self::LargeSendBuffer => &[Fault::SendBuffer],
            _ => &[],
        };
        keys.retain(|key| key.fault.is_none_or(|fault| !gone.contains(&fault)));
        match self {
            Self::Without(Fault::Messages) => keys.push(put("flows.messages.interval=0 ms".into())),
            Self::Without(_) => {}
            Self::LargeReceiveBuffer => {
                keys.push(put("hosts.receiver.sysctl.tcp_rmem=4096 131072 67108864".into()));
            }
            Self::LargeSendBuffer => {
                keys.push(put("hosts.sender.sysctl.tcp_wmem=4096 131072 67108864".into()));
            }
            Self::FasterLink => {
                keys.push(put(format!("path.rate={} bit/s", (transfer.rate * 3.0) as u64)));
                if !transfer.faults.contains(&Fault::SlowAcks) {
                    keys.push(put(format!("path.reverse.rate={} bit/s", transfer.rate as u64)));
                }
            }
            Self::LongerQueue => {
                let least = transfer.queue.max(transfer.rate * transfer.rtt / 8.0);
                keys.push(put(format!("path.forward.queue={} B", (least * 4.0) as u64)));
            }
            Self::ShorterPath => {
                keys.push(put(format!("path.delay={} us", (transfer.rtt / 2.0 / 3.0 * 1e6) as u64)));
            }
        }
        keys.into_iter().map(|key| key.text).collect()
    }

    /// Whether `cause` is right for a transfer that it makes faster.
    pub fn makes_right(self, cause: Cause) -> bool {
        let of_loss = || cause.limit() == Limit::LossRecovery || cause == Cause::AfterLoss;
        let of_link = || matches!(cause, Cause::BottleneckFull | Cause::StandingQueue);
        match self {
            Self::Without(fault) => match fault {
                Fault::Loss | Fault::BurstyLoss => of_loss(),
                Fault::Policer => cause == Cause::Policer,
                Fault::Marks => cause == Cause::EcnMarks,
                Fault::Reordering => matches!(cause, Cause::Reordering | Cause::SpuriousTimeout),
                Fault::Jitter => {
                    matches!(cause, Cause::Reordering | Cause::SpuriousTimeout | Cause::DelaySpike)
                }
                Fault::Stalls => cause == Cause::DelaySpike || of_link() || of_loss(),
                Fault::AckLoss => of_loss() || of_link() || cause == Cause::SynLost,
                Fault::SlowAcks => cause == Cause::AckPathQueue,
                Fault::CrossTraffic => of_link() || of_loss(),
                Fault::Pacing => cause == Cause::LocalRateLimit,
                Fault::SlowWriter | Fault::PausingWriter | Fault::Messages => cause == Cause::SenderIdle,
                Fault::Turns => cause == Cause::ThinkTime,
                Fault::SlowReader | Fault::PausingReader => {
                    matches!(cause, Cause::SlowReader | Cause::ReaderStopped)
                }
                Fault::ReceiveBuffer | Fault::NoScaling => Self::LargeReceiveBuffer.makes_right(cause),
                Fault::SendBuffer => Self::LargeSendBuffer.makes_right(cause),
                Fault::Link | Fault::ShortQueue | Fault::LongQueue => of_link(),
            },
            Self::LargeReceiveBuffer => matches!(
                cause,
                Cause::ReceiveBufferTooSmall
                    | Cause::NoWindowScaling
                    | Cause::WindowScaleTooSmall
                    | Cause::AutotuningLag
            ),
            Self::LargeSendBuffer => cause == Cause::SendBufferFull,
            Self::FasterLink => of_link(),
            Self::LongerQueue => of_loss() || of_link(),
            Self::ShorterPath => {
                matches!(cause.limit(), Limit::CongestionWindow | Limit::Connection)
                    || matches!(cause, Cause::ThinkTime | Cause::NagleDelayedAck | Cause::AckPathQueue)
            }
        }
    }
}
