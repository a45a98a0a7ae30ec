//! The sender's socket buffer.

use crate::application::allows;
use crate::arithmetic;
use crate::facts::Facts;
use crate::fix::{socket, sysctl};
use crate::{Advice, Fix, Host};

pub(crate) fn full(facts: &Facts<'_>) -> Vec<Advice> {
    let flight = facts.outstanding();
    let bound = allows(facts, flight).map_or_else(String::new, |bound| format!(" {bound}."));
    let (raise, wanted) = match facts.target().zip(facts.target_window()) {
        Some((target, window)) => {
            let buffer = arithmetic::send_buffer_for(window);
            let text = format!(
                " For {target}, {window} have to be outstanding; with as much again ready to go, that is a \
                 buffer of about {buffer} (an estimate: {target} is the link rate above what was reached, \
                 not a measurement of the path)."
            );
            (text, Some(buffer))
        }
        None => (
            " The buffer wanted is twice the rate times the round trip; this capture does not show the \
             round trip."
                .to_owned(),
            None,
        ),
    };
    let limit = Advice::new(format!(
        "The data outstanding stood at {flight}, which is what the send buffer holds.{bound}{raise} Linux \
         grows the buffer with the congestion window (tcp_sndbuf_expand, 6.18), no further than the third \
         number of net.ipv4.tcp_wmem (4 MiB unless set)."
    ))
    .with(socket(
        Host::Sender,
        facts.receiver(),
        "shows the buffer as tb in skmem, and sndbuf_limited, the time it was full",
    ));
    let limit = match wanted {
        Some(buffer) => limit.with_all(sysctl(
            Host::Sender,
            "net.ipv4.tcp_wmem",
            &format!("4096 16384 {}", buffer.max(arithmetic::DEFAULT_SEND_LIMIT).get()),
            "lets send buffers grow this far, also those of connections that are open; not less than the \
             default, which is 4 MiB",
        )),
        None => limit.with(Fix::look(
            Host::Sender,
            "sysctl net.ipv4.tcp_wmem",
            "shows smallest, first and largest size of a send buffer",
        )),
    };
    // A buffer that grows by itself stops at the limit, which is 4 MiB unless somebody lowered it.
    let far_below = flight.get() < arithmetic::DEFAULT_SEND_LIMIT.get() / 4;
    let sign = if far_below {
        format!(
            "The data outstanding stood at {flight}, far below the 4 MiB to which Linux lets a send buffer \
             grow: the sender's program fixed it, or tcp_wmem was lowered.{bound} "
        )
    } else {
        String::new()
    };
    let fixed = Advice::new(format!(
        "{sign}A program that sets SO_SNDBUF fixes its buffer: Linux doubles what it asked for (ubik IV-A), \
         caps it at twice net.core.wmem_max, and never grows it again (SOCK_SNDBUF_LOCK), whatever tcp_wmem \
         says. Then remove that call, or the option that makes it (a window or buffer size on the command \
         line). Only where that is impossible, ask for more there.",
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
            "lets a program that insists on SO_SNDBUF ask for up to this much, which Linux doubles",
        )),
        None => fixed,
    };
    let limit = limit.caution(
        "It is a limit per connection: times the number of busy connections it has to fit net.ipv4.tcp_mem, \
         which counts pages.",
    );
    if far_below { vec![fixed, limit] } else { vec![limit, fixed] }
}
