/*
 * Requests to block devices with their stages, of all devices and all processes: the target is often slowed by writes
 * of other processes. A bio is queued (Q) by its submitter, gets a request (G), the request goes into the scheduler's
 * queue (I; not when there is no scheduler), is issued to the driver (D, sometimes several times), and completes (C),
 * in whatever thread an interrupt comes upon.
 *
 * Stages are joined by the addresses of bio and request, never by sectors, which collide.
 */
#include "../bpf/budget.bpf.h"

/* Requests sent in a second at most, of the slow ones and of the target's other ones. */
#define SLOW_PER_SECOND 500
#define OWN_PER_SECOND 500

#define STAGES 5
#define OPERATION_MASK 0xff
#define FLUSH 2
#define FLUSH_FIRST (1 << 18)

const volatile struct {
	__u64 threshold_ns;
	__u32 tgid;
	__u32 reserved;
} config SEC(".rodata.config") = {};

struct {
	__u64 ring_full;
	__u64 over_budget;
	__u64 table_busy;
} losses SEC(".data.losses") = {};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
} KERNEL_TYPE;
struct block_device {
	__u32 bd_dev;
} KERNEL_TYPE;
struct bio {
	struct bvec_iter bi_iter;
} KERNEL_TYPE;
struct gendisk {
	int major;
	int first_minor;
} KERNEL_TYPE;
struct request_queue {
	struct gendisk *disk;
} KERNEL_TYPE;
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
} KERNEL_TYPE;

/* A bio that has no request yet. Bio-based devices never give it one; least recently used ones go. */
struct queued {
	__u64 queued_ns;
	__u64 got_request_ns;
	__u32 tid;
	__u32 tgid;
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct queued);
} bios SEC(".maps");

/* A request under way. */
struct under_way {
	struct queued from;
	__u64 inserted_ns;
	__u64 issued_ns;
	/* Drivers that are out of resources let it be issued again. */
	__u64 last_issued_ns;
	__u64 sector;
	__u32 bytes;
	__u32 flags;
	__u32 device;
	__u32 dispatches;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct under_way);
} requests SEC(".maps");

struct of_device {
	__u32 device;
	__u32 operation;
};

struct sum {
	__u64 count;
	__u64 bytes;
	/* Q2G, G2I, I2D, G2D (where there was no I), D2C */
	__u64 stages_ns[STAGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct of_device);
	__type(value, struct sum);
} sums SEC(".maps");

struct completed {
	struct under_way request;
	__u64 completed_ns;
	__u32 error;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} completed SEC(".maps");

struct budget slow SEC(".data.budget") = {}, own SEC(".data.budget") = {};

static const struct sum no_sum = {};

static __always_inline void note_submitter(struct queued *queued)
{
	__u64 id = bpf_get_current_pid_tgid();

	queued->tid = id;
	queued->tgid = id >> 32;
	bpf_get_current_comm(queued->name, sizeof(queued->name));
}

SEC("tp_btf/block_bio_queue")
int queues(arguments args)
{
	__u64 bio = args[0];
	struct queued queued = {};

	queued.queued_ns = bpf_ktime_get_ns();
	note_submitter(&queued);
	if (bpf_map_update_elem(&bios, &bio, &queued, BPF_ANY))
		COUNT(losses.table_busy);
	return 0;
}

SEC("tp_btf/block_getrq")
int gets_request(arguments args)
{
	__u64 bio = args[0];
	struct queued *queued = bpf_map_lookup_elem(&bios, &bio);

	if (queued)
		queued->got_request_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int merges(__u64 bio)
{
	bpf_map_delete_elem(&bios, &bio);
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int merges_at_end(arguments args)
{
	return merges(args[0]);
}

SEC("tp_btf/block_bio_frontmerge")
int merges_at_front(arguments args)
{
	return merges(args[0]);
}

static __always_inline void describe(struct under_way *entry, struct request *request, struct queued *queued)
{
	if (queued)
		entry->from = *queued;
	else
		note_submitter(&entry->from);
	entry->sector = request->__sector;
	entry->bytes = request->__data_len;
	entry->flags = request->cmd_flags;
	if (request->q->disk)
		entry->device = request->q->disk->major << 20 | request->q->disk->first_minor;
}

/*
 * The request's entry, new if it has just got its bio. A request's address is used again and again, so
 * an entry left over from a completion that was missed must not be taken for this one's.
 */
static __always_inline struct under_way *entry_of(struct request *request)
{
	__u64 key = (__u64)request, bio = (__u64)request->bio;
	struct queued *queued = bpf_map_lookup_elem(&bios, &bio);
	struct under_way *entry = 0, fresh = {};

	if (!queued) {
		entry = bpf_map_lookup_elem(&requests, &key);
		if (entry && !(entry->issued_ns && entry->sector != request->__sector))
			return entry;
	}
	describe(&fresh, request, queued);
	if (bpf_map_update_elem(&requests, &key, &fresh, BPF_ANY)) {
		COUNT(losses.table_busy);
		return 0;
	}
	bpf_map_delete_elem(&bios, &bio);
	return bpf_map_lookup_elem(&requests, &key);
}

SEC("tp_btf/block_rq_insert")
int inserts(arguments args)
{
	struct under_way *entry = entry_of((struct request *)args[0]);

	if (entry && !entry->inserted_ns)
		entry->inserted_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/block_rq_issue")
int issues(arguments args)
{
	struct request *request = (struct request *)args[0];
	struct under_way *entry = entry_of(request);

	if (!entry)
		return 0;
	entry->last_issued_ns = bpf_ktime_get_ns();
	/* If the device is to be flushed first, it has been at work since. */
	if (!entry->issued_ns)
		entry->issued_ns = entry->flags & FLUSH_FIRST && entry->from.got_request_ns ?
					   entry->from.got_request_ns : entry->last_issued_ns;
	/* It may have grown in the queue. */
	entry->bytes = request->__data_len;
	entry->dispatches++;
	return 0;
}

/* It became a part of another request. */
SEC("tp_btf/block_rq_merge")
int merges_request(arguments args)
{
	__u64 key = args[0];

	bpf_map_delete_elem(&requests, &key);
	return 0;
}

static __always_inline __u64 between(__u64 from, __u64 to)
{
	return from && to > from ? to - from : 0;
}

static __always_inline void add(struct under_way *request, __u64 now)
{
	struct of_device key = { .device = request->device, .operation = request->flags & OPERATION_MASK };
	struct sum *sum = bpf_map_lookup_elem(&sums, &key);

	if (!sum) {
		bpf_map_update_elem(&sums, &key, &no_sum, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &key);
		if (!sum)
			return;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->bytes, request->bytes);
	__sync_fetch_and_add(&sum->stages_ns[0], between(request->from.queued_ns, request->from.got_request_ns));
	if (request->inserted_ns) {
		__sync_fetch_and_add(&sum->stages_ns[1], between(request->from.got_request_ns, request->inserted_ns));
		__sync_fetch_and_add(&sum->stages_ns[2], between(request->inserted_ns, request->issued_ns));
	} else {
		__sync_fetch_and_add(&sum->stages_ns[3], between(request->from.got_request_ns, request->issued_ns));
	}
	__sync_fetch_and_add(&sum->stages_ns[4], between(request->issued_ns, now));
}

static __always_inline bool is_wanted(struct under_way *request, __u64 now)
{
	__u64 began = request->from.queued_ns ? request->from.queued_ns : request->issued_ns;

	if (between(began, now) >= config.threshold_ns)
		return is_affordable(&slow, now, SLOW_PER_SECOND, &losses.over_budget);
	return request->from.tgid == config.tgid && is_affordable(&own, now, OWN_PER_SECOND, &losses.over_budget);
}

static __always_inline void send(struct under_way *entry, __u64 now, __u32 error)
{
	struct completed *event = bpf_ringbuf_reserve(&completed, sizeof(*event), 0);

	if (!event) {
		COUNT(losses.ring_full);
		return;
	}
	event->request = *entry;
	event->completed_ns = now;
	event->error = error;
	bpf_ringbuf_submit(event, 0);
}

SEC("tp_btf/block_rq_complete")
int completes(arguments args)
{
	struct request *request = (struct request *)args[0];
	__u64 key = args[0], now;
	struct under_way *entry;

	/* A part of it; the rest is still under way. */
	if ((__u32)args[2] < request->__data_len)
		return 0;
	entry = bpf_map_lookup_elem(&requests, &key);
	/* A mere flush is never issued itself: the kernel issues one flush for all that ask for it. */
	if (!entry && ((request->cmd_flags & OPERATION_MASK) == FLUSH || request->cmd_flags & FLUSH_FIRST))
		entry = entry_of(request);
	if (!entry)
		return 0;
	now = bpf_ktime_get_ns();
	if (!entry->issued_ns)
		entry->issued_ns = entry->from.got_request_ns;
	if (entry->issued_ns) {
		add(entry, now);
		if (is_wanted(entry, now))
			send(entry, now, (__u8)args[1]);
	}
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
