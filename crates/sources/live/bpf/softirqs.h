/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* How long receive softirqs waited to run: until then packets lie in the card's ring or the CPU's queue. */
#pragma once

/* enum in include/linux/interrupt.h */
#define NET_RX 3

PER_CPU(struct softirqs, softirqs)

/* By the card's interrupt, by the one before that left packets behind, or for another CPU (receive packet steering). */
SEC("tp_btf/softirq_raise")
int BPF_PROG(slowpath_raise, unsigned int number)
{
	struct softirqs *here;

	if (number != NET_RX)
		return 0;
	here = softirqs_here();
	if (here && !here->raised_ns)
		here->raised_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(slowpath_softirq, unsigned int number)
{
	struct softirqs *here;

	if (number != NET_RX)
		return 0;
	here = softirqs_here();
	if (here && here->raised_ns) {
		add_wait(&here->waits, bpf_ktime_get_ns() - here->raised_ns, 1);
		here->raised_ns = 0;
	}
	return 0;
}
