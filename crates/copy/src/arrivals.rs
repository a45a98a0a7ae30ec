//! Which blocks of which files have arrived. Pure.

use crate::protocol::block::{self, blocks};

/// A file at the destination.
#[derive(Debug)]
struct Filled {
    size: u64,
    /// A bit for each block. Empty until the first one arrives: most files of a tree have one or two.
    here: Vec<u64>,
    missing: u64,
    is_lost: bool,
}

/// The blocks of all files.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// `None` for folders.
    files: Vec<Option<Filled>>,
    /// Files that miss blocks.
    open: usize,
}

/// A block that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// There is no such file.
    #[error("a block of file {0}, which is none")]
    File(u32),
    /// The file has no such block, or it has another length.
    #[error("block {block} of file {file} with {bytes} bytes, which it does not have")]
    Block {
        /// The file.
        file: u32,
        /// The block.
        block: u64,
        /// Its length.
        bytes: u64,
    },
    /// It arrived before.
    #[error("block {block} of file {file} again")]
    Again {
        /// The file.
        file: u32,
        /// The block.
        block: u64,
    },
}

impl Arrivals {
    /// Adds the next entry: a file of this size, or a folder.
    pub fn add(&mut self, size: Option<u64>) {
        let file = size.map(|size| {
            let missing = blocks(size);
            self.open += usize::from(missing > 0);
            Filled { size, here: Vec::new(), missing, is_lost: false }
        });
        self.files.push(file);
    }

    fn file(&mut self, file: u32) -> Result<&mut Filled, Impossible> {
        let found = self.files.get_mut(file as usize).and_then(Option::as_mut);
        found.ok_or(Impossible::File(file))
    }

    /// Claims a block before it is written: no two connections write the same one. `bytes` is its length; `None` for one
    /// that is here already. Returns the length, or `None` for a file that is given up.
    ///
    /// # Errors
    /// If there is no such block, or it was claimed before.
    pub fn claim(&mut self, file: u32, block: u64, bytes: Option<u64>) -> Result<Option<u64>, Impossible> {
        let filled = self.file(file)?;
        let length = block::length(filled.size, block);
        if block >= blocks(filled.size) || bytes.is_some_and(|bytes| bytes != length) {
            return Err(Impossible::Block { file, block, bytes: bytes.unwrap_or(0) });
        }
        if filled.missing == 0 {
            return Err(Impossible::Again { file, block });
        }
        if filled.here.is_empty() {
            filled.here = vec![0; blocks(filled.size).div_ceil(64) as usize];
        }
        let (word, bit) = ((block / 64) as usize, 1 << (block % 64));
        if filled.here[word] & bit != 0 {
            return Err(Impossible::Again { file, block });
        }
        filled.here[word] |= bit;
        Ok((!filled.is_lost).then_some(length))
    }

    /// Counts a claimed block as written. Returns whether the file is whole now.
    pub fn written(&mut self, file: u32) -> bool {
        let Ok(filled) = self.file(file) else { return false };
        filled.missing = filled.missing.saturating_sub(1);
        let is_whole = filled.missing == 0 && !filled.is_lost;
        if is_whole {
            filled.here = Vec::new();
            self.open -= 1;
        }
        is_whole
    }

    /// Gives up a file that the source cannot read any further. Returns whether it was not given up before.
    ///
    /// # Errors
    /// If there is no such file, or all of it is here.
    pub fn lose(&mut self, file: u32) -> Result<bool, Impossible> {
        let filled = self.file(file)?;
        if filled.missing == 0 {
            return Err(Impossible::File(file));
        }
        let is_new = !std::mem::replace(&mut filled.is_lost, true);
        self.open -= usize::from(is_new);
        Ok(is_new)
    }

    /// Whether a file is to get its name: all of it is here.
    pub fn is_whole(&self, file: usize) -> bool {
        self.files
            .get(file)
            .and_then(Option::as_ref)
            .is_some_and(|filled| filled.missing == 0 && !filled.is_lost)
    }

    /// Whether nothing is missing, except for what was given up.
    pub fn are_complete(&self) -> bool {
        self.open == 0
    }
}
