/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Where a socket's packets leave the host: its device, the device's queue, and the socket's data in it. */
#pragma once

#define NAME_BYTES 16

/* The queueing discipline of the transmit queue that the socket uses; under mq, that queue's own. */
static __always_inline struct Qdisc *queue_of(struct sock *sk, struct net_device *dev)
{
	u16 number = sk->__sk_common.skc_tx_queue_mapping;
	const void *queue = 0;

	/* As a number: Linux 6.1 adds nothing variable to a pointer whose type it knows. */
	bpf_core_read(&queue, sizeof(queue), &dev->_tx);
	if (number >= dev->num_tx_queues)
		number = 0;
	if (!queue)
		return 0;
	return READ_AT(queue + number * bpf_core_type_size(struct netdev_queue), netdev_queue, qdisc);
}

static __always_inline bool is_tbf(const char *id)
{
	return id[0] == 't' && id[1] == 'b' && id[2] == 'f' && !id[3];
}

static __always_inline void fill_queue(struct output *to, const struct Qdisc *queue)
{
	const struct Qdisc_ops *ops = READ_AT(queue, Qdisc, ops);

	if (ops)
		bpf_probe_read_kernel(to->qdisc, NAME_BYTES, (const void *)ops + bpf_core_field_offset(struct Qdisc_ops, id));
	/*
	 * Behind the struct lies what is the discipline's own (qdisc_priv). It is copied: where tbf is a module, so is its
	 * type, and bpf_rdonly_cast takes none of these.
	 */
	if (bpf_core_type_exists(struct tbf_sched_data) && is_tbf(to->qdisc)) {
		const struct tbf_sched_data *tbf = (const void *)queue + bpf_core_type_size(struct Qdisc);

		bpf_core_read(&to->rate, sizeof(to->rate), &tbf->rate.rate_bytes_ps);
	}
	if (READ_AT(queue, Qdisc, flags) & TCQ_F_CPUSTATS)
		return;
	to->has_queue = 1;
	to->backlog = READ_AT(queue, Qdisc, qstats.backlog);
	to->overlimits = READ_AT(queue, Qdisc, qstats.overlimits);
}

static __noinline void fill_output(struct output *to, struct sock *sk, struct tcp_sock *tcp)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)tcp;
	struct dst_entry *route = sk->sk_dst_cache;
	struct net_device *dev = route ? route->dev : 0;
	u32 allocated = sk->sk_wmem_alloc.refs.counter;
	struct Qdisc *queue;

	to->max_pacing_rate = sk->sk_max_pacing_rate;
	/* One is the socket's own (sk_wmem_alloc_get). */
	to->wmem_alloc = allocated ? allocated - 1 : 0;
	to->soft_error = sk->sk_err_soft;
	to->pmtu = connection->icsk_pmtu_cookie;
	to->is_known = 1;
	if (!dev)
		return;
	to->ifindex = dev->ifindex;
	bpf_probe_read_kernel(to->device, NAME_BYTES, (const void *)dev + bpf_core_field_offset(struct net_device, name));
	queue = queue_of(sk, dev);
	if (queue)
		fill_queue(to, queue);
}
