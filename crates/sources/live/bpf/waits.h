/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How long packets and bytes waited. */
#pragma once

/* floor(log2(value)) of a value that is not 0. Without a branch, which could not be predicted here. */
static __always_inline u32 log2_of(u64 value)
{
	/* By the top six bits of the product of a de Bruijn sequence with 2^n - 1: different for each n. */
	static const u8 logs[64] = {
		0,  47, 1,  56, 48, 27, 2,  60, 57, 49, 41, 37, 28, 16, 3,  61, 54, 58, 35, 52, 50, 42,
		21, 44, 38, 32, 29, 23, 17, 11, 4,  62, 46, 55, 26, 59, 40, 36, 15, 53, 34, 51, 20, 43,
		31, 22, 10, 45, 25, 39, 14, 33, 19, 30, 9,  24, 13, 18, 8,  12, 7,  6,  5,  63,
	};

	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value |= value >> 32;
	return logs[value * 0x03f79d71b4cb0a89ULL >> 58];
}

/* Quarters of octaves; the first takes all below 1.28 us. */
#define QUARTERS 96

static __always_inline u32 quarter_of(u64 ns)
{
	u64 units = ns >> 8;
	u32 log, quarter;

	if (units < 4)
		return 0;
	log = log2_of(units);
	quarter = (log - 2) * 4 + ((units >> (log - 2)) & 3);
	return quarter < QUARTERS ? quarter : QUARTERS - 1;
}

/* The classes of Wu et al. */
static __always_inline u32 class_of(u64 ns)
{
	if (ns < 1000000)
		return 0;
	if (ns < 10000000)
		return 1;
	if (ns < 100000000)
		return 2;
	if (ns < 200000000)
		return 3;
	return ns < 1000000000 ? 4 : 5;
}

static __always_inline void add_wait(struct waits *waits, u64 ns, u32 weight)
{
	/* One more for each boundary of a class below it. */
	u32 bucket = quarter_of(ns) + class_of(ns);

	if (bucket >= WAIT_BUCKETS)
		return;
	waits->counts[bucket] += weight;
	if (waits->longest_ns < ns)
		waits->longest_ns = ns;
}

/* Arrivals within this time are merged. Doubled whenever there is no room, and reset when everything was read. */
#define LEAST_QUANTUM_NS 65536

/* Merges each pair of neighbouring arrivals, so that half the room is free. */
static __noinline int halve_arrivals(struct flow *flow)
{
	u32 tail, n;

	if (!flow)
		return 0;
	tail = flow->arrival_tail;
	for (n = 0; n < ARRIVALS / 2; n++) {
		struct arrival *first = &flow->arrivals[(tail + 2 * n) & (ARRIVALS - 1)];
		struct arrival *second = &flow->arrivals[(tail + 2 * n + 1) & (ARRIVALS - 1)];
		struct arrival *into = &flow->arrivals[(tail + n) & (ARRIVALS - 1)];
		u64 at_ns = first->at_ns;

		into->end = second->end;
		into->at_ns = at_ns;
	}
	flow->arrival_head = tail + ARRIVALS / 2;
	flow->quantum_ns *= 2;
	return 0;
}

/* Payload up to `end` arrived. Data before it and beyond a hole is read later: its time counts from now. */
static __always_inline void add_arrival(struct flow *flow, u32 end, u64 at_ns)
{
	struct arrival *newest;

	if (flow->arrival_head == flow->arrival_tail) {
		flow->arrival_head = 0;
		flow->arrival_tail = 0;
		flow->quantum_ns = LEAST_QUANTUM_NS;
	}
	newest = &flow->arrivals[(flow->arrival_head - 1) & (ARRIVALS - 1)];
	if (flow->arrival_head != flow->arrival_tail) {
		if ((s32)(end - newest->end) <= 0)
			return;
		if (at_ns - newest->at_ns < flow->quantum_ns) {
			newest->end = end;
			return;
		}
	}
	if (flow->arrival_head - flow->arrival_tail >= ARRIVALS)
		halve_arrivals(flow);
	newest = &flow->arrivals[flow->arrival_head & (ARRIVALS - 1)];
	newest->end = end;
	newest->at_ns = at_ns;
	flow->arrival_head++;
}

/*
 * The process has read up to `copied`, of which up to `before` was read earlier: returns the oldest arrival, and
 * whether that was all.
 */
static __always_inline bool read_oldest(struct flow *flow, u32 *before, u32 copied, u64 now_ns)
{
	struct arrival *oldest = &flow->arrivals[flow->arrival_tail & (ARRIVALS - 1)];
	u32 end = oldest->end;
	bool is_whole = (s32)(copied - end) >= 0;

	if (!is_whole)
		end = copied;
	if ((s32)(end - *before) > 0) {
		u64 waited = now_ns > oldest->at_ns ? now_ns - oldest->at_ns : 0;

		add_wait(&flow->waits[PLACE_RECEIVE_QUEUE], waited, end - *before);
		*before = end;
	}
	flow->arrival_tail += is_whole;
	return !is_whole || flow->arrival_tail == flow->arrival_head;
}

static __noinline int read_more(struct flow *flow, u32 before, u32 copied, u64 now_ns)
{
	u32 n;

	if (!flow)
		return 0;
	for (n = 0; n < ARRIVALS; n++)
		if (read_oldest(flow, &before, copied, now_ns))
			break;
	return 0;
}

/* There is an arrival. Usually it is the only one. */
static __always_inline void read_arrivals(struct flow *flow, u32 before, u32 copied, u64 now_ns)
{
	if (!read_oldest(flow, &before, copied, now_ns))
		read_more(flow, before, copied, now_ns);
}
