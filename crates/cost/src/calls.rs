//! The callers that caused a cost: a profile's stacks with only actual calls.
//!
//! A profiler records what is on a stack, but not everything above a function has called it. Attributions read stacks
//! through these rules ([`attribution`](crate::attribution), [`subgraph`](crate::subgraph), [`each`](crate::each));
//! functions' own costs are unaffected.
//!
//! - **An interrupt is not called by the code it interrupts.** It may occur anywhere, and a softirq runs on top of
//!   whatever enables softirqs: the end of an interrupt (`irq_exit_rcu`), or sending (`__local_bh_enable_ip` in
//!   `ip_finish_output2`). The interrupted code is seldom its cause. So a stack begins at the innermost interrupt or
//!   softirq.
//! - **A tail call removes its caller.** `__tcp_send_ack` ends with a call of `__tcp_transmit_skb`, which compilers
//!   turn into a jump, so it is missing on the stacks of nearly all of an ACK's cost. An ACK is identified by its
//!   caller ([`FOR_ACKS`]), and `__tcp_send_ack` is restored.
//!
//! Whether sendfile's pages are sent by their own function is a matter of roots ([`Roots::within`]).
//!
//! A call graph without stacks, such as OProfile's, is used unchanged.
//!
//! [`Roots::within`]: crate::Roots::within

use crate::functions::{Function, Functions};
use crate::names::plain;
use crate::operations::{Named, Operation, all, since};
use crate::profile::{Frame, Profile, Stack, Stacks};

/// A profile whose stacks contain only calls. Stacks, entries and functions have the profile's numbers; a restored
/// function that is on none of its stacks has a number after them.
#[derive(Clone, Debug, Default)]
pub struct Calls(Profile);

/// The functions that are directly above `__tcp_transmit_skb` when it sends an ACK: those that call `tcp_send_ack`,
/// those into which it was inlined, and those whose callee ended with a jump in turn. None of them sends anything else
/// without a function between that stays on the stack, such as `tcp_write_xmit`, except for the SYN-ACK of a
/// simultaneous open (net/ipv4/tcp_input.c, tcp_output.c, tcp.c, tcp_timer.c).
pub const FOR_ACKS: &[Named] = &[
    // Segments that are answered immediately.
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
    // Delayed ones: `tcp_release_cb` is called last when a socket is released, since 3.6.
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

/// The role of a function in these rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    None,
    /// It enters an interrupt.
    Interrupt,
    /// It runs softirqs.
    Softirq,
    /// It sends a segment.
    Transmit,
    /// Its direct transmission is an ACK.
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
    /// The calls in each stack.
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

    /// Whether a kernel function may be hidden beyond the cut of a stack. Many stacks are cut off in programs compiled
    /// without frame pointers: no kernel function is above a program.
    pub fn hides_kernel(&self, stack: Stack) -> bool {
        let Self(profile) = self;
        profile.stacks.is_truncated(stack)
            && !profile.stacks.has(stack, |function| profile.functions.is_in_program(function))
    }
}

/// The number of frames called since the innermost interrupt or softirq began, including its own. An entry is several
/// functions that call one another (`asm_common_interrupt`, `common_interrupt`); the interrupted code may belong to the
/// other kind.
fn begun(frames: &[Frame], rules: &[Rule]) -> Option<usize> {
    let rule = |frame: &Frame| rules[frame.function.0 as usize];
    let at = frames.iter().position(|frame| matches!(rule(frame), Rule::Interrupt | Rule::Softirq))?;
    let kind = rule(&frames[at]);
    Some(at + frames[at..].iter().take_while(|frame| rule(frame) == kind).count())
}

/// Restores the function that sends ACKs, between the transmission and its caller.
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

/// Since 4.18 the functions that send ACKs and transmit them take the acknowledgment number, and have underscores.
fn maker_of_acks(functions: &mut Functions, transmits: Function) -> Function {
    let name = if functions.name(transmits).starts_with("__") { "__tcp_send_ack" } else { "tcp_send_ack" };
    let image = functions.image(transmits).clone();
    functions.of(name, &image)
}
