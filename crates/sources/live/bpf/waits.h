/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How long packets and bytes waited. */
#pragma once

/* floor(log2(value)) */
static __always_inline u32 log2_of(u64 value)
{
	u32 log = 0;

	if (value >> 32) {
		value >>= 32;
		log += 32;
	}
	if (value >> 16) {
		value >>= 16;
		log += 16;
	}
	if (value >> 8) {
		value >>= 8;
		log += 8;
	}
	if (value >> 4) {
		value >>= 4;
		log += 4;
	}
	if (value >> 2) {
		value >>= 2;
		log += 2;
	}
	return log + (value >> 1);
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

/* Wu and others' classes. */
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

static __noinline int add_wait(struct waits *waits, u64 ns, u32 weight)
{
	u32 bucket;

	if (!waits)
		return 0;
	/* One more for each boundary of a class below it. */
	bucket = quarter_of(ns) + class_of(ns);
	if (bucket >= WAIT_BUCKETS)
		return 0;
	waits->counts[bucket] += weight;
	if (waits->longest_ns < ns)
		waits->longest_ns = ns;
	return 0;
}

/* Arrivals within this time are one. Doubled whenever there is no room, and set back when all was read. */
#define LEAST_QUANTUM_NS 65536

/* Makes one of each two arrivals that are next to each other, so that half the room is free. */
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

/* Payload up to `end` came. What came before it and lies beyond a hole is read later: its time counts from now. */
static __noinline int add_arrival(struct flow *flow, u32 end, u64 at_ns)
{
	struct arrival *newest;

	if (!flow)
		return 0;
	if (flow->arrival_head == flow->arrival_tail) {
		flow->arrival_head = 0;
		flow->arrival_tail = 0;
		flow->quantum_ns = LEAST_QUANTUM_NS;
	}
	newest = &flow->arrivals[(flow->arrival_head - 1) & (ARRIVALS - 1)];
	if (flow->arrival_head != flow->arrival_tail) {
		if ((s32)(end - newest->end) <= 0)
			return 0;
		if (at_ns - newest->at_ns < flow->quantum_ns) {
			newest->end = end;
			return 0;
		}
	}
	if (flow->arrival_head - flow->arrival_tail >= ARRIVALS)
		halve_arrivals(flow);
	newest = &flow->arrivals[flow->arrival_head & (ARRIVALS - 1)];
	newest->end = end;
	newest->at_ns = at_ns;
	flow->arrival_head++;
	return 0;
}

/* The process has read up to `copied`, of which up to `before` was read earlier. */
static __noinline int read_arrivals(struct flow *flow, u32 before, u32 copied, u64 now_ns)
{
	struct waits *waits;
	u32 n;

	if (!flow)
		return 0;
	waits = &flow->waits[PLACE_RECEIVE_QUEUE];
	for (n = 0; n < ARRIVALS; n++) {
		struct arrival *oldest = &flow->arrivals[flow->arrival_tail & (ARRIVALS - 1)];
		u32 end = oldest->end;

		if (flow->arrival_tail == flow->arrival_head)
			break;
		if ((s32)(copied - end) < 0)
			end = copied;
		if ((s32)(end - before) > 0) {
			u64 waited = now_ns > oldest->at_ns ? now_ns - oldest->at_ns : 0;

			add_wait(waits, waited, end - before);
			before = end;
		}
		if (end != oldest->end)
			break;
		flow->arrival_tail++;
	}
	return 0;
}
