/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A list of the live flows. The kernel can iterate over them itself (iter/bpf_sk_storage_map), but some refuse to load
 * such a program, as root too (hardened kernels). There, each flow is listed when it is opened, and read by its cookie.
 */
#pragma once

#define LISTED_FLOWS (1 << 17)

/* Addresses in the kernel, of struct tcp_sock and of its struct flow. */
struct listed {
	u64 tcp;
	u64 flow;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LISTED_FLOWS);
	__type(key, u64);
	__type(value, struct listed);
} list SEC(".maps");

/* What was read of the flow that was asked for: its reader takes it before it asks for the next. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 14);
} alive SEC(".maps");

/* Returns an error if there is no room: the flow is then reported when it ends. */
static __always_inline long list_flow(u64 cookie, const struct sock *sk, const struct flow *flow)
{
	struct listed listed = { .tcp = (u64)sk, .flow = (u64)flow };

	return bpf_map_update_elem(&list, &cookie, &listed, BPF_ANY);
}

static __always_inline void unlist_flow(u64 cookie)
{
	bpf_map_delete_elem(&list, &cookie);
}
