//! Paces a train.

use super::ProbeError;
use super::clock::{monotonic_ns, time_of_day_ns};
use super::udp::{BATCH, Udp};
use crate::measure::Train;
use crate::protocol::{DATAGRAM_BYTES, Datagram, Token};
use std::time::Duration;

/// This long before a packet is due, its sender stops sleeping and spins: waking up takes part of that time.
const SPIN_NS: u64 = 120_000;
/// How often a train checks whether to continue.
const ASK_NS: u64 = 1_000_000;

/// Sends the train and returns the instants, by the time of day, at which its packets were passed to the kernel; `None`
/// for those that the queue before the card refused. Late packets are sent as soon as possible, several in one call.
///
/// Of the packets that are due, `admitted` returns how many may leave now; if none, it is asked again.
///
/// # Errors
/// If the socket breaks, or `goes_on`, which is called every millisecond, returns a reason to stop.
pub fn send(
    udp: &Udp,
    token: &Token,
    number: u32,
    train: &Train,
    goes_on: impl FnMut() -> Result<(), ProbeError>,
    mut admitted: impl FnMut(usize) -> usize,
) -> Result<Vec<Option<u64>>, ProbeError> {
    let mut left = Vec::with_capacity(train.packets as usize);
    let mut goes_on = EachMillisecond { ask_ns: 0, goes_on };
    let begin_ns = monotonic_ns();
    let due_ns = |packet: u32| {
        begin_ns.saturating_add(train.gap_ns.saturating_mul(u64::from(packet / train.burst.max(1))))
    };
    let mut packet = 0;
    while packet < train.packets {
        let now_ns = until(due_ns(packet), &mut goes_on)?;
        let mut heads = [[0; DATAGRAM_BYTES]; BATCH];
        let mut count = 0;
        while count < BATCH
            && packet + (count as u32) < train.packets
            && due_ns(packet + count as u32) <= now_ns
        {
            heads[count] = Datagram::Load { train: number, packet: packet + count as u32 }.write(token);
            count += 1;
        }
        count = admitted(count);
        if count == 0 {
            std::thread::sleep(Duration::from_nanos(SPIN_NS));
            continue;
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

/// A check that is made once a millisecond.
struct EachMillisecond<F> {
    ask_ns: u64,
    goes_on: F,
}

impl<F: FnMut() -> Result<(), ProbeError>> EachMillisecond<F> {
    fn check(&mut self, now_ns: u64) -> Result<(), ProbeError> {
        if now_ns >= self.ask_ns {
            (self.goes_on)()?;
            self.ask_ns = now_ns + ASK_NS;
        }
        Ok(())
    }
}

/// Waits until an instant, unless it has passed. Returns the time afterwards.
fn until<F: FnMut() -> Result<(), ProbeError>>(
    due_ns: u64,
    goes_on: &mut EachMillisecond<F>,
) -> Result<u64, ProbeError> {
    loop {
        let now_ns = monotonic_ns();
        goes_on.check(now_ns)?;
        if now_ns >= due_ns {
            return Ok(now_ns);
        }
        if due_ns - now_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos((due_ns - now_ns - SPIN_NS).min(ASK_NS)));
        } else {
            std::hint::spin_loop();
        }
    }
}
