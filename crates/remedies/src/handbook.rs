//! Where the handbook explains a cause.

use slowpath_analyses::Cause;

macro_rules! pages {
    ($($cause:ident: $page:literal,)*) => {
        /// The handbook's page of `cause`, below `docs/src`: `receive-window/slow-reader.md`.
        pub const fn handbook_page(cause: Cause) -> &'static str {
            match cause { $(Cause::$cause => $page,)* }
        }

        /// That page's text, as Markdown.
        pub const fn handbook_text(cause: Cause) -> &'static str {
            match cause { $(Cause::$cause => include_str!(concat!("../../../docs/src/", $page)),)* }
        }
    };
}

pages! {
    Handshake: "connection/handshake.md",
    SynLost: "connection/syn-lost.md",
    SenderIdle: "application/sender-idle.md",
    ThinkTime: "application/think-time.md",
    NagleDelayedAck: "application/nagle-delayed-ack.md",
    SendBufferFull: "send-buffer/full.md",
    ReceiveBufferTooSmall: "receive-window/buffer-too-small.md",
    NoWindowScaling: "receive-window/no-window-scaling.md",
    WindowScaleTooSmall: "receive-window/scale-too-small.md",
    AutotuningLag: "receive-window/autotuning-lag.md",
    SlowReader: "receive-window/slow-reader.md",
    ReaderStopped: "receive-window/reader-stopped.md",
    AcksHeldBack: "receiver-processing/acks-held-back.md",
    SlowStart: "congestion-window/slow-start.md",
    AfterLoss: "congestion-window/after-loss.md",
    EarlyExit: "congestion-window/early-exit.md",
    FastRecovery: "loss-recovery/fast-recovery.md",
    Timeout: "loss-recovery/rto.md",
    SpuriousTimeout: "loss-recovery/spurious-rto.md",
    TailLoss: "loss-recovery/tail-loss.md",
    LostRetransmission: "loss-recovery/lost-retransmission.md",
    SackReneging: "loss-recovery/sack-reneging.md",
    Reordering: "loss-recovery/reordering.md",
    BottleneckFull: "path/bottleneck-full.md",
    StandingQueue: "path/standing-queue.md",
    DelaySpike: "path/delay-spike.md",
    Policer: "path/policer.md",
    CaptureGap: "unknown/capture-gap.md",
    OneDirection: "unknown/one-direction.md",
    Undetermined: "unknown/undetermined.md",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_after_limit_and_cause() {
        for cause in Cause::ALL {
            assert_eq!(handbook_page(*cause), format!("{cause}.md"));
        }
    }
}
