/*
 * Unencrypted HTTP/2, by the heads of its frames: nine bytes each, of which the length, the type, the flags and the number of the stream are
 * used. Nothing else is read or kept. If the bytes are no frames of HTTP/2, or encrypted, the first looks at them show it, and none follows.
 */
#ifndef FATHOM_REQUESTS_FRAMES_H
#define FATHOM_REQUESTS_FRAMES_H

#include "streams.bpf.h"

#define HEAD_BYTES 9
/* What a client of HTTP/2 says first: `PRI * HTTP/2.0` and two lines more. */
#define PREFACE_BYTES 24
/* Frames in one piece that are looked at; of one with more the rest is not known. */
#define FRAMES_MAX 256
/* So many heads that make sense, each where the one before it says, are no chance: a head of other bytes does once in some thousands. */
#define FRAMES_SURE 3
/* A connection that is older than the recording may be found in the middle of a frame. */
#define FRAMES_MISSES 4
/* The largest frame unless both sides agreed on more. */
#define FRAME_BYTES_MAX 16384

/* Pieces of one write that are looked at. */
#define PIECES_MAX 64

/* A piece of what one side sends. */
struct piece {
	struct connection *c;
	struct frames *frames;
	__u64 buffer;
	__u32 at;
	__u32 bytes;
	/* Whether the side that answers sends it. */
	__u32 is_answer;
	struct now now;
};

/* Whether an end of a connection sends such a frame. */
static __always_inline bool makes_sense(struct head *head)
{
	/* Streams that a server opens have even numbers; it only promises them, which hardly any does. */
	bool is_of_connection = !head->stream, is_of_client = head->stream & 1;

	switch (head->type) {
	case FRAME_DATA:
	case FRAME_HEADERS:
	case 9: /* more headers */
		return is_of_client && head->length <= FRAME_BYTES_MAX;
	case 2: /* priority */
		return is_of_client && head->length == 5;
	case FRAME_RESET:
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

/*
 * The bytes are no frame, and the rest of the piece is not looked at. If the side that answers sent them, ends of streams are not seen, and rows
 * are of the whole connection again.
 */
static __always_inline void no_frame(struct piece *piece)
{
	struct frames *frames = piece->frames;

	piece->at = piece->bytes;
	frames->seen = 0;
	frames->head_bytes = 0;
	frames->left = 0;
	if (piece->is_answer) {
		frames->sure = 0;
		piece->c->streams_open = 0;
	}
	if (!frames->sure && ++frames->misses >= FRAMES_MISSES && !piece->is_answer) {
		frames->framing++;
		frames->misses = 0;
		piece->c->messages_settled = piece->c->messages;
	}
}

static __always_inline void is_sure_now(struct piece *piece)
{
	struct connection *c = piece->c;

	/* From here on messages count, not segments. */
	if (!piece->is_answer && c->flags & INBOUND)
		c->arrivals = c->settled.arrivals + c->messages - c->messages_settled;
	piece->frames->sure = piece->frames->framing + 1;
	piece->frames->misses = 0;
}

/* The head of a frame of HTTP/2 is whole. */
static __always_inline bool frame_begins(struct piece *piece)
{
	struct frames *frames = piece->frames;
	__u8 *bytes = frames->head;
	struct head head = {
		.length = bytes[0] << 16 | bytes[1] << 8 | bytes[2],
		.type = bytes[3],
		.flags = bytes[4],
		.stream = (__u32)bytes[5] << 24 | bytes[6] << 16 | bytes[7] << 8 | bytes[8],
	};

	frames->head_bytes = 0;
	if (!piece->is_answer && bytes[0] == 'P' && bytes[1] == 'R' && bytes[2] == 'I' && bytes[3] == ' ' && bytes[4] == '*') {
		frames->left = PREFACE_BYTES - HEAD_BYTES;
		return true;
	}
	if (!makes_sense(&head)) {
		no_frame(piece);
		return false;
	}
	if (++frames->seen >= FRAMES_SURE && !frames->sure)
		is_sure_now(piece);
	frames->left = head.length;
	if (piece->is_answer)
		stream_is_answered(piece->c, &head, &piece->now);
	else
		stream_is_asked(piece->c, &head, &piece->now);
	return true;
}

/* Goes on to the next head; whether it is complete now. If not, the piece ends before it does. */
static __always_inline bool head_is_complete(struct piece *piece, __u32 bytes_of_head)
{
	struct frames *frames = piece->frames;
	__u32 left = piece->bytes - piece->at, head_bytes, wanted;

	if (frames->left) {
		wanted = frames->left < left ? frames->left : left;
		frames->left -= wanted;
		piece->at += wanted;
		left -= wanted;
	}
	if (!left)
		return false;
	head_bytes = frames->head_bytes & 15;
	asm volatile("" : "+r"(head_bytes));
	if (head_bytes >= bytes_of_head)
		return false;
	wanted = bytes_of_head - head_bytes;
	if (wanted > left)
		wanted = left;
	asm volatile("" : "+r"(wanted));
	if (!wanted || wanted > HEAD_BYTES)
		return false;
	if (bpf_probe_read_user(&frames->head[head_bytes], wanted, (void *)(piece->buffer + piece->at))) {
		no_frame(piece);
		return false;
	}
	piece->at += wanted;
	frames->head_bytes = head_bytes + wanted;
	return frames->head_bytes == bytes_of_head;
}

/* Goes on to the next frame; 1 at the end of the piece. */
static long next_frame(__u64 nth, void *context)
{
	struct piece *piece = context;

	return !head_is_complete(piece, HEAD_BYTES) || !frame_begins(piece);
}

static __always_inline void see_piece(struct piece *piece)
{
	bpf_loop(FRAMES_MAX, next_frame, piece, 0);
	if (piece->at < piece->bytes)
		no_frame(piece);
}

/* The kind of system call that the current thread is in. */
static __always_inline __u8 kind_of_call(struct pt_regs *registers)
{
	__s32 call = system_call(registers);

	return call < 0 ? 0 : config.kind_of_call[below(call, CALLS)];
}

/* What the target reads, or sends, of a connection. Of answers nothing is known where the side that asks does not speak HTTP/2. */
static __always_inline struct piece piece_of(struct connection *c, bool is_answer, struct now now)
{
	struct piece piece = {
		.c = c,
		.frames = is_answer ? &c->answered : &c->asked,
		.is_answer = is_answer,
		.now = now,
	};

	return piece;
}

static __always_inline bool may_be_frames(struct connection *c, bool is_answer)
{
	if (is_answer)
		return is_http2(c) && c->answered.misses < FRAMES_MISSES;
	return c->asked.framing == HTTP2;
}

/* What a thread writes in several pieces. */
struct pieces {
	struct piece *piece;
	__u64 at;
	__u64 count;
	__u32 bytes;
};

/* As `struct iovec`. */
struct place {
	__u64 buffer;
	__u64 bytes;
};

/* Goes on to the next piece; 1 behind the last. */
static long next_piece(__u64 nth, void *context)
{
	struct pieces *pieces = context;
	struct piece *piece = pieces->piece;
	struct place place = {};

	if (!pieces->bytes || nth >= pieces->count)
		return 1;
	if (bpf_probe_read_user(&place, sizeof(place), (void *)(pieces->at + nth * sizeof(place))))
		return 1;
	piece->buffer = place.buffer;
	piece->at = 0;
	piece->bytes = place.bytes < pieces->bytes ? place.bytes : pieces->bytes;
	pieces->bytes -= piece->bytes;
	see_piece(piece);
	return 0;
}

/* As the beginning of `struct user_msghdr`. */
struct message {
	__u64 name;
	__u64 name_bytes;
	__u64 pieces;
	__u64 count;
};

/* The current thread has sent so many bytes. */
static __always_inline void see_sent(struct connection *c, __u32 bytes, struct now now)
{
	struct piece piece = piece_of(c, c->flags & INBOUND, now);
	struct pieces pieces = { .piece = &piece, .bytes = bytes };
	struct message message = {};
	struct pt_regs *registers;
	__u8 kind;

	registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	kind = kind_of_call(registers);
	if (kind == WRITES) {
		piece.buffer = second_argument(registers);
		piece.bytes = bytes;
		see_piece(&piece);
		return;
	}
	pieces.at = second_argument(registers);
	pieces.count = PIECES_MAX;
	if (kind == SENDS_MESSAGE && !bpf_probe_read_user(&message, sizeof(message), (void *)pieces.at)) {
		pieces.at = message.pieces;
		pieces.count = message.count;
	} else if (kind != WRITES_PIECES) {
		no_frame(&piece);
		return;
	}
	bpf_loop(PIECES_MAX, next_piece, &pieces, 0);
	if (pieces.bytes)
		no_frame(&piece);
}

#endif
