//! Connections summed up by their labels, in a bounded number of series.

use super::labels::OTHER;
use super::places::Lost;
use slowpath_analyses::Cause;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Series that a group has at once: time watched, bytes each way, segments, connections.
const FIXED: usize = 5;
/// A new group needs room for so many: those, and some causes.
const NEEDED: usize = FIXED + 7;
/// A group without connections gives its place to a new one after so long, and not before: a counter that comes back
/// begins at 0.
const LEAST_IDLE: Duration = Duration::from_secs(3600);

/// Connections with equal labels. Nothing but the number of connections ever decreases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The values of the labels.
    pub labels: Box<[Box<str>]>,
    /// Time under each cause.
    pub limited: BTreeMap<Cause, Duration>,
    /// Time for which connections were watched.
    pub watched: Duration,
    /// Bytes that processes wrote.
    pub sent: u64,
    /// Bytes that processes read.
    pub received: u64,
    /// Data segments that came in.
    pub segments: u64,
    /// Segments that were retransmitted, by where they were lost.
    pub retransmitted: BTreeMap<Lost, u64>,
    /// Connections now.
    pub connections: u64,
    /// When it last had one.
    last: Duration,
}

/// A group's place.
pub type Place = usize;

/// The group of all connections for which there are no series left.
pub const REST: Place = 0;

/// All groups.
#[derive(Debug)]
pub struct Groups {
    all: Vec<Group>,
    places: HashMap<Box<[Box<str>]>, Place>,
    most: usize,
    used: usize,
    merged: u64,
}

impl Groups {
    /// None yet; of labels so many, with at most so many series.
    pub fn new(labels: usize, most: usize) -> Self {
        let rest = Group { labels: vec![OTHER.into(); labels].into(), ..Group::default() };
        let places = HashMap::from([(rest.labels.clone(), REST)]);
        Self { all: vec![rest], places, most, used: 0, merged: 0 }
    }

    /// The group of these labels, for a connection that is new or changes its labels at `at`.
    pub fn place(&mut self, labels: Box<[Box<str>]>, at: Duration) -> Place {
        if let Some(place) = self.places.get(&labels) {
            return *place;
        }
        let has_room = self.used + NEEDED <= self.most;
        let place = if has_room { Some(self.all.len()) } else { self.evict(at) };
        let Some(place) = place else {
            self.merged += 1;
            return REST;
        };
        let group = Group { labels: labels.clone(), last: at, ..Group::default() };
        self.used += FIXED;
        self.places.insert(labels, place);
        match self.all.get_mut(place) {
            Some(old) => *old = group,
            None => self.all.push(group),
        }
        place
    }

    /// The place of a group that has long been without connections, with room for a new one.
    fn evict(&mut self, at: Duration) -> Option<Place> {
        let idle = self.all.iter().enumerate().skip(1).filter(|(_, group)| group.connections == 0);
        let (place, oldest) = idle.min_by_key(|(_, group)| group.last)?;
        let gives = FIXED + oldest.limited.len() + oldest.retransmitted.len();
        let is_old = at.saturating_sub(oldest.last) >= LEAST_IDLE;
        if !is_old || self.used - gives + NEEDED > self.most {
            return None;
        }
        self.used -= gives;
        self.places.remove(&oldest.labels);
        Some(place)
    }

    /// Adds time under a cause: to the group, or if that would be one more series than there is room for, to the rest.
    pub fn limited(&mut self, place: Place, cause: Cause, lasted: Duration) {
        let place = self.with_room(place, |group| group.limited.contains_key(&cause));
        let sum = self.all[place].limited.entry(cause).or_default();
        *sum = sum.saturating_add(lasted);
    }

    /// Adds segments that were retransmitted, as [`limited`](Self::limited).
    pub fn retransmitted(&mut self, place: Place, lost: Lost, segments: u64) {
        let place = self.with_room(place, |group| group.retransmitted.contains_key(&lost));
        let sum = self.all[place].retransmitted.entry(lost).or_default();
        *sum = sum.saturating_add(segments);
    }

    fn with_room(&mut self, place: Place, is_known: impl Fn(&Group) -> bool) -> Place {
        if place == REST || is_known(&self.all[place]) {
            place
        } else if self.used < self.most {
            self.used += 1;
            place
        } else {
            REST
        }
    }

    /// A group, for what always has a series.
    pub fn get_mut(&mut self, place: Place, at: Duration) -> &mut Group {
        let group = &mut self.all[place];
        group.last = at;
        group
    }

    /// Before the connections of an interval are counted.
    pub fn begin(&mut self) {
        self.all.iter_mut().for_each(|group| group.connections = 0);
    }

    /// All groups; the rest only once there is something in it.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.all.iter().filter(|group| group.last > Duration::ZERO || !group.limited.is_empty())
    }

    /// Series in use, but for those of the rest.
    pub const fn used(&self) -> usize {
        self.used
    }

    /// The most series.
    pub const fn most(&self) -> usize {
        self.most
    }

    /// Connections that went into the rest.
    pub const fn merged(&self) -> u64 {
        self.merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn labels(name: &str) -> Box<[Box<str>]> {
        Box::new([name.into()])
    }

    fn series(groups: &Groups) -> usize {
        let of = |group: &Group| FIXED + group.limited.len() + group.retransmitted.len();
        groups.iter().filter(|group| *group.labels != *labels(OTHER)).map(of).sum()
    }

    #[test]
    fn series_never_exceed_their_bound() {
        let mut groups = Groups::new(1, 100);
        for n in 0..1000 {
            let place = groups.place(labels(&format!("p{n}")), SECOND);
            groups.get_mut(place, SECOND).sent += 1;
            for cause in Cause::ALL.iter().cycle().skip(n).take(9) {
                groups.limited(place, *cause, SECOND);
            }
            groups.retransmitted(place, Lost::Elsewhere, 1);
            assert!(series(&groups) <= 100 && groups.used() == series(&groups));
        }
        assert!(groups.merged() > 900, "{}", groups.merged());
        let sent: u64 = groups.iter().map(|group| group.sent).sum();
        let limited: Duration = groups.iter().flat_map(|group| group.limited.values()).sum();
        assert_eq!((sent, limited), (1000, SECOND * 9000), "what has no series of its own is in `other`");
    }

    #[test]
    fn a_label_named_other_is_the_rest() {
        let mut groups = Groups::new(1, 100);
        assert_eq!(groups.place(labels(OTHER), SECOND), REST);
        assert_eq!(groups.merged(), 0);
    }

    #[test]
    fn a_group_that_was_idle_for_an_hour_gives_its_place() {
        let mut groups = Groups::new(1, NEEDED + FIXED);
        let first = groups.place(labels("first"), SECOND);
        groups.get_mut(first, SECOND).connections = 1;
        let second = groups.place(labels("second"), SECOND);
        assert_ne!(second, REST);
        groups.get_mut(second, SECOND).sent = 7;
        assert_eq!(groups.place(labels("third"), SECOND * 3000), REST);
        assert_eq!(groups.place(labels("third"), SECOND * 3601), second);
        assert_eq!((groups.used(), groups.all[second].sent), (2 * FIXED, 0));
        assert_eq!(groups.place(labels("second"), SECOND * 9000), second, "third is idle by then");
        assert_eq!(groups.place(labels("first"), SECOND * 9000), first);
    }
}
