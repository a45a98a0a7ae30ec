/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's clocks compared with each other: the value of another clock is computed instead of read, since each
 * reading costs as much as everything else that a program does.
 */
#pragma once

/* Clocks diverge by no more than this part of the time, 2^-11: 500 ppm (MAXFREQ, include/linux/timex.h). */
#define SLEW_SHIFT 11
/* If it is off by more, the time of day was set. */
#define IS_SET_NS 1000000

/* For all CPUs: read with each segment, and written about as often as the probe is sampled. */
struct clocks {
	/* The time of day less the monotonic clock (bpf_ktime_get_ns). */
	u64 day_ns;
	/* The time of day less the scheduler's clock (sched_info), or slightly more; as of `at_ns`. */
	u64 scheduler_ns;
	u64 at_ns;
} clocks __attribute__((aligned(64)));

/* The time of day, as in skb->tstamp. If the kernel knows no leap seconds, TAI is the same. */
static __always_inline u64 time_of_day(void)
{
	return bpf_ktime_get_tai_ns() - config.tai_minus_realtime_ns;
}

/*
 * The scheduler's clock cannot be read, except for when it last gave the CPU to this process: shortly before now if the
 * process was just woken. Apart from that, the least recent difference is the one between the clocks.
 */
static __always_inline void compare_clocks(const struct task_struct *task, u64 now_ns)
{
	u64 apart_ns = now_ns - task->sched_info.last_arrival;

	if ((s64)(apart_ns - clocks.scheduler_ns) < (s64)(now_ns - clocks.at_ns) >> SLEW_SHIFT) {
		clocks.scheduler_ns = apart_ns;
		clocks.at_ns = now_ns;
	}
}

/* From time to time, by a process that has just slept. */
static __always_inline void set_clocks(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now_ns = 0, day_ns = 0;
	int n;

	/* The process may be interrupted between the two readings: the largest difference is the right one. */
	for (n = 0; n < 3; n++) {
		u64 apart_ns;

		now_ns = time_of_day();
		apart_ns = now_ns - bpf_ktime_get_ns();
		if (apart_ns > day_ns)
			day_ns = apart_ns;
	}
	if (day_ns - clocks.day_ns + IS_SET_NS > 2 * IS_SET_NS) {
		clocks.scheduler_ns = now_ns - task->sched_info.last_arrival;
		clocks.at_ns = now_ns;
	}
	clocks.day_ns = day_ns;
	compare_clocks(task, now_ns);
}

/* Since when this process has had its CPU. */
static __always_inline u64 on_cpu_since(void)
{
	return bpf_get_current_task_btf()->sched_info.last_arrival + clocks.scheduler_ns;
}
