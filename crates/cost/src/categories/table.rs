//! The table of kernel functions and their categories, for kernels 2.4, 2.6 and later, on x86 and arm64.
//!
//! A name that ends in `*` is a prefix. The longest match decides, and a full name before all prefixes: so a line may
//! be broad, and its exceptions are listed in their own category.

use super::Category;

/// Kernel functions by the kind of their work.
pub const PATTERNS: &[(Category, &str)] = &[
    (
        Category::Tcp,
        "
            bbr_* bictcp_* __cookie_* cookie_* cubictcp_* dctcp_* do_tcp_* htcp_* inet6_csk_* inet6_ehashfn
            __inet6_lookup_* inet6_lookup_* inet_bhash2_* inet_bind2_* inet_bind_hash* __inet_check_established
            inet_csk_* inet_ehash* __inet_hash* inet_hash* __inet_lookup_* inet_put_port inet_reqsk_*
            inet_rtx_syn_ack inet_twsk_* inet_unhash minmax_* net_dim_tcp* reqsk_* secure_tcp* sk_pacing_*
            sk_reset_timer sk_stop_timer sk_stream_* tcp4_* tcp6_* __tcp_* tcp_* tcpdiag_* vegas_* westwood_*
        ",
    ),
    (
        Category::Ip,
        "
            arp_* __dst_* dst_* fib4_* fib6_* __fib_* fib_* icmp_* inet_addr_hash inet_addr_type* inet_gro_*
            inet_gso_* inet_lookup_ifaddr* inet_rtm_* inet_select_addr inet_sk_rebuild_header __ip6_* ip6_*
            __ip_* ip_* ipt_* iptable_* ipv4_* ipv6_* __neigh_* neigh_* __nf_* nf_* NF_HOOK* nft_*
            raw_local_deliver raw_v4_input rt6_* rt_* secure_ip_id __sk_dst_check sk_dst_check sk_setup_caps
            udp4_* __udp_* udp_* __xfrm_* xfrm_* xt_*
        ",
    ),
    (
        Category::SocketBuffers,
        "
            __alloc_skb* alloc_skb* __build_skb* build_skb* consume_skb __consume_stateless_skb
            consume_stateless_skb __copy_skb_header csum_partial_copy_skb* __dev_alloc_skb* dev_alloc_skb*
            __dev_kfree_skb* dev_kfree_skb* get_netmem __kfree_skb* kfree_skb* kmalloc_reserve
            mm_account_pinned_pages msg_zerocopy_* __napi_alloc_* napi_alloc_* __napi_build_skb napi_build_skb
            napi_consume_skb __napi_kfree_skb napi_skb_* __netdev_alloc_* netdev_alloc_* __pskb_* pskb_*
            sk_alloc_skb* sk_forced_mem_* __sk_mem_* sk_mem_* sk_page_* sk_skb_reason_drop ___skb_* __skb_*
            skb_* sock_alloc_send_* sock_def_write_space* sock_efree sock_rfree sock_rmalloc __sock_wfree
            sock_wfree sock_wmalloc sock_zerocopy_*
        ",
    ),
    (
        Category::Memory,
        "
            access_error __account_obj_* alloc_from_pcs* __alloc_frozen_pages* alloc_frozen_pages* _alloc_pages
            __alloc_pages* alloc_pages* alloc_percpu* allocate_slab __anon_vma_* anon_vma_* arch_vma_name
            asm_exc_page_fault balance_pgdat brk buffered_rmqueue build_detached_freelist bulk_move_* __cache_*
            cache_alloc_* cache_flusharray cache_free_* cache_grow* change_protection* charge_memcg clear_huge_*
            clear_page* clear_subpage __cmpxchg_double_* cmpxchg_double_* compact_* copy_page_range __count_memcg_*
            count_memcg_* cpa_* __damon_*
            damon_* deactivate_slab destroy_inode* dma_pool_* do_anonymous_page do_brk* do_fault*
            do_generic_file_read do_generic_mapping_read do_mmap* do_munmap __do_page_fault do_page_fault
            do_swap_page do_user_addr_fault do_vmi_* do_wp_page drain_array* drain_obj_* drain_stock* dup_mm*
            dup_userfaultfd* error_entry exc_page_fault exit_mmap expand_downwards expand_stack* filemap_*
            __find_get_* find_get_page* find_lock_entries find_lock_page* find_vma* flush_tlb_* __folio_*
            folio_* folios_* free_block __free_frozen_* free_frozen_* free_hot_* __free_one_page free_one_page
            __free_page* free_page* free_pcppages_* free_percpu free_pgd_* free_pgtables free_swap_*
            free_tail_page* free_to_pcs* free_unref_* generic_file_* get_mem_cgroup* __get_obj_* get_page
            get_page_from_* get_partial* __get_pfnblock* __get_user_pages* get_user_pages* get_vma_policy gup_*
            handle_edge_page* __handle_mm_fault handle_mm_fault handle_pte_fault internal_get_user_pages*
            iov_iter_extract_pages iov_iter_get_pages* is_vmalloc_addr isolate_* kdamond_* kfree __kfree*
            kfree_const __kmalloc* kmalloc* __kmap* kmap* __kmem_* kmem_* krealloc* ksize kswapd* kunmap* kvfree
            kvmalloc* lock_page_memcg lock_vma_* lru_* __lruvec_* lruvec_* madvise_* mas_* __mem_cgroup_*
            mem_cgroup_* memcg1_* __memcg_* memcg_* mempool_* migrate_page* mm_init __mmap_* mmap_*
            __mod_lruvec_* __mod_memcg_* mod_memcg_* __mod_node_* mod_node_* __mod_zone_* mod_zone_* mt_*
            mtree_* napi_pp_* native_flush_tlb_* new_slab* next_uptodate_folio node_dirty_ok obj_cgroup_* page_*
            __page_frag_* __page_pool_* pcpu_* __pcs_* percpu_counter_* pfn_* pmd_* policy_nodemask
            prep_new_page ___pte_* __pte_* pte_* put_cpu_partial* __put_page put_page put_page_* rb_free_*
            __refill_* refill_* __remove_mapping rmap_* __rmqueue* rmqueue* set_pte_* set_ptes shrink_*
            ___slab_* __slab_* slab_* this_cpu_cmpxchg* __tlb_* tlb_* truncate_* try_charge* try_to_unmap* uncharge_*
            __unfreeze_partials unmap_* vfree* __virt_addr_valid vm_area_* vm_normal_page* __vma_* vma_*
            vmalloc* __vmf_* zap_* __zone_watermark* zone_watermark*
        ",
    ),
    (
        Category::Locks,
        "
            .text.lock.* _atomic_dec_and_lock* atomic_dec_and_lock* do_futex* do_raw_spin_* down __down* down_*
            __futex_* futex_* get_futex_* hash_futex __init_rwsem kvm_kick_cpu kvm_wait __lock_acquire
            lock_acquire lock_is_held_* lock_kernel lock_release __lock_sock* lock_sock* __lock_text_start
            lockref_* __mutex_* mutex_* native_queued_* osq_* __percpu_down_* percpu_down_* percpu_rwsem_*
            percpu_up_* __pv_queued_* pv_queued_* queued_read_* queued_spin_* queued_write_* _raw_atomic_*
            __raw_callee_save_* _raw_read_* __raw_spin_* _raw_spin_* _raw_write_* _read_lock* read_lock*
            _read_unlock* __release_sock release_sock __rt_mutex_* rt_mutex_* rt_read_* rt_sem* rt_spin_*
            rt_write_* rtmutex_* rwlock_* rwsem_* __spin_* _spin_* spin_* stext_lock __ticket_spin_*
            ticket_spin_* unlock_kernel up __up* up_* _write_lock* write_lock* _write_unlock* ww_mutex_*
        ",
    ),
    (
        Category::Driver,
        "
            ace_* acenic_* alloc_iova* amd_iommu_* aq_* arm_smmu_* atl1_* bcm5700* be_* bnx2_* bnx2x_* bnxt_*
            bond_* boomerang_* bpf_prog_run_generic_xdp bql_* br_* cls_* codel_* __const_udelay cxgb4_*
            deliver_ptype_* deliver_skb detach_buf* __dev_* dev_* __dma_* dma_* do_xdp_* dql_* __e1000_* e1000_*
            e1000e_* e100_* eepro100_* efx_* ena_* enqueue_to_backlog eth_* ether_* __ew32* fec_enet_*
            flow_dissector_* flow_hash_* forcedeth_* fq_* free_iova* __free_old_xmit* free_old_xmit* gart_*
            generic_xdp_* geneve_* get_rps_cpu get_xps_queue* gro_* gso_* gve_* harmonize_features hns3_* hns_*
            htb_* hv_* i40e_* iavf_* ice_* idpf_* igb_* igc_* intel_iommu_* __iommu_* iommu_* ioread* __iova_*
            iova_* iowrite* ipvlan_* ixgbe_* ixgbevf_* liquidio_* loopback_* macb_* macvlan_* macvtap_* mana_*
            mlx4_* mlx5_* mlx5e_* mq_* mvneta_* mvpp2_* __napi_* napi_* net_dim* net_rx_action net_tx_action
            __netdev_* netdev_* netem_* __netif_* netif_* netpoll_* netvsc_* nfp_* nommu_* ns83820_* nv_*
            __packet_* packet_* passthru_features_check pci_* pcnet32_* pfifo_* phy_* prb_* process_backlog
            __qdisc_* qdisc_* qede_* r8169_* receive_buf receive_mergeable rps_* rtl8169_* rtl_* sch_* sfc_*
            sk98* skb_flow_* __skb_flow_dissect __skb_get_hash* skb_recv_done skb_xmit_done SkGe* skge_* sky2_*
            speedo_* start_xmit stmmac_* swiotlb_* t4_* tap_* tbf_* tc_* tcf_* tg3_* tpacket_* try_fill_recv
            tulip_* tun_* txq_trans_* validate_xmit_* veth_* vhost_* via_rhine_* virtnet_* virtqueue_* vlan_*
            vmbus_* vmxnet3_* __vp_* vp_* vring_* vxlan_* xdp_* xennet_* xenvif_* xmit_skb xps_* xsk_*
        ",
    ),
    (
        Category::Interrupts,
        "
            ack_apic* ack_APIC_irq ack_IO_APIC* ack_none add_interrupt_* __apic_* apic_* arch_local_irq_*
            asm_call_irq_* asm_call_on_stack asm_common_interrupt asm_exc_nmi asm_sysvec_* bh_action
            call_on_irq_stack call_softirq __common_interrupt common_interrupt* default_do_nmi disable_irq*
            do_bottom_half do_handle_IPI do_interrupt_handler do_IRQ ___do_softirq __do_softirq* do_softirq*
            do_tasklet el0_interrupt el0_irq* el0t_64_irq* el1_interrupt el1_irq* el1h_* enable_irq*
            end_level_ioapic_irq evtchn_* exc_nmi __flush_smp_call_* fred_extint flush_smp_call_* generic_handle_*
            generic_smp_call_* gic_* handle_edge_irq handle_fasteoi_* handle_IPI __handle_irq* handle_irq*
            handle_IRQ_* handle_level_irq handle_percpu_* handle_simple_irq handle_softirqs hyperv_* idle_exit
            io_apic_* ioapic_* ipi_* __irq_* irq_* irqentry_* ksoftirqd* kvm_guest_apic_* llist_* __local_bh_*
            _local_bh_* local_bh_* mask_and_ack_8259A mask_IO_APIC* mask_msi_* msi_* native_apic_* native_irq_*
            nmi note_interrupt paranoid_* pci_irq_* pci_msi_* pv_native_irq_* __raise_softirq* raise_softirq*
            restore_regs_and_return_to_kernel ret_from_intr ret_from_irq retint_* run_ksoftirqd smp_apic_*
            __smp_call_* smp_call_function* smp_local_timer_* smp_reschedule_* smp_x86_* __sysvec_* sysvec_*
            __tasklet_* tasklet_* timer_interrupt unmask_IO_APIC* unmask_msi_* wakeup_softirqd __x2apic_*
            x2apic_* xen_evtchn_* xen_hvm_callback_*
        ",
    ),
    (
        Category::Scheduler,
        "
            acpi_idle_* acpi_processor_* activate_task __add_wait_* add_wait_* arch_cpu_idle* attach_entity*
            attach_task* autoremove_wake_* available_idle_* avg_vruntime calc_* __calc_delta can_migrate_*
            cgroup_rstat_* check_preempt_* complete complete_all __cond_resched* context_switch cpu_idle*
            cpu_startup_entry cpu_util* cpuacct_* cpufreq_* cpuidle_* cpus_share_cache ct_idle_* deactivate_task
            default_idle* default_wake_* __dequeue_* dequeue_entit* dequeue_task* detach_task* dl_* do_idle
            dynamic_cond_* effective_prio eligible* __enqueue_* enqueue_entity enqueue_task* enter_lazy_tlb
            entity_* find_busiest_* find_idlest_* finish_task_* finish_wait goodness haltpoll_* idle_* inc_rt_*
            insert_work intel_idle* io_schedule* kick_ilb kthread_* leave_mm load_balance menu_*
            mod_delayed_work* move_queued_task* move_tasks mwait_idle* native_safe_halt newidle_* nohz_*
            nr_running pelt_* perf_event_task_* __pick_* pick_* place_entity poll_idle preempt_schedule*
            prepare_task_* prepare_to_wait* process_one_work process_scheduled_works propagate_* __psi_* psi_*
            put_prev_* pv_native_safe_halt __queue_delayed_* queue_delayed_* __queue_work queue_work*
            _raw_spin_rq_lock* raw_spin_rq_lock* raw_spin_rq_unlock rcu_note_context_switch rebalance_*
            recalc_task_prio record_times remove_wait_* requeue_* resched_* reschedule* reweight_* rt_rq_*
            runqueue_* safe_halt __sched_* sched_* __schedule schedule __schedule_* schedule_* scheduler_*
            select_idle_* select_task_* set_next_* set_task_cpu smpboot_* sugov_* swake_* switch_fpu_*
            switch_mm* __switch_to* switch_to* __task_* task_* teo_* tick_nohz_* try_to_wake_up ttwu_*
            update_blocked_* update_cfs_* update_curr* update_deadline update_entity_* update_group_*
            ___update_load_* __update_load_* update_load_* update_min_vruntime update_process_times update_rq_*
            update_sd_* update_se* update_sg_* vruntime_* __wait_for_* wait_for_* wait_woken __wake_* wake_*
            wakeup_* woken_wake_* worker_thread yield_*
        ",
    ),
    (
        Category::Copies,
        "
            __arch_copy_* __check_heap_object check_heap_object __check_object_size check_stack_object checksum*
            __clear_user* clear_user* copy_folio_* _copy_from_iter* copy_from_iter* copy_from_kernel_*
            _copy_from_pages __copy_from_user* _copy_from_user* copy_from_user* copy_mc_* copy_page*
            copy_strings* _copy_to_iter* copy_to_iter* __copy_to_user* _copy_to_user* copy_to_user* __copy_user*
            copy_user_* copyin copyout crc32* __csum_* csum_* do_csum fault_in_* __generic_copy_* generic_copy_*
            get_user* __get_user_* __import_iovec import_iovec* import_single_range import_ubuf __iov_iter_*
            iov_iter_* ip_compute_csum iterate_* memcmp __memcpy* memcpy* __memmove* memmove* __memset* memset*
            move_addr_to_* __pi_mem* put_user* __put_user_* raw_copy_* rep_movs_* rep_stos_* rw_copy_check_*
            simple_copy_to_iter skb_add_data* skb_checksum __skb_checksum* skb_copy_and_csum_* skb_copy_bits
            skb_copy_datagram_* skb_copy_to_page_* __skb_datagram_iter skb_do_copy_* skb_splice_*
            strncpy_from_user strnlen_user tcp_copy_to_* verify_iovec
        ",
    ),
    (
        Category::SystemCalls,
        "
            aio_* alloc_empty_file alloc_fd alloc_file* arch_do_signal_* arch_exit_* __arm64_sys_*
            __audit_syscall_* audit_syscall_* clear_bhb_loop __close_fd close_fd* copy_msghdr_* core_sys_select
            dequeue_signal direct_splice_* do_accept do_el0_svc* do_epoll_* do_fast_syscall_* do_fcntl
            do_int80_* do_ip_setsockopt do_poll* do_pselect* do_readv* do_select do_sendfile do_sigaction
            do_signal* do_sigtimedwait do_sock_* do_splice* __do_sys_* do_sys_* do_syscall_* do_vfs_ioctl
            do_writev el0_svc* el0_sync* el0t_64_sync* entry_ibpb entry_INT80_* entry_SYSCALL_* entry_SYSENTER_*
            entry_SYSRETQ_* entry_untrain_ret __ep_* ep_* epoll_* eventpoll_* exit_to_user_* fd_install*
            __fdget* fdget* __fget* fget* __file_* file_* filp_* ____fput __fput* fput* get_signal*
            get_unused_fd* handle_signal* __ia32_sys_* ia32_sys_call inet6_recvmsg inet6_sendmsg __inet_accept
            inet_accept __inet_bind inet_bind inet_create inet_getname inet_listen inet_recvmsg inet_release
            inet_send_* inet_sendmsg inet_sendpage inet_shutdown inet_sock_* inet_stream_* __inet_stream_connect
            init_file int_ret_from_sys_call invoke_syscall __io_* io_cqring_* io_issue_* io_recv* io_req_*
            io_send* io_submit_* io_uring_* io_wq_* ksys_* max_select_fd new_sync_* pipe_* __poll_* poll_*
            __pollwait populate_seccomp_* __prepare_exit_to_* prepare_exit_to_usermode pti_* put_cmsg*
            put_unused_fd recvmsg_* restore_all restore_sigcontext resume_userspace ret_from_exception
            ret_from_fork* ret_from_sys_call ret_to_user retbleed_* reverse_path_check* __rseq_* rseq_*
            rw_verify_area __scm_* scm_* __se_sys_* __seccomp_* seccomp_* select_estimate_* send_sig*
            __send_signal* sendmsg_* setup_rt_frame signal_* sk_alloc sk_busy_* sk_clone* __sk_destruct
            sk_destruct sk_filter* __sk_free sk_free sk_prot_* sk_set_* sk_wait_* __sock_* sock_* socket_*
            sockfd_* sockopt_* __splice_* splice_* srso_* stream_open swapgs_* switch_to_user_cr3 SyS_*
            ____sys_* ___sys_* __sys_* sys_* SYSC_* __syscall_* syscall_* sysenter_* sysret_* system_call*
            trace_hardirqs_* tracesys vfs_* work_pending __x64_sys_* x64_sys_call
        ",
    ),
    (
        Category::OtherKernel,
        "
            aa_* account_* acpi_* add_timer* aes_* aesni_* alarm_* alloc_inode amd_pmu_* apparmor_* ata_*
            atime_* __audit_* audit_* avc_* begin_new_exec bio_* __bitmap_* bitmap_* __blk_* blk_* blkcg_*
            __block_* block_* ___bpf_* __bpf_* bpf_* bprm_* btrfs_* buffer_* calc_wheel_* __call_rcu* call_rcu*
            call_timer_fn cap_* capable* cascade* __cgroup_* cgroup_* chacha_* chrdev_* clockevents_*
            clocksource_* con_* console_* context_tracking_* copy_process cpu_stopper_* cpumask_* crng_*
            crypto_* __css_* css_* __ct_* ct_* current_time __d_* d_* dcache_* dccp_* __dd_* dd_* dec_usb_*
            del_timer* __delay delay_tsc __dentry_* dentry_* detach_timer dget* dnotify_* do_dentry_* do_exit
            do_filp_open _do_fork do_fork do_gettimeofday do_gettimeoffset* do_group_exit do_nanosleep do_open*
            do_timer do_timer_interrupt do_wait* dput drop_buffers dup_task_* dyntick_* ehci_* enqueue_timer
            errseq_* __es_* evict exec_* exit_* expire_timers ext2_* ext3_* __ext4_* ext4_* extract_* __fentry__
            _find_first_* __find_get_block* find_get_block* _find_next_* find_next_* find_task_* force_qs_*
            format_decode fpregs_* fpu_* free_buffer_head free_htab_elem __fsnotify* fsnotify* ftrace_* fuse_*
            gcm_* gcmaes_* generic_permission genl_* get_next_timer_* get_nohz_* get_perf_callchain get_pid_*
            get_random* _get_random_* get_task_* getboottime* getname* getnstimeofday* gettimeofday* hid_*
            hook_* __hrtimer_* hrtimer_* hweight* hypercall_page ida_* idr_* iget* in_group_p inc_rlimit_*
            __indirect_* inode_* inotify_* intel_gpio_* intel_pmu_* internal_add_timer invoke_rcu_* iput*
            irqtime_* its_return_thunk jbd2_* jhash* jiffies_* journal_* kallsyms_* kcm_* kernel_* kernfs_*
            kfree_rcu* kobject_* kprobe_* kref_* __ktime_* ktime_* kvfree_call_rcu kvm_* landlock_* lapic_*
            lib_ring_* link_path_* __list_* list_* load_elf_* local_clock* lock_timer_* locks_* __lookup_*
            lookup_* map_id_* mark_offset_* math_state_restore may_open mce_* mcount memchr* mnt_* mntget
            mntput* __mod_timer* mod_timer* mpage_* mptcp_* msecs_to_* multi_cpu_stop n_tty_* native_load_*
            native_read_msr* native_sched_clock native_write_msr* __netlink_* netlink_* new_inode* next_expiry_*
            __next_timer_* nfs_* __nla_* nla_* note_gp_* notify_* ns_* nsecs_to_* number nvme_* op_* open_*
            oprofile_* orc_* overlay_* override_creds* ovl_* path_* __perf_* perf_* pid_* plist_* posix_*
            prepare_creds _printk printk* proc_* process_timeout prune_* ptp_* __put_cred put_cred* put_pid*
            put_task_* putname pv_* pvclock_* __radix_* radix_* random_* __rb_* rb_* __rcu_* rcu_* rds_*
            read_hpet read_tsc refcount_* release_task restore_fpregs_* ring_buffer_* rtnetlink_* rtnl_*
            run_posix_* run_timer_* __run_timers* save_fpregs_* sched_clock* scsi_* sctp_* search_binary_*
            security_* selinux_* seq_* serial8250_* set_personality_* sha1_* sha_* shmem_* simple_* __siphash_*
            siphash_* smack_* smc_* smp_* __srcu_* srcu_* stack_access_ok __static_call_* static_call_*
            static_key_* step_into stop_machine* stop_one_* strcmp strcpy string strlen strncmp strnlen
            submit_bio* svm_* __sw_hweight* sysfs_* text_poke* thermal_* tick_* timekeeping_* __timer_* timer_*
            timerqueue_* tls_* touch_atime __trace_* trace_* __traceiter_* tracing_* trampoline_* tty_* uart_*
            uhci_* __unix_* unix_* __unwind_* unwind_* update_wall_time usb_* __usecs_to_* usecs_to_*
            user_enter* user_exit* __vdso_* vmx_* vprintk* vsnprintf vsyscall_* vt_* vtime_* wait_*
            walk_component __x86_indirect_* x86_perf_* x86_pmu_* __x86_return_thunk __xa_* xa_* xas_* xattr_*
            xen_* xfs_* xhci_* zen_untrain_ret
        ",
    ),
];

/// Modules that drive a NIC or stand for one, and qdiscs.
pub const DRIVERS: &str = "
    acenic e100 e1000 e1000e igb igbvf igc ixgbe ixgbevf i40e iavf ice idpf mlx4_core mlx4_en mlx5_core
    mlx5_ib bnx2 bnx2x bnxt_en tg3 ena gve r8169 r8125 cxgb3 cxgb4 qede qed nfp sfc sfc_siena hns3 hclge
    be2net enic liquidio atlantic stmmac mvneta mvpp2 macb fec mana hv_netvsc vmxnet3 xen_netfront
    xen_netback virtio_net virtio_ring virtio_pci tun tap macvlan macvtap ipvlan veth vhost vhost_net
    bonding team 8021q bridge vxlan geneve ifb dummy skge sky2 sk98lin forcedeth ns83820 tulip pcnet32 3c59x
    8139too 8139cp via_rhine ionic thunderx2 octeontx2 sch_fq sch_fq_codel sch_netem sch_htb sch_tbf
    sch_cake cls_bpf act_bpf
";
