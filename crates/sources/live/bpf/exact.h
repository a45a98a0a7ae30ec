/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The oracle: each segment found by its sequence numbers instead of its timestamp. Segments merged on the backlog keep
 * the timestamp of the last one; here each has its own arrival. It costs a table lookup for every packet of the host,
 * so it runs only when asked for.
 */
#pragma once

#define BUCKET_BITS 14
#define BUCKETS (1 << BUCKET_BITS)
#define WAYS 4

/* A segment, or several merged by GRO, between its arrival and TCP. */
struct flight {
	u64 key;
	u64 at_ns;
	u32 end;
	u32 segments;
};

struct bucket {
	struct flight flights[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, u32);
	__type(value, struct bucket);
} flights SEC(".maps");

PER_CPU(struct exact, exact)

static __always_inline u64 mixed(u64 value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15ULL;
	return value ^ value >> 29;
}

/* The connection as the packet has it: from and to. Never 0. */
static __always_inline u64 connection_key(u32 from, u32 to, u16 from_port, u16 to_port)
{
	return mixed(mixed((u64)from << 32 | to) ^ ((u64)from_port << 16 | to_port));
}

static __always_inline u64 segment_key(u64 connection, u32 seq)
{
	return mixed(connection ^ seq) | 1;
}

static __always_inline u32 folded(const struct in6_addr *address)
{
	return address->in6_u.u6_addr32[0] ^ address->in6_u.u6_addr32[1] ^ address->in6_u.u6_addr32[2] ^
	       address->in6_u.u6_addr32[3];
}

static __always_inline struct bucket *bucket_of_key(u64 key)
{
	u32 index = key >> 20 & (BUCKETS - 1);

	return bpf_map_lookup_elem(&flights, &index);
}

/* A segment arrived. If there is no room, it replaces the oldest. */
static __noinline int put_flight(u64 key, u32 end, u32 segments, u64 now_ns)
{
	struct bucket *bucket = bucket_of_key(key);
	struct exact *totals = exact_here();
	struct flight *into;
	u64 oldest_ns = ~0ULL;
	int n;

	if (!bucket || !totals)
		return 0;
	into = &bucket->flights[0];
	for (n = 0; n < WAYS; n++) {
		struct flight *flight = &bucket->flights[n];

		if (!flight->key || flight->key == key) {
			into = flight;
			oldest_ns = 0;
			break;
		}
		if (flight->at_ns < oldest_ns) {
			oldest_ns = flight->at_ns;
			into = flight;
		}
	}
	if (oldest_ns)
		totals->evicted += into->segments;
	into->at_ns = now_ns;
	into->end = end;
	into->segments = segments;
	into->key = key;
	totals->arrived += segments;
	return 0;
}

/* What TCP has now, and how far it was found. */
struct walk {
	u64 connection;
	u64 now_ns;
	u32 seq;
	u32 end;
	u32 place;
};

/* One segment of it; returns whether that was all, or no more is found. */
static long take_flight(u32 n, struct walk *walk)
{
	struct exact *totals = exact_here();
	u64 key = segment_key(walk->connection, walk->seq);
	struct bucket *bucket = bucket_of_key(key);
	struct flight *found = 0;
	u32 place = walk->place;
	int way;

	if (!bucket || !totals || (s32)(walk->end - walk->seq) <= 0)
		return 1;
	for (way = 0; way < WAYS; way++)
		if (bucket->flights[way].key == key)
			found = &bucket->flights[way];
	if (!found) {
		totals->unknown_bytes += walk->end - walk->seq;
		return 1;
	}
	if (place <= PLACE_HOLDER_OFF_CPU) {
		u64 waited_ns = walk->now_ns > found->at_ns ? walk->now_ns - found->at_ns : 0;

		add_wait(&totals->waits[place], waited_ns, found->segments);
	}
	totals->taken += found->segments;
	walk->seq = found->end;
	found->key = 0;
	return 0;
}

/* Segments reach TCP, in one piece. */
static __always_inline void take_flights(struct sock *sk, u32 seq, u32 end, u32 place, u64 now_ns)
{
	u32 from = sk->__sk_common.skc_daddr, to = sk->__sk_common.skc_rcv_saddr;
	const struct in6_addr *peer = &sk->__sk_common.skc_v6_daddr;
	bool is_mapped = !peer->in6_u.u6_addr32[0] && !peer->in6_u.u6_addr32[1] &&
			 peer->in6_u.u6_addr32[2] == bpf_htonl(0xffff);
	struct walk walk = { .now_ns = now_ns, .seq = seq, .end = end, .place = place };

	if (sk->__sk_common.skc_family == AF_INET6 && !is_mapped) {
		from = folded(peer);
		to = folded(&sk->__sk_common.skc_v6_rcv_saddr);
	}
	walk.connection = connection_key(from, to, sk->__sk_common.skc_dport, bpf_htons(sk->__sk_common.skc_num));
	bpf_loop(1024, take_flight, &walk, 0);
}
