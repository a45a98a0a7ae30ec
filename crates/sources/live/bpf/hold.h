/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What held the sender until now. It is asked when an ACK comes, before TCP has looked at it: the state is then still
 * the one in which the sender waited.
 */
#pragma once

static __always_inline u32 hold_of(struct sock *sk, struct tcp_sock *tcp)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)tcp;
	u32 state = BPF_CORE_READ_BITFIELD(connection, icsk_ca_state);
	u32 out = tcp->packets_out;
	u32 unsent = tcp->write_seq - tcp->snd_nxt;
	u32 flight = out - tcp->sacked_out - tcp->lost_out + tcp->retrans_out;
	u32 cwnd = tcp->snd_cwnd;

	if (!out && !unsent)
		return HOLD_IDLE;
	if (state == TCP_CA_Loss)
		return HOLD_LOSS;
	if (state == TCP_CA_Recovery)
		return HOLD_RECOVERY;
	if (!unsent) {
		struct socket *socket = sk->sk_socket;

		return socket && (socket->flags & (1 << SOCK_NOSPACE)) ? HOLD_SEND_BUFFER : HOLD_DRAINED;
	}
	/* As tcp_snd_wnd_test: what is next would end beyond the window. */
	if ((s32)(tcp->snd_nxt + tcp->mss_cache - (tcp->snd_una + tcp->snd_wnd)) > 0)
		return HOLD_RECEIVE_WINDOW;
	if (flight >= cwnd || BPF_CORE_READ_BITFIELD(tcp, is_cwnd_limited))
		return cwnd < tcp->snd_ssthresh ? HOLD_SLOW_START : HOLD_CONGESTION_WINDOW;
	return HOLD_LOCAL;
}
