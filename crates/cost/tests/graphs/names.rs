//! Functions by name.

use crate::folded::profile;
use slowpath_cost::categories::table::{DRIVERS, PATTERNS};
use slowpath_cost::categories::{Categories, Category};
use slowpath_cost::names::{RENAMES, Release, newest, plain};
use slowpath_cost::operations::{HIGH_LEVEL, OPERATIONS, Operation};
use slowpath_cost::{Attribution, Count, Functions, Image, Roots};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn no_pattern_is_in_two_categories() {
    let mut category_of: BTreeMap<&str, Category> = BTreeMap::new();
    for (category, patterns) in PATTERNS {
        for pattern in patterns.split_whitespace() {
            assert_eq!(category_of.insert(pattern, *category), None, "{pattern} is listed twice");
            assert!(pattern.trim_end_matches('*').len() > 1, "{pattern} matches nearly all names");
            assert!(
                !pattern.trim_end_matches('*').contains('*'),
                "{pattern}: a star is only allowed at the end"
            );
        }
    }
    let mut drivers = BTreeSet::new();
    for module in DRIVERS.split_whitespace() {
        assert!(drivers.insert(module), "{module} is listed twice");
    }
}

/// Functions at the top of profiles of these kernels under network load, including the paper's (figures 2 to 4 and 8 to
/// 13).
#[test]
fn top_functions_of_real_kernels_have_their_category() {
    use Category::*;
    #[rustfmt::skip]
    let known: &[(Category, &[&str])] = &[
        (Tcp, &[
            "tcp_v4_rcv", "tcp_sendmsg", "do_tcp_sendpages", "tcp_transmit_skb", "tcp_clean_rtx_queue", "tcp_rcv_state_process", "tcp_create_openreq_child",
            "tcp_v4_lookup", "tcp_rcv_established", "tcp_ack", "tcp_poll", "__tcp_push_pending_frames", "tcp_sendmsg_locked", "__tcp_transmit_skb", "tcp_write_xmit",
            "__inet_lookup_established", "tcp_gro_receive", "tcp4_gro_receive", "tcp_data_queue", "tcp_cleanup_rbuf", "__tcp_select_window", "bbr_main", "bictcp_cong_avoid", "sk_stream_alloc_skb",
        ]),
        (Ip, &[
            "ip_rcv", "ip_queue_xmit", "ip_output", "ip_route_input", "ip_finish_output2", "__ip_queue_xmit", "ip_local_deliver_finish", "ip_protocol_deliver_rcu", "ip6_xmit", "nf_hook_slow", "nf_iterate",
            "ipt_do_table", "nf_conntrack_in", "fib_table_lookup", "inet_gro_receive", "dst_release", "neigh_resolve_output", "ip_rcv_core.isra.0", "rt_intern_hash",
        ]),
        (SocketBuffers, &[
            "skb_clone", "alloc_skb", "__alloc_skb", "__kfree_skb", "kfree_skbmem", "skb_release_data", "skb_release_head_state", "sock_wfree", "skb_drop_fraglist", "consume_skb", "sk_skb_reason_drop", "napi_build_skb", "pskb_copy", "pskb_expand_head",
            "__sk_mem_schedule", "skb_page_frag_refill", "kmalloc_reserve", "napi_consume_skb", "skb_attempt_defer_free",
        ]),
        (Memory, &[
            "kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "__kmem_cache_alloc", "kmem_cache_alloc_noprof", "kmem_cache_alloc_node_noprof", "cache_alloc_refill", "free_block", "___slab_alloc", "__slab_free", "get_page_from_freelist", "__alloc_pages_nodemask", "free_unref_page", "page_frag_free",
            "clear_page_erms", "clear_page_rep", "do_generic_file_read", "find_get_page", "page_pool_put_unrefed_netmem", "rmqueue_bulk", "__free_pages_ok", "exc_page_fault", "put_page", "mem_cgroup_charge_skmem", "__mod_memcg_lruvec_state", "page_counter_try_charge", "__virt_addr_valid",
        ]),
        (Locks, &[
            "_spin_lock", "_spin_lock_bh", "_spin_unlock_irqrestore", "_raw_spin_lock", "_raw_spin_lock_bh", "_raw_spin_unlock_irqrestore", "native_queued_spin_lock_slowpath", "queued_spin_lock_slowpath.part.0", "__pv_queued_spin_lock_slowpath", "mutex_spin_on_owner", "osq_lock",
            "lock_sock_nested", "lock_sock", "release_sock", "__lock_text_start", ".text.lock.tcp", ".text.lock.sched", "_read_lock_bh", "_write_lock_bh", "rwsem_down_write_slowpath", "futex_wake", "lockref_get",
        ]),
        (Driver, &[
            "ace_interrupt", "ace_start_xmit", "ace_rx_int", "ace_tx_int", "e1000_clean", "e1000_clean_rx_irq", "e1000_xmit_frame", "e1000_intr", "eth_type_trans", "dev_queue_xmit", "qdisc_restart", "pfifo_fast_dequeue", "mlx5e_skb_from_cqe_mpwrq_linear", "mlx5e_xmit", "ixgbe_poll", "virtnet_poll",
            "napi_gro_receive", "dev_gro_receive", "__netif_receive_skb_core.constprop.0", "netif_receive_skb", "net_rx_action", "__dev_queue_xmit", "sch_direct_xmit", "fq_dequeue", "validate_xmit_skb", "dma_unmap_page_attrs", "swiotlb_tbl_map_single", "loopback_xmit", "process_backlog", "skb_flow_dissect", "enqueue_to_backlog",
        ]),
        (Interrupts, &[
            "handle_IRQ_event", "do_IRQ", "do_softirq", "__do_softirq", "handle_softirqs", "__local_bh_enable_ip", "local_bh_enable", "mask_and_ack_8259A", "end_level_ioapic_irq", "asm_common_interrupt", "sysvec_apic_timer_interrupt", "irqentry_exit_to_user_mode", "ret_from_intr", "tasklet_action", "handle_edge_irq",
            "native_irq_return_iret", "ksoftirqd",
        ]),
        (Scheduler, &[
            "schedule", "__schedule", "finish_task_switch.isra.0", "try_to_wake_up", "__wake_up", "__wake_up_sync_key", "__switch_to", "__switch_to_asm", "default_idle", "poll_idle", "mwait_idle", "mwait_idle_with_hints", "intel_idle", "pick_next_task_fair", "update_curr", "select_task_rq_fair", "enqueue_task_fair", "goodness", "add_wait_queue", "remove_wait_queue", "schedule_timeout", "pv_native_safe_halt",
            "ttwu_do_activate",
        ]),
        (Copies, &[
            "copy_user_generic_string", "copy_user_enhanced_fast_string", "rep_movs_alternative", "_copy_from_iter", "_copy_to_iter", "copy_page_to_iter", "__generic_copy_to_user", "__copy_from_user_ll", "csum_partial", "csum_partial_copy_generic", "skb_copy_datagram_iovec", "skb_copy_datagram_iter", "memcpy", "memcpy_orig", "__check_object_size", "_copy_from_user", "memset_orig", "__arch_copy_to_user", "skb_copy_bits", "copy_user_generic_unrolled",
        ]),
        (SystemCalls, &[
            "system_call", "sysenter_past_esp", "sysenter_entry", "entry_SYSCALL_64", "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "syscall_return_via_sysret", "syscall_exit_to_user_mode", "__x64_sys_sendto", "sys_read", "sys_epoll_wait", "ep_poll_callback", "do_select", "do_poll", "sock_poll", "fget", "fget_light", "fput", "__fget_light", "sockfd_lookup", "sock_def_readable", "inet_sendmsg", "vfs_read", "ksys_write",
            "do_sendfile", "__sys_sendto", "sock_sendmsg", "el0_svc_common", "entry_SYSRETQ_unsafe_stack", "sys_sendfile64", "fdget",
        ]),
        (OtherKernel, &[
            "ktime_get", "do_gettimeofday", "read_tsc", "mark_offset_tsc", "__mod_timer", "mod_timer", "call_rcu", "__rcu_read_unlock", "security_socket_sendmsg", "selinux_socket_sendmsg", "apparmor_socket_sendmsg", "__fsnotify_parent", "d_lookup", "__d_lookup", "link_path_walk", "ext4_file_read_iter", "bpf_prog_run", "perf_event_alloc", "__x86_indirect_thunk_rax", "aesni_gcm_enc", "tls_sw_sendmsg", "get_random_u32",
        ]),
    ];
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (category, names) in known {
        for name in *names {
            assert!(seen.insert(name), "{name} is in this test twice");
            let found = Category::of_kernel(name);
            if found != Some(*category) {
                wrong.push(format!("{name}: {found:?}, not {category:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn longest_pattern_decides() {
    // skb_* against skb_copy_datagram_*; dev_* against dev_alloc_skb*.
    assert_eq!(Category::of_kernel("skb_trim"), Some(Category::SocketBuffers));
    assert_eq!(Category::of_kernel("skb_copy_datagram_iter"), Some(Category::Copies));
    assert_eq!(Category::of_kernel("dev_alloc_skb"), Some(Category::SocketBuffers));
    assert_eq!(Category::of_kernel("frobnicate"), None);
}

#[test]
fn programs_are_applications_and_drivers_modules_are_drivers() {
    let mut functions = Functions::default();
    let of = |functions: &mut Functions, name, image: Image| {
        let function = functions.of(name, &image);
        Category::of(functions, function)
    };
    assert_eq!(of(&mut functions, "tcp_ack", Image::User("nc".to_owned())), Some(Category::Application));
    assert_eq!(
        of(&mut functions, "clean_rx", Image::Kernel(Some("mlx5_core".to_owned()))),
        Some(Category::Driver)
    );
    assert_eq!(of(&mut functions, "clean_rx", Image::Kernel(None)), None);
    assert_eq!(of(&mut functions, "tcp_ack", Image::Unknown), Some(Category::Tcp));
}

#[test]
fn categories_and_unknown_functions_sum_to_the_total() {
    let mut functions = Functions::default();
    let names = ["tcp_ack", "tcp_v4_rcv", "kfree", "frobnicate", "[0xffffffff81000000]", "never"];
    for name in names {
        functions.of(name, &Image::Kernel(None));
    }
    let found = Categories::of(&functions, &[5, 7, 11, 13, 17, 0]);
    let weight = |category| found.costs.iter().find(|cost| cost.category == category).unwrap().weight;
    assert_eq!(
        (weight(Category::Tcp), weight(Category::Memory), found.unknown_weight, found.total),
        (12, 11, 30, 53)
    );
    assert_eq!(found.costs.iter().map(|cost| cost.weight).sum::<u64>() + found.unknown_weight, found.total);
    let unknown: Vec<_> =
        found.unknown.iter().map(|(function, weight)| (functions.name(*function), *weight)).collect();
    assert_eq!(unknown, [("[0xffffffff81000000]", 17), ("frobnicate", 13)]);
    assert_eq!(found.share(Category::Tcp), Some(12.0 / 53.0));
}

#[test]
fn compiler_suffixes_are_removed_from_names() {
    for (name, expected) in [
        ("tcp_ack.isra.0.cold", "tcp_ack"),
        ("tcp_ack.isra.34", "tcp_ack"),
        ("__tcp_send_ack.part.0", "__tcp_send_ack"),
        ("__netif_receive_skb_core.constprop.0", "__netif_receive_skb_core"),
        ("tcp_ack.llvm.123456789", "tcp_ack"),
        ("handle_softirqs.cold", "handle_softirqs"),
        (".text.lock.tcp", ".text.lock.tcp"),
        ("main.main", "main.main"),
        ("tcp_ack", "tcp_ack"),
    ] {
        assert_eq!(plain(name), expected);
    }
}

#[test]
fn renames_have_no_cycles() {
    assert_eq!(newest("__do_softirq"), "handle_softirqs");
    assert_eq!(newest("kfree_skb"), "sk_skb_reason_drop");
    assert_eq!(newest("netif_receive_skb"), "__netif_receive_skb_core");
    assert_eq!(newest("tcp_sendmsg.isra.0"), "tcp_sendmsg_locked");
    let mut from = BTreeSet::new();
    for rename in RENAMES {
        assert!(from.insert(rename.from), "{} has two newer names", rename.from);
        let newest = newest(rename.from);
        assert!(RENAMES.iter().all(|other| other.from != newest), "{} is renamed in a cycle", rename.from);
        assert_eq!(Category::of_kernel(rename.from), Category::of_kernel(rename.to), "{rename:?}");
    }
}

#[test]
fn each_function_belongs_to_one_operation() {
    let mut seen = BTreeMap::new();
    for operation in OPERATIONS {
        for named in operation.functions {
            assert_eq!(
                seen.insert(named.name, operation.name),
                None,
                "{} belongs to two operations",
                named.name
            );
            assert!(named.since.is_none() || named.until.is_none() || named.since < named.until, "{named:?}");
            assert!(Category::of_kernel(named.name).is_some(), "{} is in no category", named.name);
        }
    }
    for name in HIGH_LEVEL {
        assert!(Operation::named(name).is_some(), "{name} is not an operation");
    }
}

/// Where both tables state a release, it is the same.
#[test]
fn releases_of_operations_and_renames_agree() {
    let mut compared = 0;
    for rename in RENAMES {
        let (Some(from), Some(to)) = (Operation::of_kernel(rename.from), Operation::of_kernel(rename.to))
        else {
            continue;
        };
        assert_eq!(from.name, to.name, "{rename:?}");
        let stated = to.functions.iter().find(|named| named.name == rename.to).and_then(|named| named.since);
        if let (Some(stated), Some(since)) = (stated, rename.since) {
            assert_eq!(stated, since, "{rename:?}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "only {compared} were compared");
}

#[test]
fn every_operation_exists_in_old_and_new_kernels() {
    for release in [Release(2, 4, 16), Release(2, 6, 14), Release(4, 19, 0), Release(6, 18, 0)] {
        for operation in OPERATIONS {
            assert!(
                operation.functions.iter().any(|named| named.is_in(release)),
                "{release:?}: {}",
                operation.name
            );
        }
    }
    let names = |release| -> Vec<_> {
        let operation = Operation::named("TCP send pages").expect("an operation");
        operation.functions.iter().filter(|named| named.is_in(release)).map(|named| named.name).collect()
    };
    assert_eq!(names(Release(2, 6, 14)), ["do_tcp_sendpages", "tcp_sendpage"]);
    assert_eq!(names(Release(6, 1, 0)), ["do_tcp_sendpages", "tcp_sendpage", "tcp_sendpage_locked"]);
    assert_eq!(names(Release(6, 18, 0)), ["splice_to_socket"]);
}

#[test]
fn operations_are_found_by_all_names_in_the_kernel_only() {
    let mut profile = profile(
        "entry;tcp_sendmsg;tcp_sendmsg_locked;tcp_write_xmit;__tcp_transmit_skb.isra.0 7
         tcp_v4_rcv;tcp_ack;__tcp_transmit_skb.isra.0 3",
    );
    profile.functions.of("tcp_sendmsg", &Image::User("a program".to_owned()));
    let operations = HIGH_LEVEL.iter().filter_map(|name| Operation::named(name));
    let roots = Roots::of_operations(&profile.functions, operations);
    // This profile sends no pages and has no interrupts.
    let names: Vec<_> = roots.iter().map(|root| roots.name(root)).collect();
    assert_eq!(names, ["TCP receive", "TCP send message"]);
    let attribution = Attribution::of(&profile.calls(), 0, roots, Count::Own);
    assert_eq!(
        attribution.functions[0].exact.as_ref().map(|exact| exact.innermost.clone()),
        Some(vec![3, 7])
    );
    assert_eq!(Operation::found(Operation::named("TCP send message").unwrap(), &profile.functions).len(), 2);
}
