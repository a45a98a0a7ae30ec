/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How the probe reads what is not a field of the struct passed to its hook. */
#pragma once

/* Kernels from 6.2 on let a program state the type of a pointer; before that, memory is copied. */
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* Reads `field` of the struct `type` that lies at `address`. */
#define READ_AT(address, type, field)                                                                                  \
	({                                                                                                             \
		typeof(((struct type *)0)->field) read_;                                                               \
		if (bpf_ksym_exists(bpf_rdonly_cast))                                                                  \
			read_ = ((struct type *)bpf_rdonly_cast((address), bpf_core_type_id_kernel(struct type)))      \
					->field;                                                                       \
		else                                                                                                   \
			bpf_core_read(&read_, sizeof(read_), &((struct type *)(address))->field);                      \
		read_;                                                                                                 \
	})

/* The TCP part of a socket that the hook guarantees to be TCP. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	return bpf_skc_to_tcp_sock(sk);
}

/* A per-CPU map with one value, and `name_here` for this CPU's; to the verifier it may be missing. */
#define PER_CPU(value_type, name)                                                                                          \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                               \
		__uint(max_entries, 1);                                                                                \
		__type(key, u32);                                                                                      \
		__type(value, value_type);                                                                             \
	} name SEC(".maps");                                                                                           \
	static __always_inline value_type *name##_here(void)                                                           \
	{                                                                                                              \
		u32 zero = 0;                                                                                          \
		return bpf_map_lookup_elem(&name, &zero);                                                              \
	}

/* The byte at an address. */
static __always_inline u8 byte_at(const void *address)
{
	u8 byte = 0;

	bpf_probe_read_kernel(&byte, sizeof(byte), address);
	return byte;
}

/* Whether the sockets of a network namespace are watched. */
static __always_inline bool is_watched(u32 netns)
{
	return !config.netns[0] || netns == config.netns[0] || netns == config.netns[1] || netns == config.netns[2] ||
	       netns == config.netns[3];
}

/* Segments on the wire that a buffer stands for (tcp_segs_in, include/net/tcp.h). */
static __always_inline u32 segments_of(const struct sk_buff *skb)
{
	u32 segments = READ_AT(skb->head + skb->end, skb_shared_info, gso_segs);

	return segments ? segments : 1;
}

/* The kernel's timestamp of its arrival; 0 if there is none, or one by another clock. */
static __always_inline u64 stamp_of(const struct sk_buff *skb)
{
	if (bpf_core_field_exists(skb->tstamp_type) && BPF_CORE_READ_BITFIELD(skb, tstamp_type) != SKB_CLOCK_REALTIME)
		return 0;
	return skb->tstamp;
}
