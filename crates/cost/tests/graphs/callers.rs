//! The caller of a cost: a hand-computed stack for each rule.

use crate::folded::{function, profile};
use slowpath_cost::operations::Operation;
use slowpath_cost::{Attribution, Calls, Count, Profile, Roots};

/// The calls of each stack, in the notation of the stacks.
fn call_stacks(calls: &Calls) -> Vec<String> {
    let profile = calls.profile();
    let stack = |stack| {
        let names: Vec<&str> = profile
            .stacks
            .frames(stack)
            .iter()
            .rev()
            .map(|frame| profile.functions.name(frame.function))
            .collect();
        format!("{}{}", if profile.stacks.is_truncated(stack) { "…;" } else { "" }, names.join(";"))
    };
    profile.stacks.all().map(stack).collect()
}

/// The cost of a function with its callees.
fn with_callees(profile: &Profile, name: &str) -> Option<u64> {
    let calls = profile.calls();
    let found = calls.attribute(0, &Roots::new(), Count::WithCallees);
    found[function(calls.profile(), name).0 as usize].as_ref().map(|exact| exact.weight)
}

/// The cost that belongs to each high-level operation, by name.
fn belongs(profile: &Profile) -> Vec<(String, f64)> {
    let calls = profile.calls();
    let attribution = Attribution::of(&calls, 0, Roots::high_level(&calls.profile().functions), Count::Own);
    let roots = &attribution.roots;
    roots.iter().map(|root| (roots.name(root).to_owned(), attribution.cost(root))).collect()
}

/// The first stack is `ip_finish_output2` enabling softirqs; the second an interrupt's end, in a program whose stack
/// was cut off.
#[test]
fn softirq_cost_does_not_belong_to_the_code_that_enabled_it() {
    let profile = profile(
        "tcp_sendmsg;ip_finish_output2;__local_bh_enable_ip;do_softirq;__do_softirq;handle_softirqs;net_rx_action;tcp_v4_rcv 9
         …;main@nginx;asm_common_interrupt;common_interrupt;irq_exit_rcu;handle_softirqs;net_rx_action 5
         tcp_sendmsg;ip_finish_output2 3",
    );
    assert_eq!(
        call_stacks(&profile.calls()),
        [
            "do_softirq;__do_softirq;handle_softirqs;net_rx_action;tcp_v4_rcv",
            "handle_softirqs;net_rx_action",
            "tcp_sendmsg;ip_finish_output2",
        ]
    );
    assert_eq!(with_callees(&profile, "ip_finish_output2"), Some(3));
    assert_eq!(with_callees(&profile, "handle_softirqs"), Some(14));
    // A softirq before TCP belongs to none of those, and the cut in the program does not matter to it.
    let expected = [("TCP receive", 9.0), ("TCP send message", 3.0), ("interrupt", 0.0), ("softirq", 5.0)];
    assert_eq!(belongs(&profile), expected.map(|(name, cost)| (name.to_owned(), cost)));
}

/// An entry has several functions, and may itself be interrupted: the innermost counts, as a whole.
#[test]
fn stack_begins_at_the_innermost_interrupt() {
    let profile = profile(
        "tcp_sendmsg;asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;update_curr 4
         tcp_sendmsg;asm_common_interrupt;common_interrupt;handle_irq_event 2
         tcp_sendmsg;asm_common_interrupt;common_interrupt;irq_exit_rcu;handle_softirqs;asm_sysvec_reschedule_ipi 1
         tcp_sendmsg 1",
    );
    assert_eq!(
        call_stacks(&profile.calls()),
        [
            "asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;update_curr",
            "asm_common_interrupt;common_interrupt;handle_irq_event",
            "asm_sysvec_reschedule_ipi",
            "tcp_sendmsg",
        ]
    );
    assert_eq!(with_callees(&profile, "tcp_sendmsg"), Some(1));
    assert_eq!(with_callees(&profile, "asm_common_interrupt"), Some(2));
}

/// From stacks of Linux 6.18: a server's answers to segments, a reader's window updates, and work deferred until the
/// socket was released. Data is sent below `tcp_write_xmit`.
#[test]
fn ack_is_identified_by_its_caller() {
    let profile = profile(
        "tcp_v4_rcv;tcp_v4_do_rcv;__tcp_transmit_skb;__ip_queue_xmit 6
         tcp_v4_rcv;tcp_v4_do_rcv;tcp_rcv_established;__tcp_push_pending_frames;tcp_write_xmit;__tcp_transmit_skb;__ip_queue_xmit 10
         tcp_recvmsg;tcp_recvmsg_locked;__tcp_transmit_skb;skb_clone 3
         tcp_recvmsg;release_sock;__tcp_transmit_skb 2
         tcp_v4_rcv;tcp_rcv_established;__tcp_send_ack;__alloc_skb 1
         tcp_v4_rcv;tcp_v4_send_ack;__ip_queue_xmit 1
         …;__tcp_transmit_skb 7
         tcp_v4_do_rcv@program;__tcp_transmit_skb 8",
    );
    let calls = profile.calls();
    assert_eq!(
        call_stacks(&calls)[0],
        "tcp_v4_rcv;tcp_v4_do_rcv;__tcp_send_ack;__tcp_transmit_skb;__ip_queue_xmit"
    );
    let functions = &calls.profile().functions;
    let roots = Roots::of_operations(functions, Operation::named("TCP send ACK"));
    let attribution = Attribution::of(&calls, 0, roots, Count::WithCallees);
    let ack = attribution.roots.named("TCP send ACK").expect("there are ACKs");
    let of = |name: &str| {
        let at = function(calls.profile(), name);
        let found =
            attribution.functions.iter().find(|found| found.function == at).expect("it cost something");
        (found.weight, found.exact.as_ref().expect("stacks").innermost[usize::from(ack.0)])
    };
    // The caller beyond a cut is unknown, and a program's function is not the kernel's.
    assert_eq!(of("__tcp_transmit_skb"), (36, 11));
    assert_eq!(of("__ip_queue_xmit"), (17, 7));
    assert_eq!(of("__tcp_send_ack"), (12, 12));
}

/// Before 4.18 `tcp_send_ack` ended like this, and the transmitting function had no underscores.
#[test]
fn ack_before_4_18_has_the_older_name() {
    let profile = profile("tcp_v4_do_rcv;tcp_rcv_established;tcp_transmit_skb.isra.0 1");
    assert_eq!(
        call_stacks(&profile.calls()),
        ["tcp_v4_do_rcv;tcp_rcv_established;tcp_send_ack;tcp_transmit_skb.isra.0"]
    );
}

/// sendfile on Linux 6.5 and later, and before; and a program's own data.
#[test]
fn sending_pages_is_not_attributed_to_sending_messages() {
    let profile = profile(
        "do_sendfile;splice_to_socket;sock_sendmsg;tcp_sendmsg;tcp_sendmsg_locked;skb_splice_from_iter 6
         do_sendfile;tcp_sendpage;do_tcp_sendpages 3
         ksys_write;tcp_sendmsg;tcp_sendmsg_locked 2",
    );
    let expected = [("TCP send message", 2.0), ("TCP send pages", 9.0)];
    assert_eq!(belongs(&profile), expected.map(|(name, cost)| (name.to_owned(), cost)));
    // Sending pages includes sending messages below it.
    let calls = profile.calls();
    let roots = Roots::high_level(&calls.profile().functions);
    let pages = roots.named("TCP send pages").expect("it is there");
    let graph = calls.below(0, &roots, pages, 1, 40);
    let message = Some(function(&profile, "tcp_sendmsg_locked"));
    assert_eq!(graph.nodes[0].here, 9);
    assert!(graph.nodes.iter().any(|node| node.function == message && node.here == 6), "{graph:?}");
    let message = roots.named("TCP send message").expect("it is there");
    assert_eq!(calls.below(0, &roots, message, 1, 40).nodes[0].here, 2);
}

/// A segment that arrived while the program owned the socket, and one that did not; roots for both can be named.
#[test]
fn backlog_segments_belong_to_tcp_receive() {
    let profile = profile(
        "tcp_sendmsg;release_sock;__release_sock;tcp_v4_do_rcv;tcp_ack 4
         tcp_v4_rcv;tcp_v4_do_rcv;tcp_ack 5
         tcp_sendmsg 1",
    );
    let expected = [("TCP receive", 9.0), ("TCP send message", 1.0)];
    assert_eq!(belongs(&profile), expected.map(|(name, cost)| (name.to_owned(), cost)));
    let calls = profile.calls();
    let both = ["TCP receive", "TCP do receive"].map(|name| Operation::named(name).expect("known"));
    let roots = Roots::of_operations(&calls.profile().functions, both);
    let attribution = Attribution::of(&calls, 0, roots, Count::Own);
    let costs: Vec<f64> = attribution.roots.iter().map(|root| attribution.cost(root)).collect();
    assert_eq!(costs, [0.0, 9.0]);
}
