//! The probe's records without what identifies hosts and people.
//!
//! Kept: what was counted and when. Replaced: addresses and ports, by the caller; the names of devices, by their numbers.
//! Left out: processes, control groups, the numbers of sockets and of processes, and lines that slowpath does not write.

use crate::drops::{Reasons, is_reason};
use crate::probe::is_unseen;
use crate::raw::{Piece, Raw, RawError, RawReader, RawWriter};
use crate::record::renamed;
use slowpath_model::Endpoint;
use std::io::Write;

/// What was copied.
#[derive(Debug, Default)]
pub struct RawCopied {
    /// Samples.
    pub samples: u64,
    /// Owners of sockets that were left out.
    pub processes: u64,
    /// Why the file was not read to its end.
    pub incomplete: Option<RawError>,
}

/// Copies a file of the probe's records.
///
/// # Errors
/// If it is another file, or the copy cannot be written. A damaged file is copied up to the damage.
pub fn copy_raw(
    from: Raw<'_>,
    into: &mut dyn Write,
    rename: &mut dyn FnMut(Endpoint) -> Endpoint,
) -> Result<RawCopied, RawError> {
    let mut reader = RawReader::new(from)?;
    let mut copied = RawCopied::default();
    // Names and what could not be seen are read with the first piece.
    let mut piece = reader.piece();
    let failed = |source| RawError::Io { at: 0, source };
    let unseen = reader.unseen.iter().map(String::as_str).filter(|line| is_unseen(line));
    let unseen: Vec<&str> = unseen.collect();
    let reasons = reader.reasons.0.iter().filter(|(_, name)| is_reason(name));
    let reasons = Reasons(reasons.map(|(number, name)| (*number, name.clone())).collect());
    let mut writer = RawWriter::begin(Box::new(into), reader.home, &reasons, &unseen).map_err(failed)?;
    loop {
        match piece {
            Ok(Piece::Look(mut look)) => {
                let whole =
                    renamed(&mut look.records, rename).and_then(|()| renamed(&mut look.flows, rename));
                if let Err(source) = whole {
                    copied.incomplete = Some(RawError::NoRecord { at: reader.at(), source });
                    return Ok(copied);
                }
                writer.look(&look).map_err(failed)?;
                copied.samples += 1;
            }
            Ok(Piece::Processes(found)) => copied.processes += found.len() as u64,
            Ok(Piece::End(closing)) => {
                writer.end(&closing, &reader.softirqs).map_err(failed)?;
                return Ok(copied);
            }
            Err(error) => {
                copied.incomplete = Some(error);
                return Ok(copied);
            }
        }
        piece = reader.piece();
    }
}
