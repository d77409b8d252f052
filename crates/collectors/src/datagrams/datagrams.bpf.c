/*
 * Datagrams on their way to the threads of one process: when each arrived in its socket's queue, when it was read, by which thread,
 * and how deep the queue was. The state of a queue is in the socket's own storage, so sockets of other processes cost one pointer;
 * sums are in an array that user space has mapped.
 *
 * A read took the datagram before those that remain in the queue. So nothing has to be counted from the socket's first datagram on,
 * and reads by other processes and datagrams that the kernel discards cause no errors.
 */
#include "answers.bpf.h"

static __always_inline bool is_udp(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_UDP && sk->sk_type == SOCK_DGRAM;
}

/* How many stand in the queue. */
static __always_inline __u64 depth_of(struct sock *sk)
{
	return (__u64)sk->sk_receive_queue.qlen + BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
}

static __always_inline struct place *place_of(struct queue *queue)
{
	__u32 index = queue->place & (SOCKETS - 1);
	struct place *place = bpf_map_lookup_elem(&places, &index);

	return place && place->id == queue->id ? place : 0;
}

/* A socket of the process is known from now on; when what stands in its queue came was not seen. */
static __always_inline struct queue *know(struct sock *sk)
{
	struct queue *queue = bpf_sk_storage_get(&queues, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct place *place;
	__u32 index;

	if (!queue) {
		COUNT(losses.without_storage);
		return 0;
	}
	if (bpf_map_pop_elem(&unused, &index)) {
		COUNT(losses.sockets_full);
		return 0;
	}
	index &= SOCKETS - 1;
	place = bpf_map_lookup_elem(&places, &index);
	if (!place)
		return 0;
	place->inode = BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino);
	place->port = sk->__sk_common.skc_num;
	place->walk = walks;
	place->id = __sync_fetch_and_add(&ids, 1) + 1;
	queue->place = index;
	queue->came = queue->first_seen = depth_of(sk);
	queue->next = 0;
	queue->came_ns = queue->read_ns = queue->read_came_ns = 0;
	queue->dropped = queue->late.count = 0;
	queue->unasked = queue->calls = queue->unanswered = queue->unseen_ns = queue->last = queue->has_sent = 0;
	queue->known_ns = bpf_ktime_get_ns();
	queue->serves = !!(BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK);
	queue->id = place->id;
	return queue;
}

/* What is known of a socket of the process. */
static __always_inline struct queue *known(struct sock *sk, struct place **place)
{
	struct queue *queue = bpf_sk_storage_get(&queues, sk, 0, 0);

	*place = queue && queue->id ? place_of(queue) : 0;
	return *place ? queue : 0;
}

static __always_inline void note_arrival(struct queue *queue, __u64 number, __u64 now_ns)
{
	for (__u32 level = 0; level < LEVELS; level++) {
		if (number & ((1ULL << 2 * level) - 1))
			return;
		queue->times[level][(number >> 2 * level) & (RECENT - 1)] = now_ns;
	}
}

/* When a datagram came, or one soon after it; 0: before all that is known. */
static __always_inline __u64 arrival_of(struct queue *queue, __u64 number)
{
	__u64 back = queue->came - number, rounded;

	if (number < queue->first_seen || !back)
		return 0;
	for (__u32 level = 0; level < LEVELS; level++) {
		if (back > (__u64)RECENT << 2 * level)
			continue;
		rounded = (number + (1ULL << 2 * level) - 1) >> 2 * level;
		return queue->times[level][rounded & (RECENT - 1)];
	}
	return 0;
}

/* Tells what was read late until now, if there was any. The one that takes it out sends it, so it is sent once. */
static __always_inline void tell(struct queue *queue, struct place *place)
{
	__u64 count = queue->late.count;
	struct late *late;

	if (!count || __sync_val_compare_and_swap(&queue->late.count, count, 0) != count)
		return;
	if (!is_affordable(&rows, bpf_ktime_get_ns(), ROWS_PER_SECOND, &losses.over_budget))
		return;
	late = bpf_ringbuf_reserve(&told, sizeof(*late), 0);
	if (!late) {
		COUNT(losses.ring_full);
		return;
	}
	*late = queue->late;
	late->count = count;
	late->dropped = queue->dropped;
	queue->dropped = 0;
	late->inode = place->inode;
	late->port = place->port;
	/* User space looks by itself; to wake it costs more than all the rest. */
	bpf_ringbuf_submit(late, BPF_RB_NO_WAKEUP);
}

static __always_inline void see_late(struct queue *queue, __u64 came_ns, __u64 now_ns, __u64 depth, __u32 tid)
{
	struct late *late = &queue->late;
	__u64 free_from_ns = came_ns > queue->read_ns ? came_ns : queue->read_ns;

	if (!late->count) {
		late->from_ns = came_ns;
		late->longest_ns = late->pause_ns = late->queue_most = 0;
	}
	late->count++;
	late->to_ns = now_ns;
	late->tid = tid;
	if (now_ns - came_ns > late->longest_ns)
		late->longest_ns = now_ns - came_ns;
	if (now_ns > free_from_ns && now_ns - free_from_ns > late->pause_ns)
		late->pause_ns = now_ns - free_from_ns;
	if (depth > late->queue_most)
		late->queue_most = depth;
}

/* When that came which has just been read, of which `depth` more are still there; 0: not seen. */
static __always_inline __u64 take_out(struct queue *queue, __u64 depth)
{
	__u64 came = queue->came, number, came_ns;

	number = came > depth ? came - depth - 1 : 0;
	/* One that is in the queue, and whose arrival is noted at this very moment. */
	if (number < queue->next)
		number = queue->next;
	if (number >= came)
		number = came ? came - 1 : 0;
	queue->next = number + 1;
	came_ns = arrival_of(queue, number);
	/* They are read in their order: no later one came before. */
	if (came_ns && came_ns < queue->read_came_ns)
		came_ns = queue->read_came_ns;
	return came_ns;
}

static __always_inline struct read *read_by(struct queue *queue, __u32 tid)
{
	struct reader at = { .id = queue->id, .tid = tid };
	struct read *read = bpf_map_lookup_elem(&readers, &at);

	if (read)
		return read;
	bpf_map_update_elem(&readers, &at, &no_read, BPF_NOEXIST);
	read = bpf_map_lookup_elem(&readers, &at);
	if (!read)
		COUNT(losses.readers_full);
	return read;
}

static __always_inline void count(struct place *place, struct read *read, __u64 unread_ns)
{
	__u32 bucket = log2_of(unread_ns | (1 << FIRST_POWER)) - FIRST_POWER;

	/* The compiler must not forget the bound that the verifier wants to see. */
	asm volatile("" : "+r"(bucket));
	if (bucket >= BUCKETS)
		bucket = BUCKETS - 1;
	COUNT(place->by_unread[bucket]);
	if (!read)
		return;
	read->timed++;
	read->unread_ns += unread_ns;
}

SEC("tp_btf/sk_data_ready")
int arrives(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	struct queue *queue;
	struct place *place;
	__u64 now_ns, depth;

	if (!is_udp(sk))
		return 0;
	queue = known(sk, &place);
	if (!queue)
		return 0;
	now_ns = bpf_ktime_get_ns();
	depth = depth_of(sk);
	note_arrival(queue, __sync_fetch_and_add(&queue->came, 1), now_ns);
	COUNT(place->queued);
	if (depth > place->queue_most)
		place->queue_most = depth;
	if (queue->came_ns && now_ns > queue->came_ns && now_ns - queue->came_ns > place->gap_most_ns)
		place->gap_most_ns = now_ns - queue->came_ns;
	queue->came_ns = now_ns;
	if (may_be_asked(sk, queue))
		request_comes(queue, place, asks(sk, queue, now_ns), now_ns);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int is_read(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	__u64 now_ns, came_ns, unread_ns, depth;
	struct queue *queue;
	struct place *place;
	struct read *read;
	__u32 tid;

	if ((__s32)args[1] < 0 || args[2] & MSG_PEEK || !is_udp(sk) || current_tgid() != config.process)
		return 0;
	queue = known(sk, &place);
	if (!queue) {
		/* One that was connected may be there for a single question: if it stays, a walk meets it. */
		if (sk->__sk_common.skc_dport)
			return 0;
		queue = know(sk);
		place = queue ? place_of(queue) : 0;
		if (!place)
			return 0;
	}
	now_ns = bpf_ktime_get_ns();
	tid = bpf_get_current_pid_tgid();
	depth = depth_of(sk);
	came_ns = take_out(queue, depth);
	read = read_by(queue, tid);
	if (read) {
		read->count++;
		read->asked_ns = came_ns;
	}
	if (came_ns) {
		unread_ns = now_ns > came_ns ? now_ns - came_ns : 0;
		count(place, read, unread_ns);
		if (unread_ns >= config.late_ns) {
			see_late(queue, came_ns, now_ns, depth + 1, tid);
		} else {
			tell(queue, place);
			queue->dropped = 0;
		}
		queue->read_came_ns = came_ns;
	}
	queue->read_ns = now_ns;
	return 0;
}

/* What each thread has answered: it reads, sends, and reads again. The receiver of the answer does not matter here. */
SEC("tp_btf/sock_send_length")
int is_answered(arguments args)
{
	struct sock *sk = (struct sock *)args[0];
	struct reader at = { .tid = bpf_get_current_pid_tgid() };
	struct queue *queue;
	struct place *place;
	struct read *read;
	__u64 now_ns;

	if ((__s32)args[1] < 0 || !is_udp(sk) || current_tgid() != config.process)
		return 0;
	queue = known(sk, &place);
	if (!queue)
		return 0;
	now_ns = bpf_ktime_get_ns();
	at.id = queue->id;
	read = bpf_map_lookup_elem(&readers, &at);
	if (queue->serves && !sk->__sk_common.skc_dport)
		answer_leaves(queue, place, now_ns, at.tid, read ? read->asked_ns : 0);
	if (!read || !read->asked_ns)
		return 0;
	if (now_ns > read->asked_ns)
		read->answer_ns += now_ns - read->asked_ns;
	read->answered++;
	read->asked_ns = 0;
	return 0;
}

SEC("tp_btf/udp_fail_queue_rcv_skb")
int is_dropped(arguments args)
{
	struct queue *queue;
	struct place *place;

	queue = known((struct sock *)args[1], &place);
	if (!queue)
		return 0;
	COUNT(place->dropped);
	__sync_fetch_and_add(&queue->dropped, 1);
	return 0;
}

/* Sends what was read late when nothing more is there to be read late, or when the recording ends; then also what was not read. */
static __always_inline void look_at(struct sock *sk, struct queue *queue, struct place *place)
{
	__u64 depth = depth_of(sk), now_ns = bpf_ktime_get_ns(), came_ns;

	place->walk = walks;
	if (ending && depth && queue->came >= depth) {
		came_ns = arrival_of(queue, queue->came - depth);
		if (came_ns && now_ns > came_ns && now_ns - came_ns >= config.late_ns)
			see_late(queue, came_ns, now_ns, depth, 0);
	}
	if (ending || !depth)
		tell(queue, place);
	if (ending)
		tell_open(queue, place, now_ns);
}

/* Run by user space for each descriptor of the process. */
SEC("iter/task_file")
int finds(struct bpf_iter__task_file *at)
{
	struct file *file = at->file;
	struct socket *socket;
	struct queue *queue;
	struct place *place;
	struct sock *sk;

	if (!at->task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : 0;
	if (!sk || !is_udp(sk))
		return 0;
	queue = known(sk, &place);
	/* Without a port nothing comes; one that goes on will have one. */
	if (!queue && sk->__sk_common.skc_num)
		know(sk);
	else if (queue)
		look_at(sk, queue, place);
	return 0;
}
