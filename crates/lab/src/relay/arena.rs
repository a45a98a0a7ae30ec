//! Memory for frames while packets of them are on the path: each once, however many packets it is cut into.
//!
//! The memory is a ring. A frame lies in it in one piece; its room is free again when it and all that came before it have
//! no packet on the path any more. Nothing is allocated for a frame.

use std::collections::VecDeque;

/// Which frame, counted from the first.
pub type FrameId = u64;

/// Frames, with what is known of each.
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
    /// An empty one.
    pub fn new(bytes: usize) -> Self {
        // Zeros are not written until the memory is used.
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
        // The last is behind the first in memory, or the ring has come round.
        let (limit, again) = if last.at >= first.at { (self.memory.len(), first.at) } else { (first.at, 0) };
        if bytes <= limit - end { Some(end) } else { (bytes <= again).then_some(0) }
    }

    /// Keeps what was put into the room of that size until so many packets of it have been released.
    ///
    /// # Panics
    /// If there is no such room.
    pub fn keep(&mut self, bytes: usize, packets: u32, known: T) -> FrameId {
        let at = self.place(bytes).expect("room was found for it");
        self.frames.push_back(Kept { at, bytes, packets_left: packets, known });
        self.stored_bytes += bytes;
        self.first + self.frames.len() as u64 - 1
    }

    /// The id that the next frame kept will have.
    pub fn next_id(&self) -> FrameId {
        self.first + self.frames.len() as u64
    }

    /// A frame and what is known of it.
    ///
    /// # Panics
    /// If all of its packets have been released.
    pub fn frame(&self, id: FrameId) -> (&[u8], &T) {
        let kept = &self.frames[(id - self.first) as usize];
        (&self.memory[kept.at..kept.at + kept.bytes], &kept.known)
    }

    /// So many packets of a frame have left the path.
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

    /// Bytes of frames that are kept.
    pub fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one buffer for each frame: what is kept is never overwritten, and when all is released all the memory
        /// is there again.
        #[test]
        fn frames_stay_whole(steps in proptest::collection::vec((1_usize..200, 1_u32..4, any::<u8>()), 1..300)) {
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
