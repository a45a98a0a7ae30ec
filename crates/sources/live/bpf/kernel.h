/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the probe reads of the kernel: names and types only. libbpf finds where each field is in the running kernel, in
 * its BTF, when the probe is loaded (CO-RE), so layouts need not agree with these.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
enum { false, true };

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_ANY = 0, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };

/* include/linux/socket.h, include/linux/net.h, include/net/tcp_states.h, include/net/tcp.h */
enum { AF_INET6 = 10 };
enum { SOCK_NOSPACE = 2 };
enum { TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_FIN_WAIT1 = 4, TCP_LAST_ACK = 9 };
enum { RCV_SHUTDOWN = 1 };
/* include/linux/tcp.h: enum tsq_enum, as a bit of sk_tsq_flags. include/net/sock.h: enum sk_pacing. */
enum { TSQF_THROTTLED = 1 };
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
/* include/net/sch_generic.h */
enum { TCQ_F_CPUSTATS = 0x20 };
enum { TCPHDR_FIN = 1 };

/* enum tcp_ca_state, include/uapi/linux/tcp.h */
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

/* include/net/dropreason-core.h */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_QUEUE_PURGE,
};

/* skb->tstamp_type, include/linux/skbuff.h */
enum { SKB_CLOCK_REALTIME = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be32 u6_addr32[4];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	int counter;
} atomic_t;

struct refcount_struct {
	atomic_t refs;
};

/* include/net/sch_generic.h, include/net/gen_stats.h; all of a qdisc's numbers are 32 bits. */
struct gnet_stats_queue {
	__u32 backlog;
	__u32 overlimits;
};

struct Qdisc_ops {
	char id[16];
};

struct Qdisc {
	unsigned int flags;
	const struct Qdisc_ops *ops;
	struct gnet_stats_queue qstats;
};

struct netdev_queue {
	struct Qdisc *qdisc;
};

struct psched_ratecfg {
	u64 rate_bytes_ps;
};

struct tbf_sched_data {
	struct psched_ratecfg rate;
};

struct net_device;

struct dst_entry {
	struct net_device *dev;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct inode {
	unsigned long i_ino;
};

struct socket {
	unsigned long flags;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned short skc_tx_queue_mapping;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

typedef struct {
	int owned;
} socket_lock_t;

struct sock {
	struct sock_common __sk_common;
	struct {
		atomic_t rmem_alloc;
		int len;
	} sk_backlog;
	int sk_rcvbuf;
	int sk_sndbuf;
	int sk_wmem_queued;
	socket_lock_t sk_lock;
	struct socket *sk_socket;
	u8 sk_shutdown;
	struct sock_cgroup_data sk_cgrp_data;
	unsigned long sk_tsq_flags;
	struct refcount_struct sk_wmem_alloc;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	struct dst_entry *sk_dst_cache;
	int sk_err_soft;
};

struct inet_connection_sock {
	__u32 icsk_rto;
	__u32 icsk_pmtu_cookie;
	__u8 icsk_ca_state : 5;
};

struct minmax_sample {
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u16 rcv_wscale : 4;
};

struct tcp_sack_block {
	u32 start_seq;
	u32 end_seq;
};

struct tcp_sock {
	struct tcp_options_received rx_opt;
	u32 snd_wnd;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 copied_seq;
	u32 mdev_us;
	u32 snd_ssthresh;
	struct minmax rtt_min;
	u32 write_seq;
	u8 is_cwnd_limited : 1;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 srtt_us;
	u32 packets_out;
	u32 rcv_wnd;
	u64 bytes_acked;
	u64 bytes_received;
	u64 first_tx_mstamp;
	u32 data_segs_in;
	struct {
		u32 rtt_us;
	} rcv_rtt_est;
	u32 undo_marker;
	u32 total_retrans;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	struct tcp_sack_block recv_sack_cache[4];
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	/* One byte in 6.12, two in 6.18, of which this is the first on little-endian machines. */
	__u8 tcp_flags;
	__u32 ack_seq;
};

struct skb_shared_info {
	unsigned short gso_segs;
};

struct iphdr {
	__u8 protocol;
	__be32 saddr;
	__be32 daddr;
};

struct ipv6hdr {
	__u8 nexthdr;
	struct in6_addr saddr;
	struct in6_addr daddr;
};

struct tcphdr {
	__be16 source;
	__be16 dest;
	__be32 seq;
};

struct net_device {
	possible_net_t nd_net;
	struct netdev_queue *_tx;
	unsigned int num_tx_queues;
	int ifindex;
	char name[16];
};

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	__be16 protocol;
	__u16 network_header;
	unsigned char *data;
	s64 tstamp;
	char cb[48];
	__u8 tstamp_type : 2;
	unsigned int end;
	unsigned char *head;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
};

struct task_struct {
	int pid;
	struct sched_info sched_info;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_map;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop
