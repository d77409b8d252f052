/*
 * Requests and calls of the processes that are observed, measured at its sockets: when data arrived, when a thread
 * read it, when the answer went out. What a connection is at stands in the socket's own storage, so the sockets of other
 * processes are dismissed by one pointer.
 */
#include "connection.bpf.h"
#include "exchange.bpf.h"
#include "failures.bpf.h"
#include "messages.bpf.h"

SEC("tp_btf/sk_data_ready")
int arrives(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	struct connection *c = known(sk);
	struct tcp_sock *tcp = 0;
	__u64 now_ns;

	if (!c)
		return 0;
	if (c->flags & TCP) {
		tcp = bpf_skc_to_tcp_sock(sk);
		if (!tcp || !has_unread(sk, tcp))
			return 0;
	} else {
		c->arrivals++;
	}
	now_ns = bpf_ktime_get_ns();
	note_arrival(now_ns);
	if (c->flags & INBOUND)
		request_arrives(c, tcp, now_ns);
	else
		answer_arrives(c, tcp, now_ns);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int is_read(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	__s32 bytes = args[1];
	struct connection *c;
	struct tcp_sock *tcp;
	struct now now = {};
	bool is_new;

	if (bytes < 0 || args[2] & MSG_PEEK)
		return 0;
	c = used(sk, &is_new);
	if (!c)
		return 0;
	if (!bytes) {
		/* The peer has closed. For TCP the change of state shows that, even if the target does not read any more. */
		if (c->last_ns && !(c->flags & TCP))
			finish(c, 0, c->last_ns);
		return 0;
	}
	tcp = c->flags & TCP ? bpf_skc_to_tcp_sock(sk) : 0;
	now.ns = bpf_ktime_get_ns();
	now.tid = bpf_get_current_pid_tgid();
	now.arrived_ns = c->unread_since_ns ? c->unread_since_ns : now.ns;
	if (c->flags & OUTBOUND) {
		answer_read(c, sk, tcp, now.ns, now.tid);
	} else {
		/* A Unix socket is known from its first read on only. */
		if (is_new && !tcp)
			begin(c, now.ns, 0, 0);
		request_read(c, sk, tcp, now.ns, now.tid);
	}
	if (tcp)
		see_read(c, bytes, now);
	return 0;
}

static __always_inline void sends(struct sock *sk)
{
	bool is_new;
	struct connection *c = used(sk, &is_new);
	struct tcp_sock *tcp;
	__u32 tid;

	if (!c)
		return;
	tcp = c->flags & TCP ? bpf_skc_to_tcp_sock(sk) : 0;
	tid = bpf_get_current_pid_tgid();
	/* What this very call sent is the first that is known of the connection. */
	if (is_new && tcp)
		c->seen_seq--;
	c->sends++;
	if (c->flags & INBOUND)
		answer_sent(c, tcp, bpf_ktime_get_ns(), tid);
	else
		call_sent(c, tcp, bpf_ktime_get_ns(), tid);
}

/* On kernels with this tracepoint: when a thread hands bytes to TCP, before any of them can be answered. */
SEC("tp_btf/tcp_sendmsg_locked")
int begins_to_send(arguments args)
{
	sends((struct sock *)args[0]);
	return 0;
}

SEC("tp_btf/sock_send_length")
int has_sent(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	__s32 bytes = args[1];

	if (bytes <= 0 || (config.sees_begin_of_send && sk->sk_protocol == IPPROTO_TCP))
		return 0;
	sends(sk);
	return 0;
}

/* How much of what a thread wanted to send was taken is only known afterwards. A program of its own, as both need much of the stack. */
SEC("tp_btf/sock_send_length")
int has_sent_frames(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	__s32 bytes = args[1];
	struct connection *c;
	struct now now = {};

	if (bytes <= 0 || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	c = known(sk);
	if (!c || !may_be_frames(c, c->flags & INBOUND))
		return 0;
	now.ns = bpf_ktime_get_ns();
	now.arrived_ns = now.ns;
	now.tid = bpf_get_current_pid_tgid();
	see_sent(c, bytes, now);
	return 0;
}

/* Nothing follows. */
static __always_inline void finish_last(struct connection *c, struct tcp_sock *tcp, __u64 now_ns)
{
	if (tcp && (c->flags & (INBOUND | CLOSING)) == INBOUND)
		c->bytes_out = tcp->write_seq - c->write_seq;
	finish(c, tcp, now_ns);
}

/* The target closes a connection, or its peer has. An answer that has not arrived yet ends when it has. */
static __always_inline void ends(struct sock *sk, int before, int now)
{
	bool has_ended = now == TCP_FIN_WAIT2 || now == TCP_CLOSE;
	struct connection *c = known(sk);
	struct tcp_sock *tcp;

	if (!c)
		return;
	tcp = bpf_skc_to_tcp_sock(sk);
	/* Where its numbers begin is not known of one that was never made. */
	if (before != TCP_SYN_SENT)
		settle(c, tcp);
	see_failure(c, sk, before, now);
	if (!c->last_ns) {
		give_up(c, bpf_ktime_get_ns());
	} else if (has_ended || !tcp || c->flags & OUTBOUND || tcp->snd_una == tcp->write_seq) {
		finish_last(c, tcp, bpf_ktime_get_ns());
	} else if (!(c->flags & CLOSING)) {
		c->bytes_out = tcp->write_seq - c->write_seq;
		c->flags |= CLOSING;
	}
}

/* The peer closes its side. It may still wait for an answer; if none comes, its wait ended here. */
static __always_inline void peer_closes(struct sock *sk)
{
	struct connection *c = known(sk);

	if (c && c->flags & INBOUND && c->began_ns && !c->answered_ns)
		c->given_up_ns = bpf_ktime_get_ns();
}

static __always_inline void connected(struct sock *sk)
{
	struct connection *c = known(sk);
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

	if (!c || !tcp)
		return;
	c->seen_seq = tcp->write_seq;
	settle_from(c, tcp);
}

/* Runs in an interrupt, so the port decides which target the connection belongs to. */
static __always_inline void is_accepted(struct sock *sk)
{
	struct listener at = listener_at(sk);
	__u32 *id = bpf_map_lookup_elem(&listeners, &at);
	struct target *target = id ? target_of(*id) : 0;

	if (target)
		know_tcp(sk, target, INBOUND, 0);
}

static __always_inline void connects(struct sock *sk)
{
	struct target *target = target_of(current_target());

	if (target)
		know_tcp(sk, target, OUTBOUND, OWNED);
}

static __always_inline void listens(struct sock *sk)
{
	__u32 id = current_target();
	struct target *target = target_of(id);
	struct listener at;
	struct port_of own;

	if (!target)
		return;
	at = listener_at(sk);
	own.target = id;
	own.port = at.port;
	bpf_map_update_elem(&listened, &own, &id, BPF_ANY);
	bpf_map_update_elem(&listeners, &at, &id, BPF_ANY);
}

SEC("tp_btf/inet_sock_set_state")
int changes_state(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	int before = args[1], now = args[2];

	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (now == TCP_FIN_WAIT1 || now == TCP_LAST_ACK || now == TCP_FIN_WAIT2 || now == TCP_CLOSE) {
		ends(sk, before, now);
	} else if (now == TCP_CLOSE_WAIT) {
		peer_closes(sk);
	} else if (now == TCP_ESTABLISHED && before == TCP_SYN_SENT) {
		/* Where its numbers begin was not chosen before. */
		connected(sk);
	} else if (now == TCP_ESTABLISHED && before == TCP_SYN_RECV) {
		is_accepted(sk);
	} else if (now == TCP_SYN_SENT) {
		connects(sk);
	} else if (now == TCP_LISTEN) {
		listens(sk);
	}
	return 0;
}

/* Runs in the thread that wakes, or in an interrupt that came upon some thread. */
SEC("tp_btf/sched_waking")
int is_woken(arguments args)
{
	note_woken((struct task_struct *)args[0]);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int is_sent_again(arguments args)
{
	struct connection *c = known((struct sock *)args[0]);
	struct sums *sums;

	if (!c)
		return 0;
	c->flags |= RESENT;
	sums = sums_at(c->endpoint);
	if (sums)
		COUNT(sums->resent);
	return 0;
}

/* Whether a request waits to be read, or something of an answer has not arrived yet. */
static __always_inline bool is_under_way(struct connection *c, struct tcp_sock *tcp)
{
	return c->flags & INBOUND && (c->unread_since_ns || (tcp && tcp->snd_una != tcp->write_seq));
}

/*
 * What a connection is at, looked at again: of what has ended and is followed by nothing, the end; of what has not ended, that it is
 * under way. A descriptor may be there twice, and a socket in two processes: each connection is looked at once in a walk.
 */
static __always_inline void look_at(struct sock *sk, __u32 tgid)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	__u64 now_ns = bpf_ktime_get_ns();
	struct target *target;
	struct tcp_sock *tcp;
	struct sums *sums;

	if (!c || c->flags & IGNORED || c->target != target_of_process(tgid))
		return;
	target = target_of(c->target);
	if (!target || c->walk == (__u32)target->walk)
		return;
	c->walk = target->walk;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (sk->__sk_common.skc_state != TCP_SYN_SENT)
		settle(c, tcp);
	if (!c->began_ns)
		return;
	sums = sums_at(c->endpoint);
	if (is_followed(c)) {
		if (sums)
			__sync_fetch_and_add(&sums->under_way, c->streams_open);
		if (target->ending && !c->last_ns)
			give_up(c, now_ns);
		return;
	}
	if (c->last_ns) {
		if (target->ending || (now_ns - c->last_ns > IDLE_NS && !is_under_way(c, tcp)))
			finish_last(c, tcp, now_ns);
		return;
	}
	if (sums && !c->answered_ns && !(c->flags & ONE_WAY && (c->read_ns || c->flags & OUTBOUND)))
		COUNT(sums->under_way);
	if (target->ending)
		give_up(c, now_ns);
}

/* Of a listener, where a look at its queue has got to. */
struct queued {
	struct request_sock *next;
	__u32 tgid;
};

/* Goes on to the next connection of the queue; 1 behind the last. */
static long look_at_queued(__u64 nth, void *context)
{
	struct queued *at = context;
	struct request_sock *request = at->next;
	struct sock *sk;

	if (!request)
		return 1;
	sk = request->sk;
	if (sk)
		look_at(sk, at->tgid);
	at->next = request->dl_next;
	return 0;
}

/*
 * Connections that the kernel has accepted and the program has not: they have no descriptor yet, and may have been asked something. As a
 * callback the verifier sees `look_at` once; as a loop in place it saw it for each turn, which took it nine tenths of its time.
 */
static __always_inline void look_at_accepted(struct sock *listener, __u32 tgid)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(listener);
	struct queued at = { .tgid = tgid };

	if (!tcp)
		return;
	at.next = tcp->inet_conn.icsk_accept_queue.rskq_accept_head;
	bpf_loop(ACCEPTED_MAX, look_at_queued, &at, 0);
}

/*
 * Run by user space for each descriptor of a process that is observed. Walking over the entries of `connections` instead is what hardened
 * kernels refuse (EPERM for every iterator over a map's entries), and would show other processes' sockets as well.
 */
SEC("iter/task_file")
int walk(struct bpf_iter__task_file *at)
{
	struct task_struct *task = at->task;
	struct file *file = at->file;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : 0;
	if (!sk)
		return 0;
	if (sk->__sk_common.skc_state == TCP_LISTEN && sk->sk_protocol == IPPROTO_TCP)
		look_at_accepted(sk, task->tgid);
	else
		look_at(sk, task->tgid);
	return 0;
}
