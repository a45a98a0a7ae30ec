//! The window that the receiver advertised.

use crate::application::{allows, connections_for};
use crate::arithmetic;
use crate::facts::{Facts, percent, time, times};
use crate::fix::{counters, socket, switch, sysctl};
use crate::{Advice, Fix, Host};
use slowpath_analyses::report::ScaleKnown;
use slowpath_model::{Bytes, End, Rate};
use std::ops::Range;

/// The sentence on the window that the target needs, and its buffer.
fn wanted(facts: &Facts<'_>) -> Option<(Rate, Bytes, Bytes)> {
    let (target, window) = facts.target().zip(facts.target_window())?;
    Some((target, window, arithmetic::receive_buffer_for(window)))
}

fn bound(facts: &Facts<'_>) -> String {
    facts
        .answered()
        .window
        .max
        .and_then(|window| allows(facts, window))
        .map_or_else(String::new, |bound| format!(" {bound}."))
}

/// What the scale in the receiver's SYN says of its buffer: Linux chooses it from the limit of the buffer,
/// or from the buffer itself where `SO_RCVBUF` was set before ([`arithmetic::space_behind_shift`]).
enum Bound {
    /// The window is less than a quarter of the least limit that the scale stands for, though a half of it
    /// is advertised: something else holds it down.
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
        // With a limit of the default's size or more the scale would be 2 at least.
        None if scale == 0 => Bound::Fixed,
        _ => Bound::Limit,
    }
}

pub(crate) fn buffer_too_small(facts: &Facts<'_>) -> Vec<Advice> {
    let bound = bound(facts);
    let Some((target, window, buffer)) = wanted(facts) else {
        let text = format!(
            "The receiver's window stood at its largest and was used up.{bound} The window needed is the \
             rate wanted times the round trip, and the third number of tcp_rmem at least four times that. \
             This capture does not show the round trip."
        );
        let look =
            socket(Host::Receiver, facts.sender(), "shows the buffer as rb in skmem, and the round trip");
        return vec![Advice::new(text).with(look), fixed_buffer(facts)];
    };
    let text = format!(
        "The receiver's window stood at its largest and was used up.{bound} For {target} it has to be \
         {window}. Linux advertises about half of a buffer at first and lets a window reach twice what it \
         carries, so the limit of the buffer should be at least {buffer} (estimates: {target} is the link \
         rate above what was reached, and since 6.6 the advertised part follows the memory that packets \
         really take)."
    );
    let limit = buffer.max(arithmetic::DEFAULT_RECEIVE_LIMIT);
    let enough = if limit > buffer {
        " It is the default of 6.18, more than this flow needs: where the limit is larger already, leave it."
    } else {
        ""
    };
    let raise = Advice::new(text)
        .with(socket(
            Host::Receiver,
            facts.sender(),
            "shows the buffer as rb in skmem: at the third number of tcp_rmem, this is the remedy",
        ))
        .with_all(sysctl(
            Host::Receiver,
            "net.ipv4.tcp_rmem",
            &format!("4096 131072 {}", limit.get()),
            &format!(
                "lets receive buffers grow this far, and with them the window scale that new connections \
                 offer; a connection that is open keeps its scale.{enough}"
            ),
        ))
        .with(switch(
            Host::Receiver,
            "net.ipv4.tcp_moderate_rcvbuf",
            "1",
            "0",
            "lets buffers grow by themselves, which is the default",
        ))
        .caution(
            "The limit is per connection: busy connections together have to fit net.ipv4.tcp_mem, which \
             counts pages. And a window far above rate times round trip only fills the queues on the way \
             (ubik V: 357 Mbit/s with 4 MB, 149 Mbit/s with 16 MB on a path that holds 5 MB).",
        );
    let fixed = fixed_buffer(facts);
    match bound_by(facts) {
        // The scale shows tcp_rmem, not rmem_max, which nobody sets that high.
        Bound::FarBelow(range) if range.start > arithmetic::DEFAULT_SEND_LIMIT.max(buffer) => vec![fixed],
        // The oldest default in use suffices, so no host's limit is what binds.
        Bound::Fixed if buffer <= arithmetic::OLD_RECEIVE_LIMIT => vec![fixed],
        Bound::FarBelow(_) | Bound::Fixed => vec![fixed, raise],
        Bound::Limit => vec![raise, fixed],
    }
}

/// Whether the window is what the first buffer, 128 KiB by default, advertises without tuning.
fn untuned(facts: &Facts<'_>) -> &'static str {
    match facts.answered().window.max {
        Some(window) if (60_000..=128_000).contains(&window.get()) => {
            " It is about what the first buffer of 128 KiB advertises: see whether tcp_moderate_rcvbuf is \
             0, so that buffers do not grow."
        }
        _ => "",
    }
}

/// The buffer that `SO_RCVBUF` fixes.
fn fixed_buffer(facts: &Facts<'_>) -> Advice {
    let sign = match bound_by(facts) {
        Bound::FarBelow(range) => format!(
            "{} Something holds this window down: the scale in the receiver's SYN stands for a limit (the \
             larger of tcp_rmem and rmem_max) between {} and {}, of which about half would be advertised, \
             and the window never came near.{} ",
            bound(facts),
            range.start,
            range.end,
            untuned(facts)
        ),
        Bound::Fixed => format!(
            "{} Probably the receiver's program fixed this buffer: the scale in its SYN is no larger than \
             this window needs, as Linux chooses it where SO_RCVBUF is set before the connection opens. ",
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
        "{sign}A program that sets SO_RCVBUF fixes its buffer: Linux doubles what it asked for (ubik IV-A), \
         caps it at twice net.core.rmem_max, and no longer tunes it (SOCK_RCVBUF_LOCK; tcp_rcvbuf_grow, \
         6.18), whatever tcp_rmem says. Then remove that call, or the option that makes it (a window or \
         buffer size on the command line); do not add one. TCP_WINDOW_CLAMP and the window attribute of a \
         route hold it down as well."
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
    let largest = Bytes::new(arithmetic::LARGEST_FIELD);
    let bound = allows(facts, largest).map_or_else(String::new, |bound| format!(" {bound}."));
    let without: Vec<Host> =
        facts.options().filter(|(_, options)| options.window_scale.is_none()).map(|(host, _)| host).collect();
    // A SYN-ACK may only answer the option, not offer it (RFC 7323, section 2.2).
    let initiator = facts.host(End::A);
    let (who, hosts) = match without.as_slice() {
        [] => ("Which end did not offer it is not known, since no SYN was seen.", vec![Host::Either]),
        [_, _] => (
            "The SYN did not offer it, so the SYN-ACK could not; whether that end would have, does \
                    not show.",
            vec![initiator],
        ),
        [host] if *host == initiator => ("The SYN did not offer it.", vec![initiator]),
        [host] => ("The SYN offered it and the SYN-ACK did not.", vec![*host]),
        _ => ("", vec![Host::Either]),
    };
    let mut first = Advice::new(format!(
        "Without window scaling no window exceeds 65,535 bytes (RFC 7323).{bound} Both ends have to have it \
         on. {who}"
    ));
    for host in hosts {
        first = first.with(switch(
            host,
            "net.ipv4.tcp_window_scaling",
            "1",
            "0",
            "offers window scaling, which is the default, on connections from now on",
        ));
    }
    let several = facts.target().zip(facts.round_trip()).and_then(|(target, round_trip)| {
        let each = arithmetic::largest_rate(largest, round_trip)?;
        Some(format!(
            " Until then, {} connections side by side could carry {target}.",
            connections_for(target, each)?
        ))
    });
    vec![
        first,
        Advice::new(format!(
            "Where the sysctl is 1 on both ends, look for what takes the option away: a middlebox that \
             rewrites SYNs (compare the SYN captured at both ends), or SYN cookies, which keep scale and \
             SACK only in a timestamp (so tcp_timestamps has to be on).{}",
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

pub(crate) fn scale_too_small(facts: &Facts<'_>) -> Vec<Advice> {
    let shift = facts.answered().window_scale.shift();
    let largest = arithmetic::largest_window(shift);
    let bound = allows(facts, largest).map_or_else(String::new, |bound| format!(" {bound}."));
    let known = match facts.answered().window_scale {
        ScaleKnown::Agreed(_) => format!("The receiver's window scale of {shift} allows {largest} at most."),
        _ => "The window field stood at its largest value.".to_owned(),
    };
    let text = format!(
        "{known}{bound} The scale is fixed in the SYN for the connection's life. Linux chooses it from the \
         largest of the third number of tcp_rmem, rmem_max and the first buffer (tcp_select_initial_window, \
         6.18), but from the buffer alone where the program sets SO_RCVBUF before it connects or listens: \
         then remove that call."
    );
    let advice = match wanted(facts)
        .map(|(target, window, buffer)| (target, window, buffer, arithmetic::shift_for(window)))
    {
        Some((target, window, buffer, Some(needed))) => Advice::new(format!(
            "{text} For {target} ({window} per round trip; an estimate, since {target} is only the link \
             rate above what was reached) the scale has to be {needed} or more."
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
            "shows what the scale is chosen from",
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
        "The window grew{from_to}, but always behind the sender. Linux measures what the program read in a \
         round trip and makes room for twice that (Dynamic Right-Sizing; tcp_rcv_space_adjust, 6.18), so it \
         needs the data to come and to be read before it opens further: {} were lost to it here. It costs \
         once per connection: long transfers hardly notice, and connections that are kept open pay once.",
        time(facts.finding.lasted)
    );
    let mut first = Advice::new(text).with(socket(
        Host::Receiver,
        facts.sender(),
        "shows the buffer (rb in skmem), rcv_space (what was read in a round trip) and rcv_ssthresh",
    ));
    if let Some(window) = largest {
        let initial = window.get().saturating_mul(arithmetic::BUFFER_PER_WINDOW).clamp(131_072, 16 << 20);
        let limit = arithmetic::receive_buffer_for(window).max(arithmetic::DEFAULT_RECEIVE_LIMIT).get();
        first = first
            .with_all(sysctl(
                Host::Receiver,
                "net.ipv4.tcp_rmem",
                &format!("4096 {initial} {limit}"),
                "starts every new connection with this buffer (second number) instead of 128 KiB",
            ))
            .caution(format!(
                "Every connection of the host may then take {} of memory from its start. Only where \
                 connections are few and large. The window in the SYN itself stays at 65,535 bytes at most.",
                Bytes::new(initial)
            ));
    }
    vec![first]
}

pub(crate) fn slow_reader(facts: &Facts<'_>) -> Vec<Advice> {
    let rate = facts.reached().map_or_else(String::new, |rate| format!(" It took {rate} on average."));
    let zero = facts.answered().window;
    let closed = if zero.zero_count > 0 {
        format!(" The window closed {} ({} in all).", times(zero.zero_count), time(zero.zero_time))
    } else {
        String::new()
    };
    vec![
        Advice::new(format!(
            "The window shrank because the receiver's program took data out of its buffer more slowly than \
             it came.{rate}{closed} Find what it waits for: the disk it writes to, its own computing \
             (decryption, checksums, decompression), or a CPU. A larger buffer, a larger window or a faster \
             network change nothing but how much waits."
        ))
        .with(socket(Host::Receiver, facts.sender(), "shows the process, and what waits for it as Recv-Q"))
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
            "shows how much of the last 10, 60 and 300 s some process waited for the disk, and for a CPU",
        )),
        off_cpu(
            "Where the process is ready to read but seldom gets a CPU, its share is what to raise (wu, \
             table VII: an iperf beside 9 busy processes on one CPU received 70 Mbit/s, with one 265 \
             Mbit/s).",
        ),
    ]
}

/// The reader does not get a CPU.
pub(crate) fn off_cpu(text: &str) -> Advice {
    Advice::new(text)
        .with(Fix::look(
            Host::Receiver,
            "cat /proc/PID/schedstat",
            "shows nanoseconds on a CPU, nanoseconds ready but waiting for one, and time slices: the second \
             should not grow like the first",
        ))
        .with(Fix::look(
            Host::Receiver,
            "cat /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/PID/cgroup)/cpu.stat",
            "shows nr_throttled and throttled_usec where the process runs under a CPU limit (a container)",
        ))
        .with(
            Fix::look(Host::Receiver, "renice -n -5 -p PID", "gives the process a larger share of the CPUs")
                .needs(crate::fix::SYS_NICE)
                .undone_by("renice -n 0 -p PID"),
        )
        .caution("A larger share for one process is a smaller one for all others.")
}

pub(crate) fn reader_stopped(facts: &Facts<'_>) -> Vec<Advice> {
    let zero = facts.answered().window;
    let longest =
        facts.spell().map_or_else(String::new, |spell| format!(", {} each on average", time(spell)));
    vec![
        Advice::new(format!(
            "The receiver's window stood at zero: its program did not read at all. It happened {}{longest}, \
             {} of the flow's life. See what the process does: stopped (State T), waiting for a disk (D), \
             or waiting for something else (S).",
            times(zero.zero_count.max(facts.finding.spells)),
            percent(facts.finding.share),
        ))
        .with(socket(Host::Receiver, facts.sender(), "shows the process, and what waits for it as Recv-Q"))
        .with(Fix::look(
            Host::Receiver,
            "grep -E '^(State|voluntary_ctxt|nonvoluntary_ctxt)' /proc/PID/status; cat /proc/PID/wchan",
            "shows the state of the process and where in the kernel it waits",
        ))
        .with(
            Fix::look(Host::Receiver, "kill -CONT PID", "lets a stopped process run on")
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
