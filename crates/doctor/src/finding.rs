//! What is found, and what would mend it.

use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Rate;

/// Something of this host that a transfer would suffer from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its name: `receive-buffer`.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// In one line: `tcp_rmem lets a receive buffer grow to 512 KiB`.
    pub title: String,
    /// Where it was seen, and what was seen: `net.ipv4.tcp_rmem = 4096 131072 524288`.
    pub seen: String,
    /// Why it matters to this transfer, with the arithmetic.
    pub why: String,
    /// What would mend it, the first being the usual one.
    pub fixes: Vec<Fix>,
    /// Where all this is from: a document of the kernel, a function of it, an RFC's section, a paper's.
    pub source: &'static str,
}

/// All that can be found; the handbook says of each what it looks at (`docs/src/doctor.md`).
pub const NAMES: [&str; 64] = [
    "advertised-part",
    "backlog-drops",
    "backlog-full",
    "bad-frames",
    "budget",
    "buffers-by-program",
    "collapsed",
    "congestion-control",
    "cpu-clock",
    "dsack",
    "emulator",
    "fixed-receive-buffer",
    "flow-rate",
    "frto",
    "gro",
    "gso",
    "half-duplex",
    "link-down",
    "link-rate",
    "max-reordering",
    "memory-pressure",
    "mtu",
    "mtu-probing",
    "notsent-lowat",
    "one-cpu",
    "one-queue",
    "output-limit",
    "pacing-ratio",
    "parameter-cache",
    "pruned",
    "queue-drops",
    "queue-length",
    "rack",
    "receive-buffer",
    "receive-queue-drops",
    "reordering",
    "retransmits-refused",
    "retries",
    "ring-overflow",
    "route-advmss",
    "route-cwnd",
    "route-initcwnd",
    "route-initrwnd",
    "route-mtu",
    "route-rto-min",
    "route-ssthresh",
    "route-window",
    "rto-min",
    "sack",
    "scatter-gather",
    "send-buffer",
    "shaper",
    "slow-start-after-idle",
    "sock-ops",
    "spurious-timeouts",
    "super-packets",
    "tail-loss-probe",
    "tcp-memory",
    "timeouts",
    "timestamps",
    "transmit-checksums",
    "tso",
    "window-scaling",
    "zero-window-drops",
];

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "rate")]
pub enum Severity {
    /// The transfer gets about this much at most, whatever the path does. What a buffer's memory holds is an
    /// estimate, as the finding says; other limits are exact.
    Limits(
        /// In bit/s.
        #[serde(serialize_with = "bits")]
        #[schemars(with = "u64")]
        Rate,
    ),
    /// It takes time or CPU, or makes a loss dearer; how much depends on the path.
    Costs,
    /// Something to know or to look at, which may be harmless.
    Hint,
}

fn bits<S: serde::Serializer>(rate: &Rate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(rate.get())
}

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fix {
    /// The line for a shell, as root unless it only looks.
    pub command: String,
    /// The line that puts back what was there before; `None` where it changes nothing that can be put back.
    pub reverts: Option<String>,
    /// What makes it last over a restart: a file and its line; `None` where that depends on the distribution.
    pub lasting: Option<String>,
}

impl Severity {
    /// The rate beyond which nothing goes, if it is a limit.
    pub const fn limit(self) -> Option<Rate> {
        match self {
            Self::Limits(rate) => Some(rate),
            Self::Costs | Self::Hint => None,
        }
    }

    /// The order in which findings are told: what limits most is first.
    pub(crate) const fn rank(self) -> (u8, u64) {
        match self {
            Self::Limits(rate) => (0, rate.get()),
            Self::Costs => (1, 0),
            Self::Hint => (2, 0),
        }
    }
}

impl Finding {
    /// Whether it is more than something to know.
    pub const fn is_fault(&self) -> bool {
        !matches!(self.severity, Severity::Hint)
    }

    /// A finding without a remedy yet.
    pub(crate) fn new(name: &'static str, severity: Severity, title: impl Into<String>) -> Self {
        debug_assert!(NAMES.contains(&name), "{name} is not in the list, nor in the handbook");
        Self {
            name,
            severity,
            title: title.into(),
            seen: String::new(),
            why: String::new(),
            fixes: Vec::new(),
            source: "",
        }
    }

    pub(crate) fn seen(mut self, seen: impl Into<String>) -> Self {
        self.seen = seen.into();
        self
    }

    pub(crate) fn because(mut self, why: impl Into<String>, source: &'static str) -> Self {
        (self.why, self.source) = (why.into(), source);
        self
    }

    pub(crate) fn mended_by(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }
}

impl Fix {
    /// A line that changes something.
    pub(crate) fn command(line: impl Into<String>) -> Self {
        Self { command: line.into(), reverts: None, lasting: None }
    }

    pub(crate) fn undone_by(mut self, line: impl Into<String>) -> Self {
        self.reverts = Some(line.into());
        self
    }

    /// A setting, and what it is set to now.
    pub(crate) fn sysctl(name: &str, value: &str, before: &str) -> Self {
        let quoted = |text: &str| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if text.contains(' ') { format!("\"{text}\"") } else { text }
        };
        Self {
            command: format!("sysctl -w {name}={}", quoted(value)),
            reverts: Some(format!("sysctl -w {name}={}", quoted(before))),
            lasting: Some(format!("/etc/sysctl.d/90-slowpath.conf: {name} = {value}")),
        }
    }
}
