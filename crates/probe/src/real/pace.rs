//! Paces a train.

use super::ProbeError;
use super::clock::{monotonic_ns, time_of_day_ns};
use super::udp::{BATCH, Udp};
use crate::measure::Train;
use crate::protocol::{DATAGRAM_BYTES, Datagram, Token};
use std::time::Duration;

/// This long before a packet is due, its sender stops sleeping and spins: waking up takes part of that time.
const SPIN_NS: u64 = 120_000;
/// How often a long train checks whether to continue.
const ASK_NS: u64 = 1_000_000;

/// Sends the train and returns the instants, by the time of day, at which its packets were passed to the kernel; `None`
/// for those that the queue before the card refused. Late packets are sent as soon as possible, several in one call.
///
/// # Errors
/// If the socket breaks, or `goes_on`, which is called every millisecond, returns a reason to stop.
pub fn send(
    udp: &Udp,
    token: &Token,
    number: u32,
    train: &Train,
    mut goes_on: impl FnMut() -> Result<(), ProbeError>,
) -> Result<Vec<Option<u64>>, ProbeError> {
    let mut left = Vec::with_capacity(train.packets as usize);
    let begin_ns = monotonic_ns();
    let due_ns = |packet: u32| begin_ns + train.gap_ns * u64::from(packet / train.burst.max(1));
    let mut ask_ns = begin_ns;
    let mut packet = 0;
    while packet < train.packets {
        let now_ns = until(due_ns(packet));
        if now_ns >= ask_ns {
            goes_on()?;
            ask_ns = now_ns + ASK_NS;
        }
        let mut heads = [[0; DATAGRAM_BYTES]; BATCH];
        let mut count = 0;
        while count < BATCH
            && packet + (count as u32) < train.packets
            && due_ns(packet + count as u32) <= now_ns
        {
            heads[count] = Datagram::Load { train: number, packet: packet + count as u32 }.write(token);
            count += 1;
        }
        let at_ns = time_of_day_ns();
        match udp.send(&heads[..count], train.bytes)? {
            Some(sent) => {
                left.extend((0..sent).map(|_| Some(at_ns)));
                packet += sent as u32;
            }
            None => {
                left.push(None);
                packet += 1;
            }
        }
    }
    Ok(left)
}

/// Waits until an instant, unless it has passed. Returns the time afterwards.
fn until(due_ns: u64) -> u64 {
    loop {
        let now_ns = monotonic_ns();
        if now_ns >= due_ns {
            return now_ns;
        }
        if due_ns - now_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos((due_ns - now_ns - SPIN_NS).min(ASK_NS)));
        } else {
            std::hint::spin_loop();
        }
    }
}
