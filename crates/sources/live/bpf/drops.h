/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* TCP packets that the kernel dropped, by its own reasons (enum skb_drop_reason). */
#pragma once

/* The core's reasons; those of subsystems, which are above, count as one. */
#define REASONS 256

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REASONS);
	__type(key, u32);
	__type(value, u64);
} drops SEC(".maps");

/*
 * Whether there was room for one more reason. The dropping context need not have locked the socket: packets that do not
 * fit on its backlog are dropped while another context has locked it.
 */
static __always_inline bool add_drop(struct flow *flow, u32 reason)
{
	int n;

	for (n = 0; n < DROPS; n++) {
		u32 before = __sync_val_compare_and_swap(&flow->drops[n].reason, 0, reason);

		if (!before || before == reason) {
			__sync_fetch_and_add(&flow->drops[n].packets, 1);
			return true;
		}
	}
	return false;
}

/* Whether it is a watched TCP packet, by its headers. */
static __always_inline bool is_asked_for(const struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	u16 at = skb->network_header;
	void *ip, *tcp;

	/* Before a packet reaches the protocols, the header is where the data begins (__netif_receive_skb_core). */
	ip = at && at != 0xffff ? skb->head + at : skb->data;
	if (skb->protocol == bpf_htons(0x0800)) {
		if (READ_AT(ip, iphdr, protocol) != 6)
			return false;
		tcp = ip + (byte_at(ip) & 15) * 4;
	} else if (skb->protocol == bpf_htons(0x86dd)) {
		if (READ_AT(ip, ipv6hdr, nexthdr) != 6)
			return false;
		tcp = ip + 40;
	} else {
		return false;
	}
	if (config.netns[0] && (!dev || !is_watched(BPF_CORE_READ(dev, nd_net.net, ns.inum))))
		return false;
	return !config.port || READ_AT(tcp, tcphdr, source) == bpf_htons(config.port) ||
	       READ_AT(tcp, tcphdr, dest) == bpf_htons(config.port);
}

/*
 * A packet is dropped (kfree_skb and its kin; consume_skb is for packets that were delivered). Packets without a reason
 * are left out: most packets that are simply done with have none. So is unread data in a socket that is closed.
 */
SEC("tp_btf/kfree_skb")
int slowpath_drop(u64 *arguments)
{
	struct sk_buff *skb = (struct sk_buff *)arguments[0];
	u32 reason = arguments[2];
	struct flow *flow = 0;
	struct sock *sk;
	u64 *packets;

	if (reason <= bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NOT_SPECIFIED))
		return 0;
	if (bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_QUEUE_PURGE) &&
	    reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_QUEUE_PURGE))
		return 0;
	/* The socket that it would have reached (from 6.11 on), or that it belonged to. */
	if (config.drops_name_socket) {
		sk = (struct sock *)arguments[3];
		if (sk)
			flow = known_flow(sk);
	}
	sk = skb->sk;
	if (!flow && sk)
		flow = known_flow(sk);
	if (flow && add_drop(flow, reason))
		return 0;
	if (!flow && !is_asked_for(skb))
		return 0;
	if (reason >= REASONS)
		reason = REASONS - 1;
	packets = bpf_map_lookup_elem(&drops, &reason);
	if (packets)
		*packets += 1;
	return 0;
}
