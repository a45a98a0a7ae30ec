//! The interfaces of a capture: link types, clocks, drops.
//!
//! Reading list: draft-ietf-opsawg-pcapng, sections 4.2 (interface description) and 4.6 (interface statistics).

use crate::link_type::LinkType;
use crate::summary::Interface;
use slowpath_wire::bytes::Order;
use slowpath_wire::pcapng::{IF_NAME, IF_TSOFFSET, IF_TSRESOL, ISB_IFDROP, ISB_OSDROP, options};

/// The maximum number of interfaces stored per section. A capture on `any` of a large host has some hundreds; a file
/// with more than this is not a capture, and must not exhaust the memory.
const MOST: usize = 1 << 16;

/// The maximum number of interfaces in the summary.
const LISTED: usize = 64;

/// The longest stored interface name, in bytes. Linux allows 15 (`IFNAMSIZ`), Windows some 50.
const LONGEST_NAME: usize = 256;

/// The clock of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    tick: Tick,
    /// Added to every timestamp, in nanoseconds.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// This many nanoseconds per tick.
    Nanoseconds(u64),
    /// This many ticks per nanosecond.
    PerNanosecond(u64),
    /// 2 to the power of minus this many seconds.
    Binary(u32),
}

impl Clock {
    /// Microseconds, unless an option sets another unit.
    const DEFAULT: Self = Self { tick: Tick::Nanoseconds(1000), offset: 0 };

    /// By `if_tsresol`: a negative power of ten, or of two if the highest bit is set.
    fn with_resolution(self, resolution: u8) -> Self {
        let power = u32::from(resolution & 0x7f);
        let tick = match (resolution & 0x80, power) {
            (0, 0..=9) => Tick::Nanoseconds(10u64.pow(9 - power)),
            (0, _) => Tick::PerNanosecond(10u64.checked_pow(power - 9).unwrap_or(u64::MAX)),
            _ => Tick::Binary(power),
        };
        Self { tick, ..self }
    }

    /// Nanoseconds since 1970, rounded down; saturates.
    #[inline]
    pub(crate) fn stamp(self, ticks: u64) -> i64 {
        let nanos = match self.tick {
            Tick::Nanoseconds(n) => ticks.saturating_mul(n),
            Tick::PerNanosecond(n) => ticks / n,
            Tick::Binary(power) => {
                u64::try_from((u128::from(ticks) * 1_000_000_000) >> power).unwrap_or(u64::MAX)
            }
        };
        i64::try_from(nanos).unwrap_or(i64::MAX).saturating_add(self.offset)
    }
}

/// The stored state of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described {
    pub(crate) link: LinkType,
    pub(crate) clock: Clock,
    pub(crate) snap_length: u32,
    frames: u64,
    drops: Option<u64>,
}

/// The interfaces of the current section, and a summary of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    current: Vec<Described>,
    /// Names in the current section that will be listed.
    names: Vec<Option<String>>,
    listed: Vec<Interface>,
    count: u64,
    drops: Option<u64>,
}

impl Interfaces {
    /// The interface with this number, which has captured a frame.
    #[inline]
    pub(crate) fn get(&mut self, number: u32) -> Option<&Described> {
        let interface = self.current.get_mut(number as usize)?;
        interface.frames += 1;
        Some(interface)
    }

    /// The single interface of a format without interface descriptions.
    pub(crate) fn only(&mut self, link: LinkType, snap_length: u32) {
        self.count += 1;
        self.names.push(None);
        self.current.push(Described { link, clock: Clock::DEFAULT, snap_length, frames: 0, drops: None });
    }

    /// Sets the frames captured by the single interface.
    pub(crate) fn only_captured(&mut self, frames: u64) {
        if let [interface] = self.current.as_mut_slice() {
            interface.frames = frames;
        }
    }

    /// Handles the body of an interface description block, of at least 8 bytes; returns whether there was room.
    pub(crate) fn describe(&mut self, order: Order, body: &[u8]) -> bool {
        self.count += 1;
        if self.current.len() >= MOST {
            return false;
        }
        let mut clock = Clock::DEFAULT;
        let mut name = None;
        for (code, value) in options(order, &body[8..]) {
            match (code, value) {
                (IF_NAME, name_bytes) if name_bytes.len() <= LONGEST_NAME => {
                    name = Some(String::from_utf8_lossy(name_bytes).trim_end_matches('\0').to_owned());
                }
                (IF_TSRESOL, [resolution]) => clock = clock.with_resolution(*resolution),
                (IF_TSOFFSET, value) => {
                    if let Ok(eight) = value.try_into() {
                        clock.offset = (order.u64(eight) as i64).saturating_mul(1_000_000_000);
                    }
                }
                _ => {}
            }
        }
        if self.listed.len() + self.names.len() < LISTED {
            self.names.push(name);
        }
        let link = LinkType(order.u16(body, 0));
        self.current.push(Described { link, clock, snap_length: order.u32(body, 4), frames: 0, drops: None });
        true
    }

    /// Handles the body of an interface statistics block. Its counts run from the capture's start, so the last one is
    /// final.
    pub(crate) fn statistics(&mut self, order: Order, body: &[u8]) {
        if body.len() < 12 {
            return;
        }
        let Some(interface) = self.current.get_mut(order.u32(body, 0) as usize) else { return };
        let mut drops = None;
        for (code, value) in options(order, &body[12..]) {
            if let (ISB_IFDROP | ISB_OSDROP, Ok(eight)) = (code, value.try_into()) {
                drops = Some(order.u64(eight).saturating_add(drops.unwrap_or(0)));
            }
        }
        interface.drops = drops.or(interface.drops);
    }

    /// A section numbers its interfaces from 0 again.
    pub(crate) fn new_section(&mut self) {
        let mut names = std::mem::take(&mut self.names).into_iter();
        for interface in self.current.drain(..) {
            if let Some(drops) = interface.drops {
                self.drops = Some(drops.saturating_add(self.drops.unwrap_or(0)));
            }
            if let Some(name) = names.next() {
                self.listed.push(Interface {
                    name,
                    link: interface.link,
                    link_name: interface.link.name(),
                    snap_length: interface.snap_length,
                    frames: interface.frames,
                    drops: interface.drops,
                });
            }
        }
    }

    /// The list, the number, and the total drops.
    pub(crate) fn finish(mut self) -> (Vec<Interface>, u64, Option<u64>) {
        self.new_section();
        (self.listed, self.count, self.drops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_resolutions_are_converted() {
        let stamp = |resolution, ticks| Clock::DEFAULT.with_resolution(resolution).stamp(ticks);
        assert_eq!(Clock::DEFAULT.stamp(1_500_000), 1_500_000_000);
        assert_eq!(stamp(0, 3), 3_000_000_000);
        assert_eq!(stamp(3, 3), 3_000_000);
        assert_eq!(stamp(9, 3), 3);
        assert_eq!(stamp(12, 3_999), 3);
        assert_eq!(stamp(127, u64::MAX - 1), 0, "below a nanosecond");
        assert_eq!(stamp(0x80, 2), 2_000_000_000);
        assert_eq!(stamp(0x8a, 1536), 1_500_000_000, "2^-10 s");
        assert_eq!(stamp(0xff, u64::MAX), 0);
        assert_eq!(stamp(0, u64::MAX), i64::MAX, "beyond the range");
    }

    #[test]
    fn number_of_stored_interfaces_is_limited() {
        let mut interfaces = Interfaces::default();
        let body = [1, 0, 0, 0, 0, 0, 4, 0];
        for n in 0..2_000_000 {
            assert_eq!(interfaces.describe(Order::Little, &body), n < MOST);
        }
        let (listed, count, drops) = interfaces.finish();
        assert_eq!((listed.len(), count, drops), (LISTED, 2_000_000, None));
    }

    #[test]
    fn interface_names_offsets_and_drops_are_read() {
        let mut interfaces = Interfaces::default();
        let mut body = vec![0, 1, 0, 0, 0, 0, 0, 96];
        body.extend([0, 2, 0, 4, b'e', b't', b'h', b'0', 0, 9, 0, 1, 9, 0, 0, 0]);
        body.extend([0, 14, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        assert!(interfaces.describe(Order::Big, &body));
        assert_eq!(interfaces.get(0).unwrap().clock.stamp(5), 5 - 1_000_000_000, "an offset of -1 s");
        assert!(interfaces.get(1).is_none());
        let mut statistics = vec![0; 12];
        statistics.extend([0, 5, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2]);
        interfaces.statistics(Order::Big, &statistics);
        interfaces.statistics(Order::Big, &statistics);
        let (listed, _, drops) = interfaces.finish();
        let [eth0] = listed.as_slice() else { panic!("one interface") };
        assert_eq!((eth0.name.as_deref(), eth0.snap_length, eth0.frames), (Some("eth0"), 96, 1));
        assert_eq!((eth0.drops, drops), (Some(9), Some(9)), "counts run from the start");
    }
}
