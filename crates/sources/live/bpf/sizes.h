/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The sizes of lost and arrived segments. If the path's MTU is smaller than TCP believes, everything larger is lost,
 * each time it is sent, and nothing else.
 */
#pragma once

/*
 * The largest segment that can have arrived: no larger than what one ACK acknowledged, than the last SACK block, and
 * than the MSS. Called before TCP looks at the ACK, so the SACK block is the previous one's.
 */
static __always_inline void take_sizes(struct tcp_sock *tcp, struct flow *flow, u32 ack)
{
	u32 acked = ack - tcp->snd_una, mss = tcp->mss_cache;

	if (mss > flow->mss_largest)
		flow->mss_largest = mss;
	if ((s32)acked <= 0)
		acked = 0;
	if (tcp->sacked_out) {
		u32 sacked = tcp->recv_sack_cache[0].end_seq - tcp->recv_sack_cache[0].start_seq;

		if (sacked > acked)
			acked = sacked;
	}
	if (acked > mss)
		acked = mss;
	if (acked > flow->delivered_largest)
		flow->delivered_largest = acked;
	if (flow->resent != flow->resent_answered)
		flow->resent_answered = flow->resent;
}

/*
 * A segment is retransmitted, so its last transmission counts as lost. Once the MSS was lowered, a segment is smaller
 * than the lost one, whose size is then no longer known.
 *
 * If everything on a connection is lost, no arrival makes it known: this does.
 */
static __noinline int take_retransmission(struct sock *sk, struct sk_buff *skb)
{
	u32 mss, length, state = sk->__sk_common.skc_state;
	struct tcp_sock *tcp;
	struct flow *flow;

	if (!has_port(sk) || state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return 0;
	tcp = tcp_of(sk);
	if (!tcp)
		return 0;
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow) {
		flow = open_flow(sk, 0, time_of_day());
		if (!flow)
			return 0;
	}
	mss = tcp->mss_cache;
	length = skb->len < mss ? skb->len : mss;
	if (mss < flow->mss_largest || !length)
		return 0;
	if (!flow->resent || length < flow->resent_smallest)
		flow->resent_smallest = length;
	flow->resent++;
	return 0;
}
