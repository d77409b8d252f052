/*
 * Requests and calls of HTTP/2 in the clear: each is a stream that the side that asks opens, by the head of a frame, and that both sides close
 * by a flag in the head of their last one. So several at once on one connection are followed one by one, each with its own length.
 */
#ifndef FATHOM_REQUESTS_STREAMS_H
#define FATHOM_REQUESTS_STREAMS_H

#include "exchange.bpf.h"

#define BPF_MAP_TYPE_LRU_HASH 9

#define FRAME_DATA 0
#define FRAME_HEADERS 1
#define FRAME_RESET 3
/* Of frames with data and headers: nothing follows from this side. */
#define FLAG_LAST 1
/* Streams of all connections at once; beyond it the one that was used longest ago is forgotten. */
#define STREAMS 8192

struct head {
	__u32 length;
	__u32 type;
	__u32 flags;
	__u32 stream;
};

/* When something is read or sent, and by which thread; since when what is read had been there. */
struct now {
	__u64 ns;
	__u64 arrived_ns;
	__u32 tid;
	__u32 reserved;
};

struct stream_key {
	__u32 connection;
	__u32 stream;
};

struct stream {
	__u64 began_ns;
	__u64 read_ns;
	__u64 answered_ns;
	/* Who read the request, or sent the call. */
	__u32 tid;
	__u32 asked_bytes;
	__u32 answered_bytes;
	__u32 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STREAMS);
	__type(key, struct stream_key);
	__type(value, struct stream);
} streams SEC(".maps");

static __always_inline struct stream_key key_of(struct connection *c, struct head *head)
{
	struct stream_key key = { .connection = c->number, .stream = head->stream };

	return key;
}

/* While another stream is under way of which nothing has been answered, both are: the connection carries several at once. */
static __always_inline void count_stream(struct connection *c, struct head *head)
{
	c->last_stream = head->stream;
	if (is_http2(c) && c->flags & INBOUND)
		c->arrivals++;
	c->messages++;
	if (c->streams_of_exchange < 2 && ++c->streams_of_exchange == 2 && is_http2(c) && c->began_ns && !c->last_ns) {
		c->several = SEVERAL;
		c->flags |= OVERLAPS;
	}
}

static __always_inline void stream_opens(struct connection *c, struct head *head, struct now *now)
{
	struct stream_key key = key_of(c, head);
	struct stream opened = {
		.began_ns = now->arrived_ns,
		.read_ns = c->flags & INBOUND ? now->ns : 0,
		.tid = now->tid,
		.asked_bytes = head->length,
	};

	count_stream(c, head);
	if (!bpf_map_update_elem(&streams, &key, &opened, BPF_ANY))
		__sync_fetch_and_add(&c->streams_open, 1);
}

/* Removes a stream; true for only one of those who try it at the same time. */
static __always_inline bool forget(struct connection *c, struct stream_key *key)
{
	if (bpf_map_delete_elem(&streams, key))
		return false;
	if (c->streams_open)
		__sync_fetch_and_add(&c->streams_open, -1);
	return true;
}

/* Of a request: the thread that sends its answer is the one that read it, and another one woke it meanwhile. */
static __always_inline void see_worker_of(struct exchange *e, struct stream *stream, struct now *now)
{
	struct woken *woken = woken_at(now->tid);

	if (stream->tid != now->tid || !woken || !is_worker(woken, now->tid, stream->read_ns))
		return;
	e->worker_tid = woken->by_tid;
	e->returned_ns = woken->at_ns;
	woken->by_tid = 0;
}

/* It has ended: the last byte of its answer is sent, or read, now. */
static __always_inline void stream_ends(struct connection *c, struct stream_key *key, struct stream *stream, struct now *now)
{
	bool is_request = c->flags & INBOUND;
	struct target *target = target_of(c->target);
	struct exchange e = {
		.began_ns = stream->began_ns,
		.end_ns = now->ns,
		.read_ns = stream->read_ns,
		.answered_ns = stream->answered_ns,
		.reader_tid = is_request ? stream->tid : now->tid,
		.sender_tid = is_request ? now->tid : stream->tid,
		.bytes_in = is_request ? stream->asked_bytes : stream->answered_bytes,
		.bytes_out = is_request ? stream->answered_bytes : stream->asked_bytes,
		.endpoint = c->endpoint,
		.flags = (c->flags & (INBOUND | OUTBOUND | TCP)) | STREAM | stream->flags,
		.stands_for = 1,
	};

	if (is_request)
		see_worker_of(&e, stream, now);
	if (forget(c, key) && target && is_followed(c) && e.end_ns >= e.began_ns)
		add(target, &e);
}

/* The side that asks sends a frame. */
static __always_inline void stream_is_asked(struct connection *c, struct head *head, struct now *now)
{
	struct stream_key key = key_of(c, head);
	struct stream *stream;

	if (head->type == FRAME_HEADERS && head->stream > c->last_stream) {
		stream_opens(c, head, now);
		return;
	}
	if (head->type != FRAME_DATA && head->type != FRAME_RESET)
		return;
	stream = bpf_map_lookup_elem(&streams, &key);
	if (!stream)
		return;
	if (head->type == FRAME_RESET) {
		forget(c, &key);
		return;
	}
	stream->asked_bytes += head->length;
	/* Both sides talk in turn, as often as they like: no single request. */
	if (stream->answered_bytes && head->length)
		stream->flags |= OVERLAPS;
}

/* The side that answers sends one. */
static __always_inline void stream_is_answered(struct connection *c, struct head *head, struct now *now)
{
	struct stream_key key = key_of(c, head);
	struct stream *stream;

	if (head->type != FRAME_HEADERS && head->type != FRAME_DATA && head->type != FRAME_RESET)
		return;
	stream = bpf_map_lookup_elem(&streams, &key);
	if (!stream)
		return;
	/* Of a call, when that arrived. */
	if (!stream->answered_ns)
		stream->answered_ns = c->flags & INBOUND ? now->ns : now->arrived_ns;
	if (!stream->read_ns)
		stream->read_ns = now->ns;
	if (head->type == FRAME_DATA)
		stream->answered_bytes += head->length;
	if (head->type == FRAME_RESET || head->flags & FLAG_LAST)
		stream_ends(c, &key, stream, now);
}

#endif
