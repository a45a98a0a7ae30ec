//! A frame of any link type (its first two bytes) and any length on the wire (the next four): decoding, which tries the short
//! way first, finds what the long way alone finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_capture::layer::Skip;
use slowpath_capture::packet::Packet;
use slowpath_capture::{LinkType, decode};

/// Holds what is found against the long way's result.
struct Expect<'a>(Result<Packet<'a>, Skip>);

impl<'a> decode::Taker<'a> for Expect<'a> {
    fn on_short_way(&mut self, packet: &Packet<'a>) {
        assert_eq!(Ok(*packet), self.0);
    }
    fn on_long_way(&mut self, found: Result<&Packet<'a>, Skip>) {
        assert_eq!(found.copied(), self.0);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&[a, b, c, d, e, f], frame)) = data.split_first_chunk() else { return };
    let link = LinkType(u16::from_be_bytes([a, b]));
    let wire = u32::from_be_bytes([c, d, e, f]);
    decode::decode(link, frame, wire, &mut Expect(decode::headers(link, frame, wire)));
});
