//! Names of functions: compilers' suffixes, and renames from kernel to kernel.

use crate::functions::{Functions, Image};

/// Suffixes that a compiler adds: to parts of a function (`.part.0`, `.cold`), or to the whole with other arguments
/// (`.isra.0`, `.constprop.0`); by GCC, then by clang's link-time optimisation.
const MADE_BY_COMPILERS: &[&str] =
    &["isra", "constprop", "part", "cold", "lto_priv", "localalias", "llvm", "__uniq"];

/// A kernel function's name without what the compiler added: `tcp_ack.isra.0.cold` is `tcp_ack`.
///
/// All of it is that function's cost; which parts a compiler makes differs between builds.
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

/// A kernel function under a new name, or the function that took over its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The older name.
    pub from: &'static str,
    /// The newer one.
    pub to: &'static str,
    /// The first release with the newer name, if known. A stable release may have it earlier.
    pub since: Option<Release>,
}

const fn rename(from: &'static str, to: &'static str, since: Release) -> Rename {
    Rename { from, to, since: Some(since) }
}

const fn some_time(from: &'static str, to: &'static str) -> Rename {
    Rename { from, to, since: None }
}

/// Functions on the path of a TCP segment that were renamed, or whose body moved to a new function behind a wrapper. A
/// remaining wrapper counts under the new name, so that the cost of both is compared with the old one's.
pub const RENAMES: &[Rename] = &[
    // proto_ops' versions for callers that hold the socket lock.
    rename("tcp_sendmsg", "tcp_sendmsg_locked", Release(4, 14, 0)),
    rename("tcp_sendpage", "tcp_sendpage_locked", Release(4, 14, 0)),
    some_time("tcp_recvmsg", "tcp_recvmsg_locked"),
    // They take the acknowledgment number, for DCTCP's ACKs of earlier data.
    rename("tcp_transmit_skb", "__tcp_transmit_skb", Release(4, 18, 0)),
    rename("tcp_send_ack", "__tcp_send_ack", Release(4, 18, 0)),
    some_time("ip_queue_xmit", "__ip_queue_xmit"),
    some_time("ip_finish_output", "__ip_finish_output"),
    some_time("dev_queue_xmit", "__dev_queue_xmit"),
    // Cloned buffers have had their own cache since, selected by an argument of `alloc_skb`.
    rename("alloc_skb", "__alloc_skb", Release(2, 6, 14)),
    some_time("sk_stream_alloc_skb", "tcp_stream_alloc_skb"),
    rename("kfree_skb", "kfree_skb_reason", Release(5, 17, 0)),
    rename("kfree_skb_reason", "sk_skb_reason_drop", Release(6, 11, 0)),
    some_time("netif_receive_skb", "__netif_receive_skb"),
    some_time("__netif_receive_skb", "__netif_receive_skb_core"),
    some_time("napi_gro_receive", "gro_receive_skb"),
    // Allocations have been accounted to their callers since.
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
    // The kernel chose one of several functions for the CPU, until one was left of each.
    rename("copy_user_generic_string", "rep_movs_alternative", Release(6, 4, 0)),
    rename("copy_user_generic_unrolled", "rep_movs_alternative", Release(6, 4, 0)),
    rename("copy_user_enhanced_fast_string", "rep_movs_alternative", Release(6, 4, 0)),
    rename("memset_erms", "memset_orig", Release(6, 4, 0)),
    rename("memcpy_erms", "memcpy_orig", Release(6, 4, 0)),
    rename("call_rcu", "__call_rcu_common", Release(6, 2, 0)),
    rename("__list_add_valid", "__list_add_valid_or_report", Release(6, 6, 0)),
    rename("__list_del_entry_valid", "__list_del_entry_valid_or_report", Release(6, 6, 0)),
    // They have been part of their caller since.
    some_time("syscall_enter_from_user_mode", "do_syscall_64"),
    some_time("exit_to_user_mode_prepare", "syscall_exit_to_user_mode"),
    some_time("__fget_light", "fdget"),
];

/// The newest name of a kernel function, without what the compiler added.
pub fn newest(name: &str) -> &str {
    let mut name = plain(name);
    // Each name is renamed at most once, so this ends when all renames are used.
    for _ in RENAMES {
        let Some(rename) = RENAMES.iter().find(|rename| rename.from == name) else { break };
        name = rename.to;
    }
    name
}

/// The identity of a function across profiles, whatever its name there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Known {
    /// The newest name.
    pub name: String,
    /// Its image. Modules count as the kernel: a module in one may be built into the other.
    pub image: Image,
}

/// The identity of each function across kernels, by number.
pub fn known(functions: &Functions) -> Vec<Known> {
    functions
        .iter()
        .map(|function| {
            let name = functions.name(function);
            match functions.image(function) {
                Image::Kernel(_) => Known { name: newest(name).to_owned(), image: Image::Kernel(None) },
                // A profiler that does not report images may have kernel functions; programs hardly have these names.
                Image::Unknown => Known { name: newest(name).to_owned(), image: Image::Unknown },
                user @ Image::User(_) => Known { name: name.to_owned(), image: user.clone() },
            }
        })
        .collect()
}
