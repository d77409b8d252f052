/*
 * What stood in the kernel after the program had given it away, and why. TCP knows to the microsecond when it sent what was
 * acknowledged last, so this costs nothing but a look at the end of each exchange.
 */
#ifndef FATHOM_REQUESTS_UNSENT_H
#define FATHOM_REQUESTS_UNSENT_H

#include "connection.bpf.h"

/* What is said of one exchange only. */
#define OF_SENDING (HELD | RESENT | WINDOW_FULL)
/*
 * The program gives away more of what it has begun to send. With Nagle's algorithm the kernel holds back what fills no
 * segment while something is on its way: here because all before it has been sent, and not all of it acknowledged.
 */
static __always_inline void see_hold(struct connection *c, struct tcp_sock *tcp)
{
	__u32 unsent = tcp->write_seq - tcp->snd_nxt;
	bool is_held = config.sees_begin_of_send ? !unsent : unsent && unsent < tcp->mss_cache;

	if (tcp->snd_una == tcp->snd_nxt || !is_held || BPF_CORE_READ_BITFIELD(tcp, nonagle))
		return;
	c->held_seq = tcp->snd_nxt;
	c->flags |= HELD;
}

/* For how long the peer's window has been full since that was last asked, in ns. */
static __always_inline __u64 window_full_ns(struct connection *c, struct tcp_sock *tcp)
{
	__u32 before = c->window_ticks;

	c->window_ticks = window_ticks(tcp);
	return (__u64)(c->window_ticks - before) * config.tick_ns;
}

/* When the last byte that was handed to the kernel left it; if it has not left yet, now. 0: unknown. */
static __always_inline __u64 left_at(struct connection *c, struct tcp_sock *tcp, __u64 now_ns)
{
	__u64 since_ns;

	if (tcp->snd_nxt != tcp->write_seq)
		return now_ns;
	if (c->flags & CLOSING) {
		/* What was acknowledged last was the end of the connection. Of data only the jiffy is known: the earliest. */
		since_ns = (__u64)((__u32)bpf_jiffies64() - tcp->lsndtime + 1) * config.tick_ns;
		return since_ns < now_ns ? now_ns - since_ns : 0;
	}
	return tcp->snd_una == tcp->write_seq ? tcp->first_tx_mstamp * 1000 : 0;
}

/* All that was given away by `given_ns` has left, or it is too late to wait for it. */
static __always_inline void see_leave(struct connection *c, struct tcp_sock *tcp, __u64 given_ns, __u64 now_ns)
{
	__u64 left_ns = left_at(c, tcp, now_ns);

	c->window_full_ns = window_full_ns(c, tcp);
	if (left_ns > now_ns)
		left_ns = now_ns;
	if (left_ns <= given_ns + AT_ONCE_NS) {
		c->flags &= ~OF_SENDING;
		return;
	}
	c->unsent_ns = left_ns - given_ns;
	if (c->window_full_ns > c->unsent_ns / 2)
		c->flags |= WINDOW_FULL;
	/* More than a segment was not held for that. */
	if (tcp->write_seq - c->held_seq > tcp->mss_cache)
		c->flags &= ~HELD;
}

#endif
