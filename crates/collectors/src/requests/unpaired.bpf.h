/*
 * What needs no pairing of requests and answers, so that it is right also on connections that carry several at once: how often data came
 * and was sent, and how many bytes. Each connection counts for itself, which costs no shared cache line at any event;
 * walks over the connections, and their ends, add what is new to the sums of the endpoint.
 */
#ifndef FATHOM_REQUESTS_UNPAIRED_H
#define FATHOM_REQUESTS_UNPAIRED_H

#include "state.bpf.h"

/* Of a count, what is not in the sums yet, and is from now on: the caller adds it. */
static __always_inline __u32 unsettled(__u32 *settled, __u32 now)
{
	return now - __sync_lock_test_and_set(settled, now);
}

/* Messages count where it is known where each begins. Other small requests come in a segment each, however many lie unread at a read. */
static __always_inline void count_segments(struct connection *c, struct tcp_sock *tcp)
{
	if (!(c->flags & INBOUND && is_framed(c)))
		c->arrivals = tcp->data_segs_in;
}

static __always_inline void settle(struct connection *c, struct tcp_sock *tcp)
{
	struct sums *sums = sums_at(c->endpoint);

	if (!sums)
		return;
	if (tcp)
		count_segments(c, tcp);
	__sync_fetch_and_add(&sums->arrivals, unsettled(&c->settled.arrivals, c->arrivals));
	c->messages_settled = c->messages;
	__sync_fetch_and_add(&sums->sends, unsettled(&c->settled.sends, c->sends));
	if (!tcp)
		return;
	__sync_fetch_and_add(&sums->bytes_in, unsettled(&c->settled.copied_seq, tcp->copied_seq));
	__sync_fetch_and_add(&sums->bytes_out, unsettled(&c->settled.write_seq, tcp->write_seq));
}

/* What was before is nothing of the recording's. */
static __always_inline void settle_from(struct connection *c, struct tcp_sock *tcp)
{
	count_segments(c, tcp);
	c->settled.arrivals = c->arrivals;
	c->settled.copied_seq = tcp->copied_seq;
	c->settled.write_seq = tcp->write_seq;
}

#endif
