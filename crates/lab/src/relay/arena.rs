//! Memory for frames while packets of them are on the path: each frame is stored once, however many packets it is cut
//! into.
//!
//! The memory is a ring, in which each frame is contiguous. Its room is free again when no packet of it or of any
//! earlier frame is on the path. Nothing is allocated per frame.

use std::collections::VecDeque;

/// The number of a frame, from the first.
pub type FrameId = u64;

/// Frames, with their descriptions.
#[derive(Debug)]
pub struct Arena<T> {
    memory: Box<[u8]>,
    frames: VecDeque<Kept<T>>,
    /// The id of the first of `frames`.
    first: FrameId,
    stored_bytes: usize,
}

#[derive(Debug)]
struct Kept<T> {
    at: usize,
    bytes: usize,
    packets_left: u32,
    known: T,
}

impl<T> Arena<T> {
    /// An empty arena.
    pub fn new(bytes: usize) -> Self {
        // The zeros are not written until the memory is used.
        Self {
            memory: vec![0; bytes].into_boxed_slice(),
            frames: VecDeque::with_capacity(4096),
            first: 0,
            stored_bytes: 0,
        }
    }

    /// Room for the next frame; `None` if there is none.
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let at = self.place(bytes)?;
        Some(&mut self.memory[at..at + bytes])
    }

    fn place(&self, bytes: usize) -> Option<usize> {
        let (Some(first), Some(last)) = (self.frames.front(), self.frames.back()) else {
            return (bytes <= self.memory.len()).then_some(0);
        };
        let end = last.at + last.bytes;
        // The last frame is behind the first in memory, or the ring has wrapped.
        let (limit, again) = if last.at >= first.at { (self.memory.len(), first.at) } else { (first.at, 0) };
        if bytes <= limit - end { Some(end) } else { (bytes <= again).then_some(0) }
    }

    /// Keeps what was put into the room of that size until `packets` packets of it have been released.
    ///
    /// # Panics
    /// If there is no such room.
    pub fn keep(&mut self, bytes: usize, packets: u32, known: T) -> FrameId {
        let at = self.place(bytes).expect("room was found for it");
        self.frames.push_back(Kept { at, bytes, packets_left: packets, known });
        self.stored_bytes += bytes;
        self.first + self.frames.len() as u64 - 1
    }

    /// The id of the next frame kept.
    pub fn next_id(&self) -> FrameId {
        self.first + self.frames.len() as u64
    }

    /// A frame and its description.
    ///
    /// # Panics
    /// If all of its packets have been released.
    pub fn frame(&self, id: FrameId) -> (&[u8], &T) {
        let kept = &self.frames[(id - self.first) as usize];
        (&self.memory[kept.at..kept.at + kept.bytes], &kept.known)
    }

    /// `packets` packets of a frame have left the path.
    pub fn release(&mut self, id: FrameId, packets: u32) {
        self.frames[(id - self.first) as usize].packets_left -= packets;
        while let Some(front) = self.frames.front()
            && front.packets_left == 0
        {
            self.stored_bytes -= front.bytes;
            self.frames.pop_front();
            self.first += 1;
        }
    }

    /// Bytes of stored frames.
    pub fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with one buffer for each frame: stored frames are never overwritten, and when all are released, all
        /// the memory is free again.
        #[test]
        fn stored_frames_are_never_overwritten(steps in proptest::collection::vec((1_usize..200, 1_u32..4, any::<u8>()), 1..300)) {
            let mut arena = Arena::new(1000);
            let mut model: Vec<(FrameId, Vec<u8>, u32)> = Vec::new();
            for (bytes, packets, fill) in steps {
                let expected = arena.next_id();
                if fill % 3 > 0
                    && let Some(room) = arena.room(bytes)
                {
                    room.fill(fill);
                    let id = arena.keep(bytes, packets, fill);
                    prop_assert_eq!(id, expected);
                    model.push((id, vec![fill; bytes], packets));
                } else if !model.is_empty() {
                    let which = usize::from(fill) % model.len();
                    arena.release(model[which].0, 1);
                    model[which].2 -= 1;
                    model.retain(|kept| kept.2 > 0);
                }
                for (id, bytes, _) in &model {
                    let (frame, known) = arena.frame(*id);
                    prop_assert_eq!(frame, bytes.as_slice());
                    prop_assert_eq!(*known, bytes[0]);
                }
            }
            for (id, _, left) in model {
                arena.release(id, left);
            }
            prop_assert_eq!(arena.stored_bytes(), 0);
            prop_assert_eq!(arena.room(1000).map(|room| room.len()), Some(1000));
        }
    }
}
