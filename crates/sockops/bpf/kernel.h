/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the program reads of the kernel: names and types only. libbpf finds where each field is in the running kernel, in
 * its BTF, when the program is loaded (CO-RE), so layouts need not agree with these.
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
typedef _Bool bool;
enum { false, true };

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_NOEXIST = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_STATE_CB = 10,
};
enum { BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2 };

/* include/linux/socket.h, include/net/tcp_states.h, include/net/sock.h */
enum { AF_INET = 2, AF_INET6 = 10 };
enum { TCP_CLOSE = 7 };
enum { SOCK_SNDBUF_LOCK = 1, SOCK_RCVBUF_LOCK = 2 };

/* include/uapi/asm-generic/socket.h, include/uapi/linux/tcp.h */
enum { SOL_SOCKET = 1, SO_SNDBUF = 7, SO_RCVBUF = 8, SO_MAX_PACING_RATE = 47 };
enum { IPPROTO_TCP = 6, TCP_WINDOW_CLAMP = 10, TCP_CONGESTION = 13 };
enum { TCP_CA_NAME_MAX = 16 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_sock;

struct bpf_sock_ops {
	__u32 op;
	__u32 args[4];
	__u32 family;
	__u32 remote_ip4;
	__u32 remote_ip6[4];
	__u32 bpf_sock_ops_cb_flags;
	struct bpf_sock *sk;
};

struct tcp_congestion_ops {
	u32 key;
};

struct netns_ipv4 {
	int sysctl_tcp_wmem[3];
	int sysctl_tcp_rmem[3];
	struct tcp_congestion_ops *tcp_congestion_control;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	u8 sk_userlocks : 4;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_setsockopt : 1;
};

struct tcp_options_received {
	u16 rcv_wscale : 4;
};

struct tcp_sock {
	u32 window_clamp;
	struct tcp_options_received rx_opt;
};

#pragma clang attribute pop
