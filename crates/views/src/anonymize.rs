//! `slowpath anonymize`: what was kept, mapped and left out, as text and as JSON.

use crate::quantity::{counted, share};
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_model::Bytes;
use slowpath_runs::anonymize::{Anonymized, Of};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// What `--help` teaches about the command.
pub const HELP: &str = "\
The copy has the same verdict, and none of the names. Addresses are mapped by Crypto-PAn: two that had their first n bits in common \
have just these in common afterwards. MAC addresses are mapped, too. Payload, comments, interface names, name resolution, secrets and \
whatever is not understood are left out. Sizes, times, TCP's sequence numbers and options, VLAN and tunnel numbers stay: who sees the \
copy learns how much was sent when, and who shares a network with whom. The handbook has the whole list (Sharing a \
capture).

Without --key-file the key is random and is not kept: nobody can map the addresses back, and another file gets other addresses. With \
it, an address has the same replacement in all files: `openssl rand -hex 32 > key; chmod 600 key`. Who has the key can undo the mapping.

An output that ends in .zst or .gz is compressed. An input that breaks off is copied up to there.

Exit codes: 0 copied; 1 copied up to where the input breaks off; 2 no copy: not a capture, the output exists, others may read the key file.

Examples:
  slowpath anonymize transfer.pcap shared.pcap
  slowpath anonymize sender.pcapng shared-sender.pcapng.zst --key-file key --ports map
  slowpath diagnose transfer.pcap --html shared.html --anonymize";

/// Prints what was done.
///
/// # Errors
///
/// The errors of `out`.
pub fn print(done: &Anonymized, output: &Path, out: &mut impl Write) -> io::Result<()> {
    let mapped = done.mapped;
    let name = output.display();
    match &done.of {
        Of::Capture(copied) => {
            writeln!(out, "{name}: {}, {} of them TCP", counted(copied.frames, "packet"), copied.segments)?;
            let left = copied.captured_bytes.saturating_sub(copied.kept_bytes);
            let part =
                if copied.captured_bytes == 0 { 0.0 } else { left as f64 / copied.captured_bytes as f64 };
            writeln!(
                out,
                "  left out: {} of captured packets ({}), {} of that TCP payload",
                Bytes::new(left),
                share(part),
                Bytes::new(copied.payload_bytes)
            )?;
            for (protocol, frames) in &copied.other_protocols {
                writeln!(out, "  left out: what {} of {protocol} carry", counted(*frames, "packet"))?;
            }
            if copied.unreadable > 0 {
                let frames = counted(copied.unreadable, "packet");
                writeln!(
                    out,
                    "  left out: all but the headers of {frames} that cannot be read, or are later fragments"
                )?;
            }
            for (what, count) in &copied.left_out {
                writeln!(out, "  left out: {what} ({count})")?;
            }
        }
        Of::Recording { events, .. } => writeln!(out, "{name}: {}", counted(*events, "event"))?,
        Of::Records(copied) => {
            writeln!(out, "{name}: {}", counted(copied.samples, "sample"))?;
            if copied.processes > 0 {
                writeln!(out, "  left out: {} of sockets", counted(copied.processes, "process name"))?;
            }
        }
    }
    let ports =
        if mapped.ports == 0 { String::new() } else { format!(", {}", counted(mapped.ports, "port")) };
    writeln!(
        out,
        "  mapped: {} IP {}, {} MAC {}{ports}",
        mapped.addresses,
        addresses(mapped.addresses),
        mapped.macs,
        addresses(mapped.macs)
    )?;
    match done.incomplete() {
        Some(reason) => writeln!(out, "  the input breaks off: {reason}"),
        None => Ok(()),
    }
}

const fn addresses(count: u64) -> &'static str {
    if count == 1 { "address" } else { "addresses" }
}

/// What `slowpath anonymize --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath/anonymize/1")]
pub struct AnonymizeDocument {
    /// `slowpath/anonymize/1`.
    schema: &'static str,
    /// The copy.
    output: String,
    /// What was copied: `capture`, `recording`, or `records` of the probe.
    kind: &'static str,
    /// Packets of a capture.
    packets: Option<u64>,
    /// TCP segments among these.
    segments: Option<u64>,
    /// Captured bytes of the packets.
    captured_bytes: Option<u64>,
    /// Bytes of these in the copy.
    kept_bytes: Option<u64>,
    /// Bytes of TCP payload that are not in the copy.
    payload_bytes: Option<u64>,
    /// Packets whose headers cannot be read, and later fragments; the copy has no more of them than these headers.
    unreadable: Option<u64>,
    /// Packets of other protocols; the copy has no more of them than the headers before these.
    other_protocols: BTreeMap<String, u64>,
    /// Options, blocks and other parts of the file that were left out, by what they are.
    left_out: BTreeMap<&'static str, u64>,
    /// Events of a recording.
    events: Option<u64>,
    /// Samples of the probe.
    samples: Option<u64>,
    /// Owners of sockets that were left out.
    processes: Option<u64>,
    /// Different IP addresses that were mapped.
    addresses: u64,
    /// Different MAC addresses that were mapped.
    macs: u64,
    /// Different ports of hosts that were mapped.
    ports: u64,
    /// Why the input was not read to its end; `null` if it was.
    incomplete: Option<String>,
}

impl AnonymizeDocument {
    /// What was done.
    pub fn of(done: &Anonymized, output: &Path) -> Self {
        let document = Self {
            schema: "slowpath/anonymize/1",
            output: output.display().to_string(),
            kind: "capture",
            packets: None,
            segments: None,
            captured_bytes: None,
            kept_bytes: None,
            payload_bytes: None,
            unreadable: None,
            other_protocols: BTreeMap::new(),
            left_out: BTreeMap::new(),
            events: None,
            samples: None,
            processes: None,
            addresses: done.mapped.addresses,
            macs: done.mapped.macs,
            ports: done.mapped.ports,
            incomplete: done.incomplete(),
        };
        match &done.of {
            Of::Capture(copied) => Self {
                packets: Some(copied.frames),
                segments: Some(copied.segments),
                captured_bytes: Some(copied.captured_bytes),
                kept_bytes: Some(copied.kept_bytes),
                payload_bytes: Some(copied.payload_bytes),
                unreadable: Some(copied.unreadable),
                other_protocols: copied.other_protocols.iter().map(|(of, n)| (of.to_string(), *n)).collect(),
                left_out: copied.left_out.clone(),
                ..document
            },
            Of::Recording { events, .. } => Self { kind: "recording", events: Some(*events), ..document },
            Of::Records(copied) => Self {
                kind: "records",
                samples: Some(copied.samples),
                processes: Some(copied.processes),
                ..document
            },
        }
    }
}
