//! What the probe writes to a ring buffer.

use crate::error::LiveError;
use libbpf_rs::{Object, RingBuffer, RingBufferBuilder};
use slowpath_bpf::map;
use std::cell::RefCell;
use std::rc::Rc;

/// A ring buffer of the probe, and what was read of it.
pub(crate) struct Ring {
    ring: RingBuffer<'static>,
    read: Rc<RefCell<Vec<u8>>>,
}

impl Ring {
    pub(crate) fn of(object: &Object, name: &str) -> Result<Self, LiveError> {
        let map = map(object, name)?;
        let read = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&read);
        let mut ring = RingBufferBuilder::new();
        ring.add(&map, move |bytes| {
            into.borrow_mut().extend_from_slice(bytes);
            0
        })
        .map_err(Self::error())?;
        Ok(Self { ring: ring.build().map_err(Self::error())?, read })
    }

    /// Moves all records there are to `into`.
    pub(crate) fn take(&self, into: &mut Vec<u8>) -> Result<(), LiveError> {
        self.ring.consume().map_err(Self::error())?;
        into.append(&mut self.read.borrow_mut());
        Ok(())
    }

    fn error() -> impl FnOnce(libbpf_rs::Error) -> LiveError {
        LiveError::bpf("listen to the probe")
    }
}
