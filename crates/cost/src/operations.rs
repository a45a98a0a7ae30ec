//! The paper's names for the kernel's operations for TCP ("TCP receive", "sk buffer clone"), and their functions in
//! each kernel.
//!
//! An operation has several functions if a kernel has several ways into it, or has its body behind a wrapper. Releases
//! are given where they are certain. A function without releases has existed since 2.4, or its release is not stated; a
//! name missing in a profile has no effect. A function that the compiler inlined is not visible, and its cost is its
//! caller's: static functions with one call, such as `tcp_clean_rtx_queue` in `tcp_ack`.

use crate::functions::{Function, Functions};
use crate::names::{Release, plain};
use crate::roots::Roots;

/// An operation of a kernel for TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The paper's name, or one in its style.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub does: &'static str,
    /// Its functions.
    pub functions: &'static [Named],
}

/// A function by name, and the kernels that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// The first release that has it, if stated.
    pub since: Option<Release>,
    /// The first release that no longer has it, if stated.
    pub until: Option<Release>,
}

pub(crate) const fn all(name: &'static str) -> Named {
    Named { name, since: None, until: None }
}

pub(crate) const fn since(name: &'static str, major: u16, minor: u16, patch: u16) -> Named {
    Named { name, since: Some(Release(major, minor, patch)), until: None }
}

const fn until(name: &'static str, major: u16, minor: u16) -> Named {
    Named { name, since: None, until: Some(Release(major, minor, 0)) }
}

const fn operation(name: &'static str, does: &'static str, functions: &'static [Named]) -> Operation {
    Operation { name, does, functions }
}

/// The operations: from an interrupt up, down again, and common ones.
pub const OPERATIONS: &[Operation] = &[
    operation(
        "interrupt",
        "is entered from whatever ran: what is above it on a stack was interrupted and called for nothing",
        &[
            all("asm_common_interrupt"),
            all("asm_sysvec_apic_timer_interrupt"),
            all("asm_sysvec_call_function"),
            all("asm_sysvec_call_function_single"),
            all("asm_sysvec_reschedule_ipi"),
            all("asm_sysvec_irq_work"),
            all("asm_sysvec_hyperv_callback"),
            all("asm_sysvec_hyperv_stimer0"),
            all("asm_sysvec_kvm_asyncpf_interrupt"),
            all("asm_sysvec_xen_hvm_callback"),
            // On CPUs with FRED, all except system calls and exceptions.
            since("fred_extint", 6, 9, 0),
            all("common_interrupt"),
            all("apic_timer_interrupt"),
            all("smp_apic_timer_interrupt"),
            all("reschedule_interrupt"),
            all("do_IRQ"),
            all("ret_from_intr"),
            all("timer_interrupt"),
            all("el1_irq"),
            all("el1h_64_irq"),
            all("el0_irq"),
            all("el0t_64_irq"),
        ],
    ),
    operation(
        "softirq",
        "runs what interrupts have put off, on top of whatever lets it run",
        &[since("handle_softirqs", 6, 10, 0), all("__do_softirq"), all("do_softirq")],
    ),
    operation(
        "handle IRQ",
        "calls the handlers of an interrupt",
        &[all("handle_IRQ_event"), all("handle_irq_event")],
    ),
    operation(
        "Ethernet type",
        "finds which protocol a received frame is of, from its header",
        &[all("eth_type_trans")],
    ),
    operation(
        "IP local deliver",
        "hands a packet for this host to its protocol",
        &[
            all("ip_local_deliver"),
            all("ip_local_deliver_finish"),
            all("ip_protocol_deliver_rcu"),
            all("ip6_input"),
        ],
    ),
    operation(
        "TCP receive",
        "finds a segment's connection; all that the segment causes is called from here, or later from the socket's backlog",
        &[all("tcp_v4_rcv"), all("tcp_v6_rcv")],
    ),
    operation(
        "TCP do receive",
        "handles a segment of a connection, from TCP receive or from the backlog when its lock is given up",
        &[all("tcp_v4_do_rcv"), all("tcp_v6_do_rcv")],
    ),
    operation("TCP receive established", "handles a segment in ESTABLISHED", &[all("tcp_rcv_established")]),
    operation(
        "TCP receive state process",
        "handles a segment in all states but ESTABLISHED and TIME_WAIT",
        &[all("tcp_rcv_state_process")],
    ),
    operation(
        "TCP clone sock",
        "makes a connection's socket from the listening one's",
        &[all("tcp_create_openreq_child")],
    ),
    operation("TCP ACK receive", "handles an acknowledgment", &[all("tcp_ack")]),
    operation(
        "TCP clean retransmit queue",
        "takes what was acknowledged off the retransmit queue",
        &[all("tcp_clean_rtx_queue")],
    ),
    operation(
        "TCP ACK send check",
        "decides whether an ACK is sent now",
        &[all("__tcp_ack_snd_check"), all("tcp_ack_snd_check")],
    ),
    operation(
        "TCP send ACK",
        "makes an ACK and sends it; the others, for connections that have no full socket, do not pass TCP transmit sk buffer",
        &[
            all("tcp_send_ack"),
            since("__tcp_send_ack", 4, 18, 0),
            all("tcp_v4_send_ack"),
            all("tcp_v4_reqsk_send_ack"),
            all("tcp_v4_timewait_ack"),
            all("tcp_v6_send_ack"),
            // For RSTs too.
            all("tcp_v6_send_response"),
        ],
    ),
    operation(
        "TCP send message",
        "takes data from a program: send, write, sendmsg; since 6.5 pages of sendfile and splice too (MSG_SPLICE_PAGES)",
        &[all("tcp_sendmsg"), since("tcp_sendmsg_locked", 4, 14, 0)],
    ),
    operation(
        "TCP send pages",
        "takes pages without copying them, for sendfile and splice; since 6.5 its work is done in TCP send message",
        &[
            until("do_tcp_sendpages", 6, 5),
            until("tcp_sendpage", 6, 5),
            Named {
                name: "tcp_sendpage_locked",
                since: Some(Release(4, 14, 0)),
                until: Some(Release(6, 5, 0)),
            },
            since("splice_to_socket", 6, 5, 0),
        ],
    ),
    operation(
        "TCP push pending frames",
        "sends what waits in the send queue, as far as windows let it",
        &[all("__tcp_push_pending_frames"), all("tcp_push_pending_frames"), all("tcp_push_one")],
    ),
    operation(
        "TCP write transmit",
        "takes segments from the send queue while windows let it",
        &[all("tcp_write_xmit")],
    ),
    operation(
        "TCP transmit sk buffer",
        "makes a segment's header and hands it to IP",
        &[all("tcp_transmit_skb"), since("__tcp_transmit_skb", 4, 18, 0)],
    ),
    operation(
        "IP queue transmit",
        "makes the IP header of a segment",
        &[all("ip_queue_xmit"), all("__ip_queue_xmit"), all("ip_queue_xmit2"), all("inet6_csk_xmit")],
    ),
    operation(
        "IP output",
        "hands a packet to the device, through its neighbour",
        &[
            all("ip_output"),
            all("ip_finish_output"),
            all("__ip_finish_output"),
            all("ip_finish_output2"),
            all("ip6_output"),
            all("ip6_finish_output"),
            all("ip6_finish_output2"),
        ],
    ),
    operation(
        "device queue transmit",
        "puts a packet into the device's queue discipline, and sends from it",
        &[
            all("dev_queue_xmit"),
            all("__dev_queue_xmit"),
            all("qdisc_restart"),
            all("__qdisc_run"),
            all("sch_direct_xmit"),
        ],
    ),
    operation(
        "TCP receive message",
        "hands data to a program: recv, read",
        &[all("tcp_recvmsg"), all("tcp_recvmsg_locked")],
    ),
    operation("TCP poll", "says whether a connection can be read or written", &[all("tcp_poll")]),
    operation(
        "sk buffer clone",
        "makes a second head for a segment's data",
        &[all("skb_clone"), all("__skb_clone")],
    ),
    operation(
        "sk buffer allocation",
        "makes a buffer for a segment",
        // 2.6.14 has fast clones, and `alloc_skb` has been inlined into its callers since.
        &[
            until_patch("alloc_skb", 2, 6, 14),
            since("__alloc_skb", 2, 6, 14),
            all("sk_stream_alloc_skb"),
            all("tcp_stream_alloc_skb"),
            all("__netdev_alloc_skb"),
            all("build_skb"),
            all("napi_build_skb"),
        ],
    ),
    operation(
        "sk buffer free",
        "gives up a buffer and what it holds",
        &[
            all("__kfree_skb"),
            until("kfree_skb", 5, 17),
            Named {
                name: "kfree_skb_reason",
                since: Some(Release(5, 17, 0)),
                until: Some(Release(6, 11, 0)),
            },
            since("sk_skb_reason_drop", 6, 11, 0),
            all("consume_skb"),
            all("napi_consume_skb"),
            all("skb_release_data"),
            all("skb_release_head_state"),
            all("kfree_skbmem"),
        ],
    ),
    operation(
        "kernel memory allocation",
        "allocates an object, from its slab cache or by its size",
        &[
            all("kmalloc"),
            until("__kmalloc", 6, 10),
            since("__kmalloc_noprof", 6, 10, 0),
            until("kmem_cache_alloc", 6, 10),
            since("kmem_cache_alloc_noprof", 6, 10, 0),
            until("kmem_cache_alloc_node", 6, 10),
            since("kmem_cache_alloc_node_noprof", 6, 10, 0),
            all("cache_alloc_refill"),
            all("__slab_alloc"),
            all("___slab_alloc"),
        ],
    ),
    operation(
        "kernel memory deallocation",
        "gives an object back to its slab cache",
        &[
            all("kfree"),
            all("kmem_cache_free"),
            all("__slab_free"),
            all("cache_flusharray"),
            all("free_block"),
        ],
    ),
    operation(
        "lock sock",
        "takes a socket for a process, and gives it up with what came meanwhile",
        &[
            all("lock_sock"),
            all("lock_sock_nested"),
            all("__lock_sock"),
            all("release_sock"),
            all("__release_sock"),
        ],
    ),
    operation(
        "system call",
        "is the way from a program into the kernel",
        &[
            all("system_call"),
            all("sysenter_entry"),
            all("sysenter_past_esp"),
            all("entry_SYSCALL_64"),
            all("do_syscall_64"),
        ],
    ),
    operation(
        "file reference",
        "counts who has a file open, in every system call on a socket",
        &[all("fget"), all("fget_light"), all("fput")],
    ),
];

const fn until_patch(name: &'static str, major: u16, minor: u16, patch: u16) -> Named {
    Named { name, since: None, until: Some(Release(major, minor, patch)) }
}

impl Named {
    /// Whether a release has it, as far as stated.
    pub fn is_in(&self, release: Release) -> bool {
        self.since.is_none_or(|since| since <= release) && self.until.is_none_or(|until| release < until)
    }
}

impl Operation {
    /// The operation with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.name == name)
    }

    /// The operation of a kernel function.
    pub fn of_kernel(function: &str) -> Option<&'static Self> {
        let function = plain(function);
        OPERATIONS.iter().find(|operation| operation.functions.iter().any(|named| named.name == function))
    }

    /// Its functions in a profile, by number. Functions of programs are not included, whatever their names.
    pub fn found(&self, functions: &Functions) -> Vec<Function> {
        functions
            .iter()
            .filter(|function| !functions.is_in_program(*function))
            .filter(|function| {
                let name = plain(functions.name(*function));
                self.functions.iter().any(|named| named.name == name)
            })
            .collect()
    }
}

const RECEIVE: &str = "TCP receive";
const HANDLE: &str = "TCP do receive";

fn handled(functions: &Functions) -> Vec<Function> {
    Operation::named(HANDLE).map(|operation| operation.found(functions)).unwrap_or_default()
}

impl Roots {
    /// The operations with functions in the profile, each as a root.
    pub fn of_operations<'a>(
        functions: &Functions,
        operations: impl IntoIterator<Item = &'a Operation>,
    ) -> Self {
        let mut roots = Self::new();
        for operation in operations {
            let found = operation.found(functions);
            let is_there = !found.is_empty() || operation.name == RECEIVE && !handled(functions).is_empty();
            if is_there {
                roots.add(operation.name, found);
            }
        }
        roots.complete(functions);
        roots
    }

    /// The operations among which the paper divides the cost of the others, if the profile has functions of them.
    pub fn high_level(functions: &Functions) -> Self {
        Self::of_operations(functions, HIGH_LEVEL.iter().filter_map(|name| Operation::named(name)))
    }

    /// Adds what roots with an operation's name include beyond its functions.
    ///
    /// Segments that arrived while a process owned the socket are processed when it releases the lock, and have no
    /// `tcp_v4_rcv` on their stacks: TCP receive includes the function that processes them, unless that is a root of
    /// its own. TCP send message below TCP send pages belongs to the latter: since 6.5 sendfile's pages go through
    /// `tcp_sendmsg` (`MSG_SPLICE_PAGES`), before that where a device took no pages (`sock_no_sendpage`).
    pub fn complete(&mut self, functions: &Functions) {
        if let (Some(receive), None) = (self.named(RECEIVE), self.named(HANDLE)) {
            self.extend(receive, handled(functions));
        }
        if let (Some(message), Some(pages)) = (self.named("TCP send message"), self.named("TCP send pages")) {
            self.within(message, pages);
        }
    }
}

/// The operations among which the paper divides the cost of the others (figures 14 to 19), and interrupts and softirqs,
/// which belong to none of these until a segment reaches TCP receive.
pub const HIGH_LEVEL: &[&str] =
    &["TCP receive", "TCP send message", "TCP send pages", "interrupt", "softirq"];
