//! The window that the receiver advertised.

use crate::application::connections_for;
use crate::arithmetic;
use crate::facts::{Facts, allows, percent, time, times};
use crate::fix::{counters, quickack, socket, switch, sysctl};
use crate::{Advice, Change, Fix, Host};
use slowpath_analyses::Evidence;
use slowpath_analyses::report::ScaleKnown;
use slowpath_model::{Bytes, End, Rate};
use std::ops::Range;
use std::time::Duration;

/// The window that the target needs, and its buffer.
fn wanted(facts: &Facts<'_>) -> Option<(Rate, Bytes, Bytes)> {
    let (target, window) = facts.target().zip(facts.target_window())?;
    Some((target, window, arithmetic::buffer_for(window)))
}

fn bound(facts: &Facts<'_>) -> String {
    facts
        .answered()
        .window
        .max
        .and_then(|window| allows(facts, window))
        .map_or_else(String::new, |bound| format!(" {bound}."))
}

/// What the scale in the receiver's SYN shows of its buffer: Linux chooses it from the limit of the buffer, or from the
/// buffer itself if `SO_RCVBUF` was set before ([`arithmetic::space_behind_shift`]).
enum Bound {
    /// The window is less than a quarter of the smallest limit that gives this scale, though half of that is
    /// advertised: something else keeps it small.
    FarBelow(Range<Bytes>),
    /// The window is as large as the space itself, not half of it: the scale was chosen from a fixed buffer.
    Fixed,
    /// The limit may bind.
    Limit,
}

fn bound_by(facts: &Facts<'_>) -> Bound {
    let answered = facts.answered();
    let Some((scale, window)) =
        answered.options.and_then(|options| options.window_scale).zip(answered.window.max)
    else {
        return Bound::Limit;
    };
    match arithmetic::space_behind_shift(scale) {
        Some(range) if window.get() < range.start.get() / 4 => Bound::FarBelow(range),
        Some(range) if window >= range.start => Bound::Fixed,
        // With a limit of the default's size or more, the scale would be at least 2.
        None if scale == 0 => Bound::Fixed,
        _ => Bound::Limit,
    }
}

/// The window would allow far more in an RTT, but its ACKs came late.
fn acknowledged_late(facts: &Facts<'_>, took: Duration) -> Advice {
    let window = facts.answered().window.max.unwrap_or_default();
    let few = if window.get() < 2 * u64::from(facts.mss()) {
        "It holds less than two full segments, and the ACK of one is delayed by a timer: 40 ms on Linux, up to 200 ms on \
         others, 500 ms at most (RFC 1122, section 4.2.3.2). Two or more segments are acknowledged at once."
    } else {
        "A receiver should acknowledge at least every second full segment at once (RFC 9293, section 3.8.6.3)."
    };
    Advice::new(format!(
        "The receiver's window of {window} was used up, and each took {} until it was acknowledged. {few} Make the \
         window four segments or larger, and have the receiver acknowledge at once: on Linux by TCP_QUICKACK in the \
         application or quickack on the route; small devices have options of their stack for both.",
        time(took)
    ))
    .with(socket(Host::Receiver, facts.sender(), "shows the buffer as rb in skmem, and ato, by which ACKs are delayed"))
    .with_all(quickack(facts.sender().address))
}

pub(crate) fn buffer_too_small(facts: &Facts<'_>) -> Vec<Advice> {
    let took = facts.evidence(|evidence| match *evidence {
        Evidence::WindowTook { took, .. } => Some(took),
        _ => None,
    });
    if let Some(took) = took {
        return vec![acknowledged_late(facts, took), fixed_buffer(facts)];
    }
    let bound = bound(facts);
    let Some((target, window, buffer)) = wanted(facts) else {
        let text = format!(
            "The receiver's window had reached its largest size and was used up.{bound} It should be the \
             bandwidth-delay product, and the third number of tcp_rmem at least four times that. This capture \
             does not show the RTT."
        );
        let look = socket(Host::Receiver, facts.sender(), "shows the buffer as rb in skmem, and the RTT");
        return vec![Advice::new(text).with(look), fixed_buffer(facts)];
    };
    let text = format!(
        "The receiver's window had reached its largest size and was used up.{bound} {target} needs {window}. \
         Linux advertises about half of a buffer at first and lets a window reach twice what it carries, so \
         the limit of the buffer should be at least {buffer} (estimates: {target} is the next link rate above \
         what was reached, and since 6.6 the advertised part follows the memory that packets really take)."
    );
    let limit = buffer.max(arithmetic::DEFAULT_RECEIVE_LIMIT);
    let enough = if limit > buffer {
        " It is the default of 6.18, and more than this flow needs: if the limit is larger already, keep it."
    } else {
        ""
    };
    let raise = Advice::new(text)
        .with(socket(
            Host::Receiver,
            facts.sender(),
            "shows the buffer as rb in skmem: if it equals the third number of tcp_rmem, this is the fix",
        ))
        .with_all(sysctl(
            Host::Receiver,
            "net.ipv4.tcp_rmem",
            &format!("4096 131072 {}", limit.get()),
            &format!(
                "lets receive buffers grow this far, and raises the window scale that new connections offer; \
                 an open connection keeps its scale.{enough}"
            ),
        ))
        .with(switch(
            Host::Receiver,
            "net.ipv4.tcp_moderate_rcvbuf",
            "1",
            "0",
            "turns receive buffer autotuning on, the default",
        ))
        .caution(
            "The limit is per connection: busy connections together have to fit net.ipv4.tcp_mem, which \
             counts pages. A window far above the bandwidth-delay product only fills the queues on the path \
             (ubik V: 357 Mbit/s with 4 MB, 149 Mbit/s with 16 MB on a path of 5 MB).",
        );
    let fixed = fixed_buffer(facts);
    match bound_by(facts) {
        // The scale shows tcp_rmem, not rmem_max, which nobody sets that high.
        Bound::FarBelow(range) if range.start > arithmetic::DEFAULT_SEND_LIMIT.max(buffer) => vec![fixed],
        // The oldest default in use suffices, so no host's limit matters.
        Bound::Fixed if buffer <= arithmetic::OLD_RECEIVE_LIMIT => vec![fixed],
        Bound::FarBelow(_) | Bound::Fixed => vec![fixed, raise],
        Bound::Limit => vec![raise, fixed],
    }
}

/// Whether the window is that of the initial buffer, 128 KiB by default, without tuning.
fn untuned(facts: &Facts<'_>) -> &'static str {
    match facts.answered().window.max {
        Some(window) if (60_000..=128_000).contains(&window.get()) => {
            " It is about what the first buffer of 128 KiB advertises: check whether tcp_moderate_rcvbuf is \
             0, which stops buffers from growing."
        }
        _ => "",
    }
}

/// The buffer fixed by `SO_RCVBUF`.
fn fixed_buffer(facts: &Facts<'_>) -> Advice {
    let sign = match bound_by(facts) {
        Bound::FarBelow(range) => format!(
            "{} Something keeps this window small: the scale in the receiver's SYN stands for a limit (the \
             larger of tcp_rmem and rmem_max) between {} and {}. About half of it would be advertised, and \
             the window never came near that.{} ",
            bound(facts),
            range.start,
            range.end,
            untuned(facts)
        ),
        Bound::Fixed => format!(
            "{} Probably the receiving application fixed this buffer: the scale in its SYN is no larger than \
             this window needs, as Linux chooses it when SO_RCVBUF is set before the connection opens. ",
            bound(facts)
        ),
        Bound::Limit => String::new(),
    };
    let sign = sign.trim_start();
    let tuned = (!untuned(facts).is_empty()).then(|| {
        switch(
            Host::Receiver,
            "net.ipv4.tcp_moderate_rcvbuf",
            "1",
            "0",
            "lets buffers grow, which is the \
             default",
        )
    });
    Advice::new(format!(
        "{sign}An application that sets SO_RCVBUF fixes its buffer: Linux doubles the requested size (ubik \
         IV-A), caps it at twice net.core.rmem_max, and no longer tunes it (SOCK_RCVBUF_LOCK; \
         tcp_rcvbuf_grow, 6.18), whatever tcp_rmem is. Remove that call, or the option that makes it (a \
         window or buffer size on the command line); do not add one. TCP_WINDOW_CLAMP and the window \
         attribute of a route hold it down as well."
    ))
    .with(socket(
        Host::Receiver,
        facts.sender(),
        "shows rb in skmem: a number below the third of tcp_rmem that does not change is a fixed buffer",
    ))
    .with(Fix::look(
        Host::Receiver,
        "sysctl net.ipv4.tcp_rmem net.core.rmem_max net.ipv4.tcp_moderate_rcvbuf",
        "shows the limits: the third number of tcp_rmem for buffers that are tuned, twice rmem_max for \
         fixed ones",
    ))
    .with(Fix::look(
        Host::Receiver,
        format!("ip route get {}", facts.sender().address),
        "shows whether the route carries a window attribute",
    ))
    .with_all(tuned)
}

pub(crate) fn no_scaling(facts: &Facts<'_>) -> Vec<Advice> {
    if is_changed(facts) {
        return changed_scale(facts);
    }
    let largest = Bytes::new(arithmetic::LARGEST_FIELD);
    let bound = allows(facts, largest).map_or_else(String::new, |bound| format!(" {bound}."));
    let without: Vec<Host> =
        facts.options().filter(|(_, options)| options.window_scale.is_none()).map(|(host, _)| host).collect();
    // A SYN-ACK may only answer the option, not offer it (RFC 7323, section 2.2).
    let initiator = facts.host(End::A);
    let (who, hosts) = match without.as_slice() {
        [] => ("Which end did not offer it is unknown, because no SYN was captured.", vec![Host::Either]),
        [_, _] => (
            "The SYN did not offer it, so the SYN-ACK could not; whether that end would have offered it is \
             unknown.",
            vec![initiator],
        ),
        [host] if *host == initiator => ("The SYN did not offer it.", vec![initiator]),
        [host] => ("The SYN offered it and the SYN-ACK did not.", vec![*host]),
        _ => ("", vec![Host::Either]),
    };
    let mut first = Advice::new(format!(
        "Without window scaling, no window exceeds 65,535 bytes (RFC 7323).{bound} Both ends have to offer \
         it. {who}"
    ));
    for host in hosts {
        first = first.with(switch(
            host,
            "net.ipv4.tcp_window_scaling",
            "1",
            "0",
            "offers window scaling on new connections, the default",
        ));
    }
    let several = facts.target().zip(facts.round_trip()).and_then(|(target, round_trip)| {
        let each = arithmetic::largest_rate(largest, round_trip)?;
        Some(format!(
            " Until then, {} parallel connections could carry {target}.",
            connections_for(target, each)?
        ))
    });
    vec![
        first,
        Advice::new(format!(
            "If the sysctl is 1 at both ends, find what removes the option: a middlebox that rewrites SYNs \
             (compare the SYN captured at both ends), or SYN cookies, which keep scale and SACK only in a \
             timestamp (so tcp_timestamps has to be on).{}",
            several.unwrap_or_default()
        ))
        .with(counters(
            Host::Either,
            "TcpExtSyncookiesSent TcpExtSyncookiesRecv",
            "shows whether SYN cookies are in use",
        ))
        .with(Fix::look(
            Host::Either,
            "sysctl net.ipv4.tcp_window_scaling net.ipv4.tcp_timestamps",
            "shows both settings",
        )),
    ]
}

/// Whether a device on the path changed the scale.
fn is_changed(facts: &Facts<'_>) -> bool {
    facts
        .shows(|evidence| matches!(evidence, Evidence::FirstWindow { .. } | Evidence::ScaledOtherwise { .. }))
}

fn changed_scale(facts: &Facts<'_>) -> Vec<Advice> {
    let largest = Bytes::new(arithmetic::LARGEST_FIELD);
    let bound = allows(facts, largest).map_or_else(String::new, |bound| format!(": {bound}"));
    let find = "A device on the path changed or removed the window scale in a SYN, so that the sender takes the receiver's window \
                to be a small part of what it is. Find that device (capture at both ends: diagnose shows which options of \
                the SYNs differ) and have it leave the option alone.";
    let until = format!(
        "Until then, connections without window scaling are faster, since both ends then go by the same window, of 65,535 \
         bytes at most{bound}."
    );
    vec![
        Advice::new(find.to_owned()),
        Advice::new(until)
            .with(switch(
                Host::Sender,
                "net.ipv4.tcp_window_scaling",
                "0",
                "1",
                "turns window scaling off on new connections",
            ))
            .caution("This limits all other connections of the host as well."),
    ]
}

pub(crate) fn scale_too_small(facts: &Facts<'_>) -> Vec<Advice> {
    if is_changed(facts) {
        return changed_scale(facts);
    }
    let shift = facts.answered().window_scale.shift();
    let largest = arithmetic::largest_window(shift);
    let bound = allows(facts, largest).map_or_else(String::new, |bound| format!(" {bound}."));
    let known = match facts.answered().window_scale {
        ScaleKnown::Agreed(_) | ScaleKnown::Fits(_) => {
            format!("The receiver's window scale of {shift} allows at most {largest}.")
        }
        _ => "The window field had its largest value.".to_owned(),
    };
    let text = format!(
        "{known}{bound} The scale is fixed in the SYN for the connection's life. Linux chooses it from the \
         largest of the third number of tcp_rmem, rmem_max and the first buffer (tcp_select_initial_window, \
         6.18), but from the buffer alone if the application sets SO_RCVBUF before it connects or listens: \
         then remove that call."
    );
    let advice = match wanted(facts)
        .and_then(|(target, window, buffer)| Some((target, window, buffer, arithmetic::shift_for(window)?)))
        // A target that the scale allows explains nothing.
        .filter(|(.., needed)| *needed > shift)
    {
        Some((target, window, buffer, needed)) => Advice::new(format!(
            "{text} {target} ({window} per RTT; an estimate, since {target} is only the next link rate above \
             what was reached) needs a scale of {needed} or more."
        ))
        .with_all(sysctl(
            Host::Receiver,
            "net.ipv4.tcp_rmem",
            &format!(
                "4096 131072 {}",
                buffer.max(arithmetic::space_for_shift(needed)).max(arithmetic::DEFAULT_RECEIVE_LIMIT).get()
            ),
            "makes new connections offer a larger scale, and lets their buffers grow",
        )),
        _ => Advice::new(text).with(Fix::look(
            Host::Receiver,
            "sysctl net.ipv4.tcp_rmem net.core.rmem_max",
            "shows the limits that the scale is chosen from",
        )),
    };
    vec![advice.caution("Only connections opened after the change have the new scale: restart the transfer.")]
}

pub(crate) fn autotuning_lag(facts: &Facts<'_>) -> Vec<Advice> {
    let growth = facts.answered().window;
    let from_to =
        growth.min.zip(growth.max).map_or_else(String::new, |(min, max)| format!(" from {min} to {max}"));
    let largest = wanted(facts).map(|(_, window, _)| window);
    let text = format!(
        "The window grew{from_to}, but always later than the sender needed it. Linux measures what the \
         application read in an RTT and makes room for twice that (Dynamic Right-Sizing; \
         tcp_rcv_space_adjust, 6.18), so data has to arrive and be read before the window opens further. That \
         took {} here. Each connection pays it once: long transfers hardly notice, and connections that are \
         kept open do not pay again.",
        time(facts.finding.lasted)
    );
    let mut first = Advice::new(text).with(socket(
        Host::Receiver,
        facts.sender(),
        "shows the buffer (rb in skmem), rcv_space (what was read in an RTT) and rcv_ssthresh",
    ));
    if let Some(window) = largest {
        let initial = window.get().saturating_mul(arithmetic::BUFFER_PER_WINDOW).clamp(131_072, 16 << 20);
        let limit = arithmetic::buffer_for(window).max(arithmetic::DEFAULT_RECEIVE_LIMIT).get();
        first = first
            .with_all(sysctl(
                Host::Receiver,
                "net.ipv4.tcp_rmem",
                &format!("4096 {initial} {limit}"),
                "starts every new connection with this buffer (second number) instead of 128 KiB",
            ))
            .caution(format!(
                "Every connection of the host may then take {} of memory from its start. Use it only where \
                 connections are few and large. The window in the SYN itself stays at 65,535 bytes at most.",
                Bytes::new(initial)
            ));
    }
    vec![first]
}

/// A cause with this share of the time made the transfer as fast as it was.
const MOSTLY: f64 = 0.75;

pub(crate) fn slow_reader(facts: &Facts<'_>) -> Vec<Advice> {
    // Over the whole transfer.
    let rate = facts.reached().filter(|_| facts.finding.share >= MOSTLY);
    let rate = rate.map_or_else(String::new, |rate| format!(" It read {rate} on average."));
    let zero = facts.answered().window;
    let closed = if zero.zero_count > 0 {
        let total = if zero.zero_time.is_zero() {
            String::new()
        } else {
            format!(" ({} in all)", time(zero.zero_time))
        };
        format!(" The window closed {}{total}.", times(zero.zero_count))
    } else {
        String::new()
    };
    vec![
        Advice::new(format!(
            "The window shrank because the receiving application read more slowly than data \
             arrived.{rate}{closed} Find out what it waits for: the disk it writes to, its own computing \
             (decryption, checksums, decompression), or a CPU. A larger buffer, a larger window or a faster \
             network only change how much data waits."
        ))
        .with(socket(Host::Receiver, facts.sender(), "shows the process, and the unread data as Recv-Q"))
        .with(
            Fix::look(
                Host::Receiver,
                "strace -f -T -e trace=read,recvfrom,recvmsg,write,pwrite64,fsync,fdatasync,futex -p PID",
                "shows which system calls take the time between two reads; slows the process while it runs",
            )
            .by_owner(),
        )
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/pressure/io /proc/pressure/cpu",
            "shows the share of the last 10, 60 and 300 s in which some process waited for the disk, and for \
             a CPU",
        )),
        off_cpu(
            "If the process is runnable but seldom gets a CPU, raise its share (wu, table VII: an iperf next \
             to 9 busy processes on one CPU received 70 Mbit/s, next to one 265 Mbit/s).",
        ),
    ]
}

/// The reader gets no CPU.
pub(crate) fn off_cpu(text: &str) -> Advice {
    Advice::new(text)
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/PID/schedstat",
            "shows nanoseconds on a CPU, nanoseconds runnable but waiting for one, and time slices: the \
             second should grow much more slowly than the first",
        ))
        .with(Fix::look(
            Host::Receiver,
            "cat /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/PID/cgroup)/cpu.stat",
            "shows nr_throttled and throttled_usec if the process runs under a CPU limit (a container)",
        ))
        .with(
            Fix::change(
                Host::Receiver,
                "renice -n -5 -p PID",
                "gives the process a larger share of the CPUs",
            )
            .needs(crate::fix::SYS_NICE)
            .undone_by("renice -n 0 -p PID")
            .changing(Change::larger_share()),
        )
        .caution("A larger share for one process is a smaller one for all others.")
}

pub(crate) fn reader_stopped(facts: &Facts<'_>) -> Vec<Advice> {
    let zero = facts.answered().window;
    let lasted = facts.finding.lasted;
    let unaware = facts
        .evidence(|evidence| match *evidence {
            Evidence::WindowUpdateLost { waited, .. } => Some(waited),
            _ => None,
        })
        .map_or_else(String::new, |waited| {
            format!(
                " The application itself took {} of that: then the window opened, the ACKs that said so were lost, and \
                 the sender waited {} more for its persist timer (RFC 9293, section 3.8.6.1), whose intervals double. \
                 Find what loses ACKs on the way back.",
                time(lasted.saturating_sub(waited)),
                time(waited)
            )
        });
    vec![
        Advice::new(format!(
            "The receiver's window was zero: the application did not read at all. It happened {}, \
             for {} of the flow's life.{unaware} Check what the process does: stopped (State T), waiting for a disk \
             (D), or waiting for something else (S).",
            times(zero.zero_count.max(facts.finding.spells)),
            percent(facts.finding.share),
        ))
        .with(socket(Host::Receiver, facts.sender(), "shows the process, and the unread data as Recv-Q"))
        .with(Fix::look(
            Host::Receiver,
            "grep -E '^(State|voluntary_ctxt|nonvoluntary_ctxt)' /proc/PID/status; cat /proc/PID/wchan",
            "shows the state of the process and where in the kernel it waits",
        ))
        .with(
            Fix::change(Host::Receiver, "kill -CONT PID", "lets a stopped process run on")
                .by_owner()
                .undone_by("kill -STOP PID"),
        )
        .caution(
            "No buffer is large enough for a program that does not read. Meanwhile the sender asks with \
             window probes at growing intervals; it learns of the opening from the receiver at once, or, if \
             that ACK is lost, only at its next probe.",
        ),
    ]
}

pub(crate) fn taken_back(facts: &Facts<'_>) -> Vec<Advice> {
    let moved = facts
        .evidence(|evidence| match *evidence {
            Evidence::EdgeMovedBack { times: n, largest } => {
                Some(format!(" Its right edge moved back {}, by up to {largest}.", times(n)))
            }
            _ => None,
        })
        .unwrap_or_default();
    vec![
        Advice::new(format!(
            "The receiver offered a window and took it back while data for it was on the way.{moved} The \
             receiver discards what no longer fits, so the sender has to retransmit it, at growing intervals \
             while the window stays closed. Linux does this only if tcp_shrink_window is 1; by default a \
             window that was offered stays offered."
        ))
        .with(switch(
            Host::Receiver,
            "net.ipv4.tcp_shrink_window",
            "0",
            "1",
            "keeps what was offered, the default",
        ))
        .caution(
            "With 0, data that arrives in small packets can take more memory than the buffer's size. That is \
             what the setting is for: give the buffers room instead.",
        ),
        Advice::new(
            "It only shows where the application reads more slowly than data arrives: find out what it waits \
             for. A program that makes SO_RCVBUF smaller on an open connection has the same effect: set it \
             before connect() or listen(), or not at all.",
        )
        .with(socket(
            Host::Receiver,
            facts.sender(),
            "shows the process, its unread data as Recv-Q, and the buffer as rb in skmem",
        ))
        .with(
            Fix::look(
                Host::Receiver,
                "strace -f -T -e trace=read,recvfrom,recvmsg,setsockopt,write,fsync,futex -p PID",
                "shows what takes the time between two reads, and whether SO_RCVBUF is set; slows the process \
                 while it runs",
            )
            .by_owner(),
        ),
        Advice::new(
            "A receiver short of memory also closes a window that it had offered: it cannot queue what \
             arrives (tcp_select_window, 6.18).",
        )
        .with(counters(
            Host::Receiver,
            "TcpExtTCPRcvQDrop TcpExtTCPZeroWindowDrop TcpExtTCPMemoryPressures TcpExtPruneCalled",
            "shows segments dropped for want of memory, segments that came while the window was closed, and \
             memory pressure",
        ))
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/net/sockstat; sysctl net.ipv4.tcp_mem",
            "shows pages that all TCP sockets take (mem), against the limits",
        )),
    ]
}
