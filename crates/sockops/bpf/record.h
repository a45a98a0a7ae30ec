/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the program and user space tell each other; `src/record.rs` has the other half. */
#pragma once

/* What can be set on a connection, in the order in which it is. */
enum setting { SEND, RECEIVE, CLAMP, PACING, CONGESTION, SETTINGS };

/* What became of a setting that the path asks for. */
enum fate {
	/* It was set. */
	SET,
	/* It was set, to less than the path needs: net.core.wmem_max or rmem_max allows no more. */
	CUT,
	/* Nothing to do: the kernel's own tuning reaches as far, or the connection has this congestion control. */
	SUFFICES,
	/* net.core.wmem_max or rmem_max allows less than the kernel's own tuning. */
	SHORT,
	/* The program has set it, or the route. */
	OWN,
	/* The administrator has changed the sysctl since the first connection of this network namespace. */
	CHANGED,
	/* The kernel refused. */
	REFUSED,
	FATES
};

/* Numbers of errors are below; a power of two, for the verifier. */
#define ERRNOS 256

/* The prefix of a path, in IPv6; IPv4 is mapped into it. */
struct prefix {
	u32 bits;
	u32 address[4];
};

/* What connections to a prefix need; 0 and the empty name leave things alone. */
struct target {
	/* Sizes of the buffers, as the kernel keeps them: twice what a program asks for. */
	u32 send_bytes;
	u32 receive_bytes;
	u32 clamp_bytes;
	u32 pacing_bytes_per_s;
	char congestion[TCP_CA_NAME_MAX];
};

/* Written by user space while the program runs. */
struct config {
	/* What all connections together may be granted. */
	u64 memory_bytes;
	u32 connections;
	/* net.core.wmem_max and rmem_max. */
	u32 wmem_max;
	u32 rmem_max;
	/* TCP is under memory pressure: no buffer is granted. */
	u32 is_pressed;
};

/* What is granted now. */
struct granted {
	u64 memory_bytes;
	u64 connections;
};

struct counts {
	/* Connections that were opened or accepted, those with a known path, and those with a setting of ours. */
	u64 seen;
	u64 known;
	u64 tuned;
	/* Connections with a known path that were left alone: too many, too much memory, memory pressure. */
	u64 over_connections;
	u64 over_memory;
	u64 pressed;
	u64 settings[SETTINGS][FATES];
	u64 refused[ERRNOS];
};
