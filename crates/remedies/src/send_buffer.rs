//! The sender's socket buffer.

use crate::arithmetic;
use crate::facts::{Facts, allows};
use crate::fix::{socket, sysctl};
use crate::{Advice, Fix, Host};

pub(crate) fn full(facts: &Facts<'_>) -> Vec<Advice> {
    let flight = facts.outstanding();
    let bound = allows(facts, flight).map_or_else(String::new, |bound| format!(" {bound}."));
    let (raise, wanted) = match facts.target().zip(facts.target_window()) {
        Some((target, window)) => {
            let buffer = arithmetic::buffer_for(window);
            let text = format!(
                " {target} needs {window} in flight, and with room for a queue as long as the path and for as much \
                 again, a buffer of {buffer} (an estimate: {target} is the next link rate above what was reached, \
                 not a measurement of the path)."
            );
            (text, Some(buffer))
        }
        None => (
            " The buffer should be four times the bandwidth-delay product; this capture does not show the RTT."
                .to_owned(),
            None,
        ),
    };
    let limit = Advice::new(format!(
        "The data in flight stayed at {flight}, which is what the send buffer holds.{bound}{raise} Linux \
         grows the buffer with the congestion window (tcp_sndbuf_expand, 6.18), up to the third number of \
         net.ipv4.tcp_wmem (4 MiB by default)."
    ))
    .with(socket(
        Host::Sender,
        facts.receiver(),
        "shows the buffer as tb in skmem, and sndbuf_limited, the time for which it was full",
    ));
    let limit = match wanted {
        Some(buffer) => limit.with_all(sysctl(
            Host::Sender,
            "net.ipv4.tcp_wmem",
            &format!("4096 16384 {}", buffer.max(arithmetic::DEFAULT_SEND_LIMIT).get()),
            "lets send buffers grow this far, also those of open connections; not less than the default, 4 MiB",
        )),
        None => limit.with(Fix::look(
            Host::Sender,
            "sysctl net.ipv4.tcp_wmem",
            "shows the smallest, first and largest size of a send buffer",
        )),
    };
    // A buffer that grows by itself stops at the limit, which is 4 MiB unless it was lowered.
    let far_below = flight.get() < arithmetic::DEFAULT_SEND_LIMIT.get() / 4;
    let sign = if far_below {
        format!(
            "The data in flight stayed at {flight}, far below the 4 MiB to which Linux lets a send buffer \
             grow: the sending application fixed it, or tcp_wmem was lowered.{bound} "
        )
    } else {
        String::new()
    };
    let fixed = Advice::new(format!(
        "{sign}An application that sets SO_SNDBUF fixes its buffer: Linux doubles the requested size (ubik \
         IV-A), caps it at twice net.core.wmem_max, and never grows it again (SOCK_SNDBUF_LOCK), whatever \
         tcp_wmem is. Remove that call, or the option that makes it (a window or buffer size on the command \
         line). Only if that is impossible, request more there.",
    ))
    .with(socket(
        Host::Sender,
        facts.receiver(),
        "shows the buffer as tb in skmem: a number below the third of tcp_wmem that does not change is fixed",
    ));
    let fixed = match wanted {
        Some(buffer) => fixed.with_all(sysctl(
            Host::Sender,
            "net.core.wmem_max",
            &buffer.max(arithmetic::DEFAULT_SEND_LIMIT).get().to_string(),
            "lets an application that sets SO_SNDBUF request up to this much, which Linux doubles",
        )),
        None => fixed,
    };
    let limit = limit.caution(
        "The limit is per connection: multiplied by the number of busy connections it has to fit \
         net.ipv4.tcp_mem, which counts pages.",
    );
    if far_below { vec![fixed, limit] } else { vec![limit, fixed] }
}
