/*
 * HTTP/2 in the clear, by the heads of its frames: nine bytes each, of which the length, the type and the number of the stream are used
 * and nothing is kept but the sums. A request is a stream that its client opens. Where the bytes are no frames of HTTP/2, or encrypted, the first
 * look at them says so, and none follows.
 */
#ifndef FATHOM_REQUESTS_FRAMES_H
#define FATHOM_REQUESTS_FRAMES_H

#include "state.bpf.h"

#define HEAD_BYTES 9
/* What a client of HTTP/2 says first: `PRI * HTTP/2.0` and two lines more. */
#define PREFACE_BYTES 24
/* Frames in one read that are looked at; of a read with more the rest is not known. */
#define FRAMES_MAX 256
/* So many heads that make sense, each where the one before it says, are no chance: a head of other bytes does once in some thousands. */
#define FRAMES_SURE 3
/* A connection that is older than the recording may be found in the middle of a frame. */
#define FRAMES_MISSES 4
/* The largest frame unless both sides agreed on more. */
#define FRAME_BYTES_MAX 16384

#define FRAME_HEADERS 1

struct read {
	struct connection *c;
	__u64 buffer;
	__u32 at;
	__u32 bytes;
};

struct head {
	__u32 length;
	__u32 type;
	__u32 stream;
};

/* Whether a client of HTTP/2 sends such a frame. */
static __always_inline bool makes_sense(struct head *head)
{
	bool is_of_connection = !head->stream, is_of_client = head->stream & 1;

	switch (head->type) {
	case 0: /* data */
	case FRAME_HEADERS:
	case 9: /* more headers */
		return is_of_client && head->length <= FRAME_BYTES_MAX;
	case 2: /* priority */
		return is_of_client && head->length == 5;
	case 3: /* a stream is reset */
		return !is_of_connection && head->length == 4;
	case 4: /* settings */
		return is_of_connection && head->length % 6 == 0 && head->length < 256;
	case 6: /* ping */
		return is_of_connection && head->length == 8;
	case 7: /* good-bye */
		return is_of_connection && head->length >= 8 && head->length < 1024;
	case 8: /* window */
		return head->length == 4;
	default:
		return false;
	}
}

static __always_inline bool is_http2(struct connection *c)
{
	return c->frames.are_sure;
}

/* A client opens a stream. While another one is under way of which nothing has been answered, both are. */
static __always_inline void stream_opens(struct connection *c)
{
	c->frames.streams++;
	if (c->frames.streams_of_exchange < 2 && ++c->frames.streams_of_exchange == 2 && is_http2(c) && c->began_ns && !c->last_ns) {
		c->several = SEVERAL;
		c->flags |= OVERLAPS;
	}
}

static __always_inline void no_frame(struct connection *c)
{
	c->frames.seen = 0;
	c->frames.head_bytes = 0;
	c->frames.left = 0;
	if (!is_http2(c))
		c->frames.misses++;
}

/* The head is whole. */
static __always_inline bool frame_begins(struct connection *c)
{
	__u8 *bytes = c->frames.head;
	struct head head = {
		.length = bytes[0] << 16 | bytes[1] << 8 | bytes[2],
		.type = bytes[3],
		.stream = (__u32)bytes[5] << 24 | bytes[6] << 16 | bytes[7] << 8 | bytes[8],
	};

	c->frames.head_bytes = 0;
	if (bytes[0] == 'P' && bytes[1] == 'R' && bytes[2] == 'I' && bytes[3] == ' ' && bytes[4] == '*') {
		c->frames.left = PREFACE_BYTES - HEAD_BYTES;
		return true;
	}
	if (!makes_sense(&head)) {
		no_frame(c);
		return false;
	}
	if (++c->frames.seen >= FRAMES_SURE && !is_http2(c)) {
		/* From here on streams count, not segments. */
		c->arrivals = c->settled.arrivals + c->frames.streams - c->frames.streams_settled;
		c->frames.are_sure = 1;
	}
	c->frames.left = head.length;
	if (head.type == FRAME_HEADERS && head.stream > c->frames.last_stream) {
		c->frames.last_stream = head.stream;
		if (is_http2(c))
			c->arrivals++;
		stream_opens(c);
	}
	return true;
}

/* Goes on to the next head, or to the end of what was read; 1 when that is reached. */
static long next_frame(__u64 nth, void *context)
{
	struct read *read = context;
	struct connection *c = read->c;
	__u32 left = read->bytes - read->at, head_bytes, wanted;

	if (c->frames.left) {
		wanted = c->frames.left < left ? c->frames.left : left;
		c->frames.left -= wanted;
		read->at += wanted;
		left -= wanted;
	}
	if (!left)
		return 1;
	head_bytes = c->frames.head_bytes & 15;
	asm volatile("" : "+r"(head_bytes));
	if (head_bytes >= HEAD_BYTES)
		return 1;
	wanted = HEAD_BYTES - head_bytes;
	if (wanted > left)
		wanted = left;
	asm volatile("" : "+r"(wanted));
	if (!wanted || wanted > HEAD_BYTES)
		return 1;
	if (bpf_probe_read_user(&c->frames.head[head_bytes], wanted, (void *)(read->buffer + read->at))) {
		no_frame(c);
		return 1;
	}
	read->at += wanted;
	c->frames.head_bytes = head_bytes + wanted;
	return c->frames.head_bytes == HEAD_BYTES && !frame_begins(c);
}

/* The current thread has read so many bytes of a request into one buffer. */
static __always_inline void see_frames(struct connection *c, __u32 bytes)
{
	struct read read = { .c = c, .bytes = bytes };
	struct pt_regs *registers;
	__s32 call;

	if (c->frames.misses >= FRAMES_MISSES)
		return;
	registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	call = system_call(registers);
	if (call < 0 || config.kind_of_call[below(call, CALLS)] != READS) {
		no_frame(c);
		return;
	}
	read.buffer = second_argument(registers);
	bpf_loop(FRAMES_MAX, next_frame, &read, 0);
	if (read.at < read.bytes)
		no_frame(c);
}

#endif
