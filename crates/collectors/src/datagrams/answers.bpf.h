/*
 * Which answer belongs to which datagram: the one that goes to the address and port from which it came. Two open
 * requests of one peer cannot be distinguished without the protocol; they make one stretch that is reported as several.
 *
 * The sender of a request is in the datagram, which is the last in the queue when its arrival is reported; the receiver
 * of an answer is in the arguments of the thread's call. Nothing else of either is read.
 */
#ifndef FATHOM_DATAGRAMS_ANSWERS_H
#define FATHOM_DATAGRAMS_ANSWERS_H

#include "queue.bpf.h"

#define AF_INET 2
#define AF_INET6 10
/* Before an IPv4 address in a field of IPv6, as it lies in memory. */
#define MAPPED 0xffff0000U

/* After this time no client waits for the answer any more: the resolver's timeout is 5 s. */
#define GIVEN_UP_NS 5000000000ULL

/* Two looks at the same datagram are not further apart. */
#define AT_ONCE_NS 50000ULL

/*
 * An answer is reported when the call that sends it returns. Meanwhile its receiver may have it, and ask again. What takes no
 * longer than this, or an eighth of the answer's time, is taken for that: times are wrong by no more if it was something else.
 */
#define OVERTAKES_NS 100000ULL
#define OVERTAKES_OF_ANSWER 8

/* An answer in pieces has no pause as long as this. */
#define PAUSE_NS 1000000000ULL
/* With this many unrequested answers, and one per hundred answers, the answer times of a socket are not known. */
#define SEVERAL 3
/* A socket from which nothing was sent after so many datagrams only receives. */
#define UNANSWERED 1000

struct sockaddr {
	__u16 family;
	__u8 port[2];
	__u8 address4[4];
	__u32 address6[4];
};

/* A peer as one word: all of an IPv4 address and its port, of an IPv6 address a mixture. */
static __always_inline __u64 peer4(__u32 address, __u32 port)
{
	return (__u64)address << 16 | port | 1ULL << 48;
}

static __always_inline __u64 peer6(__u32 *address, __u32 port)
{
	__u64 low = (__u64)address[2] << 32 | address[3], high = (__u64)address[0] << 32 | address[1];

	if (!high && address[2] == MAPPED)
		return peer4(address[3], port);
	return ((low ^ high * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL ^ port) | 1ULL << 63;
}

/* Who sent a datagram of a queue; 0: it is not there any more. */
static __always_inline __u64 sender(struct sk_buff *skb)
{
	__u32 address[4] = {};
	__u8 port[2], version;
	unsigned char *head = BPF_CORE_READ(skb, head);

	if (bpf_probe_read_kernel(port, sizeof(port), head + BPF_CORE_READ(skb, transport_header)))
		return 0;
	head += BPF_CORE_READ(skb, network_header);
	if (bpf_probe_read_kernel(&version, sizeof(version), head))
		return 0;
	if (version >> 4 == 4)
		return bpf_probe_read_kernel(address, 4, head + 12) ? 0 : peer4(address[0], port[0] << 8 | port[1]);
	return bpf_probe_read_kernel(address, 16, head + 8) ? 0 : peer6(address, port[0] << 8 | port[1]);
}

/* A peer's place among those that wait is one of two. */
static __always_inline struct asked *asked_by(struct queue *queue, __u64 peer)
{
	__u32 at = (peer * 0x9e3779b97f4a7c15ULL >> 32) & (ASKED - 1);
	struct asked *one = &queue->asked[at], *other = &queue->asked[at ^ 1];

	if (one->peer == peer)
		return one;
	return other->peer == peer || (one->open && !other->open) ? other : one;
}

/*
 * Who sent the datagram that came last; 0: a thread has taken it out already. If two come on two CPUs at once, both looks may find the
 * second: then the other is the one before it.
 */
static __always_inline __u64 asks(struct sock *sk, struct queue *queue, __u64 now_ns)
{
	struct sk_buff *head = (struct sk_buff *)&sk->sk_receive_queue;
	struct sk_buff *skb = BPF_CORE_READ(sk, sk_receive_queue.prev);
	struct asked *asked;
	__u64 peer;
	bool again;

	if (!skb || skb == head)
		return 0;
	peer = sender(skb);
	again = queue->last == (__u64)skb;
	queue->last = (__u64)skb;
	if (!again || !peer)
		return peer;
	asked = asked_by(queue, peer);
	/* Or another one, that now lies where one lay which was read. */
	if (!asked->open || asked->peer != peer || now_ns - asked->last_came_ns > AT_ONCE_NS)
		return peer;
	skb = BPF_CORE_READ(skb, prev);
	if (!skb || skb == head)
		return 0;
	peer = sender(skb);
	return asked_by(queue, peer)->open ? 0 : peer;
}

/* The peer to which the current thread sends; 0: not known. */
static __always_inline __u64 is_sent_to(void)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__s32 call = system_call(registers);
	struct sockaddr to = {};
	__u64 at = 0;

	if (call == (__s32)config.sendto)
		at = fifth_argument(registers);
	else if (call == (__s32)config.sendmsg)
		/* The head of a message begins with where the address is. */
		bpf_probe_read_user(&at, sizeof(at), (void *)second_argument(registers));
	if (!at || bpf_probe_read_user(&to, 8, (void *)at))
		return 0;
	if (to.family == AF_INET)
		return peer4(*(__u32 *)to.address4, to.port[0] << 8 | to.port[1]);
	if (to.family != AF_INET6 || bpf_probe_read_user(to.address6, 16, (void *)(at + 8)))
		return 0;
	return peer6(to.address6, to.port[0] << 8 | to.port[1]);
}

/* Whether clients may send requests here. Keeps sockets that never answer from being searched at each datagram. */
static __always_inline bool may_be_asked(struct sock *sk, struct queue *queue)
{
	return queue->serves && !sk->__sk_common.skc_dport &&
	       (queue->has_sent || queue->came - queue->first_seen < UNANSWERED);
}

/* So many that were answered for each that was not: else it is usual at this socket that some are not. */
#define ANSWERED_OF_ONE 10
/* In the recording's last second an answer may be on its way. */
#define UNANSWERED_NS 1000000000ULL

/* What a row says. */
#define OF_SEVERAL 1
#define WITHOUT_ANSWER 2

static __always_inline void tell_asked(struct place *place, __u64 came_ns, __u64 now_ns, __u32 tid, __u32 flags)
{
	__u64 took_ns = now_ns > came_ns ? now_ns - came_ns : 0;
	__u64 one_in = flags || took_ns >= place->slow_ns || !place->one_in ? 1 : place->one_in;
	struct answered *row;

	if (!flags) {
		COUNT(place->answered);
		__sync_fetch_and_add(&place->answer_ns, took_ns);
	}
	/* More end at once than user space could foresee. */
	if (answers.second == now_ns >> 30 && answers.sent > ANSWERS_PER_SECOND / 2)
		one_in *= 16;
	if (one_in > 1 && bpf_get_prandom_u32() % (__u32)one_in)
		return;
	if (!is_affordable(&answers, now_ns, ANSWERS_PER_SECOND, &losses.answers_over_budget))
		return;
	row = bpf_ringbuf_reserve(&exchanges, sizeof(*row), 0);
	if (!row) {
		COUNT(losses.answers_lost);
		return;
	}
	row->came_ns = came_ns;
	row->answered_ns = now_ns;
	row->stands_for = one_in;
	row->port = place->port;
	row->tid = tid;
	row->flags = flags;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
}

/* Whether a peer that the process seemed to ask when it began to be looked at had asked before, as all others do. */
static __always_inline bool was_answered(struct queue *queue, struct place *place, struct asked *asked)
{
	return asked->unsure && place->answered >= SEVERAL && place->answered >= queue->calls * ANSWERED_OF_ONE;
}

/* The request stays unanswered. Where that is usual, how long requests take is not known of the socket. */
static __always_inline void give_up(struct queue *queue, struct place *place, struct asked *asked, __u64 now_ns)
{
	bool is_usual;

	queue->unanswered++;
	is_usual = asked->several || place->answered < queue->unanswered * ANSWERED_OF_ONE;
	if (queue->has_sent)
		tell_asked(place, asked->came_ns, now_ns, 0, is_usual ? OF_SEVERAL : WITHOUT_ANSWER);
	asked->open = 0;
}

static __always_inline void request_comes(struct queue *queue, struct place *place, __u64 peer, __u64 now_ns)
{
	struct asked *asked = asked_by(queue, peer);
	bool is_open = asked->open, is_same = asked->peer == peer;

	if (!peer) {
		/* A thread has taken it out already. */
		if (queue->unseen_ns && queue->has_sent)
			COUNT(losses.peers_unseen);
		queue->unseen_ns = now_ns;
		return;
	}
	if (is_open && now_ns - asked->came_ns >= GIVEN_UP_NS) {
		give_up(queue, place, asked, now_ns);
		is_open = false;
	}
	if (is_open && !is_same) {
		COUNT(losses.peers_full);
		return;
	}
	/* What the process has asked is answered. */
	if (is_same && asked->called_ns && now_ns - asked->called_ns < GIVEN_UP_NS && !was_answered(queue, place, asked))
		return;
	asked->last_came_ns = now_ns;
	if (is_open) {
		asked->open++;
		return;
	}
	asked->peer = peer;
	asked->came_ns = now_ns;
	asked->called_ns = 0;
	asked->open = 1;
	asked->several = 0;
}

/* Something is sent to a peer that has no question open. */
static __always_inline void call(struct queue *queue, struct asked *asked, __u64 peer, __u64 now_ns)
{
	bool is_same = asked->peer == peer;

	if (asked->open && !is_same)
		return;
	if (is_same && !asked->called_ns) {
		/* An answer in pieces, or something that its client has not asked for. */
		if (now_ns - asked->answered_ns > PAUSE_NS)
			queue->unasked++;
		return;
	}
	if (!is_same || now_ns - asked->called_ns >= GIVEN_UP_NS) {
		/* Or the answer to what it asked before anybody looked. */
		asked->unsure = now_ns - queue->known_ns < GIVEN_UP_NS;
		queue->calls += !asked->unsure;
	}
	asked->peer = peer;
	asked->called_ns = now_ns;
	asked->open = 0;
}

/* Whose peer was not seen is answered by the thread that read it, if that sends to one that has asked nothing else. */
static __always_inline bool is_unseen_one(struct queue *queue, struct asked *asked, __u64 peer, __u64 read_ns)
{
	if (!read_ns || read_ns != queue->unseen_ns || asked->open)
		return false;
	if (asked->peer == peer && asked->called_ns)
		return false;
	queue->unseen_ns = 0;
	asked->peer = peer;
	asked->called_ns = 0;
	return true;
}

/* Whether the last datagram came after the one that is answered was on its way. */
static __always_inline bool overtakes(struct asked *asked, __u64 now_ns)
{
	__u64 since_ns = now_ns - asked->last_came_ns;

	return since_ns <= OVERTAKES_NS || since_ns * OVERTAKES_OF_ANSWER <= now_ns - asked->came_ns;
}

/* `read_ns`: when that came which this thread has read last and not answered. */
static __always_inline void answer_leaves(struct queue *queue, struct place *place, __u64 now_ns, __u32 tid,
					  __u64 read_ns)
{
	__u64 peer = is_sent_to();
	struct asked *asked = asked_by(queue, peer);
	bool several, is_overtaken;

	if (!peer)
		return;
	queue->has_sent = 1;
	if (is_unseen_one(queue, asked, peer, read_ns)) {
		asked->answered_ns = now_ns;
		tell_asked(place, read_ns, now_ns, tid, 0);
		return;
	}
	if (!asked->open || asked->peer != peer || now_ns - asked->came_ns >= GIVEN_UP_NS) {
		call(queue, asked, peer, now_ns);
		return;
	}
	asked->answered_ns = now_ns;
	is_overtaken = asked->open == 2 && overtakes(asked, now_ns);
	asked->several |= asked->open > 1 && !is_overtaken;
	if (--asked->open && !is_overtaken)
		return;
	several = queue->unasked >= SEVERAL && queue->unasked * 100 >= place->answered;
	tell_asked(place, asked->came_ns, now_ns, tid, several || asked->several ? OF_SEVERAL : 0);
	asked->came_ns = asked->last_came_ns;
	asked->several = 0;
}

struct ending {
	struct queue *queue;
	struct place *place;
	__u64 now_ns;
};

static long ends_unanswered(__u64 nth, void *context)
{
	struct ending *ending = context;
	struct asked *asked = &ending->queue->asked[nth & (ASKED - 1)];

	if (asked->open && ending->now_ns - asked->came_ns >= UNANSWERED_NS)
		give_up(ending->queue, ending->place, asked, ending->now_ns);
	return 0;
}

/* What is open at the end is reported as it is. */
static __always_inline void tell_open(struct queue *queue, struct place *place, __u64 now_ns)
{
	struct ending ending = { .queue = queue, .place = place, .now_ns = now_ns };

	if (queue->serves)
		bpf_loop(ASKED, ends_unanswered, &ending, 0);
}

#endif
