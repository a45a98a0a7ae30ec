/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What held the sender until now. It is asked when an ACK comes, before TCP has looked at it: the state is then still
 * the one in which the sender waited.
 */
#pragma once

/* Nothing is left to send but what the writer had no room for. */
static __always_inline u32 hold_of_writer(struct sock *sk)
{
	struct socket *socket = sk->sk_socket;

	return socket && (socket->flags & (1 << SOCK_NOSPACE)) ? HOLD_SEND_BUFFER : HOLD_DRAINED;
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
	u32 by_cwnd, window, room, congestion_window;

	if (!out && !unsent)
		return HOLD_IDLE;
	if (state == TCP_CA_Loss)
		return HOLD_LOSS;
	if (state == TCP_CA_Recovery)
		return HOLD_RECOVERY;
	if (!unsent)
		return hold_of_writer(sk);
	/* As tcp_snd_wnd_test: what is next would end beyond the window. */
	if ((s32)(tcp->snd_nxt + mss - (tcp->snd_una + tcp->snd_wnd)) > 0)
		return HOLD_RECEIVE_WINDOW;
	by_cwnd = cwnd < tcp->snd_ssthresh ? HOLD_SLOW_START : HOLD_CONGESTION_WINDOW;
	if (flight >= cwnd || BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return by_cwnd;
	/* Less than a segment waits for more to be written, or for an ACK (tcp_nagle_test). */
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

/* What the sender was held by since the last segment, which an ACK of all before `ack` ends. */
static __always_inline void take_holds(struct sock *sk, struct tcp_sock *tcp, struct flow *flow, u32 ack, u64 now_ns)
{
	u64 since_ns = flow->last_ns, until_ns = now_ns;
	u32 hold = hold_of(sk, tcp);

	if (flow->is_idle && hold != HOLD_IDLE) {
		/* What was written since was sent then, with nothing before it on its way (tcp_rate_skb_sent). */
		u64 sent_ns = tcp->first_tx_mstamp * 1000 + clocks.day_ns;

		if (sent_ns > since_ns && sent_ns < now_ns) {
			flow->held_ns[HOLD_IDLE] += sent_ns - since_ns;
			since_ns = sent_ns;
		}
	}
	/* What was sent again, before TCP knows why, had been waited for since its answer was due: a loss probe. */
	if (flow->again != (u16)tcp->total_retrans && hold != HOLD_LOSS && hold != HOLD_RECOVERY &&
	    hold != HOLD_RECEIVE_WINDOW) {
		u64 due_ns = since_ns + (u64)(tcp->srtt_us >> 3) * 1000;

		if (due_ns < now_ns) {
			flow->held_ns[HOLD_LOSS] += now_ns - due_ns;
			until_ns = due_ns;
		}
	}
	if (hold < HOLDS && until_ns > since_ns)
		flow->held_ns[hold] += until_ns - since_ns;
	flow->again = tcp->total_retrans;
	/* All that was written is acknowledged by this one. */
	flow->is_idle = ack == tcp->write_seq;
}
