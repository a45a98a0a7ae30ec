//! One direction of one flow, in the recording nearer to its sender and in the one further away.

use super::collect::Stripes;
use super::record::Record;
use slowpath_model::statistics::lower_median;
use std::collections::BTreeMap;

/// One recording's segments of one direction, sorted two ways.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub records: &'a [Record],
    /// Wall-clock time of the recording's instant 0.
    pub epoch: i64,
    /// The recording's first and last event on the wall clock.
    pub span: (i64, i64),
    pub stripes: Stripes,
    /// Those that take sequence space, by position.
    pub data: Vec<u32>,
    /// All others, by what they acknowledge.
    pub acks: Vec<u32>,
    /// The longest record.
    longest: i64,
}

impl<'a> Side<'a> {
    pub fn new(records: &'a [Record], epoch: i64, span: (i64, i64), stripes: Stripes) -> Self {
        let (mut data, mut acks) = (Vec::new(), Vec::new());
        let mut longest = 0;
        for (index, record) in (0..).zip(records) {
            if record.is_data() {
                data.push(index);
                longest = longest.max(record.end() - record.seq());
            } else {
                acks.push(index);
            }
        }
        // Almost in order already, which a stable sort makes use of.
        data.sort_by_key(|index| records[*index as usize].seq());
        acks.sort_by_key(|index| records[*index as usize].place());
        Self {
            records,
            epoch,
            span: (span.0.saturating_add(epoch), span.1.saturating_add(epoch)),
            stripes,
            data,
            acks,
            longest,
        }
    }

    pub fn record(&self, index: u32) -> &'a Record {
        &self.records[index as usize]
    }

    /// When record `index` passed, on the wall clock.
    pub fn wall(&self, index: u32) -> i64 {
        self.record(index).at().saturating_add(self.epoch)
    }

    /// The data that covers the byte at `place`, the latest in the stream first.
    pub fn covering(&self, place: i64) -> impl Iterator<Item = u32> {
        // Single bytes next to super-packets would have to be searched far back for each of them.
        const MOST: usize = 4096;
        let behind = self.data.partition_point(|index| self.record(*index).seq() <= place);
        self.data[..behind]
            .iter()
            .rev()
            .take(MOST)
            .copied()
            .take_while(move |index| self.record(*index).seq() > place - self.longest)
            .filter(move |index| self.record(*index).end() > place)
    }
}

/// Which fields the path leaves unchanged, so that they distinguish one packet from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trust {
    /// IP identifications are the same at both places, and not all alike.
    pub id: bool,
    /// TSvals are the same.
    pub tsval: bool,
    /// Window, TSecr and SACK blocks are the same.
    pub print: bool,
    /// Of some packets, a device on the path changed TSval, window or TSecr.
    pub changed: bool,
}

impl Trust {
    /// Without the fields that a device changes, if one does.
    pub fn in_changed(self) -> Option<Self> {
        self.changed.then(|| self.without_fields())
    }

    /// What identifies a packet of which none has the same fields. A device may change only those that the receiver then
    /// does not accept, all of which are retransmitted: the identification tells which they were.
    pub fn in_doubt(self) -> Option<Self> {
        (self.changed || self.id).then(|| self.without_fields())
    }

    fn without_fields(self) -> Self {
        Self { tsval: false, print: false, ..self }
    }
}

/// Packets with other fields before the path changes them: so many with the same identification, or in succession. Fewer
/// may be two transmissions of the same bytes, each of which only one recording has.
const CHANGED: u64 = 8;

/// What a first comparison of unambiguous packets shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Glance {
    pub trust: Trust,
    /// The median time from the first recording's timestamp to the second's, on the wall clocks.
    pub median: Option<i64>,
}

/// Compares packets that are in both once only. `shift` is by how much a position in `second` exceeds that in `first`,
/// and `ack_shift` by how much an acknowledgment number does.
pub(super) fn glance(first: &Side<'_>, second: &Side<'_>, shift: i64, ack_shift: i64) -> Glance {
    let mut count = Agreement::default();
    let data = |side: &Side<'_>, index: u32| side.record(index).seq();
    let acks = |side: &Side<'_>, index: u32| side.record(index).place();
    join(first, second, [&first.data, &second.data], shift, data, &mut count);
    join(first, second, [&first.acks, &second.acks], ack_shift, acks, &mut count);
    if count.compared == 0 {
        // Nothing passed but transmissions of the same: SYNs that nothing answers.
        join_repeated(first, second, shift, &mut count);
    }
    let agreed = |same: u64| count.compared > 0 && same * 20 >= count.compared * 19;
    let id = agreed(count.ids) && varies(first) && varies(second);
    let trust = Trust {
        id,
        tsval: agreed(count.tsvals),
        print: agreed(count.prints),
        changed: id && count.changed >= CHANGED || count.changed_in_succession >= CHANGED,
    };
    Glance { trust, median: lower_median(&count.delays) }
}

#[derive(Default)]
struct Agreement {
    compared: u64,
    ids: u64,
    tsvals: u64,
    prints: u64,
    /// Those with the same identification and another TSval, window or TSecr.
    changed: u64,
    /// The most in succession with another TSval, window or TSecr, and how many there are now.
    changed_in_succession: u64,
    changed_now: u64,
    delays: Vec<i64>,
}

impl Agreement {
    fn compare(&mut self, one: &Record, other: &Record) {
        let [id, tsval] = [one.id().is_some() && one.id() == other.id(), one.tsval() == other.tsval()];
        let print = one.print() == other.print();
        self.compared += 1;
        self.ids += u64::from(id);
        self.tsvals += u64::from(one.tsval().is_some() && tsval);
        self.prints += u64::from(print);
        let is_changed = !(tsval && print);
        self.changed += u64::from(id && is_changed);
        self.changed_now = if is_changed { self.changed_now + 1 } else { 0 };
        self.changed_in_succession = self.changed_in_succession.max(self.changed_now);
    }
}

/// Compares what was transmitted several times: in order where both have it as often, and otherwise those transmissions that
/// look the same and like no other.
fn join_repeated(first: &Side<'_>, second: &Side<'_>, shift: i64, count: &mut Agreement) {
    let look = |record: &Record| (record.id(), record.tsval(), record.print());
    let runs = |side: &Side<'_>, shift: i64| {
        let mut runs: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for index in side.data.iter().take(LOOKED_AT as usize) {
            runs.entry(side.record(*index).seq().saturating_sub(shift)).or_default().push(*index);
        }
        runs
    };
    let mut others = runs(second, shift);
    for (place, ones) in runs(first, 0) {
        let Some(others) = others.remove(&place) else { continue };
        let pairs: Vec<(u32, u32)> = if ones.len() == others.len() {
            ones.into_iter().zip(others).collect()
        } else {
            let only = |side: &Side<'_>, list: &[u32], like: &Record| {
                let mut alike = list.iter().filter(|index| look(side.record(**index)) == look(like));
                alike.next().copied().filter(|_| alike.next().is_none())
            };
            let alone = ones.iter().filter(|one| only(first, &ones, first.record(**one)).is_some());
            alone
                .filter_map(|one| Some((*one, only(second, &others, first.record(*one))?)))
                .take(64)
                .collect()
        };
        for (one, other) in pairs {
            count.compare(first.record(one), second.record(other));
            count.delays.push(second.wall(other).saturating_sub(first.wall(one)));
        }
    }
}

/// Enough to know the share that agrees; more would only take time.
const LOOKED_AT: u64 = 50_000;

fn join(
    first: &Side<'_>,
    second: &Side<'_>,
    [ones, others]: [&[u32]; 2],
    shift: i64,
    place: impl Fn(&Side<'_>, u32) -> i64,
    count: &mut Agreement,
) {
    let (mut i, mut j) = (0, 0);
    let mut left = LOOKED_AT;
    while i < ones.len() && j < others.len() && left > 0 {
        let (p, q) = (place(first, ones[i]), place(second, others[j]).saturating_sub(shift));
        if p != q {
            if p < q {
                i += 1
            } else {
                j += 1
            }
            continue;
        }
        let run = |side: &Side<'_>, indices: &[u32], from: usize| {
            let at = place(side, indices[from]);
            indices[from..].iter().take_while(|index| place(side, **index) == at).count()
        };
        let (m, n) = (run(first, ones, i), run(second, others, j));
        if m == 1 && n == 1 {
            count.compare(first.record(ones[i]), second.record(others[j]));
            count.delays.push(second.wall(others[j]).saturating_sub(first.wall(ones[i])));
            left -= 1;
        }
        (i, j) = (i + m, j + n);
    }
}

/// Whether identifications differ from packet to packet: only then do they tell a packet from its retransmission.
fn varies(side: &Side<'_>) -> bool {
    let looked_at = side.records.windows(2).take(LOOKED_AT as usize);
    let steps = looked_at.clone().count();
    let changes = looked_at.filter(|pair| pair[0].id() != pair[1].id()).count();
    steps == 0 || changes * 4 >= steps
}
