//! Names of functions: compilers' suffixes, and renames from kernel to kernel.

use crate::functions::{Functions, Image};

/// Endings that a compiler gives to what it made of a function: parts of it (`.part.0`, `.cold`), or the whole with other arguments
/// (`.isra.0`, `.constprop.0`); by GCC, then by clang's link-time optimisation.
const MADE_BY_COMPILERS: &[&str] =
    &["isra", "constprop", "part", "cold", "lto_priv", "localalias", "llvm", "__uniq"];

/// A kernel function's name without what the compiler added: `tcp_ack.isra.0.cold` is `tcp_ack`.
///
/// All of it is that function's cost; which parts a compiler makes differs from one build to the next.
pub fn plain(name: &str) -> &str {
    let Some((plain, mut endings)) = name.split_once('.') else { return name };
    if plain.is_empty() {
        return name;
    }
    while !endings.is_empty() {
        let (ending, rest) = endings.split_once('.').unwrap_or((endings, ""));
        let is_number = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !MADE_BY_COMPILERS.contains(&ending) {
            return name;
        }
        endings = rest;
    }
    plain
}

/// A release of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release(pub u16, pub u16, pub u16);

/// A kernel function under a new name, or the function into which its body went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The older name.
    pub from: &'static str,
    /// The newer one.
    pub to: &'static str,
    /// The first release with the newer name, as far as it is stated. A stable release may have it before.
    pub since: Option<Release>,
}

const fn rename(from: &'static str, to: &'static str, since: Release) -> Rename {
    Rename { from, to, since: Some(since) }
}

const fn some_time(from: &'static str, to: &'static str) -> Rename {
    Rename { from, to, since: None }
}

/// Functions on the way of a TCP segment that were renamed, or of which all but a wrapper is a new function. A wrapper that is still
/// there counts to the new name, so that what both cost is compared with what the one did.
pub const RENAMES: &[Rename] = &[
    // proto_ops' versions for callers that have the socket's lock.
    rename("tcp_sendmsg", "tcp_sendmsg_locked", Release(4, 14, 0)),
    rename("tcp_sendpage", "tcp_sendpage_locked", Release(4, 14, 0)),
    some_time("tcp_recvmsg", "tcp_recvmsg_locked"),
    // They take the acknowledgment number, for DCTCP's ACKs of what came before.
    rename("tcp_transmit_skb", "__tcp_transmit_skb", Release(4, 18, 0)),
    rename("tcp_send_ack", "__tcp_send_ack", Release(4, 18, 0)),
    some_time("ip_queue_xmit", "__ip_queue_xmit"),
    some_time("ip_finish_output", "__ip_finish_output"),
    some_time("dev_queue_xmit", "__dev_queue_xmit"),
    // Cloned buffers came from a cache of their own since, and `alloc_skb` said whether it wants one.
    rename("alloc_skb", "__alloc_skb", Release(2, 6, 14)),
    some_time("sk_stream_alloc_skb", "tcp_stream_alloc_skb"),
    rename("kfree_skb", "kfree_skb_reason", Release(5, 17, 0)),
    rename("kfree_skb_reason", "sk_skb_reason_drop", Release(6, 11, 0)),
    some_time("netif_receive_skb", "__netif_receive_skb"),
    some_time("__netif_receive_skb", "__netif_receive_skb_core"),
    some_time("napi_gro_receive", "gro_receive_skb"),
    // Allocations are accounted to who asked for them since.
    rename("kmem_cache_alloc", "kmem_cache_alloc_noprof", Release(6, 10, 0)),
    rename("kmem_cache_alloc_node", "kmem_cache_alloc_node_noprof", Release(6, 10, 0)),
    rename("__kmalloc", "__kmalloc_noprof", Release(6, 10, 0)),
    rename("__kmalloc_node_track_caller", "__kmalloc_node_track_caller_noprof", Release(6, 10, 0)),
    rename("kmem_cache_alloc_lru", "kmem_cache_alloc_lru_noprof", Release(6, 10, 0)),
    some_time("cmpxchg_double_slab", "slab_update_freelist"),
    rename("__alloc_pages", "__alloc_pages_noprof", Release(6, 10, 0)),
    rename("__alloc_pages_nodemask", "__alloc_pages", Release(5, 13, 0)),
    some_time("kmalloc", "__kmalloc"),
    // A spinlock that may sleep in a real-time kernel, and one that never does, since.
    rename("_spin_lock", "_raw_spin_lock", Release(2, 6, 33)),
    rename("_spin_lock_bh", "_raw_spin_lock_bh", Release(2, 6, 33)),
    rename("_spin_lock_irq", "_raw_spin_lock_irq", Release(2, 6, 33)),
    rename("_spin_lock_irqsave", "_raw_spin_lock_irqsave", Release(2, 6, 33)),
    rename("_spin_trylock", "_raw_spin_trylock", Release(2, 6, 33)),
    rename("_spin_unlock", "_raw_spin_unlock", Release(2, 6, 33)),
    rename("_spin_unlock_bh", "_raw_spin_unlock_bh", Release(2, 6, 33)),
    rename("_spin_unlock_irq", "_raw_spin_unlock_irq", Release(2, 6, 33)),
    rename("_spin_unlock_irqrestore", "_raw_spin_unlock_irqrestore", Release(2, 6, 33)),
    some_time("lock_sock", "lock_sock_nested"),
    some_time("handle_IRQ_event", "handle_irq_event"),
    rename("__do_softirq", "handle_softirqs", Release(6, 10, 0)),
    some_time("system_call", "entry_SYSCALL_64"),
    // Of several functions a kernel took the one that suits the CPU, until one was left of each.
    rename("copy_user_generic_string", "rep_movs_alternative", Release(6, 4, 0)),
    rename("copy_user_generic_unrolled", "rep_movs_alternative", Release(6, 4, 0)),
    rename("copy_user_enhanced_fast_string", "rep_movs_alternative", Release(6, 4, 0)),
    rename("memset_erms", "memset_orig", Release(6, 4, 0)),
    rename("memcpy_erms", "memcpy_orig", Release(6, 4, 0)),
    rename("call_rcu", "__call_rcu_common", Release(6, 2, 0)),
    rename("__list_add_valid", "__list_add_valid_or_report", Release(6, 6, 0)),
    rename("__list_del_entry_valid", "__list_del_entry_valid_or_report", Release(6, 6, 0)),
    // They are a part of their caller since.
    some_time("syscall_enter_from_user_mode", "do_syscall_64"),
    some_time("exit_to_user_mode_prepare", "syscall_exit_to_user_mode"),
    some_time("__fget_light", "fdget"),
];

/// The newest name of a kernel function, without what the compiler added.
pub fn newest(name: &str) -> &str {
    let mut name = plain(name);
    // Each name is renamed once at most, so this ends when all renames are used.
    for _ in RENAMES {
        let Some(rename) = RENAMES.iter().find(|rename| rename.from == name) else { break };
        name = rename.to;
    }
    name
}

/// A function as one that may have another name in another profile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Known {
    /// The newest name.
    pub name: String,
    /// What it is part of. Of the kernel, its modules too: what is a module in one may be built into the other.
    pub image: Image,
}

/// The name of each function across kernels, by its number.
pub fn known(functions: &Functions) -> Vec<Known> {
    functions
        .iter()
        .map(|function| {
            let name = functions.name(function);
            match functions.image(function) {
                Image::Kernel(_) => Known { name: newest(name).to_owned(), image: Image::Kernel(None) },
                // A profiler that does not say what a function is part of may have kernel functions; a program has hardly one of these names.
                Image::Unknown => Known { name: newest(name).to_owned(), image: Image::Unknown },
                user @ Image::User(_) => Known { name: name.to_owned(), image: user.clone() },
            }
        })
        .collect()
}
