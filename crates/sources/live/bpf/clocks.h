/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel's clocks, beside each other: what another one says is reckoned instead of read, since each reading costs as
 * much as all else that a program does.
 */
#pragma once

/* Clocks go apart by no more than this part of the time, 2^-11: 500 ppm (MAXFREQ, include/linux/timex.h). */
#define SLEW_SHIFT 11
/* The time of day was set if it is off by more. */
#define IS_SET_NS 1000000

/* Of all CPUs: read with each segment, and written about as often as the probe is looked at. */
struct clocks {
	/* The time of day less the monotonic clock (bpf_ktime_get_ns). */
	u64 day_ns;
	/* The time of day less the scheduler's clock (sched_info), no less than it is; as of `at_ns`. */
	u64 scheduler_ns;
	u64 at_ns;
} clocks __attribute__((aligned(64)));

/* The time of day, as skb->tstamp has it. Where the kernel knows no leap seconds, TAI is the same. */
static __always_inline u64 time_of_day(void)
{
	return bpf_ktime_get_tai_ns() - config.tai_minus_realtime_ns;
}

/*
 * The scheduler's clock cannot be read, but when it last gave the CPU to this process: that was before now, by little
 * where somebody has just been woken. The least difference of late is the one between the clocks, but for that.
 */
static __always_inline void compare_clocks(const struct task_struct *task, u64 now_ns)
{
	u64 apart_ns = now_ns - task->sched_info.last_arrival;

	if ((s64)(apart_ns - clocks.scheduler_ns) < (s64)(now_ns - clocks.at_ns) >> SLEW_SHIFT) {
		clocks.scheduler_ns = apart_ns;
		clocks.at_ns = now_ns;
	}
}

/* Now and then, by a process that has just slept. */
static __always_inline void set_clocks(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now_ns = 0, day_ns = 0;
	int n;

	/* Somebody may come between the two readings: the largest difference is the one. */
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

/* Since when this process has its CPU. */
static __always_inline u64 on_cpu_since(void)
{
	return bpf_get_current_task_btf()->sched_info.last_arrival + clocks.scheduler_ns;
}
