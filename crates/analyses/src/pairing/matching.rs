//! Which packet of one recording is which of the other.
//!
//! Packets that take sequence space are matched by the bytes they carry, so that a super-packet (TSO on the way out,
//! GRO on the way in) finds the packets it became or was made of: the i-th of them carries the i-th identification.
//! Several transmissions of the same bytes are distinguished by identification, TSval and window as far as the path
//! leaves them alone, and otherwise by time. Where it changes some fields of some packets, these fields count only if
//! a packet with the same ones is found. All others are matched by what they acknowledge and the same fields, in
//! order.

use super::clock::Transit;
use super::lane::{Side, Trust};
use super::record::Record;
use super::sizes::{MOST_PACKETS, Sizes};
use crate::copies::SAME_ACK_WITHIN;
use crate::outstanding::SAME_FRAME_WITHIN;

/// In [`Matches::partner`]: no partner.
pub(super) const NONE: u32 = u32::MAX;

/// One direction: the recording nearer to the sender, and the one further on.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub near: Side<'a>,
    pub far: Side<'a>,
    /// By how much a position in `far` exceeds that in `near`.
    pub shift: i64,
    /// By how much an acknowledgment number in `far` exceeds that in `near`.
    pub ack_shift: i64,
    /// Payload of a full packet, if known.
    pub sizes: Option<Sizes>,
    pub trust: Trust,
}

/// A set of numbers below a bound.
#[derive(Clone, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    pub fn has(&self, n: u32) -> bool {
        self.0[n as usize / 64] >> (n % 64) & 1 == 1
    }

    /// Adds `n`; says whether it was new.
    fn add(&mut self, n: u32) -> bool {
        let word = &mut self.0[n as usize / 64];
        let before = *word;
        *word |= 1 << (n % 64);
        *word != before
    }
}

/// What was found.
#[derive(Debug)]
pub(super) struct Matches {
    /// For each far record the near record of its first packet, or [`NONE`].
    pub partner: Vec<u32>,
    /// For each near record its first packet's number; one more at the end.
    pub first_packet: Vec<u32>,
    /// Near packets that arrived.
    pub arrived: Bits,
    /// Near records that are copies of others: captured twice.
    pub copies: Vec<u32>,
    /// Far records with packets that had arrived before, and how many.
    pub twice: Vec<(u32, u32)>,
    /// Far records with packets that near never had, and how many.
    pub only_far: Vec<(u32, u32)>,
    /// Far records that could have been several near ones, decided by time.
    pub by_time: u64,
}

impl Matches {
    /// The far records that were matched, each with its near record, in far's order.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let matched = self.partner.iter().enumerate().filter(|(_, near)| **near != NONE);
        matched.map(|(far, near)| (far as u32, *near))
    }
}

/// A packet that could be one of several.
#[derive(Clone, Copy, Debug)]
struct Open {
    far: u32,
    /// Where in `near` the undecided part starts, and how many packets of the record come before it.
    place: i64,
    packets: u32,
}

/// The result for a candidate.
enum Found {
    None,
    One(u32),
    /// By these fields.
    Several(Trust),
}

/// First matches the unambiguous packets, then, with the clocks aligned, the rest.
#[derive(Debug)]
pub(super) struct Matching {
    pub matches: Matches,
    open: Vec<Open>,
    /// Groups of identical ACKs where one side has more: ranges of the sorted lists.
    groups: Vec<[(u32, u32); 2]>,
    near_acks: Vec<u32>,
    far_acks: Vec<u32>,
}

impl Lane<'_> {
    /// The matched far records, and how long each was on its way, in far's order.
    pub fn transits(
        &self,
        matches: &Matches,
        transit: &Transit<'_>,
    ) -> impl DoubleEndedIterator<Item = (u32, i64)> {
        matches.pairs().map(|(far, near)| (far, transit.of(self.near.wall(near), self.far.wall(far))))
    }

    /// Super-packets are not split if that would make more packets than they can hold: the length or the MSS is forged.
    pub fn within_bounds(self) -> Self {
        let most = u64::from(MOST_PACKETS) * self.near.records.len() as u64;
        let packets: u64 = self.near.records.iter().map(|record| u64::from(self.packets(record))).sum();
        if packets > most { Self { sizes: None, ..self } } else { self }
    }

    /// The payload of a full packet when `record` of near passed.
    pub fn size(&self, record: &Record) -> Option<i64> {
        self.sizes.as_ref().map(|sizes| sizes.at(record.at()))
    }

    /// How many packets on the wire a record stands for.
    pub fn packets(&self, record: &Record) -> u32 {
        match self.size(record) {
            Some(mss) if record.is_data() && record.len() > mss => {
                u32::try_from((record.len() + mss - 1) / mss).unwrap_or(u32::MAX)
            }
            _ => 1,
        }
    }

    /// How many packets carry `bytes`, as far as full packets have the length that they had at first.
    fn packets_of(&self, bytes: i64) -> u32 {
        let mss = self.sizes.as_ref().map(Sizes::first);
        mss.map_or(1, |mss| u32::try_from(((bytes + mss - 1) / mss).max(1)).unwrap_or(1))
    }

    /// Which packet of `record` carries the byte at `place`.
    pub fn packet_at(&self, record: &Record, place: i64) -> u32 {
        let number = self.size(record).map_or(0, |mss| (place - record.seq()) / mss);
        u32::try_from(number).unwrap_or(0).min(self.packets(record) - 1)
    }

    /// Where packet `number` of `record` starts.
    pub fn packet_start(&self, record: &Record, number: u32) -> i64 {
        record.seq() + self.size(record).unwrap_or(0) * i64::from(number)
    }

    /// Whether both recordings kept what lies at `place` in near.
    pub fn compared(&self, place: i64) -> bool {
        self.near.stripes.keeps(place) && self.far.stripes.keeps(place + self.shift)
    }

    /// Whether both recordings kept the pure ACKs of what lies at `place` in near.
    pub fn compared_ack(&self, place: i64) -> bool {
        self.near.stripes.keeps(place) && self.far.stripes.keeps(place + self.ack_shift)
    }

    /// Whether packet `skipped` of the far record can be the one at `place` in the near one.
    fn alike(&self, near: &Record, far: &Record, place: i64, skipped: u32, trust: Trust) -> bool {
        let id = || match (near.id(), far.id()) {
            (Some(near_id), Some(far_id)) => {
                near_id.wrapping_add(self.packet_at(near, place) as u16)
                    == far_id.wrapping_add(skipped as u16)
            }
            _ => true,
        };
        near.is_syn() == far.is_syn()
            && (!trust.tsval || near.tsval() == far.tsval())
            && (!trust.print || near.print() == far.print())
            && (!trust.id || id())
    }

    /// Whether a packet of `near` starts at `place`.
    fn aligned(&self, near: &Record, place: i64) -> bool {
        self.packet_start(near, self.packet_at(near, place)) == place
    }

    fn find(&self, far: &Record, place: i64, skipped: u32, copies: &[u32]) -> Found {
        let found = self.find_by(self.trust, far, place, skipped, copies);
        match self.trust.in_doubt().filter(|_| matches!(found, Found::None)) {
            Some(trust) => self.find_by(trust, far, place, skipped, copies),
            None => found,
        }
    }

    fn find_by(&self, trust: Trust, far: &Record, place: i64, skipped: u32, copies: &[u32]) -> Found {
        let mut found = Found::None;
        let mut exact = false;
        for index in self.near.covering(place) {
            let near = self.near.record(index);
            if !self.alike(near, far, place, skipped, trust) || copies.binary_search(&index).is_ok() {
                continue;
            }
            let starts = self.aligned(near, place);
            if exact && !starts {
                continue;
            }
            found = match found {
                _ if starts && !exact => Found::One(index),
                Found::None => Found::One(index),
                _ => Found::Several(trust),
            };
            exact |= starts;
        }
        found
    }

    /// Matches the unambiguous packets.
    pub fn matched(&self) -> Matching {
        let mut first_packet = Vec::with_capacity(self.near.records.len() + 1);
        let mut packets = 0u32;
        for record in self.near.records {
            first_packet.push(packets);
            packets = packets.saturating_add(self.packets(record));
        }
        first_packet.push(packets);
        let mut matching = Matching {
            matches: Matches {
                partner: vec![NONE; self.far.records.len()],
                first_packet,
                arrived: Bits::new(packets as usize),
                copies: self.copies(),
                twice: Vec::new(),
                only_far: Vec::new(),
                by_time: 0,
            },
            open: Vec::new(),
            groups: Vec::new(),
            near_acks: Vec::new(),
            far_acks: Vec::new(),
        };
        for far in &self.far.data {
            let place = self.far.record(*far).seq() - self.shift;
            matching.data(self, Open { far: *far, place, packets: 0 }, None);
        }
        matching.acks(self);
        matching
    }

    /// Frames that were captured twice near the sender.
    fn copies(&self) -> Vec<u32> {
        if !self.trust.id {
            return Vec::new();
        }
        let alike = |one: &Record, other: &Record| {
            // Linux sends each SYN-ACK with 0, and some load balancers retransmit with the identification of the original.
            let within = if one.id() == Some(0) { SAME_ACK_WITHIN } else { SAME_FRAME_WITHIN };
            other.at().saturating_sub(one.at()) < within
                && one.id() == other.id()
                && one.tsval() == other.tsval()
                && one.print() == other.print()
                && one.end() == other.end()
        };
        let mut copies = Vec::new();
        for (list, data) in [(&self.near.data, true), (&self.near.acks, false)] {
            for (n, index) in list.iter().enumerate() {
                let record = self.near.record(*index);
                let place = |record: &Record| if data { record.seq() } else { record.place() };
                // An earlier one in the same place; a retransmission has another identification.
                let earlier = list[..n].iter().rev().take(32).map(|index| self.near.record(*index));
                let mut same_place = earlier.take_while(|one| place(one) == place(record));
                if same_place.any(|one| alike(one, record)) {
                    copies.push(*index);
                }
            }
        }
        copies.sort_unstable();
        copies
    }

    /// What distinguishes ACKs with the same acknowledgment number.
    fn ack_key(&self, record: &Record) -> u64 {
        let trust = self.trust.in_changed().unwrap_or(self.trust);
        let field = |trusted: bool, value: u64| if trusted { value } else { 0 };
        field(trust.id, u64::from(record.id().unwrap_or(0))) << 48
            | field(trust.print, u64::from(record.print())) << 32
            | field(trust.tsval, u64::from(record.tsval().unwrap_or(0)))
    }
}

impl Matching {
    /// Follows a far record through the near ones that it is made of. With `transit`, decides doubts by time.
    fn data(&mut self, lane: &Lane<'_>, open: Open, transit: Option<&Transit<'_>>) {
        let Open { far: index, mut place, mut packets } = open;
        let far = lane.far.record(index);
        let end = far.end() - lane.shift;
        let mut twice = 0;
        while place < end {
            let near = match lane.find(far, place, packets, &self.matches.copies) {
                Found::One(near) => near,
                Found::Several(trust) => match transit {
                    None => return self.put_off(Open { far: index, place, packets }, twice),
                    Some(transit) => match self.likeliest(lane, trust, index, place, packets, transit) {
                        Some(near) => near,
                        None => {
                            self.unknown(lane, index, place, end);
                            break;
                        }
                    },
                },
                Found::None => {
                    self.unknown(lane, index, place, end);
                    break;
                }
            };
            if self.matches.partner[index as usize] == NONE {
                self.matches.partner[index as usize] = near;
            }
            let record = lane.near.record(near);
            let first = lane.packet_at(record, place);
            for number in first..lane.packets(record) {
                if number > first && lane.packet_start(record, number) >= end {
                    break;
                }
                twice +=
                    u32::from(!self.matches.arrived.add(self.matches.first_packet[near as usize] + number));
                packets += 1;
            }
            place = record.end();
        }
        if twice > 0 {
            self.matches.twice.push((index, twice));
        }
    }

    fn put_off(&mut self, open: Open, twice: u32) {
        self.open.push(open);
        if twice > 0 {
            self.matches.twice.push((open.far, twice));
        }
    }

    /// Packets from `place` on that far has and near has not.
    fn unknown(&mut self, lane: &Lane<'_>, far: u32, place: i64, end: i64) {
        self.matches.only_far.push((far, lane.packets_of(end - place)));
    }

    /// Of several identical transmissions, the latest that had not arrived and could have by then; if all had, the
    /// latest that could have. Where no packet shows how long the way takes, the earliest.
    fn likeliest(
        &mut self,
        lane: &Lane<'_>,
        trust: Trust,
        far: u32,
        place: i64,
        packets: u32,
        transit: &Transit<'_>,
    ) -> Option<u32> {
        self.matches.by_time += 1;
        let arrival = lane.far.wall(far);
        let record = lane.far.record(far);
        let mut best: Option<(bool, bool, i64, u32)> = None;
        for index in lane.near.covering(place) {
            let near = lane.near.record(index);
            if !lane.alike(near, record, place, packets, trust)
                || self.matches.copies.binary_search(&index).is_ok()
            {
                continue;
            }
            let sent = lane.near.wall(index);
            if transit.of(sent, arrival) < transit.shortest {
                continue;
            }
            let number = self.matches.first_packet[index as usize] + lane.packet_at(near, place);
            // Where no packet shows how long the way takes, any order but that of sending would be a guess.
            let sent = if transit.is_known() { sent } else { sent.saturating_neg() };
            let candidate = (lane.aligned(near, place), !self.matches.arrived.has(number), sent, index);
            best = best.max(Some(candidate));
        }
        best.map(|(_, _, _, index)| index)
    }

    /// Matches packets that take no sequence space: a merge of two lists in the same order.
    fn acks(&mut self, lane: &Lane<'_>) {
        let near_key = |index: &u32| {
            let record = lane.near.record(*index);
            (record.place(), lane.ack_key(record))
        };
        let far_key = |index: &u32| {
            let record = lane.far.record(*index);
            (record.place() - lane.ack_shift, lane.ack_key(record))
        };
        let copies = &self.matches.copies;
        self.near_acks.extend(lane.near.acks.iter().filter(|index| copies.binary_search(index).is_err()));
        self.far_acks.extend(&lane.far.acks);
        self.near_acks.sort_by_key(near_key);
        self.far_acks.sort_by_key(far_key);
        let run = |list: &[u32], from: usize, key: &dyn Fn(&u32) -> (i64, u64)| {
            let first = key(&list[from]);
            from + list[from..].iter().take_while(|index| key(index) == first).count()
        };
        let (mut i, mut j) = (0, 0);
        while j < self.far_acks.len() {
            let far_end = run(&self.far_acks, j, &far_key);
            let key = far_key(&self.far_acks[j]);
            while i < self.near_acks.len() && near_key(&self.near_acks[i]) < key {
                i += 1;
            }
            let same = i < self.near_acks.len() && near_key(&self.near_acks[i]) == key;
            let near_end = if same { run(&self.near_acks, i, &near_key) } else { i };
            if near_end == i {
                self.matches.only_far.extend(self.far_acks[j..far_end].iter().map(|far| (*far, 1)));
            } else if near_end - i == far_end - j {
                for step in 0..far_end - j {
                    let (near, far) = (self.near_acks[i + step], self.far_acks[j + step]);
                    self.pair(near, far);
                }
            } else {
                self.groups.push([(i as u32, near_end as u32), (j as u32, far_end as u32)]);
            }
            (i, j) = (near_end, far_end);
        }
    }

    fn pair(&mut self, near: u32, far: u32) {
        self.matches.partner[far as usize] = near;
        if !self.matches.arrived.add(self.matches.first_packet[near as usize]) {
            self.matches.twice.push((far, 1));
        }
    }

    /// Decides the rest by time, and ends the matching.
    pub fn settle(mut self, lane: &Lane<'_>, transit: &Transit<'_>) -> Matches {
        let mut open = std::mem::take(&mut self.open);
        open.sort_by_key(|open| open.far);
        for open in open {
            self.data(lane, open, Some(transit));
        }
        for [near, far] in std::mem::take(&mut self.groups) {
            self.group(lane, near, far, transit);
        }
        self.matches.twice.sort_unstable();
        self.matches.only_far.sort_unstable();
        self.matches
    }

    /// Identical ACKs: each arrival is the latest that was sent in time, as long as enough are left for the arrivals
    /// after it.
    fn group(&mut self, lane: &Lane<'_>, near: (u32, u32), far: (u32, u32), transit: &Transit<'_>) {
        let near: Vec<_> = self.near_acks[near.0 as usize..near.1 as usize].to_vec();
        let far: Vec<_> = self.far_acks[far.0 as usize..far.1 as usize].to_vec();
        if far.len() > near.len() {
            for (n, index) in far.iter().enumerate() {
                match near.get(n) {
                    Some(near) => self.pair(*near, *index),
                    // Identical in every field that distinguishes packets: a copy, if there is such a field.
                    None if lane.trust.id => self.matches.twice.push((*index, 1)),
                    None => self.matches.only_far.push((*index, 1)),
                }
            }
            return;
        }
        self.matches.by_time += far.len() as u64;
        let mut next = 0;
        for (n, index) in far.iter().enumerate() {
            let left = far.len() - n;
            let in_time =
                |near: u32| transit.of(lane.near.wall(near), lane.far.wall(*index)) >= transit.shortest;
            while near.len() - next > left && in_time(near[next + 1]) {
                next += 1;
            }
            self.pair(near[next], *index);
            next += 1;
        }
    }
}
