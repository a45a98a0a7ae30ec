//! The choices one by one: their names, what they mean, where they are in the kernel, and how to change one.
//!
//! A choice has a name, its values as text, and its source. A scheduler or a sysctl is a choice like any other.
//! Setting a choice in a scenario, comparing kernels and the reference page all use this list. A test fails if a
//! field of TCP's choices has no entry.

use crate::profile::KernelProfile;
use crate::value::Value;

/// One choice.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name, as a scenario's `kernel = { base = …, NAME = … }` takes it.
    pub name: &'static str,
    /// What it belongs to.
    pub subject: &'static str,
    /// What is chosen.
    pub meaning: &'static str,
    /// Where the kernel has it, and since when.
    pub source: &'static str,
    form: fn() -> String,
    get: fn(&KernelProfile) -> String,
    set: fn(&mut KernelProfile, &str) -> bool,
}

/// Text that is not one of a choice's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAChoice {
    /// What to write instead.
    pub form: String,
}

impl Choice {
    /// What its values look like, to be put behind "write".
    pub fn form(&self) -> String {
        (self.form)()
    }

    /// What a kernel chose.
    pub fn of(&self, kernel: &KernelProfile) -> String {
        (self.get)(kernel)
    }

    /// Makes a kernel choose otherwise.
    ///
    /// # Errors
    ///
    /// Text that is not one of its values; the kernel is as it was.
    pub fn put(&self, kernel: &mut KernelProfile, text: &str) -> Result<(), NotAChoice> {
        if (self.set)(kernel, text) { Ok(()) } else { Err(NotAChoice { form: self.form() }) }
    }

    /// The choice of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CHOICES.iter().find(|choice| choice.name == name)
    }
}

/// The form of the values of a field, by its type.
fn form_of<T: Value>(_field: fn(&KernelProfile) -> &T) -> String {
    T::form()
}

/// A choice that is a field of the profile; a number may have a range.
macro_rules! choice {
    ($subject:expr, $name:literal, $($field:ident).+, $meaning:literal, $source:literal) => {
        Choice {
            name: $name,
            subject: $subject,
            meaning: $meaning,
            source: $source,
            form: || form_of(|kernel| &kernel.$($field).+),
            get: |kernel| kernel.$($field).+.write(),
            set: |kernel, text| match Value::read(text) {
                Some(value) => {
                    kernel.$($field).+ = value;
                    true
                }
                None => false,
            },
        }
    };
    (
        $subject:expr, $name:literal, $($field:ident).+ in $least:literal..=$most:literal,
        $meaning:literal, $source:literal
    ) => {
        Choice {
            name: $name,
            subject: $subject,
            meaning: $meaning,
            source: $source,
            form: || concat!("a whole number from ", $least, " to ", $most).to_owned(),
            get: |kernel| kernel.$($field).+.write(),
            set: |kernel, text| match Value::read(text).filter(|value| ($least..=$most).contains(value)) {
                Some(value) => {
                    kernel.$($field).+ = value;
                    true
                }
                None => false,
            },
        }
    };
}

const RECEIVE: &str = "receive path";
const TRANSMIT: &str = "transmit path";
const TASKS: &str = "tasks and time";
const SENDER: &str = "TCP, sender";
const RECEIVER: &str = "TCP, receiver";

/// All choices, by subject.
pub const CHOICES: &[Choice] = &[
    choice!(
        RECEIVE,
        "intake",
        receive.intake,
        "who takes packets off the device's ring",
        "net/core/dev.c: netif_rx and its CPU's backlog until 2.4.19; netif_receive_skb from a poll (NAPI) since 2.4.20"
    ),
    choice!(
        RECEIVE,
        "bottom-halves",
        receive.bottom_halves,
        "on how many CPUs softirqs run at once, where several take interrupts",
        "kernel/softirq.c: do_bottom_half, one at a time (softirq_trylock, NET_BH), in 2.2; do_softirq, each CPU its own, since \
         2.4"
    ),
    choice!(
        RECEIVE,
        "throttle",
        receive.throttle,
        "what a full backlog of a CPU does",
        "net/core/dev.c: netif_rx, softnet_data.throttle until 2.6.12; drops only what does not fit since 2.6.13"
    ),
    choice!(
        RECEIVE,
        "netdev-max-backlog",
        receive.netdev_max_backlog in 1..=10_000_000,
        "most packets on a CPU's backlog",
        "net/core/dev.c: netdev_max_backlog, 300 until 2.6.12, 1000 since 2.6.13"
    ),
    choice!(
        RECEIVE,
        "netdev-budget",
        receive.netdev_budget in 1..=10_000_000,
        "most packets in one run of the receive softirq",
        "net/core/dev.c: net_rx_action, netdev_max_backlog until 2.6.12; netdev_budget, 300, since 2.6.13"
    ),
    choice!(
        RECEIVE,
        "netdev-budget-time",
        receive.netdev_budget_time,
        "longest run of the receive softirq",
        "net/core/dev.c: net_rx_action, one to two ticks until 4.11; netdev_budget_usecs, two ticks, since 4.12"
    ),
    choice!(
        RECEIVE,
        "dev-weight",
        receive.dev_weight in 1..=10_000_000,
        "most packets in one poll of one device",
        "net/core/dev.c: weight_p and NAPI_POLL_WEIGHT, 64"
    ),
    choice!(
        RECEIVE,
        "softirq-restarts",
        receive.softirq_restarts in 0..=1_000,
        "how often pending softirqs run again before ksoftirqd takes over",
        "kernel/softirq.c: do_softirq, once more for new ones in 2.4; MAX_SOFTIRQ_RESTART, 10, since 2.5"
    ),
    choice!(
        RECEIVE,
        "softirq-time",
        receive.softirq_time,
        "longest time in which they run again",
        "kernel/softirq.c: MAX_SOFTIRQ_TIME, 2 ms, since 3.9"
    ),
    choice!(
        RECEIVE,
        "gro",
        receive.gro,
        "whether packets of a flow are merged before IP",
        "net/core/gro.c: dev_gro_receive, since 2.6.29"
    ),
    choice!(
        RECEIVE,
        "socket-backlog",
        receive.socket_backlog,
        "room for packets whose socket a process has locked",
        "include/net/sock.h: sk_add_backlog, without a limit until 2.6.33; net/ipv4/tcp_ipv4.c: tcp_add_backlog, twice \
         the receive buffer and half the send buffer"
    ),
    choice!(
        RECEIVE,
        "coalesce-backlog",
        receive.coalesce_backlog,
        "whether those packets are merged",
        "net/ipv4/tcp_ipv4.c: tcp_add_backlog, since 5.0"
    ),
    choice!(
        RECEIVE,
        "drain-softirqs",
        receive.drain_softirqs,
        "whether softirqs run while a process sees to packets that waited for its socket's lock",
        "net/core/sock.c: __release_sock, without them until 4.6, with an offer of the CPU between two packets \
         (cond_resched_softirq) since 2.6.11; with them since 4.7"
    ),
    choice!(
        RECEIVE,
        "busy-poll",
        receive.busy_poll,
        "whether a reader of an empty socket can poll the card itself (SO_BUSY_POLL)",
        "net/core/dev.c: napi_busy_loop, from tcp_recvmsg of net/ipv4/tcp.c; since 3.11"
    ),
    choice!(
        RECEIVE,
        "prequeue",
        tcp.prequeue,
        "whether packets for a reader that sleeps wait for it (wu, section 2)",
        "include/net/tcp.h: tcp_prequeue, 2.4 to 4.13"
    ),
    choice!(
        TRANSMIT,
        "qdisc",
        transmit.qdisc,
        "the queue before the device",
        "net/sched/sch_generic.c: pfifo_fast, unless net.core.default_qdisc says otherwise"
    ),
    choice!(
        TRANSMIT,
        "txqueuelen",
        transmit.txqueuelen in 1..=10_000_000,
        "most packets in it (ubik, section V)",
        "drivers/net/net_init.c: ether_setup, 100 in 2.4; net/ethernet/eth.c, DEFAULT_TX_QUEUE_LEN, 1000 since 2.6"
    ),
    choice!(
        TRANSMIT,
        "gso",
        transmit.gso,
        "whether the kernel cuts super-packets for a device that cannot",
        "net/core/dev.c: dev_gso_segment, since 2.6.18"
    ),
    choice!(
        TRANSMIT,
        "super-packets",
        tcp.super_packets,
        "whether TCP makes super-packets",
        "net/ipv4/tcp_output.c: tcp_tso_should_defer and tcp_write_xmit; TSO since 2.5.33"
    ),
    choice!(
        TRANSMIT,
        "push-super-packets",
        tcp.push_super_packets,
        "whether every super-packet carries PSH",
        "net/ipv4/tcp_output.c: __tcp_transmit_skb, since 5.4"
    ),
    choice!(
        TRANSMIT,
        "small-queues",
        tcp.small_queues,
        "whether a connection has at most a millisecond of data in the queue and the device",
        "net/ipv4/tcp_output.c: tcp_small_queue_check, since 3.6"
    ),
    choice!(
        TRANSMIT,
        "local-drop-notified",
        transmit.local_drop_notified,
        "whether a drop in the local queue counts as congestion",
        "net/ipv4/tcp_output.c: tcp_transmit_skb, tcp_enter_cwr, since 2.4"
    ),
    choice!(
        TASKS,
        "scheduler",
        scheduler,
        "how the next task is chosen",
        "kernel/sched.c: goodness in 2.4, active and expired arrays in 2.6.0 to 2.6.22; kernel/sched/fair.c: pick_eevdf \
         since 6.6, base slice 0.7 ms since 6.15"
    ),
    choice!(
        TASKS,
        "preemption",
        preemption,
        "where a task inside the kernel can lose the CPU",
        "Kconfig.preempt: not in 2.4; PREEMPT since 2.6, on in wu's kernel; PREEMPT_DYNAMIC's default is voluntary"
    ),
    choice!(
        TASKS,
        "big-kernel-lock",
        big_kernel_lock,
        "whether one process at a time is in a system call on a socket; others spin on their CPUs",
        "fs/read_write.c, net/socket.c: lock_kernel in sys_read, sys_write and the calls on sockets until 2.2; not since 2.4"
    ),
    choice!(
        TASKS,
        "hz",
        tcp.clock.hz in 10..=10_000,
        "ticks in a second",
        "include/asm-i386/param.h: 100 in 2.4; kernel/Kconfig.hz: 250 since 2.6.13; distributions build with 250 or 1000"
    ),
    choice!(
        TASKS,
        "timer-wheel",
        tcp.clock.wheel,
        "how exactly timers fire",
        "kernel/time/timer.c: cascading until 4.7, levels that grow coarser since 4.8"
    ),
    choice!(
        SENDER,
        "congestion-control",
        tcp.congestion_control,
        "the congestion control of new sockets",
        "net/ipv4/Kconfig: Reno in 2.4, BIC in 2.6.8 to 2.6.18, CUBIC since 2.6.19"
    ),
    choice!(
        SENDER,
        "initial-window",
        tcp.initial_window,
        "segments before the first ACK",
        "net/ipv4/tcp_input.c: tcp_init_cwnd, RFC 3390 until 2.6.38; TCP_INIT_CWND, 10 (RFC 6928), since 2.6.39"
    ),
    choice!(
        SENDER,
        "loss-detection",
        tcp.loss_detection,
        "how a loss is found",
        "net/ipv4/tcp_input.c: tcp_update_scoreboard until 4.17; net/ipv4/tcp_recovery.c: tcp_rack_detect_loss since 4.18"
    ),
    choice!(
        SENDER,
        "sack-walk",
        tcp.sack_walk,
        "how what is sacked, lost or to be sent again is found",
        "net/ipv4/tcp_input.c: tcp_sacktag_write_queue, from the head of the queue for each block until 2.6.15; \
         fastpath_skb_hint (Kelly) since 2.6.16, tcp_sacktag_bsearch since 4.15; leith 1.1 walks holes"
    ),
    choice!(
        SENDER,
        "sack-merging",
        tcp.sack_merging,
        "whether sacked buffers that lie side by side become one",
        "net/ipv4/tcp_input.c: tcp_shift_skb_data, since 2.6.29"
    ),
    choice!(
        SENDER,
        "window-reduction",
        tcp.window_reduction,
        "how cwnd comes down to ssthresh",
        "net/ipv4/tcp_input.c: tcp_cwnd_down until 3.1; tcp_cwnd_reduction (RFC 6937) since 3.2"
    ),
    choice!(
        SENDER,
        "forward-rto",
        tcp.forward_rto,
        "how a needless timeout is found",
        "net/ipv4/tcp_input.c: tcp_enter_frto in 2.4.21 to 3.9, off at first; tcp_process_loss since 3.10"
    ),
    choice!(
        SENDER,
        "tail-loss-probe",
        tcp.tail_loss_probe,
        "whether the end of a flight is probed",
        "net/ipv4/tcp_output.c: tcp_schedule_loss_probe (RFC 8985), since 3.10"
    ),
    choice!(
        SENDER,
        "burst-moderation",
        tcp.burst_moderation,
        "what keeps a burst from following an ACK that acknowledges much",
        "net/ipv4/tcp_input.c: tcp_moderate_cwnd, cwnd to three beyond what is in flight, in 2.4 and 2.6; leith 1.5 counts what is \
         sent for an ACK instead (tcp_htcp_moderation)"
    ),
    choice!(
        SENDER,
        "reduction-cap",
        tcp.reduction_cap,
        "whether rate halving holds cwnd to one beyond what is in flight",
        "net/ipv4/tcp_input.c: tcp_cwnd_down until 3.1; leith 1.5 takes it away (tcp_htcp_cap)"
    ),
    choice!(
        SENDER,
        "prior-threshold",
        tcp.prior_threshold,
        "what an undo restores ssthresh to",
        "include/net/tcp.h: tcp_current_ssthresh, three quarters of cwnd; leith 1.4 keeps cwnd itself (tcp_htcp_undo)"
    ),
    choice!(
        SENDER,
        "partial-undo",
        tcp.partial_undo,
        "what is taken back when a hole is filled by what was only late, while others are open",
        "net/ipv4/tcp_input.c: tcp_try_undo_partial, cwnd alone until 3.11, all since 3.12"
    ),
    choice!(
        SENDER,
        "undo-again",
        tcp.undo_again,
        "whether a recovery that begins within a reduction can be undone like another",
        "net/ipv4/tcp_input.c: tcp_fastretrans_alert, tcp_enter_recovery set prior_ssthresh to 0; leith 1.4 does not"
    ),
    choice!(
        SENDER,
        "reneging",
        tcp.reneging,
        "what is made of a receiver that takes SACKs back",
        "net/ipv4/tcp_input.c: tcp_check_sack_reneging, tcp_enter_loss until 3.16, a timer since 3.17; leith 1.3 leaves cwnd alone"
    ),
    choice!(
        SENDER,
        "window-increase",
        tcp.window_increase,
        "whether ACKs let cwnd grow or the segments that they acknowledge",
        "net/ipv4/tcp_cong.c: tcp_slow_start by segments since 3.13, tcp_cong_avoid_ai since 4.0"
    ),
    choice!(
        SENDER,
        "window-validation",
        tcp.window_validation,
        "whether cwnd stays as it is while the application does not fill it",
        "net/ipv4/tcp_output.c: tcp_cwnd_validate, is_cwnd_limited, since 3.16"
    ),
    choice!(
        SENDER,
        "initial-rto",
        tcp.initial_rto,
        "the timeout before the first round trip",
        "include/net/tcp.h: TCP_TIMEOUT_INIT, 3 s until 3.0, 1 s since 3.1"
    ),
    choice!(SENDER, "min-rto", tcp.min_rto, "the least timeout", "include/net/tcp.h: TCP_RTO_MIN, HZ/5"),
    choice!(
        SENDER,
        "rttvar-floor",
        tcp.rttvar_floor,
        "whether the variation, not the timeout, has that floor",
        "net/ipv4/tcp_input.c: tcp_rtt_estimator, since 2.4"
    ),
    choice!(
        SENDER,
        "microsecond-rtt",
        tcp.microsecond_rtt,
        "whether round trips are measured in microseconds, not ticks",
        "net/ipv4/tcp_input.c: tcp_rtt_estimator, since 3.15"
    ),
    choice!(
        SENDER,
        "round-trips",
        tcp.round_trips,
        "what an ACK says of the round trip",
        "net/ipv4/tcp_input.c: tcp_ack_update_rtt, echoes until 3.11, what was sent when since 3.12"
    ),
    choice!(
        SENDER,
        "send-tuning",
        tcp.send_tuning,
        "what the send buffer grows to",
        "net/ipv4/tcp_input.c: tcp_new_space in 2.6; tcp_sndbuf_expand since 3.13"
    ),
    choice!(
        SENDER,
        "autocorking",
        tcp.autocorking,
        "whether small writes wait for the device's queue",
        "net/ipv4/tcp.c: tcp_should_autocork, since 3.14"
    ),
    choice!(
        SENDER,
        "metrics",
        tcp.metrics,
        "where ssthresh and round trips are kept for the next connection (ubik IV-E)",
        "net/ipv4/tcp_input.c: tcp_update_metrics, in the route cache until 3.5; net/ipv4/tcp_metrics.c since 3.6"
    ),
    choice!(
        RECEIVER,
        "timestamp-clock",
        tcp.timestamp_clock,
        "what a timestamp counts",
        "include/net/tcp.h: tcp_time_stamp, ticks until 4.12, milliseconds since 4.13"
    ),
    choice!(
        RECEIVER,
        "buffer-arithmetic",
        tcp.buffer_arithmetic,
        "how much window a buffer stands for (ubik III)",
        "include/net/tcp.h: tcp_win_from_space, tcp_adv_win_scale until 6.5; scaling_ratio since 6.6"
    ),
    choice!(
        RECEIVER,
        "receive-tuning",
        tcp.receive_tuning,
        "how the receive buffer finds its size (weigle)",
        "net/ipv4/tcp_input.c: by memory in tcp_clamp_window, since 2.4; tcp_rcv_space_adjust, since 2.6.7; \
         tcp_rcvbuf_grow since 6.16; for the sender's window in LANL's patch; the largest by Semke, Mahdavi and Mathis 1998"
    ),
    choice!(
        RECEIVER,
        "buffer-memory",
        tcp.buffer_memory,
        "what of a packet's buffer counts as its memory",
        "net/core/skbuff.c: alloc_skb, what was asked for until 3.2; SKB_TRUESIZE, what was allocated, since then"
    ),
    choice!(
        RECEIVER,
        "forward-alloc",
        tcp.forward_alloc,
        "what becomes of memory that was reserved for packets and is free again; without reserved memory there is no fast path",
        "include/net/sock.h: sk_stream_rfree, sk_mem_uncharge, kept until 5.19; sk_mem_reclaim, whole pages returned since 6.0"
    ),
    choice!(
        RECEIVER,
        "window-scale",
        tcp.window_scale,
        "which buffer the window scale is chosen for (weigle, section IV-B)",
        "net/ipv4/tcp_output.c: tcp_select_initial_window, the first until 2.6.7; tcp_rmem's and rmem_max's most since 2.6.8"
    ),
    choice!(
        RECEIVER,
        "first-window",
        tcp.first_window,
        "the window before anything has arrived",
        "net/ipv4/tcp_output.c: tcp_select_initial_window, up to MAX_TCP_WINDOW in 2.2; RFC 2414 in 2.4 to 2.6.32; \
         all of it since 4.20"
    ),
    choice!(
        RECEIVER,
        "zero-window",
        tcp.zero_window,
        "how little room closes the window",
        "net/ipv4/tcp_output.c: __tcp_select_window, a segment until 3.14; a sixteenth of the buffer since 3.15"
    ),
    choice!(
        RECEIVER,
        "window-growth",
        tcp.window_growth,
        "how the window comes from the first one to all that the buffer stands for",
        "net/ipv4/tcp_input.c: tcp_grow_window, since 2.4; twice what was received in LANL's patch (Fisk and Feng 2001)"
    ),
    choice!(
        RECEIVER,
        "window-growth-beyond-holes",
        tcp.window_growth_beyond_holes,
        "whether it grows with data beyond a hole too, on connections with SACK",
        "net/ipv4/tcp_input.c: tcp_data_queue_ofo, since 3.12"
    ),
    choice!(
        RECEIVER,
        "ack-repairs-at-once",
        tcp.ack_repairs_at_once,
        "whether the ACK that tells of a filled hole goes out at once",
        "net/ipv4/tcp_input.c: tcp_data_queue, ICSK_ACK_NOW, since 4.19"
    ),
    choice!(
        RECEIVER,
        "challenges",
        tcp.challenges,
        "whether a reset, a SYN or an ACK that is not exactly expected is answered with a challenge",
        "net/ipv4/tcp_input.c: tcp_send_challenge_ack, since 3.6 (RFC 5961)"
    ),
    choice!(
        RECEIVER,
        "data-beyond-window",
        tcp.data_beyond_window,
        "whether a segment that reaches beyond the window is taken whole",
        "net/ipv4/tcp_input.c: tcp_sequence, until 6.16"
    ),
    choice!(
        RECEIVER,
        "compressed-acks",
        tcp.compressed_acks,
        "whether ACKs beyond a hole are thinned",
        "net/ipv4/tcp_input.c: __tcp_ack_snd_check, tcp_comp_sack_*, since 4.18"
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use std::collections::BTreeSet;

    #[test]
    fn every_choice_of_every_kernel_is_read_back() {
        for kernel in registry::all() {
            for choice in CHOICES {
                let mut changed = registry::named("2.6.14").unwrap();
                choice.put(&mut changed, &choice.of(&kernel)).unwrap();
                assert_eq!(choice.of(&changed), choice.of(&kernel), "{} of {}", choice.name, kernel.name);
            }
        }
    }

    #[test]
    fn what_is_not_a_value_changes_nothing_and_says_what_is() {
        for choice in CHOICES {
            let mut kernel = registry::named("6.18").unwrap();
            let error = choice.put(&mut kernel, "no such value").unwrap_err();
            assert!(!error.form.is_empty(), "{}", choice.name);
            assert_eq!(kernel, registry::named("6.18").unwrap());
        }
        let hz = Choice::named("hz").unwrap();
        assert!(hz.put(&mut registry::named("6.18").unwrap(), "0").is_err());
        assert_eq!(hz.form(), "a whole number from 10 to 10000");
    }

    #[test]
    fn names_are_written_once_and_sources_name_a_file() {
        let names: BTreeSet<&str> = CHOICES.iter().map(|choice| choice.name).collect();
        assert_eq!(names.len(), CHOICES.len());
        for choice in CHOICES {
            assert!(choice.source.contains(':'), "{}", choice.name);
        }
    }

    /// A choice that TCP gains must get its row: the fields, as `Debug` shows them, each change some row.
    #[test]
    fn every_field_of_tcp_has_its_row() {
        let mut kernel = registry::named("6.18").unwrap();
        let old = registry::named("2.4.17").unwrap();
        for choice in CHOICES {
            choice.put(&mut kernel, &choice.of(&old)).unwrap();
        }
        assert_eq!(kernel.tcp, old.tcp);
        assert_eq!((kernel.receive, kernel.transmit), (old.receive, old.transmit));
    }
}
