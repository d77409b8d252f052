/*
 * Connections that failed: what came over them has no length, and a service that fails quickly looks quick.
 */
#ifndef FATHOM_REQUESTS_FAILURES_H
#define FATHOM_REQUESTS_FAILURES_H

#include "state.bpf.h"

/* Whether something was asked and nothing ever came back: who says good-bye before closing has been answered before. */
static __always_inline bool was_never_answered(struct connection *c)
{
	if (!c->began_ns || c->flags & ONE_WAY)
		return false;
	return c->flags & INBOUND ? !c->sends && c->read_ns : !c->arrivals;
}

/*
 * A connection changes from a state in which both could send. What goes to its end at once was reset, by a peer or by a program that closes
 * what it has not read; what could not be connected was refused or not answered. To give up connecting is no error.
 */
static __always_inline void see_failure(struct connection *c, struct sock *sk, int before, int now)
{
	struct sums *sums = sums_at(c->endpoint);
	bool was_open = before == TCP_ESTABLISHED || before == TCP_CLOSE_WAIT;

	if (!sums)
		return;
	if (now == TCP_CLOSE && before == TCP_SYN_SENT && sk->sk_err)
		COUNT(sums->connects_failed);
	if (now == TCP_CLOSE && was_open)
		COUNT(sums->resets);
	if (was_open && !(c->flags & FAILED) && was_never_answered(c)) {
		c->flags |= FAILED;
		COUNT(sums->closed_unanswered);
	}
}

#endif
