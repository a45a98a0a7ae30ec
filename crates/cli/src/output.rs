//! Files that a command writes because the user asked for them.

use anyhow::ensure;
use clap::Args;
use slowpath_files::{Existing, check_output, write_output};
use std::path::{Path, PathBuf};

/// What to do with an output file that exists.
#[derive(Args, Clone, Copy)]
#[group(skip)]
pub struct Force {
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
}

impl Force {
    /// What it means for a file that exists.
    pub const fn existing(self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }

    /// Refuses an output that cannot be written, or that is one of the inputs, before any work is done for it. `options`
    /// are those that name an output.
    pub fn check(self, output: Option<&Path>, inputs: &[PathBuf], options: &str) -> anyhow::Result<()> {
        self.check_all(&[output], inputs, options)
    }

    /// As [`Self::check`], for several outputs.
    pub fn check_all(
        self,
        outputs: &[Option<&Path>],
        inputs: &[PathBuf],
        options: &str,
    ) -> anyhow::Result<()> {
        self.goes_with(outputs.iter().any(Option::is_some), options)?;
        outputs.iter().flatten().try_for_each(|output| Ok(check_output(output, self.existing(), inputs)?))
    }

    /// Refuses `--force` where nothing is written.
    pub fn goes_with(self, is_written: bool, options: &str) -> anyhow::Result<()> {
        ensure!(is_written || !self.force, "--force: no file is written; it goes with {options}");
        Ok(())
    }

    /// Writes a whole output.
    pub fn write(self, output: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
        Ok(write_output(output, self.existing(), bytes.as_ref())?)
    }
}
