//! Reads the samples of a run.

use crate::error::LabError;
use crate::samples::COLUMNS;
use slowpath_files::{Bound, Packing, Unpacked, open_regular};
use std::io::{BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;

/// How far a file is unpacked: lines of numbers pack some 10 times.
const BOUND: Bound = Bound { free: 64 << 20, ratio: 64, most: 1 << 30 };

/// A sample of a socket; nothing changed until the next sample of that socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledState {
    /// When, `CLOCK_REALTIME`.
    pub at_ns: u64,
    /// The socket's own address.
    pub local: SocketAddr,
    /// Its peer's address.
    pub remote: SocketAddr,
    /// `tcpi_ca_state`: open, disorder, CWR, recovery, loss.
    pub ca_state: u8,
    /// `tcpi_snd_cwnd`.
    pub cwnd_packets: u64,
    /// `tcpi_unacked`.
    pub unacked_packets: u64,
    /// `tcpi_sacked`.
    pub sacked_packets: u64,
    /// `tcpi_notsent_bytes`.
    pub notsent_bytes: u64,
    /// `tcpi_snd_wnd`.
    pub snd_wnd_bytes: u64,
    /// `tcpi_rtt`.
    pub rtt_us: u64,
    /// `tcpi_busy_time`.
    pub busy_us: u64,
    /// `tcpi_rwnd_limited`.
    pub rwnd_limited_us: u64,
    /// `tcpi_sndbuf_limited`.
    pub sndbuf_limited_us: u64,
    /// `tcpi_bytes_acked`, which counts the SYN.
    pub acked_bytes: u64,
}

impl SampledState {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(',').collect();
        let word = |name: &str| words.get(COLUMNS.split(',').position(|column| column == name)?).copied();
        let number = |name: &str| word(name)?.parse::<u64>().ok();
        Some(Self {
            at_ns: number("at_ns")?,
            local: word("local")?.parse().ok()?,
            remote: word("remote")?.parse().ok()?,
            ca_state: word("ca_state")?.parse().ok()?,
            cwnd_packets: number("snd_cwnd")?,
            unacked_packets: number("unacked")?,
            sacked_packets: number("sacked")?,
            notsent_bytes: number("notsent_bytes")?,
            snd_wnd_bytes: number("snd_wnd_bytes")?,
            rtt_us: number("rtt_us")?,
            busy_us: number("busy_us")?,
            rwnd_limited_us: number("rwnd_limited_us")?,
            sndbuf_limited_us: number("sndbuf_limited_us")?,
            acked_bytes: number("bytes_acked")?,
        })
    }
}

/// Reads a samples file, in the order of time.
///
/// # Errors
/// If it cannot be read or a row is not one of [`COLUMNS`].
pub fn read(path: &Path) -> Result<Vec<SampledState>, LabError> {
    let packed = open_regular(path).map(BufReader::new).map_err(LabError::file(path))?;
    let mut bytes = Vec::new();
    let unpacked = Unpacked::new(Packing::Zstd, packed, BOUND);
    unpacked.and_then(|mut source| source.read_to_end(&mut bytes)).map_err(LabError::file(path))?;
    parse(&String::from_utf8_lossy(&bytes)).map_err(LabError::file(path))
}

/// Parses samples as they were taken.
///
/// # Errors
/// If a row is not one of [`COLUMNS`].
pub fn parse(text: &str) -> std::io::Result<Vec<SampledState>> {
    let invalid = |line: &str| std::io::Error::other(format!("not a sample: {line}"));
    let sample = |line: &str| SampledState::parse(line).ok_or_else(|| invalid(line));
    text.lines().skip(1).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_rows_are_read_by_column_name() {
        let numbers: Vec<String> = (3..COLUMNS.split(',').count()).map(|n| n.to_string()).collect();
        let sample =
            SampledState::parse(&format!("7,192.0.2.1:5,192.0.2.2:6,{}", numbers.join(","))).unwrap();
        assert_eq!((sample.at_ns, sample.ca_state, sample.cwnd_packets), (7, 3, 4));
        assert_eq!((sample.notsent_bytes, sample.rtt_us, sample.acked_bytes), (10, 14, 20));
        assert_eq!(SampledState::parse("1,2,3"), None);
    }
}
