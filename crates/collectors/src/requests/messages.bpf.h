/*
 * Messages that begin with their length, as those of many protocols do (HBase, Kafka, ZooKeeper, Hazelcast). A client with several requests in
 * flight on one connection may write several of them at once, and TCP puts them into one segment: then segments do not count requests, but
 * messages do. Only connections with several requests at once are looked at, and only the length of each message.
 */
#ifndef FATHOM_REQUESTS_MESSAGES_H
#define FATHOM_REQUESTS_MESSAGES_H

#include "frames.bpf.h"

/* The length of the rest of the message, highest byte first. */
#define LENGTH_BYTES 4
/* Hazelcast: the length of the frame, lowest byte first, and flags. A message has several frames. */
#define HAZELCAST_BYTES 6
#define HAZELCAST_BEGINS 0x8000
/* A larger number is rather no length. */
#define MESSAGE_BYTES_MAX (1 << 24)

static __always_inline bool may_be_messages(struct connection *c)
{
	return c->several >= SEVERAL && c->asked.framing != HTTP2 && c->asked.framing < FRAMINGS && c->flags & INBOUND;
}

/* The head is complete. `is_first`: it is at the beginning of a read. Numbers in a row may look like lengths, so only these heads are proof. */
static __always_inline bool message_begins(struct piece *piece, bool is_first)
{
	struct frames *frames = piece->frames;
	__u8 *bytes = frames->head;
	__u32 length = (__u32)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
	__u32 flags = HAZELCAST_BEGINS;

	if (frames->framing == HAZELCAST) {
		length = __builtin_bswap32(length) - HAZELCAST_BYTES;
		flags = bytes[4] | bytes[5] << 8;
	} else if (!length) {
		length = MESSAGE_BYTES_MAX;
	}
	frames->head_bytes = 0;
	if (length >= MESSAGE_BYTES_MAX) {
		no_frame(piece);
		return false;
	}
	frames->left = length;
	if (flags & HAZELCAST_BEGINS) {
		piece->c->messages++;
		if (frames->sure)
			piece->c->arrivals++;
	}
	frames->seen += is_first;
	if (frames->seen >= FRAMES_SURE && !frames->sure)
		is_sure_now(piece);
	return true;
}

/* Goes on to the next message; 1 at the end of the piece. */
static long next_message(__u64 nth, void *context)
{
	struct piece *piece = context;
	bool is_first = !piece->at && !piece->frames->left;
	__u32 bytes_of_head = piece->frames->framing == LENGTH_FIRST ? LENGTH_BYTES : HAZELCAST_BYTES;

	return !head_is_complete(piece, bytes_of_head) || !message_begins(piece, is_first);
}

static __always_inline void see_messages(struct piece *piece)
{
	bpf_loop(FRAMES_MAX, next_message, piece, 0);
	if (piece->at < piece->bytes)
		no_frame(piece);
}

/* The current thread has read so many bytes. */
static __always_inline void see_read(struct connection *c, __u32 bytes, struct now now)
{
	bool is_answer = c->flags & OUTBOUND, is_frames = may_be_frames(c, is_answer);
	struct piece piece = piece_of(c, is_answer, now);
	struct pt_regs *registers;

	if (!is_frames && !may_be_messages(c))
		return;
	if (piece.frames->left >= bytes) {
		piece.frames->left -= bytes;
		return;
	}
	registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (kind_of_call(registers) != READS) {
		no_frame(&piece);
		return;
	}
	piece.buffer = second_argument(registers);
	piece.bytes = bytes;
	if (is_frames)
		see_piece(&piece);
	else
		see_messages(&piece);
}

#endif
