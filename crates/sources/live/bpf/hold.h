/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What has held the sender until now. It is determined when an ACK arrives, before TCP has looked at it: the state is
 * then still the one in which the sender waited.
 */
#pragma once

/* Nothing is left to send except what the writer had no room for. */
static __always_inline u32 hold_of_writer(struct sock *sk)
{
	struct socket *socket = sk->sk_socket;

	return socket && (socket->flags & (1 << SOCK_NOSPACE)) ? HOLD_SEND_BUFFER : HOLD_DRAINED;
}

/*
 * What holds back a segment that both windows have room for: what tcp_write_xmit checks before and after the windows. 0
 * if neither does; HOLD_IDLE is not among them.
 *
 * The rate that the application set is TCP's pacing rate (tcp_update_pacing_rate takes the smaller), and the next
 * segment has to wait for its time: TCP waits itself (tcp_pacing_check), or passes it to fq, which does.
 */
static __always_inline u32 hold_of_host(struct sock *sk, struct tcp_sock *tcp)
{
	bool is_throttled = sk->sk_tsq_flags & TSQF_THROTTLED;
	u32 status = sk->sk_pacing_status;

	if (sk->sk_pacing_rate >= sk->sk_max_pacing_rate && sk->sk_max_pacing_rate != ~0UL) {
		if (status == SK_PACING_NEEDED && tcp->tcp_wstamp_ns > tcp->tcp_clock_cache)
			return HOLD_PACED;
		if (status == SK_PACING_FQ && is_throttled)
			return HOLD_PACED;
	}
	/* fq holds what it paces, which shows nothing about the device. */
	return is_throttled && status != SK_PACING_FQ ? HOLD_QUEUED : 0;
}

static __always_inline u32 hold_of(struct sock *sk, struct tcp_sock *tcp)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)tcp;
	u32 state = BPF_CORE_READ_BITFIELD(connection, icsk_ca_state);
	u32 out = tcp->packets_out;
	u32 unsent = tcp->write_seq - tcp->snd_nxt;
	u32 flight = out - tcp->sacked_out - tcp->lost_out + tcp->retrans_out;
	u32 cwnd = tcp->snd_cwnd;
	u32 mss = tcp->mss_cache;
	u32 by_cwnd, by_host, window, room, congestion_window;

	if (!out && !unsent)
		return HOLD_IDLE;
	if (state == TCP_CA_Loss)
		return HOLD_LOSS;
	if (state == TCP_CA_Recovery)
		return HOLD_RECOVERY;
	if (!unsent)
		return hold_of_writer(sk);
	/* As tcp_snd_wnd_test: the next segment would end beyond the window. */
	if ((s32)(tcp->snd_nxt + mss - (tcp->snd_una + tcp->snd_wnd)) > 0)
		return HOLD_RECEIVE_WINDOW;
	by_cwnd = cwnd < tcp->snd_ssthresh ? HOLD_SLOW_START : HOLD_CONGESTION_WINDOW;
	if (flight >= cwnd)
		return by_cwnd;
	by_host = hold_of_host(sk, tcp);
	if (by_host)
		return by_host;
	/* It was within the last RTT. */
	if (BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return by_cwnd;
	/* Less than a segment waits for more data, or for an ACK (tcp_nagle_test). */
	if (unsent < mss)
		return hold_of_writer(sk);
	/* As tcp_tso_should_defer: until a third of the window can be sent at once, it waits for the narrower one. */
	room = tcp->snd_una + tcp->snd_wnd - tcp->snd_nxt;
	congestion_window = (cwnd - flight) * mss;
	window = cwnd * mss < tcp->snd_wnd ? cwnd * mss : tcp->snd_wnd;
	if (room < congestion_window)
		return room < window / 3 ? HOLD_RECEIVE_WINDOW : HOLD_LOCAL;
	return congestion_window < window / 3 ? by_cwnd : HOLD_LOCAL;
}

static __always_inline void add_hold(struct flow *flow, u32 hold, u64 lasted_ns)
{
	if (hold < HOLDS)
		flow->held_ns[hold] += lasted_ns;
	else if (hold == HOLD_PACED)
		flow->paced_ns += lasted_ns;
	else
		flow->queued_ns += lasted_ns;
}

/* When data written since the last segment was sent, with nothing in flight before it (tcp_rate_skb_sent). */
static __always_inline u64 first_sent(const struct tcp_sock *tcp)
{
	return tcp->first_tx_mstamp * 1000 + clocks.day_ns;
}

/*
 * What has held the sender since the last segment, when no other segment ends that. If it had nothing to send at first,
 * the hold that took more of the time.
 */
static __noinline u32 hold_so_far(struct sock *sk, struct tcp_sock *tcp, const struct flow *flow, u64 now_ns)
{
	u32 hold = hold_of(sk, tcp);

	if (flow->is_idle && hold != HOLD_IDLE) {
		u64 sent_ns = first_sent(tcp);

		if (sent_ns > flow->last_ns && sent_ns < now_ns && sent_ns - flow->last_ns > now_ns - sent_ns)
			return HOLD_IDLE;
	}
	return hold;
}

/* What has held the sender since the last segment, ended by an ACK of everything before `ack`. */
static __always_inline void take_holds(struct sock *sk, struct tcp_sock *tcp, struct flow *flow, u32 ack, u64 now_ns)
{
	u64 since_ns = flow->last_ns, until_ns = now_ns;
	u32 hold = hold_of(sk, tcp);

	if (flow->is_idle && hold != HOLD_IDLE) {
		u64 sent_ns = first_sent(tcp);

		if (sent_ns > since_ns && sent_ns < now_ns) {
			flow->held_ns[HOLD_IDLE] += sent_ns - since_ns;
			since_ns = sent_ns;
		}
	}
	/* A retransmission before TCP knows the reason had been waited for since its ACK was due: a loss probe. */
	if (flow->again != (u16)tcp->total_retrans && hold != HOLD_LOSS && hold != HOLD_RECOVERY &&
	    hold != HOLD_RECEIVE_WINDOW) {
		u64 due_ns = since_ns + (u64)(tcp->srtt_us >> 3) * 1000;

		if (due_ns < now_ns) {
			flow->held_ns[HOLD_LOSS] += now_ns - due_ns;
			until_ns = due_ns;
		}
	}
	if (until_ns > since_ns)
		add_hold(flow, hold, until_ns - since_ns);
	flow->again = tcp->total_retrans;
	/* This one acknowledges everything written. */
	flow->is_idle = ack == tcp->write_seq;
}
