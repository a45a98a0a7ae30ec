/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the probe reports, as bytes: the same layout as in src/record.rs. All times are nanoseconds of CLOCK_REALTIME,
 * all durations nanoseconds. Numbers of 32 bits wrap; their reader takes differences.
 */
#pragma once

#define NETNSES 4

/* Which flows are watched. */
struct config {
	s64 tai_minus_realtime_ns;
	/* Sockets in one of these network namespaces, the first ones; if all are 0, in any. */
	u32 netns[NETNSES];
	/* 0 is any. */
	u16 port;
	/* Whether each segment is also found by its sequence numbers. */
	u8 is_exact;
	/* Whether this kernel's drops name the socket (trace_kfree_skb, from 6.11 on). */
	u8 drops_name_socket;
	/* The length of a kernel tick (jiffies). */
	u32 tick_ns;
	/* Whether this kernel iterates over the flows for us. */
	u8 has_iterator;
	u8 pads[7];
};

/* Where something waited. */
enum place {
	/* A packet, from its arrival on the host until TCP had it: softirq took it there. */
	PLACE_SOFTIRQ,
	/* A packet that found the socket locked and waited on its backlog. */
	PLACE_BACKLOG,
	/* Such a packet, while the process with the lock got its CPU only after the packet had arrived. */
	PLACE_HOLDER_OFF_CPU,
	/* Bytes, from their arrival on the host until the process had read them. */
	PLACE_RECEIVE_QUEUE,
	/* The reading process, runnable and waiting for a CPU. */
	PLACE_RUN_QUEUE,
	PLACES,
};

/*
 * Four to an octave, from 1.024 us on; the last takes all above 15 s. Those that contain a boundary of Wu et al.'s
 * classes (1, 10, 100, 200 ms, 1 s) are split in two.
 */
#define WAIT_BUCKETS 101

struct waits {
	u32 counts[WAIT_BUCKETS];
	u32 pad;
	u64 longest_ns;
};

/* A CPU's receive softirqs. */
struct softirqs {
	/* Since when the next one has waited to run; 0 if none does. */
	u64 raised_ns;
	struct waits waits;
};

/* What held the sender back: each instant has one. */
enum hold {
	/* Everything was acknowledged, and nothing written. */
	HOLD_IDLE,
	/* Everything written was in flight. */
	HOLD_DRAINED,
	/* Everything written was in flight, and the writer waited for room in the send buffer. */
	HOLD_SEND_BUFFER,
	/* The peer's window was used up. */
	HOLD_RECEIVE_WINDOW,
	/* The congestion window was used up, below ssthresh. */
	HOLD_SLOW_START,
	/* The congestion window was used up. */
	HOLD_CONGESTION_WINDOW,
	/* Fast retransmit. */
	HOLD_RECOVERY,
	/* After a timeout, including its wait. */
	HOLD_LOSS,
	/* Both windows had room, and neither of the two below held it: Nagle, autocorking, a full driver. */
	HOLD_LOCAL,
	HOLDS,
	/* The rate that the application allows (SO_MAX_PACING_RATE), with room in both windows. */
	HOLD_PACED = HOLDS,
	/* As much as TCP lets a socket queue waited in the queue of its own device (tcp_small_queue_check). */
	HOLD_QUEUED,
};

/* Payload that arrived: all below `end` that no earlier arrival has; its first part at `at_ns`. */
struct arrival {
	u64 at_ns;
	u32 end;
	u32 pad;
};

#define ARRIVALS 64

/* Packets dropped for a reason; 0 is none. */
struct drop {
	u32 reason;
	u32 packets;
};

#define DROPS 8

/*
 * A flow's part that the probe keeps next to the socket. Segments arrive on one CPU and are read on another, and each
 * cache line that both write costs both: there is one, the first. The kernel lets this begin 8 bytes into a line
 * (bpf_local_storage_elem, include/linux/bpf_local_storage.h).
 */
struct flow {
	/* The last segment that TCP received. */
	u64 last_ns;
	/* Segments of data that TCP received. */
	u64 segments;
	/* Segments without a timestamp, or with one of another clock. */
	u64 unstamped;
	/* Unread arrivals: from tail to before head; from the first place on if all earlier ones were read. */
	u32 arrival_head;
	u32 arrival_tail;
	/* Arrivals within this time are merged. */
	u32 quantum_ns;
	/* The window that it advertises is closed. */
	u8 is_closed;
	/* The last segment acknowledged everything written. */
	u8 is_idle;
	/* The lower half of tcp_sock.total_retrans at the last segment. */
	u16 again;
	struct arrival arrivals[ARRIVALS];

	u64 cookie;
	u64 cgroup;

	/* The reader's cache line. What was read by it since the first segment. */
	u64 read;
	u64 reader_run_delay;
	/* When the kernel last started to let the receive buffer grow; 0 if unknown. */
	u64 grown_ns;
	/* sk_rcvbuf as last reported; the first segment reports it. */
	u32 rcvbuf;
	u32 reader;
	/* tcp_sock.copied_seq after the last read. */
	u32 read_to;
	/* The reader is known, and so its waits for a CPU. */
	u8 has_reader;
	/* A FIN was sent, which takes a sequence number. */
	u8 has_fin;
	u16 pad;

	/* How often the window that it advertises closed. */
	u32 zero_windows;
	/* Timeouts, and those undone. */
	u32 timeouts;
	u32 timeouts_undone;
	u32 netns;
	/* What was written to the socket before the first counted segment. */
	u64 written_before;
	/* tcp_sock.data_segs_in before it. */
	u32 segments_before;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u16 pads[3];
	u8 local[16];
	u8 remote[16];
	/* There is no room for more reasons: they count as the host's. */
	struct drop drops[DROPS];
	u64 held_ns[HOLDS];
	struct waits waits[PLACES];
	/* Fields that files of version 2 lack, here and after this in a record. HOLD_PACED and HOLD_QUEUED. */
	u64 paced_ns;
	u64 queued_ns;
	/* Retransmissions as long as the MSS was never lowered, and the payload of the smallest of these segments. */
	u32 resent;
	u32 resent_smallest;
	/* The payload of the largest segment that can have arrived, by the ACKs; and the largest MSS. */
	u32 delivered_largest;
	u32 mss_largest;
	/* Of the retransmissions, those before the last segment arrived: the path is alive after them. */
	u32 resent_answered;
	u32 last_pad;
};

/* The first arrival ends the first line, and the reader's begins one. */
_Static_assert(8 + __builtin_offsetof(struct flow, arrivals[1]) == 64, "struct flow");
_Static_assert((8 + __builtin_offsetof(struct flow, read)) % 64 == 0, "struct flow");

/* A socket's state as the probe reads it. */
struct sample {
	u64 at_ns;
	/* The inode of the process's file; 0 when it has closed it. */
	u64 inode;
	u64 bytes_acked;
	u32 ca_state;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 rttvar_us;
	u32 min_rtt_us;
	u32 rto_us;
	u32 snd_wnd;
	u32 rcv_wnd;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 notsent;
	/* Written and not acknowledged. */
	u32 unacked;
	u32 wmem_queued;
	u32 sndbuf;
	u32 receive_queue;
	u32 rmem_alloc;
	u32 rcvbuf;
	u32 backlog;
	u32 mss;
	u32 rcv_rtt_us;
	u32 data_segs_in;
	u32 total_retrans;
	/* What has held the sender since the last segment: one more than enum hold; 0 in files of version 2. */
	u16 hold;
	/* enum in include/net/tcp_states.h; 0 in files of version 2. */
	u16 state;
};

/* Where a socket's packets leave the host, and what limits their rate. All 0 if unknown. */
struct output {
	/* Bytes a second; ~0 is no limit (SO_MAX_PACING_RATE). */
	u64 max_pacing_rate;
	/* The rate set in its queueing discipline, in bytes a second; 0 if unknown, as for all but tbf. */
	u64 rate;
	/* Bytes of memory that were passed to the device's queue and have not left it. */
	u32 wmem_alloc;
	/* The device of its route; 0 if there is none. */
	u32 ifindex;
	/* Its queueing discipline, for the socket's transmit queue: bytes that wait in it, of all flows, ... */
	u32 backlog;
	/* ... and how often it had to hold packets back to keep its rate. */
	u32 overlimits;
	/* The two are counted where they can be read (not by CPU). */
	u32 has_queue;
	/* errno of the last ICMP error that did not end the connection (sk_err_soft). */
	u32 soft_error;
	/* The path's MTU as far as it is known (icsk_pmtu_cookie). */
	u32 pmtu;
	/* 1 if the rest is known. */
	u32 is_known;
	char device[16];
	char qdisc[16];
};

/* What is read of a live flow, and reported of one that ends. */
struct record {
	u32 kind;
	u32 pad;
	struct sample sample;
	struct flow flow;
	struct output output;
};

enum record_kind {
	RECORD_ALIVE = 1,
	RECORD_ENDED = 2,
	RECORD_TURN = 3,
};

/* A socket's state changed. */
enum turn_kind {
	/* Its congestion state is now `value`; Disorder, and back from it, is not reported. */
	TURN_STATE,
	TURN_SPURIOUS_TIMEOUT,
	TURN_UNDO,
	TURN_ZERO_WINDOW,
	TURN_WINDOW_OPENED,
	/* The receive buffer now has the size `value`. */
	TURN_RECEIVE_BUFFER,
};

struct turn {
	u32 kind;
	u32 turn;
	u64 cookie;
	u64 at_ns;
	u64 value;
};

/* The oracle's counts, one for each CPU. */
struct exact {
	/* In softirq, on the backlog, and there while the holder was off the CPU. */
	struct waits waits[PLACE_HOLDER_OFF_CPU + 1];
	/* Segments that arrived, and those that TCP then received. */
	u64 arrived;
	u64 taken;
	/* Bytes that TCP received without a seen arrival. */
	u64 unknown_bytes;
	/* Segments that were replaced by others. */
	u64 evicted;
};

/* Counts of the whole host, one for each CPU. */
struct totals {
	/* Records that the ring had no room for. */
	u64 ring_full;
	/* Sockets for which there was no memory. */
	u64 no_memory;
};

_Static_assert(sizeof(struct waits) == 416, "src/record.rs");
_Static_assert(sizeof(struct flow) == 3448, "src/record.rs");
_Static_assert(sizeof(struct sample) == 128, "src/record.rs");
_Static_assert(sizeof(struct output) == 80, "src/record.rs");
_Static_assert(sizeof(struct exact) == 1280, "src/record.rs");
