//! The callers that caused a cost: a profile's stacks with what was called, and nothing else.
//!
//! A profiler writes down what stood on a stack, and not all that stands above a function has called for it. Whoever asks to whom a cost
//! belongs reads stacks through these rules ([`attribution`](crate::attribution), [`subgraph`](crate::subgraph), [`each`](crate::each));
//! what a function costs itself they leave as it is.
//!
//! - **An interrupt called for itself.** It comes in anywhere, and a softirq comes on top of whatever lets softirqs run again: of an
//!   interrupt's end (`irq_exit_rcu`), and of sending (`__local_bh_enable_ip` in `ip_finish_output2`). What raised it is seldom what it comes
//!   upon. So a stack begins where the innermost of them began.
//! - **A jump leaves no caller behind.** `__tcp_send_ack` ends with a call of `__tcp_transmit_skb`, of which compilers make a jump, and is
//!   not on the stack of nearly all that an ACK costs. An ACK is known by who called for it ([`FOR_ACKS`]), and `__tcp_send_ack` is put back.
//!
//! Whether sendfile's pages are sent by a function of their own is a question of roots, and is answered there ([`Roots::within`]).
//!
//! A call graph that came without stacks, such as OProfile's, is what it is.
//!
//! [`Roots::within`]: crate::Roots::within

use crate::functions::{Function, Functions};
use crate::names::plain;
use crate::operations::{Named, Operation, all, since};
use crate::profile::{Frame, Profile, Stack, Stacks};

/// A profile of which each stack has what was called one by another. Stacks, entries and functions have the profile's numbers;
/// a function that was put back and is on none of its stacks has one behind them.
#[derive(Clone, Debug, Default)]
pub struct Calls(Profile);

/// On whose stack `__tcp_transmit_skb` stands directly when it sends an ACK: functions for which `tcp_send_ack` is called, into which that
/// was inlined, or which called one that ended with a jump in turn. None of them sends anything else without a function between
/// that stays on the stack, such as `tcp_write_xmit`, but for the SYN-ACK of a simultaneous open (net/ipv4/tcp_input.c, tcp_output.c,
/// tcp.c, tcp_timer.c).
pub const FOR_ACKS: &[Named] = &[
    // Segments that are answered at once.
    all("tcp_rcv_established"),
    all("tcp_rcv_state_process"),
    all("tcp_rcv_synsent_state_process"),
    all("tcp_v4_do_rcv"),
    all("tcp_v6_do_rcv"),
    all("tcp_ack_snd_check"),
    all("__tcp_ack_snd_check"),
    all("tcp_data_queue"),
    all("tcp_fin"),
    all("tcp_send_dupack"),
    all("tcp_validate_incoming"),
    all("tcp_ack"),
    all("tcp_send_challenge_ack"),
    all("dctcp_cwnd_event"),
    // Delayed ones: `tcp_release_cb` is called last by who gives up a socket, since 3.6.
    all("tcp_send_delayed_ack"),
    all("tcp_delack_timer"),
    since("tcp_delack_timer_handler", 3, 6, 0),
    since("tcp_release_cb", 3, 6, 0),
    since("release_sock", 3, 6, 0),
    all("__sk_flush_backlog"),
    // A program has read, and the window has opened.
    all("tcp_cleanup_rbuf"),
    since("__tcp_cleanup_rbuf", 6, 0, 0),
    all("tcp_recvmsg"),
    all("tcp_recvmsg_locked"),
    all("tcp_read_sock"),
    all("tcp_splice_read"),
    all("tcp_zerocopy_receive"),
];

/// What a function is to these rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    None,
    /// An interrupt is entered by it.
    Interrupt,
    /// Softirqs are run by it.
    Softirq,
    /// It sends a segment.
    Transmit,
    /// What it has sent directly is an ACK.
    ForAck,
}

impl Rule {
    fn of(functions: &Functions, function: Function) -> Self {
        if functions.is_in_program(function) {
            return Self::None;
        }
        let name = plain(functions.name(function));
        if FOR_ACKS.iter().any(|known| known.name == name) {
            return Self::ForAck;
        }
        match Operation::of_kernel(name).map(|operation| operation.name) {
            Some("interrupt") => Self::Interrupt,
            Some("softirq") => Self::Softirq,
            Some("TCP transmit sk buffer") => Self::Transmit,
            _ => Self::None,
        }
    }
}

impl Profile {
    /// The caller of each cost.
    pub fn calls(&self) -> Calls {
        let rules: Vec<Rule> =
            self.functions.iter().map(|function| Rule::of(&self.functions, function)).collect();
        let mut calls = self.without_stacks();
        let mut called = Vec::new();
        for stack in self.stacks.all() {
            let frames = self.stacks.frames(stack);
            let begun = begun(frames, &rules);
            called.clear();
            called.extend_from_slice(&frames[..begun.unwrap_or(frames.len())]);
            put_back(&mut called, &rules, &mut calls.functions);
            let is_cut = begun.is_none() && self.stacks.is_truncated(stack);
            calls.stacks.push(called.iter().copied(), is_cut);
        }
        Calls(calls)
    }

    fn without_stacks(&self) -> Self {
        Self {
            events: self.events.clone(),
            functions: self.functions.clone(),
            stacks: Stacks::default(),
            tasks: self.tasks.clone(),
            entries: self.entries.clone(),
            lost: self.lost,
        }
    }
}

impl Calls {
    /// The stacks, as a profile.
    pub fn profile(&self) -> &Profile {
        &self.0
    }

    /// Whether one of the kernel's functions may have stood where a stack was cut off. Many are cut off in programs that were compiled
    /// without frame pointers: above a program is nothing of the kernel.
    pub fn hides_kernel(&self, stack: Stack) -> bool {
        let Self(profile) = self;
        profile.stacks.is_truncated(stack)
            && !profile.stacks.has(stack, |function| profile.functions.is_in_program(function))
    }
}

/// How many frames were called since the innermost interrupt or softirq began, that one's own included. An entry is several functions
/// that call one another (`asm_common_interrupt`, `common_interrupt`); what it came upon may be the other kind's.
fn begun(frames: &[Frame], rules: &[Rule]) -> Option<usize> {
    let rule = |frame: &Frame| rules[frame.function.0 as usize];
    let at = frames.iter().position(|frame| matches!(rule(frame), Rule::Interrupt | Rule::Softirq))?;
    let kind = rule(&frames[at]);
    Some(at + frames[at..].iter().take_while(|frame| rule(frame) == kind).count())
}

/// Puts the function back that makes ACKs, between what transmits them and who called for them.
fn put_back(frames: &mut Vec<Frame>, rules: &[Rule], functions: &mut Functions) {
    let rule = |frame: &Frame| rules.get(frame.function.0 as usize).copied();
    let mut at = 0;
    while at + 1 < frames.len() {
        if rule(&frames[at]) == Some(Rule::Transmit) && rule(&frames[at + 1]) == Some(Rule::ForAck) {
            let function = maker_of_acks(functions, frames[at].function);
            frames.insert(at + 1, Frame { function, inlined: false });
        }
        at += 1;
    }
}

/// Since 4.18 what makes ACKs and what transmits them take the acknowledgment number, and have underscores.
fn maker_of_acks(functions: &mut Functions, transmits: Function) -> Function {
    let name = if functions.name(transmits).starts_with("__") { "__tcp_send_ack" } else { "tcp_send_ack" };
    let image = functions.image(transmits).clone();
    functions.of(name, &image)
}
