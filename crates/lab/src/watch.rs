//! A capture of one host's interface while a transfer runs: a pcap file with nanosecond timestamps.
//!
//! Its thread is not woken for packets: it empties the ring at intervals, so that a capture uses little of the CPU that
//! it watches.

use crate::background::Background;
use crate::clock;
use crate::error::LabError;
use crate::namespaces::{Namespaces, Place};
use crate::pcap;
use crate::slots::{self, Slots};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Headers only: Ethernet with a VLAN tag, IPv6 and TCP with all its options need 118 bytes.
const SNAP_BYTES: usize = 128;
/// A snapshot and the kernel's header before it.
const SLOT_BYTES: usize = 256;
/// 32 MiB: an eighth of a second at a million packets a second.
const SLOTS: usize = 1 << 17;
const EVERY: Duration = Duration::from_millis(5);
/// Below the relay, above everything outside the lab.
const PRIORITY: i32 = 10;
const ETHER_ADDRESSES: usize = 12;

/// The result of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchReport {
    /// Packets written.
    pub captured_packets: u64,
    /// Packets the capture lost; should be 0.
    pub dropped_packets: u64,
}

/// A running capture.
pub struct Watch(Background<Result<WatchReport, LabError>>);

impl Watch {
    /// Starts a capture and waits until it listens.
    ///
    /// # Errors
    /// If there is no such device, it may not be captured, or the file cannot be written.
    pub fn start(namespaces: &Namespaces, place: Place, device: &str, file: &Path) -> Result<Self, LabError> {
        let slots =
            namespaces.inside(place, || Slots::listen(slots::socket()?, device, SLOT_BYTES, SLOTS))?;
        let out = BufWriter::new(File::create(file).map_err(LabError::file(file))?);
        let path = file.to_owned();
        Ok(Self(Background::start(move |stop| {
            clock::make_thread_punctual(PRIORITY);
            record(slots, out, stop).map_err(LabError::file(path))
        })))
    }

    /// Ends the capture with everything that has arrived.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn stop(self) -> Result<WatchReport, LabError> {
        self.0.finish().unwrap_or(Err(LabError::Panicked { role: "captures packets" }))
    }
}

fn record(mut slots: Slots, mut out: impl Write, stop: &AtomicBool) -> std::io::Result<WatchReport> {
    let mut report = WatchReport::default();
    out.write_all(&slowpath_wire::pcap::header(SNAP_BYTES as u32))?;
    loop {
        // Packets that arrived before the stop request are written.
        let is_last = stop.load(Ordering::Relaxed);
        while let Some(slot) = slots.next() {
            let (_, frame) = slot.frame(0);
            let mut kept = [0; SNAP_BYTES];
            let (bytes, tag_bytes) = keep(frame, slot.tag(), &mut kept);
            let length_bytes = slot.length_bytes() + tag_bytes;
            pcap::write_frame(&mut out, &pcap::Frame { at_ns: slot.stamp_ns(), length_bytes, bytes })?;
            report.captured_packets += 1;
            slots.done();
        }
        if is_last {
            break;
        }
        thread::sleep(EVERY);
    }
    report.dropped_packets = slots.missed_frames();
    out.flush()?;
    Ok(report)
}

/// The stored part of a frame, with the tag put back that the kernel removed; and how many bytes that has.
fn keep<'a>(frame: &[u8], tag: Option<(u16, u16)>, kept: &'a mut [u8; SNAP_BYTES]) -> (&'a [u8], u32) {
    let tag = tag.filter(|_| frame.len() >= ETHER_ADDRESSES);
    let (before, after) = frame.split_at(if tag.is_some() { ETHER_ADDRESSES } else { 0 });
    let tag = tag.map(|(kind, content)| u32::from(kind) << 16 | u32::from(content)).map(u32::to_be_bytes);
    let tag = tag.as_ref().map_or(&[][..], |tag| tag);
    let mut kept_bytes = 0;
    for part in [before, tag, after] {
        let count = part.len().min(SNAP_BYTES - kept_bytes);
        kept[kept_bytes..kept_bytes + count].copy_from_slice(&part[..count]);
        kept_bytes += count;
    }
    (&kept[..kept_bytes], tag.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlan_tag_is_put_back_in_its_place() {
        let frame: Vec<u8> = (0..200).collect();
        let mut kept = [0; SNAP_BYTES];
        assert_eq!(keep(&frame, None, &mut kept), (&frame[..SNAP_BYTES], 0));
        assert_eq!(keep(&frame[..60], None, &mut kept), (&frame[..60], 0));
        let (bytes, more) = keep(&frame[..60], Some((0x8100, 0x0203)), &mut kept);
        assert_eq!((bytes.len(), more), (64, 4));
        assert_eq!(bytes[8..20], [8, 9, 10, 11, 0x81, 0, 2, 3, 12, 13, 14, 15]);
        assert_eq!(
            keep(&frame[..5], Some((0x8100, 7)), &mut kept),
            (&frame[..5], 0),
            "too short for a frame"
        );
    }
}
