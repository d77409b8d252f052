/*
 * From arrivals, reads and sends of one connection to requests and calls.
 *
 * On a connection to a port that the target listens on, a request begins with the first byte that arrives after the answer
 * before and ends with the last byte that is sent before the next arrival, or later where that byte stood in the kernel before it left. On a connection that the target made, a call
 * begins with the first byte sent and ends with the last read before the next byte is sent. Which it was is only known
 * afterwards, so an exchange is reported when the next begins, when the connection ends, or when user space, which walks
 * over all connections several times a second, finds it idle.
 *
 * Arrivals happen in interrupts, others in any thread: fields of a connection may be of two moments when it is used by
 * several CPUs at once, but each exchange is reported by one of them only (see `finish`).
 */
#ifndef FATHOM_REQUESTS_EXCHANGE_H
#define FATHOM_REQUESTS_EXCHANGE_H

#include "state.bpf.h"
#include "hand_over.bpf.h"
#include "unsent.bpf.h"

/* Where a length belongs, four buckets to each power of two. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 power = log2_of(ns | (1 << FIRST_POWER)), quarter = 0, bucket;

	if (power >= FIRST_POWER && power < 64)
		quarter = (ns >> (power - 2)) & 3;
	bucket = (power - FIRST_POWER) * 4 + quarter;
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static __always_inline __u64 slice_of(__u64 ns)
{
	return ns * SLICES_PER_SECOND >> 30;
}

/* What is known of what is under way on a connection, as it ends. */
static __always_inline struct exchange exchange_of(struct connection *c, __u64 began_ns, __u64 end_ns, __u32 flags)
{
	struct exchange e = {
		.began_ns = began_ns,
		.end_ns = end_ns > began_ns ? end_ns : began_ns,
		.read_ns = c->read_ns,
		.answered_ns = c->answered_ns,
		.reader_tid = c->reader_tid,
		.sender_tid = c->sender_tid,
		.bytes_in = c->bytes_in,
		.bytes_out = c->bytes_out,
		.endpoint = c->endpoint,
		.flags = flags,
		.stands_for = 1,
		.unsent_ns = c->unsent_ns,
		.window_full_ns = c->window_full_ns,
		.returned_ns = c->returned_ns,
		.worker_tid = c->worker_tid,
	};

	return e;
}

static __always_inline void tell(struct target *target, struct exchange *e)
{
	if (!target->ending && !is_affordable(&target->rows, e->end_ns * SLICES_PER_SECOND, ROWS_PER_SLICE,
					      &target->losses.over_budget))
		return;
	/* User space looks by itself; to wake it costs more than all the rest. */
	if (bpf_ringbuf_output(&exchanges, e, sizeof(*e), BPF_RB_NO_WAKEUP))
		COUNT(target->losses.ring_full);
}

static __always_inline void add(struct target *target, struct exchange *e)
{
	__u64 took_ns = e->end_ns - e->began_ns, one_in;
	__u64 unread_from = e->flags & OUTBOUND ? e->answered_ns : e->began_ns;
	struct sums *sums = sums_at(e->endpoint);
	__u32 bucket = bucket_of(took_ns);

	if (!sums)
		return;
	COUNT(sums->count);
	__sync_fetch_and_add(&sums->time_ns, took_ns);
	if (e->read_ns > unread_from)
		__sync_fetch_and_add(&sums->unread_ns, e->read_ns - unread_from);
	/* The compiler must not forget the bound that the verifier wants to see. */
	asm volatile("" : "+r"(bucket));
	if (bucket < BUCKETS)
		COUNT(sums->by_latency[bucket]);
	one_in = took_ns >= sums->slow_ns || !sums->one_in ? 1 : sums->one_in;
	/* More end at once than user space could foresee, as after a stop of all threads. */
	if (target->rows.second == slice_of(e->end_ns) && target->rows.sent > ROWS_PER_SLICE / 2)
		one_in *= 16;
	e->stands_for = one_in;
	if (one_in == 1 || bpf_get_prandom_u32() % (__u32)one_in == 0)
		tell(target, e);
}

/* The flags of what ends. On a connection that carries several at once each may be more than one. */
static __always_inline __u32 flags_of(struct connection *c)
{
	if (c->flags & OVERLAPS && c->several < SEVERAL)
		c->several++;
	return c->several < SEVERAL ? c->flags : c->flags | OVERLAPS;
}

/* The exchange ends with its answer. The CPU that takes it out of the connection reports it, so it is reported once. */
static __always_inline void finish(struct connection *c, struct tcp_sock *tcp, __u64 now_ns)
{
	__u64 began_ns = c->began_ns, end_ns = c->last_ns;
	struct target *target = target_of(c->target);
	struct exchange e;

	if (began_ns && __sync_val_compare_and_swap(&c->began_ns, began_ns, 0) == began_ns) {
		if (c->flags & INBOUND && tcp) {
			see_leave(c, tcp, end_ns, now_ns);
			end_ns += c->unsent_ns;
		}
		e = exchange_of(c, began_ns, end_ns, flags_of(c));
		if (target && !is_followed(c))
			add(target, &e);
	}
	c->flags &= ~(OVERLAPS | OF_SENDING);
}

/*
 * What is under way ends without one. What was read and is of a peer that often needs no answer is no loss. Streams that are never
 * answered have no end and no row: the row of their connection stands for them.
 */
static __always_inline void give_up(struct connection *c, __u64 now_ns)
{
	struct target *target = target_of(c->target);
	__u64 began_ns = c->began_ns;
	__u32 flags = c->flags;
	struct exchange e;

	if (!began_ns || __sync_val_compare_and_swap(&c->began_ns, began_ns, 0) != began_ns)
		return;
	if (c->given_up_ns) {
		now_ns = c->given_up_ns;
		flags |= GIVEN_UP;
	}
	if (now_ns - began_ns < UNANSWERED_NS || (flags & ONE_WAY && (c->read_ns || flags & OUTBOUND)))
		return;
	if (!c->answered_ns)
		flags |= UNANSWERED;
	e = exchange_of(c, began_ns, now_ns, flags);
	if (target && (!is_followed(c) || c->streams_open))
		tell(target, &e);
}

static __always_inline void begin(struct connection *c, __u64 at_ns, __u32 write_seq, struct tcp_sock *tcp)
{
	c->read_ns = 0;
	c->answered_ns = 0;
	c->last_ns = 0;
	c->given_up_ns = 0;
	c->touched_ns = at_ns;
	c->write_seq = write_seq;
	c->copied_seq = tcp ? tcp->copied_seq : 0;
	c->reader_tid = 0;
	c->sender_tid = 0;
	c->bytes_in = 0;
	c->bytes_out = 0;
	c->unsent_ns = 0;
	c->window_full_ns = 0;
	c->returned_ns = 0;
	c->worker_tid = 0;
	c->streams_of_exchange = 0;
	if (c->flags & UDP)
		c->seen_seq = 0;
	c->flags &= ~(OF_SENDING | PUSHED);
	c->began_ns = at_ns;
}

static __always_inline __u32 written(struct tcp_sock *tcp)
{
	return tcp ? tcp->write_seq : 0;
}

/* Whether there is unread data; the end of the peer's data takes a sequence number as well. */
static __always_inline bool has_unread(struct sock *sk, struct tcp_sock *tcp)
{
	return tcp->rcv_nxt - tcp->copied_seq > (sk->sk_shutdown & RCV_SHUTDOWN);
}

static __always_inline void request_arrives(struct connection *c, struct tcp_sock *tcp, __u64 now_ns)
{
	__u32 write_seq = written(tcp), overlaps = 0;

	if (c->began_ns && c->last_ns) {
		if (tcp && tcp->snd_una != write_seq)
			overlaps = OVERLAPS;
		c->bytes_out = write_seq - c->write_seq;
		c->flags |= overlaps;
		finish(c, tcp, now_ns);
		c->flags |= overlaps;
	} else if (c->began_ns && c->read_ns && !c->unread_since_ns && write_seq == c->write_seq &&
		   now_ns - c->touched_ns > PAUSE_NS) {
		c->began_ns = 0;
		c->flags |= ONE_WAY;
	}
	if (!c->began_ns)
		begin(c, now_ns, write_seq, tcp);
	c->touched_ns = now_ns;
	if (!c->unread_since_ns) {
		c->unread_since_ns = now_ns;
		c->unread_write_seq = write_seq;
	}
}

static __always_inline void request_read(struct connection *c, struct sock *sk, struct tcp_sock *tcp, __u64 now_ns,
					 __u32 tid)
{
	__u64 since_ns = c->unread_since_ns;
	/* The answer had begun when this arrived, though the thread that sends it has not come back yet. */
	bool was_answered = tcp && c->unread_write_seq != c->write_seq;

	if (c->began_ns && since_ns && c->read_ns && (c->last_ns || was_answered)) {
		if (!c->last_ns || (was_answered && since_ns < c->last_ns))
			c->last_ns = since_ns;
		if (c->answered_ns > c->last_ns)
			c->answered_ns = c->last_ns;
		if (!was_answered)
			c->flags |= OVERLAPS;
		c->bytes_out = c->unread_write_seq - c->write_seq;
		finish(c, tcp, since_ns);
		begin(c, since_ns, tcp ? c->unread_write_seq : 0, tcp);
		if (!was_answered)
			c->flags |= OVERLAPS;
	}
	if (c->began_ns && !c->read_ns) {
		c->read_ns = now_ns;
		c->reader_tid = tid;
	}
	if (!tcp || !has_unread(sk, tcp))
		c->unread_since_ns = 0;
}

/*
 * The target sends without a request, in any number of pieces. Counts once at most before a request, since what it answers may be older
 * than the recording.
 */
static __always_inline void see_push(struct connection *c)
{
	if (c->flags & PUSHED)
		return;
	c->flags |= PUSHED;
	if (c->several < SEVERAL)
		c->several++;
}

/* Bytes that are sent before a request was read answer none; and where the target often sends without a request, it is unknown
 * which of what it sends is an answer. */
static __always_inline void answer_sent(struct connection *c, struct tcp_sock *tcp, __u64 now_ns, __u32 tid)
{
	if (!c->began_ns) {
		see_push(c);
		return;
	}
	if (!c->read_ns)
		return;
	if (tcp && !config.sees_begin_of_send && tcp->write_seq == c->write_seq)
		return; /* the thread comes back from sending the answer before */
	if (!c->answered_ns) {
		c->answered_ns = now_ns;
		c->sender_tid = tid;
		c->bytes_in = tcp ? tcp->copied_seq - c->copied_seq : 0;
		if (tid == c->reader_tid)
			see_worker(c, tid);
	} else if (tcp) {
		see_hold(c, tcp);
	}
	c->last_ns = now_ns;
}

static __always_inline void call_sent(struct connection *c, struct tcp_sock *tcp, __u64 now_ns, __u32 tid)
{
	__u32 write_seq = written(tcp), before = c->seen_seq;

	if (tcp && !config.sees_begin_of_send) {
		if (write_seq == before) { /* its answer came while it was being sent */
			if (!c->sender_tid)
				c->sender_tid = tid;
			return;
		}
		c->seen_seq = write_seq;
	} else {
		before = write_seq;
	}
	if (c->began_ns && c->last_ns) {
		finish(c, tcp, now_ns);
	} else if (c->began_ns && !c->answered_ns && now_ns - c->touched_ns > PAUSE_NS && tcp && tcp->snd_una == before) {
		c->began_ns = 0;
		c->flags |= ONE_WAY;
	} else if (c->began_ns && c->answered_ns) {
		c->flags |= OVERLAPS;
	}
	if (!c->began_ns) {
		begin(c, now_ns, before, tcp);
		c->sender_tid = tid;
	} else if (tcp && !c->answered_ns) {
		see_hold(c, tcp);
	}
	if (c->flags & UDP)
		c->seen_seq++;
	c->touched_ns = now_ns;
}

static __always_inline void answer_arrives(struct connection *c, struct tcp_sock *tcp, __u64 now_ns)
{
	__u32 write_seq = written(tcp);

	if (!c->unread_since_ns)
		c->unread_since_ns = now_ns;
	if (tcp && !config.sees_begin_of_send && write_seq != c->seen_seq) {
		/* A thread is still in the call that sends, of which this is the answer. */
		if (c->began_ns && c->last_ns)
			finish(c, tcp, now_ns);
		if (!c->began_ns)
			begin(c, now_ns, c->seen_seq, tcp);
		c->seen_seq = write_seq;
	}
	if (!c->began_ns || c->answered_ns)
		return;
	c->answered_ns = now_ns;
	if (c->flags & UDP)
		c->flags &= ~ONE_WAY;
	c->bytes_out = write_seq - c->write_seq;
	if (tcp && tcp->snd_una != write_seq)
		c->flags |= OVERLAPS;
	else if (tcp)
		see_leave(c, tcp, c->touched_ns, now_ns);
}

static __always_inline void answer_read(struct connection *c, struct sock *sk, struct tcp_sock *tcp, __u64 now_ns, __u32 tid)
{
	if (!tcp || !has_unread(sk, tcp))
		c->unread_since_ns = 0;
	if (!c->began_ns)
		return;
	if (!c->answered_ns)
		c->answered_ns = now_ns;
	if (!c->read_ns) {
		c->read_ns = now_ns;
		c->reader_tid = tid;
	}
	c->last_ns = now_ns;
	c->bytes_in = tcp ? tcp->copied_seq - c->copied_seq : 0;
	/* Each datagram is answered: the caller may close the socket now, of which there is no event. */
	if (c->flags & UDP && ++c->copied_seq >= c->seen_seq)
		finish(c, 0, now_ns);
}

#endif
