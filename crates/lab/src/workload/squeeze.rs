//! A reader whose socket is short of memory exactly when it holds data behind a hole.
//!
//! The kernel then discards that data although it acknowledged it by SACK (`tcp_prune_ofo_queue`): SACK reneging. A
//! host out of TCP memory does that by itself (`tcp_mem`), but to all connections of the machine.

use super::end::{End, check_deadline, poll};
use crate::clock;
use crate::error::LabError;
use crate::workload::end::Surroundings;
use slowpath_live::TcpInfo;

/// The kernel raises it to its minimum, `SOCK_MIN_RCVBUF`.
const LEAST_BYTES: usize = 1;
/// Room for any window of the cases.
const AMPLE_BYTES: usize = 2 << 20;
/// How often the kernel is sampled: far more often than an RTT, so that a hole is seen while it is open.
const LOOK_EVERY_NS: u64 = 500_000;

impl End {
    /// Reads everything at once until the end of file, see [`super::Reader::Squeezing`].
    pub(super) fn read_squeezing(&mut self, around: Surroundings) -> Result<(), LabError> {
        let mut buffer = self.read_buffer();
        let mut known_out_of_order = 0;
        // Since when, and how much had arrived in order then.
        let mut squeezed: Option<(u64, u64)> = None;
        self.give_room(AMPLE_BYTES)?;
        loop {
            check_deadline(around, "the end of the stream")?;
            let info = TcpInfo::of(&self.socket).map_err(LabError::system("read TCP_INFO"))?;
            match squeezed {
                None if info.rcv_ooopack > known_out_of_order => {
                    squeezed = Some((clock::realtime_ns(), info.bytes_received));
                    self.give_room(LEAST_BYTES)?;
                }
                Some((from_ns, received)) if info.bytes_received > received => {
                    self.give_room(AMPLE_BYTES)?;
                    self.record.stops_ns.push((from_ns, clock::realtime_ns()));
                    known_out_of_order = info.rcv_ooopack;
                    squeezed = None;
                }
                _ => {}
            }
            if self.read_now(buffer.len() as u64, &mut buffer)?.is_none() {
                break;
            }
            poll(&self.socket, libc::POLLIN, clock::monotonic_ns() + LOOK_EVERY_NS);
        }
        self.record.read_ended_ns = Some(clock::realtime_ns());
        Ok(())
    }

    fn give_room(&self, bytes: usize) -> Result<(), LabError> {
        self.socket.set_recv_buffer_size(bytes).map_err(LabError::system("set SO_RCVBUF"))
    }
}
