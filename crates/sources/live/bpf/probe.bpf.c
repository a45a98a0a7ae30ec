// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where the packets and the time of this host's TCP connections go.
 *
 * Everything is added up next to the socket, in its storage: the socket's lock orders all writers. Packets carry their
 * own arrival time (skb->tstamp, as long as some socket asks for SO_TIMESTAMPING), so no table of packets is needed.
 * Only changes of state and the end of a flow are reported as they happen; the rest is read at intervals.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>
#include "record.h"

/* The license that the kernel reads: functions for GPL programs are called. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The hash of the sources; a test compares it with them. */
const char built_from[] SEC(".slowpath") = "slowpath-bpf-source:" SOURCE_HASH;

/* Written before the programs are loaded. In a section of its own: a map with this and nothing else. */
const volatile struct config config SEC(".rodata.config") = {};

#include "read.h"
#include "clocks.h"
#include "waits.h"
#include "hold.h"
#include "exact.h"
#include "softirqs.h"
#include "list.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} records SEC(".maps");

PER_CPU(struct totals, totals)

static __always_inline void count_no_memory(void)
{
	struct totals *host = totals_here();

	if (host)
		host->no_memory++;
}

/* Reserves room for a record, or counts that there was none. */
static __always_inline void *reserve_record(u64 bytes)
{
	void *record = bpf_ringbuf_reserve(&records, bytes, 0);

	if (!record) {
		struct totals *host = totals_here();

		if (host)
			host->ring_full++;
	}
	return record;
}

static __always_inline bool has_port(struct sock *sk)
{
	return !config.port || sk->__sk_common.skc_num == config.port ||
	       sk->__sk_common.skc_dport == bpf_htons(config.port);
}

static __noinline u64 cgroup_of(struct sock *sk)
{
	struct cgroup *cgroup;
	struct kernfs_node *node;

	if (!sk)
		return 0;
	cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	node = cgroup ? BPF_CORE_READ(cgroup, kn) : 0;
	return node ? BPF_CORE_READ(node, id) : 0;
}

static __always_inline void put_address(u8 *to, u32 v4, const struct in6_addr *v6, bool is_v6)
{
	u32 *words = (u32 *)to;

	if (is_v6) {
		words[0] = v6->in6_u.u6_addr32[0];
		words[1] = v6->in6_u.u6_addr32[1];
		words[2] = v6->in6_u.u6_addr32[2];
		words[3] = v6->in6_u.u6_addr32[3];
	} else {
		words[0] = v4;
	}
}

/*
 * Starts the record of an unknown flow. The kernel counts a segment before it lies on the backlog (tcp_segs_in): while
 * one does, how many it had counted before is known only of a connection that had not received anything.
 */
static __noinline struct flow *open_flow(struct sock *sk, u32 segments, u64 now_ns)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct flow *flow;
	u32 netns;
	bool is_v6;

	if (!tcp)
		return 0;
	netns = sk->__sk_common.skc_net.net->ns.inum;
	if (!is_watched(netns) || (sk->sk_lock.owned && tcp->bytes_received))
		return 0;
	flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow) {
		count_no_memory();
		return 0;
	}
	is_v6 = sk->__sk_common.skc_family == AF_INET6;
	flow->cookie = bpf_get_socket_cookie(sk);
	flow->last_ns = now_ns;
	flow->netns = netns;
	flow->cgroup = cgroup_of(sk);
	flow->segments_before = sk->sk_lock.owned ? 0 : tcp->data_segs_in - segments;
	flow->read_to = tcp->copied_seq;
	flow->is_closed = !tcp->rcv_wnd;
	flow->again = tcp->total_retrans;
	flow->mss_largest = tcp->mss_cache;
	/* Data written before the first answer arrived counts from the start. bytes_acked includes the SYN. */
	flow->written_before = tcp->bytes_acked;
	if (tcp->bytes_acked > 1)
		flow->written_before += tcp->write_seq - tcp->snd_una;
	flow->family = sk->__sk_common.skc_family;
	flow->local_port = sk->__sk_common.skc_num;
	flow->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	put_address(flow->local, sk->__sk_common.skc_rcv_saddr, &sk->__sk_common.skc_v6_rcv_saddr, is_v6);
	put_address(flow->remote, sk->__sk_common.skc_daddr, &sk->__sk_common.skc_v6_daddr, is_v6);
	if (!config.has_iterator && list_flow(flow->cookie, sk, flow))
		count_no_memory();
	return flow;
}

static __always_inline struct flow *known_flow(struct sock *sk)
{
	return has_port(sk) ? bpf_sk_storage_get(&flows, sk, 0, 0) : 0;
}

#include "drops.h"
#include "sizes.h"
#include "output.h"

static __noinline int tell_turn(struct flow *flow, u32 turn, u64 value, u64 at_ns)
{
	struct turn *told;

	if (!flow)
		return 0;
	told = reserve_record(sizeof(*told));
	if (!told)
		return 0;
	told->kind = RECORD_TURN;
	told->turn = turn;
	told->cookie = flow->cookie;
	told->at_ns = at_ns;
	told->value = value;
	bpf_ringbuf_submit(told, 0);
	return 0;
}

/*
 * The changes of the window since it was last checked, by a segment or a read. Nothing is missed between two checks:
 * the window opens only after a read (tcp_cleanup_rbuf), and closes only by arriving data.
 */
static __always_inline void take_window(struct tcp_sock *tcp, struct flow *flow)
{
	u8 is_closed = !tcp->rcv_wnd;

	if (is_closed == flow->is_closed)
		return;
	flow->is_closed = is_closed;
	flow->zero_windows += is_closed;
	/* The ACK of the last segment advertised it. */
	if (is_closed)
		tell_turn(flow, TURN_ZERO_WINDOW, 0, flow->last_ns);
	else
		tell_turn(flow, TURN_WINDOW_OPENED, 0, time_of_day());
}

/*
 * Whether the receive buffer has changed its size. It is checked with the first segment and when a process reads, which
 * is what lets it grow (tcp_rcv_space_adjust); not with each segment, since a CPU on which packets arrive keeps writing
 * to this cache line (sk_backlog, sk_rmem_alloc).
 */
static __always_inline void take_buffer(struct sock *sk, struct flow *flow)
{
	u32 rcvbuf = sk->sk_rcvbuf;

	if (rcvbuf != flow->rcvbuf) {
		flow->rcvbuf = rcvbuf;
		tell_turn(flow, TURN_RECEIVE_BUFFER, rcvbuf, flow->grown_ns ? flow->grown_ns : time_of_day());
	}
	flow->grown_ns = 0;
}

/* A segment of data reaches TCP; adds up where it waited. */
static __always_inline u32 take_data(struct flow *flow, const struct sk_buff *skb, bool was_on_backlog, u32 end,
				      u32 segments, u64 now_ns)
{
	u64 stamp_ns = stamp_of(skb);
	u64 waited_ns = stamp_ns && now_ns > stamp_ns ? now_ns - stamp_ns : 0;
	u32 place = PLACE_SOFTIRQ;

	flow->segments += segments;
	if (was_on_backlog)
		place = on_cpu_since() > stamp_ns ? PLACE_HOLDER_OFF_CPU : PLACE_BACKLOG;
	if (stamp_ns)
		add_wait(&flow->waits[place], waited_ns, segments);
	else
		flow->unstamped += segments;
	add_arrival(flow, end, stamp_ns ? stamp_ns : now_ns);
	return place;
}

/* A segment of an established connection reaches TCP. */
static __always_inline int take_segment(struct sock *sk, const struct sk_buff *skb, bool was_on_backlog)
{
	u32 seq, end, segments, ack;
	struct tcp_sock *tcp;
	struct flow *flow;
	u64 now_ns;

	if (!has_port(sk))
		return 0;
	tcp = tcp_of(sk);
	if (!tcp)
		return 0;
	seq = READ_AT(skb->cb, tcp_skb_cb, seq);
	end = READ_AT(skb->cb, tcp_skb_cb, end_seq);
	/* A FIN takes a sequence number and is not data. */
	if (seq != end && READ_AT(skb->cb, tcp_skb_cb, tcp_flags) & TCPHDR_FIN)
		end--;
	segments = seq != end ? segments_of(skb) : 0;
	now_ns = time_of_day();
	flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow) {
		flow = open_flow(sk, segments, now_ns);
		if (!flow)
			return 0;
		take_buffer(sk, flow);
	}
	take_window(tcp, flow);
	ack = READ_AT(skb->cb, tcp_skb_cb, ack_seq);
	take_holds(sk, tcp, flow, ack, now_ns);
	take_sizes(tcp, flow, ack);
	if (segments) {
		u32 place = take_data(flow, skb, was_on_backlog, end, segments, now_ns);

		if (config.is_exact)
			take_flights(sk, seq, end, place, now_ns);
	}
	flow->last_ns = now_ns;
	return 0;
}

/*
 * Each segment of an established connection passes here, before TCP looks at it (tcp_rcv_established): from a softirq,
 * or, if it was on the backlog, from the process that had locked the socket. A softirq with segments of other
 * connections may interrupt the process in the middle of this, and no program runs on top of itself
 * (bpf_prog_inc_misses_counter): so there are two.
 */
SEC("tp_btf/tcp_probe")
int BPF_PROG(slowpath_direct, struct sock *sk, const struct sk_buff *skb)
{
	return sk->sk_lock.owned ? 0 : take_segment(sk, skb, false);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(slowpath_backlog, struct sock *sk, const struct sk_buff *skb)
{
	return sk->sk_lock.owned ? take_segment(sk, skb, true) : 0;
}

/* A packet is passed to the protocols; its data begins with the IP header. Only for the oracle. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(slowpath_arrival, struct sk_buff *skb)
{
	u32 from, to, header, seq, length;
	u16 source, dest;
	void *ip = skb->data;
	void *tcp;

	if (!is_watched(skb->dev->nd_net.net->ns.inum))
		return 0;
	if (skb->protocol == bpf_htons(0x0800)) {
		if (READ_AT(ip, iphdr, protocol) != 6)
			return 0;
		header = (byte_at(ip) & 15) * 4;
		from = READ_AT(ip, iphdr, saddr);
		to = READ_AT(ip, iphdr, daddr);
	} else if (skb->protocol == bpf_htons(0x86dd)) {
		struct in6_addr address;

		if (READ_AT(ip, ipv6hdr, nexthdr) != 6)
			return 0;
		header = 40;
		address = READ_AT(ip, ipv6hdr, saddr);
		from = folded(&address);
		address = READ_AT(ip, ipv6hdr, daddr);
		to = folded(&address);
	} else {
		return 0;
	}
	tcp = ip + header;
	source = READ_AT(tcp, tcphdr, source);
	dest = READ_AT(tcp, tcphdr, dest);
	if (config.port && source != bpf_htons(config.port) && dest != bpf_htons(config.port))
		return 0;
	seq = bpf_ntohl(READ_AT(tcp, tcphdr, seq));
	/* Data offset, in words. */
	length = skb->len - header - (byte_at(tcp + 12) >> 4) * 4;
	if ((s32)length > 0)
		put_flight(segment_key(connection_key(from, to, source, dest), seq), seq + length, segments_of(skb),
			   time_of_day());
	return 0;
}

/* A process has read (tcp_rcv_space_adjust, from tcp_recvmsg_locked and tcp_read_sock). */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(slowpath_read, struct sock *sk)
{
	struct flow *flow = known_flow(sk);
	u64 waited_ns = 0, delay_ns;
	struct task_struct *task;
	struct tcp_sock *tcp;
	u32 copied;

	if (!flow)
		return 0;
	tcp = tcp_of(sk);
	if (!tcp)
		return 0;
	take_window(tcp, flow);
	take_buffer(sk, flow);
	copied = tcp->copied_seq;
	/* tcp_read_sock counts the FIN before it gets here, tcp_recvmsg_locked after. */
	if (sk->sk_shutdown & RCV_SHUTDOWN && copied == tcp->rcv_nxt)
		copied--;
	if ((s32)(copied - flow->read_to) > 0)
		flow->read += copied - flow->read_to;
	task = bpf_get_current_task_btf();
	if (flow->arrival_tail != flow->arrival_head) {
		u64 came_ns = flow->arrivals[flow->arrival_tail & (ARRIVALS - 1)].at_ns;
		u64 now_ns = time_of_day();

		waited_ns = now_ns > came_ns ? now_ns - came_ns : 0;
		read_arrivals(flow, flow->read_to, copied, now_ns);
		compare_clocks(task, now_ns);
	}
	flow->read_to = copied;
	delay_ns = task->sched_info.run_delay;
	if (flow->has_reader && flow->reader == task->pid && delay_ns > flow->reader_run_delay) {
		u64 since_ns = delay_ns - flow->reader_run_delay;

		/* Its waits while there was nothing to read here cost this flow nothing. */
		if (waited_ns)
			add_wait(&flow->waits[PLACE_RUN_QUEUE], since_ns < waited_ns ? since_ns : waited_ns, 1);
	}
	flow->has_reader = 1;
	flow->reader = task->pid;
	flow->reader_run_delay = delay_ns;
	return 0;
}

/* The receive buffer may grow now: the reader read more than ever in an RTT (tcp_rcv_space_adjust, from 6.16 on). */
SEC("tp_btf/tcp_rcvbuf_grow")
int BPF_PROG(slowpath_grow, struct sock *sk)
{
	struct flow *flow = known_flow(sk);

	if (flow)
		flow->grown_ns = time_of_day();
	return 0;
}

/* The congestion state changes; the old one is still set (tcp_set_ca_state, net/ipv4/tcp_cong.c). */
static __always_inline int take_state(struct sock *sk, const u8 state)
{
	struct inet_connection_sock *connection;
	struct flow *flow = known_flow(sk);
	struct tcp_sock *tcp;
	u32 before;
	bool is_undone;

	if (!flow)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	connection = (struct inet_connection_sock *)tcp;
	before = BPF_CORE_READ_BITFIELD(connection, icsk_ca_state);
	if (state == TCP_CA_Loss)
		flow->timeouts++;
	if (state == before)
		return 0;
	/* tcp_undo_cwnd_reduction clears the marker; the end of a needed recovery does not. */
	is_undone = state < TCP_CA_Recovery && !tcp->undo_marker;
	if (is_undone && before == TCP_CA_Loss) {
		flow->timeouts_undone++;
		tell_turn(flow, TURN_SPURIOUS_TIMEOUT, 0, time_of_day());
	} else if (is_undone && before == TCP_CA_Recovery) {
		tell_turn(flow, TURN_UNDO, 0, time_of_day());
	}
	if (state != TCP_CA_Disorder && !(before == TCP_CA_Disorder && state == TCP_CA_Open))
		tell_turn(flow, TURN_STATE, state, time_of_day());
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(slowpath_state_direct, struct sock *sk, const u8 state)
{
	return sk->sk_lock.owned ? 0 : take_state(sk, state);
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(slowpath_state_backlog, struct sock *sk, const u8 state)
{
	return sk->sk_lock.owned ? take_state(sk, state) : 0;
}

/* By the timer and by ACKs, so in a softirq or in the process that has locked the socket (__tcp_retransmit_skb). */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(slowpath_again_direct, struct sock *sk, struct sk_buff *skb)
{
	return sk->sk_lock.owned ? 0 : take_retransmission(sk, skb);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(slowpath_again_backlog, struct sock *sk, struct sk_buff *skb)
{
	return sk->sk_lock.owned ? take_retransmission(sk, skb) : 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(slowpath_close, const struct sock *sk, const int before, const int state)
{
	struct flow *flow;

	if (state != TCP_FIN_WAIT1 && state != TCP_LAST_ACK)
		return 0;
	flow = known_flow((struct sock *)sk);
	if (flow)
		flow->has_fin = 1;
	return 0;
}

/* SOCK_INODE, include/net/sock.h. */
static __always_inline u64 inode_of(const struct socket *socket)
{
	const void *both = (const void *)socket - bpf_core_field_offset(struct socket_alloc, socket);

	return socket ? READ_AT(both, socket_alloc, vfs_inode.i_ino) : 0;
}

static __noinline void fill_sample(struct sample *to, struct sock *sk, struct tcp_sock *tcp, const struct flow *flow)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)tcp;
	u32 said;

	to->at_ns = time_of_day();
	to->inode = inode_of(sk->sk_socket);
	to->bytes_acked = tcp->bytes_acked;
	to->ca_state = BPF_CORE_READ_BITFIELD(connection, icsk_ca_state);
	to->snd_cwnd = tcp->snd_cwnd;
	to->snd_ssthresh = tcp->snd_ssthresh;
	to->srtt_us = tcp->srtt_us >> 3;
	/* As tcpi_rttvar (tcp_get_info): the deviation itself, not the bound from which the timeout is computed. */
	to->rttvar_us = tcp->mdev_us >> 2;
	to->min_rtt_us = tcp->rtt_min.s[0].v;
	to->rto_us = (u64)connection->icsk_rto * config.tick_ns / 1000;
	to->snd_wnd = tcp->snd_wnd;
	/* The kernel's window may exceed what the header can express (tcp_select_window). */
	said = 65535u << BPF_CORE_READ_BITFIELD(tcp, rx_opt.rcv_wscale);
	to->rcv_wnd = tcp->rcv_wnd < said ? tcp->rcv_wnd : said;
	to->packets_out = tcp->packets_out;
	to->sacked_out = tcp->sacked_out;
	to->lost_out = tcp->lost_out;
	to->retrans_out = tcp->retrans_out;
	to->notsent = tcp->write_seq - tcp->snd_nxt;
	to->unacked = tcp->write_seq - tcp->snd_una;
	to->wmem_queued = sk->sk_wmem_queued;
	to->sndbuf = sk->sk_sndbuf;
	to->receive_queue = tcp->rcv_nxt - tcp->copied_seq;
	to->rmem_alloc = sk->sk_backlog.rmem_alloc.counter;
	to->rcvbuf = sk->sk_rcvbuf;
	to->backlog = sk->sk_backlog.len;
	to->mss = tcp->mss_cache;
	to->rcv_rtt_us = tcp->rcv_rtt_est.rtt_us >> 3;
	to->data_segs_in = tcp->data_segs_in;
	to->total_retrans = tcp->total_retrans;
	to->hold = hold_so_far(sk, tcp, flow, to->at_ns) + 1;
	to->state = sk->__sk_common.skc_state;
}

static __always_inline void fill_record(struct record *to, u32 kind, struct sock *sk, struct tcp_sock *tcp,
					const struct flow *flow)
{
	to->kind = kind;
	to->pad = 0;
	bpf_probe_read_kernel(&to->flow, sizeof(to->flow), flow);
	fill_sample(&to->sample, sk, tcp, &to->flow);
	__builtin_memset(&to->output, 0, sizeof(to->output));
	fill_output(&to->output, sk, tcp);
}

/* The flow has ended: what was added up since the last read is reported with it. */
SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(slowpath_end, struct sock *sk)
{
	/* Its port may already be released (inet_put_port). */
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	struct tcp_sock *tcp;
	struct record *record;

	if (!flow)
		return 0;
	if (!config.has_iterator)
		unlist_flow(flow->cookie);
	tcp = bpf_skc_to_tcp_sock(sk);
	record = tcp ? reserve_record(sizeof(*record)) : 0;
	if (!record)
		return 0;
	fill_record(record, RECORD_ENDED, sk, tcp, flow);
	bpf_ringbuf_submit(record, 0);
	/* Its storage lives as long as somebody has the socket. */
	flow->cookie = 0;
	return 0;
}

/* Reads every live flow. */
SEC("iter/bpf_sk_storage_map")
int slowpath_flows(struct bpf_iter__bpf_sk_storage_map *context)
{
	struct seq_file *seq = context->meta->seq;
	struct sock *sk = context->sk;
	struct flow *flow = context->value;
	u64 kind = RECORD_ALIVE;
	struct sample sample = {};
	struct output output = {};
	struct tcp_sock *tcp;

	/* There are no more. */
	if (!sk)
		set_clocks();
	if (!sk || !flow || !flow->cookie)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp)
		return 0;
	fill_sample(&sample, sk, tcp, flow);
	bpf_seq_write(seq, &kind, sizeof(kind));
	bpf_seq_write(seq, &sample, sizeof(sample));
	bpf_seq_write(seq, flow, sizeof(*flow));
	fill_output(&output, sk, tcp);
	bpf_seq_write(seq, &output, sizeof(output));
	return 0;
}

/*
 * Reads one live flow, where the kernel has no iterator over them that this process may use. A flow that ended meanwhile
 * is not reported: its socket may have become another's while it was read.
 */
SEC("syscall")
int slowpath_flow(u64 *cookie)
{
	struct listed *listed;
	struct record *record;
	struct tcp_sock *tcp;
	u64 asked = *cookie;

	/* There are no more. */
	if (!asked) {
		set_clocks();
		return 0;
	}
	listed = bpf_map_lookup_elem(&list, &asked);
	if (!listed)
		return 0;
	record = bpf_ringbuf_reserve(&alive, sizeof(*record), 0);
	if (!record)
		return 0;
	tcp = bpf_rdonly_cast((void *)listed->tcp, bpf_core_type_id_kernel(struct tcp_sock));
	fill_record(record, RECORD_ALIVE, (struct sock *)tcp, tcp, (void *)listed->flow);
	if (bpf_map_lookup_elem(&list, &asked))
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
	return 0;
}
