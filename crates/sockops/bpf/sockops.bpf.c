// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sets buffers, window clamp, pacing and congestion control of the connections of a control group, by their destination.
 *
 * A connection is tuned once: before its SYN if this host opens it, since the SYN decides the window scale, and when it is
 * established if it was accepted. A listener is left alone: the window scale of its SYN-ACKs allows for rmem_max
 * (tcp_select_initial_window), beyond which no buffer can be set.
 *
 * Programs of others may be attached too: `reply` is left as it is, and flags are only added.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include "record.h"

/* The license that the kernel reads: functions for GPL programs are called. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The hash of the sources; a test compares it with them. */
const char built_from[] SEC(".slowpath") = "slowpath-bpf-source:" SOURCE_HASH;

/* max_entries is set before the program is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct prefix);
	__type(value, struct target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct granted);
} granted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* What a connection was granted, until it is closed. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} grants SEC(".maps");

/* The sysctls of a network namespace, as its first connection found them. */
struct sysctls {
	u32 wmem;
	u32 rmem;
	u32 congestion;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct sysctls);
} first_seen SEC(".maps");

/* What is known of a connection that is about to be tuned. */
struct connection {
	struct bpf_sock_ops *ops;
	struct sock *sk;
	struct counts *counts;
	const struct target *target;
	struct sysctls now;
	struct sysctls first;
};

static __always_inline void count(struct connection *it, u32 setting, u32 fate)
{
	it->counts->settings[setting][fate]++;
}

/* Sets an option, and returns whether the kernel accepts it. */
static __always_inline bool set(struct connection *it, u32 setting, int level, int name, void *value, int bytes, u32 fate)
{
	long error = -bpf_setsockopt(it->ops, level, name, value, bytes);

	count(it, setting, error ? REFUSED : fate);
	if (error)
		it->counts->refused[(u8)error]++;
	return !error;
}

/*
 * The size of a buffer that makes the connection faster, never slower: more than the kernel's own tuning would reach. 0
 * leaves it to that.
 */
static __always_inline u32 buffer(struct connection *it, u32 setting, u32 wanted, u32 lock, u32 limit, u32 first, u32 most)
{
	u64 possible = (u64)most * 2;
	u32 fate;

	if (!wanted)
		return 0;
	if (BPF_CORE_READ_BITFIELD(it->sk, sk_userlocks) & lock)
		fate = OWN;
	else if (limit != first)
		fate = CHANGED;
	else if (wanted <= limit)
		fate = SUFFICES;
	else if (possible <= limit)
		fate = SHORT;
	else
		return wanted < possible ? wanted : possible;
	count(it, setting, fate);
	return 0;
}

static __always_inline struct granted *granted_now(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&granted, &zero);
}

/* Reserves memory for a connection until it is closed. */
static __noinline bool grant(struct bpf_sock_ops *ops, struct counts *counts, const struct config *limits, u64 bytes)
{
	struct granted *all = granted_now();
	struct bpf_sock *sk = ops->sk;
	u64 *own;

	if (!all || !sk || !counts || !limits)
		return false;
	if (bytes && limits->is_pressed) {
		counts->pressed++;
		return false;
	}
	if (__sync_fetch_and_add(&all->connections, 1) >= limits->connections) {
		counts->over_connections++;
		goto one_less;
	}
	if (__sync_fetch_and_add(&all->memory_bytes, bytes) + bytes > limits->memory_bytes)
		goto less;
	own = bpf_sk_storage_get(&grants, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!own)
		goto less;
	*own = bytes;
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
	return true;
less:
	counts->over_memory++;
	__sync_fetch_and_add(&all->memory_bytes, -bytes);
one_less:
	__sync_fetch_and_add(&all->connections, -1);
	return false;
}

/* A connection is closed: what it was granted is free again. */
static __always_inline void release(struct bpf_sock_ops *ops)
{
	struct granted *all = granted_now();
	struct bpf_sock *sk = ops->sk;
	u64 *own;

	if (!all || !sk)
		return;
	own = bpf_sk_storage_get(&grants, sk, 0, 0);
	if (!own)
		return;
	__sync_fetch_and_add(&all->memory_bytes, -*own);
	__sync_fetch_and_add(&all->connections, -1);
	bpf_sk_storage_delete(&grants, sk);
}

static __always_inline bool clamps(struct connection *it, bool is_accepted)
{
	struct tcp_sock *tcp = (struct tcp_sock *)it->sk;
	u32 clamp = tcp->window_clamp;
	bool is_own;

	if (!it->target->clamp_bytes)
		return false;
	/* Before the SYN, nobody else sets it but the program. Later it is what the window scale allows, or a route's. */
	if (is_accepted)
		is_own = clamp < (u32)0xffff << BPF_CORE_READ_BITFIELD(tcp, rx_opt.rcv_wscale);
	else
		is_own = clamp != 0;
	if (is_own)
		count(it, CLAMP, OWN);
	return !is_own;
}

static __always_inline bool paces(struct connection *it)
{
	if (!it->target->pacing_bytes_per_s)
		return false;
	if (it->sk->sk_max_pacing_rate != ~0UL) {
		count(it, PACING, OWN);
		return false;
	}
	return true;
}

static __always_inline bool controls(struct connection *it)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)it->sk;

	if (!it->target->congestion[0])
		return false;
	if (BPF_CORE_READ_BITFIELD(icsk, icsk_ca_setsockopt) || icsk->icsk_ca_ops->key != it->now.congestion) {
		count(it, CONGESTION, OWN);
		return false;
	}
	if (it->now.congestion != it->first.congestion) {
		count(it, CONGESTION, CHANGED);
		return false;
	}
	return true;
}

/* The sysctls of the connection's namespace, now and at its first connection. */
static __always_inline void read_sysctls(struct connection *it)
{
	struct net *net = it->sk->__sk_common.skc_net.net;
	u64 cookie = bpf_get_netns_cookie(it->ops);
	struct sysctls *first;

	it->now.wmem = net->ipv4.sysctl_tcp_wmem[2];
	it->now.rmem = net->ipv4.sysctl_tcp_rmem[2];
	it->now.congestion = net->ipv4.tcp_congestion_control->key;
	first = bpf_map_lookup_elem(&first_seen, &cookie);
	if (!first) {
		bpf_map_update_elem(&first_seen, &cookie, &it->now, BPF_NOEXIST);
		it->first = it->now;
	} else {
		it->first = *first;
	}
}

static __always_inline const struct target *target_of(struct bpf_sock_ops *ops)
{
	struct prefix remote = { .bits = 128 };

	if (ops->family == AF_INET) {
		remote.address[2] = bpf_htonl(0xffff);
		remote.address[3] = ops->remote_ip4;
		/* Or the compiler merges this load with the last one below, from a computed address, which is refused. */
		barrier();
	} else if (ops->family == AF_INET6) {
		remote.address[0] = ops->remote_ip6[0];
		remote.address[1] = ops->remote_ip6[1];
		remote.address[2] = ops->remote_ip6[2];
		remote.address[3] = ops->remote_ip6[3];
	} else {
		return 0;
	}
	return bpf_map_lookup_elem(&targets, &remote);
}

static __always_inline void apply(struct connection *it, const struct config *limits, bool is_accepted)
{
	const struct target *target = it->target;
	u32 send = buffer(it, SEND, target->send_bytes, SOCK_SNDBUF_LOCK, it->now.wmem, it->first.wmem, limits->wmem_max);
	u32 receive =
		buffer(it, RECEIVE, target->receive_bytes, SOCK_RCVBUF_LOCK, it->now.rmem, it->first.rmem, limits->rmem_max);
	bool is_clamped = clamps(it, is_accepted), is_paced = paces(it), is_controlled = controls(it);
	bool is_tuned = false;

	if (!send && !receive && !is_clamped && !is_paced && !is_controlled)
		return;
	if (!grant(it->ops, it->counts, limits, (u64)send + receive))
		return;
	/* The kernel doubles what is asked for (sk_setsockopt). */
	if (send) {
		int ask = send / 2;

		is_tuned |= set(it, SEND, SOL_SOCKET, SO_SNDBUF, &ask, sizeof(ask), send < target->send_bytes ? CUT : SET);
	}
	if (receive) {
		int ask = receive / 2;

		is_tuned |=
			set(it, RECEIVE, SOL_SOCKET, SO_RCVBUF, &ask, sizeof(ask), receive < target->receive_bytes ? CUT : SET);
	}
	if (is_clamped) {
		int clamp = target->clamp_bytes;

		is_tuned |= set(it, CLAMP, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp), SET);
	}
	if (is_paced) {
		u32 rate = target->pacing_bytes_per_s;

		is_tuned |= set(it, PACING, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate), SET);
	}
	if (is_controlled) {
		char name[TCP_CA_NAME_MAX];

		__builtin_memcpy(name, target->congestion, sizeof(name));
		is_tuned |= set(it, CONGESTION, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name), SET);
	}
	it->counts->tuned += is_tuned;
}

static __always_inline void tune(struct bpf_sock_ops *ops, bool is_accepted)
{
	struct connection it = { .ops = ops };
	struct bpf_sock *sk = ops->sk;
	struct config *limits;
	u32 zero = 0;

	it.counts = bpf_map_lookup_elem(&counts, &zero);
	limits = bpf_map_lookup_elem(&config, &zero);
	if (!it.counts || !limits || !sk)
		return;
	it.counts->seen++;
	it.target = target_of(ops);
	if (!it.target)
		return;
	it.counts->known++;
	it.sk = (struct sock *)bpf_skc_to_tcp_sock(sk);
	if (!it.sk)
		return;
	read_sysctls(&it);
	apply(&it, limits, is_accepted);
}

SEC("sockops")
int slowpath_tune(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		tune(ops, false);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		tune(ops, true);
		break;
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] == TCP_CLOSE)
			release(ops);
		break;
	}
	return 1;
}
