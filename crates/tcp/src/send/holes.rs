//! A list of the sent buffers that are not SACKed (leith, section 1.1): what a SACK block can match, what can be lost,
//! and what can be retransmitted. Its length depends on the losses, not on the window.

use super::skb::SkbId;

/// A buffer's neighbours in the list.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    before: Option<SkbId>,
    after: Option<SkbId>,
    listed: bool,
}

/// The list, by sequence number. Links use the same places as the slab of buffers.
#[derive(Debug, Default)]
pub(super) struct Holes {
    links: Vec<Link>,
    head: Option<SkbId>,
    tail: Option<SkbId>,
}

impl Holes {
    pub const fn first(&self) -> Option<SkbId> {
        self.head
    }

    pub fn after(&self, id: SkbId) -> Option<SkbId> {
        self.link(id).after
    }

    pub fn before(&self, id: SkbId) -> Option<SkbId> {
        self.link(id).before
    }

    pub fn has(&self, id: SkbId) -> bool {
        self.link(id).listed
    }

    fn link(&self, id: SkbId) -> Link {
        self.links.get(id.place()).copied().unwrap_or_default()
    }

    fn at(&mut self, id: SkbId) -> &mut Link {
        let place = id.place();
        if place >= self.links.len() {
            self.links.resize(place + 1, Link::default());
        }
        &mut self.links[place]
    }

    /// Appends the buffer that was sent last.
    pub fn append(&mut self, id: SkbId) {
        self.insert(self.tail, id);
    }

    /// Inserts a buffer after a listed one, or at the front.
    pub fn insert(&mut self, before: Option<SkbId>, id: SkbId) {
        let after = match before {
            Some(before) => self.at(before).after.replace(id),
            None => self.head.replace(id),
        };
        match after {
            Some(after) => self.at(after).before = Some(id),
            None => self.tail = Some(id),
        }
        *self.at(id) = Link { before, after, listed: true };
    }

    /// Removes a buffer that was SACKed or acknowledged, if it is listed.
    pub fn remove(&mut self, id: SkbId) {
        let link = std::mem::take(self.at(id));
        if !link.listed {
            return;
        }
        match link.before {
            Some(before) => self.at(before).after = link.after,
            None => self.head = link.after,
        }
        match link.after {
            Some(after) => self.at(after).before = link.before,
            None => self.tail = link.before,
        }
    }
}
