/*
 * What the programs keep: which processes they observe, sums of each endpoint, the state of each connection.
 */
#ifndef FATHOM_REQUESTS_STATE_H
#define FATHOM_REQUESTS_STATE_H

#include "../bpf/budget.bpf.h"
#include "kernel.bpf.h"

#define BPF_MAP_TYPE_STACK 23
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

#define AF_UNIX 1
#define AF_INET6 10
#define SOCK_STREAM 1
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define RCV_SHUTDOWN 1
#define MSG_PEEK 2
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE_WAIT 8
#define TCP_LISTEN 10
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
#define TCP_CLOSE 7
#define TCP_LAST_ACK 9

/* Rows of a target in a sixteenth of a second at most. User space sees to it that about half as many come. */
#define ROWS_PER_SLICE 250
#define SLICES_PER_SECOND 16

/* A peer that pauses for so long in the middle of what it sends has begun anew: what came before needed no answer. */
#define PAUSE_NS 100000000ULL
/* An exchange that has ended is reported after this time without a next one. */
#define IDLE_NS 500000000ULL
/* What leaves the machine no later than this after the program has given it away left at once. */
#define AT_ONCE_NS 1000000ULL
/* A thread that is woken so soon after data has arrived on this CPU is woken by that. */
#define BY_ARRIVAL_NS 20000ULL
/* A request without any answer is reported from this length on. */
#define UNANSWERED_NS 1000000000ULL

/*
 * A connection on which requests have overlapped, or something was sent without a request, so often carries several things
 * at once, as HTTP/2 and WebSocket do: none of its lengths is that of one request.
 */
#define SEVERAL 3

/* Kinds of system calls: see `config`. */
#define WAITS 1
#define READS 2
#define WRITES 3
#define WRITES_PIECES 4
#define SENDS_MESSAGE 5

/* Processes that are observed at once. */
#define TARGETS 256
/* Places that find their processes; a power of two, and few processes of a machine share one with a target. */
#define PROCESS_PLACES 4096
/* Of all targets, and of one. */
#define ENDPOINTS 4096
#define ENDPOINTS_OF_TARGET 1024
#define LISTENERS 8192
/* Connections in a listener's queue that one walk looks at: more than the usual length of such a queue, and few enough for the verifier. */
#define ACCEPTED_MAX 128
/* Threads whose wakers are known; of two with the same place the one that was woken last. */
#define WOKEN 4096
#define BUCKETS 112
/* Bucket of 2^10 ns; four to each power of two. */
#define FIRST_POWER 10

const volatile struct {
	/* Whether this kernel has a tracepoint where a thread begins to send (Linux 6.16); otherwise only where it has sent. */
	__u32 sees_begin_of_send;
	/* Length of a jiffy. */
	__u32 tick_ns;
	/*
	 * WAITS for system calls in which an event loop waits for its sockets, READS and WRITES for those whose second argument is the one
	 * buffer of what is read or written, WRITES_PIECES where it is an array of pieces, SENDS_MESSAGE where it has the place of one.
	 */
	__u8 kind_of_call[CALLS];
} config SEC(".rodata.config") = {};

/* A process that is observed; user space has it mapped. */
struct target {
	/* Its place in the lower bits, and how many targets had it before in the others; 0: free. */
	__u64 id;
	/* Whether its recording ends: exchanges under way are reported as they are. */
	__u64 ending;
	/* Endpoints that it has. */
	__u64 endpoints;
	/* Number of the last walk over its connections, from 1. */
	__u64 walk;
	struct {
		__u64 ring_full;
		__u64 over_budget;
		__u64 endpoints_full;
		__u64 without_storage;
	} losses;
	struct budget rows;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TARGETS);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

/* Ids of targets by process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGETS);
	__type(key, __u32);
	__type(value, __u32);
} processes SEC(".maps");

static __always_inline struct target *target_of(__u32 id)
{
	__u32 index = id & (TARGETS - 1);
	struct target *target = bpf_map_lookup_elem(&targets, &index);

	return id && target && target->id == id ? target : 0;
}

/*
 * The same by the lower bits of a process's number, its number above the id: what most events are asked first, as a look into a hash map
 * costs more than all the rest of an event of no target. Of two that would have the same place one is in the hash map only.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PROCESS_PLACES);
	__type(key, __u32);
	__type(value, __u64);
} process_places SEC(".maps");

/* The target that a process is; 0: none. */
static __always_inline __u32 target_of_process(__u32 tgid)
{
	__u32 index = tgid & (PROCESS_PLACES - 1), *id;
	__u64 *place = bpf_map_lookup_elem(&process_places, &index);
	__u64 there = place ? *place : 0;

	if (!there || there >> 32 == tgid)
		return there;
	id = bpf_map_lookup_elem(&processes, &tgid);
	return id ? *id : 0;
}

/* The target that the current thread belongs to; 0: none. */
static __always_inline __u32 current_target(void)
{
	return target_of_process(current_tgid());
}

/* TCP ports that a target listens on. */
struct port_of {
	__u32 target;
	__u32 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LISTENERS);
	__type(key, struct port_of);
	__type(value, __u32);
} listened SEC(".maps");

/* Which target listens on a port, if several do the last one. Others of them have their connections from the first use on. */
struct listener {
	__u32 network_namespace;
	__u32 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LISTENERS);
	__type(key, struct listener);
	__type(value, __u32);
} listeners SEC(".maps");

#define INBOUND 1
#define OUTBOUND 2
/* Sockets that serve no requests, or are not the target's. */
#define IGNORED 4
/* A thread of the target has used it. */
#define OWNED 8
/* The peer sent before it had all that was sent to it: requests overlap. */
#define OVERLAPS 16
/* Has carried something that was not answered. */
#define ONE_WAY 32
#define UNANSWERED 64
#define TCP 128
/* The end of what was sent had to wait until the peer acknowledged what went before (Nagle's algorithm). */
#define HELD 256
/* Something of it was sent again. */
#define RESENT 512
/* The peer had no room for it. */
#define WINDOW_FULL 1024
/* The target has closed it, and not all of its last answer has arrived. */
#define CLOSING 2048
#define UDP 4096
/* Something was sent without a request since the last exchange. */
#define PUSHED 8192
/* The peer had closed its side before anything was answered. */
#define GIVEN_UP 16384
/* Has been closed by one side, without an answer ever, and is counted as that. */
#define FAILED 32768
/* Of an exchange, and never of a connection: it is one stream of HTTP/2. */
#define STREAM 65536

#define PATH_BYTES 108
/* A service: the port that is listened on, or the peer that is called. */
struct endpoint {
	__u16 port;
	__u8 direction;
	__u8 family;
	/* Address of a peer: 4 or 16 bytes; path of a Unix socket. */
	__u8 name[PATH_BYTES];
	/* Whose. */
	__u32 target;
};

/* Sums of an endpoint, which user space has mapped. */
struct sums {
	/* The id of the target; 0: free. */
	__u64 target;
	__u64 count;
	__u64 time_ns;
	__u64 unread_ns;
	/* Counted anew at each walk. */
	__u64 under_way;
	/* Set by user space: what takes at least so long is a row; of the others one in so many. */
	__u64 slow_ns;
	__u64 one_in;
	/* Segments that were sent again. */
	__u64 resent;
	/* What needs no pairing: see `settle`. */
	__u64 arrivals;
	__u64 sends;
	__u64 bytes_in;
	__u64 bytes_out;
	/* What failed: see `see_failure`. */
	__u64 resets;
	__u64 connects_failed;
	__u64 closed_unanswered;
	__u64 by_latency[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ENDPOINTS);
	__type(key, __u32);
	__type(value, struct sums);
} sums_of SEC(".maps");

static __always_inline struct sums *sums_at(__u32 endpoint)
{
	__u32 index = endpoint & (ENDPOINTS - 1);

	return bpf_map_lookup_elem(&sums_of, &index);
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDPOINTS);
	__type(key, struct endpoint);
	__type(value, __u32);
} endpoints SEC(".maps");

/* The endpoints by number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENDPOINTS);
	__type(key, __u32);
	__type(value, struct endpoint);
} named SEC(".maps");

/* Numbers that no endpoint has. Two of each target are never among them: for those for which there is no room, inbound and outbound. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, ENDPOINTS);
	__type(value, __u32);
} unused SEC(".maps");

/* How a protocol marks where its messages begin; tried in this order. See `frames.bpf.h` and `messages.bpf.h`. */
#define HTTP2 0
#define LENGTH_FIRST 1
#define HAZELCAST 2
#define FRAMINGS 3

/* What one side of a connection sends, as frames. */
struct frames {
	__u32 framing;
	/* Heads that made sense in a row, and how often one did not. */
	__u32 seen;
	__u32 misses;
	/* The framing and 1 once it is known for sure, else 0. One number, because the verifier follows both ways of each comparison. */
	__u32 sure;
	/* Bytes of a frame that are still to come. */
	__u32 left;
	/* Of a head that came in two pieces. */
	__u32 head_bytes;
	__u8 head[32];
};

struct connection {
	/* Of the request or call; 0 when there is none. */
	__u64 began_ns;
	/* First read: of the request, or of the answer to a call. */
	__u64 read_ns;
	/* A request: first byte of the answer sent. A call: first byte of the answer arrived. */
	__u64 answered_ns;
	/* Last byte of the answer so far: sent, or read. 0: nothing yet. */
	__u64 last_ns;
	/* When the peer (a request) or the target (a call) sent anything last. */
	__u64 touched_ns;
	/* When the peer closed its side, if a request had no answer then. */
	__u64 given_up_ns;
	/* First arrival that is still unread; for requests also how much had been sent by then. */
	__u64 unread_since_ns;
	__u32 unread_write_seq;
	/* What had been sent, and read, when it began. */
	__u32 write_seq;
	__u32 copied_seq;
	/* Calls: what had been sent when a send was last seen. Of datagrams: how many were sent, as `copied_seq` is how many were read. */
	__u32 seen_seq;
	__u32 reader_tid;
	__u32 sender_tid;
	__u32 bytes_in;
	__u32 bytes_out;
	__u32 endpoint;
	__u32 flags;
	/* The id of whose it is. */
	__u32 target;
	/* What had been sent when the kernel began to hold the rest back. */
	__u32 held_seq;
	/* For how long the peer's window had been full when that was last looked at, in jiffies. */
	__u32 window_ticks;
	/* For how long the end of what the target sent had stood in the kernel before it left. */
	__u64 unsent_ns;
	/* For how long meanwhile the peer had no room for more. */
	__u64 window_full_ns;
	/* When another thread woke the event loop that read a request and then answered it, and who: it had worked on the request. */
	__u64 returned_ns;
	__u32 worker_tid;
	/* How often requests have overlapped on it, or something was sent without a request; up to SEVERAL. */
	__u32 several;
	/* The last walk that looked at it. */
	__u32 walk;
	/* How often data came, where TCP does not count its segments, and how often the target sent something. */
	__u32 arrivals;
	__u32 sends;
	/* What of these, and of what TCP counts, the sums of the endpoint have. */
	struct {
		__u32 arrivals;
		__u32 sends;
		__u32 copied_seq;
		__u32 write_seq;
	} settled;
	/* Unencrypted frames: of the side that asks, and for HTTP/2 of the other side. */
	struct frames asked;
	struct frames answered;
	/* Its streams have this and their own number as their key. */
	__u32 number;
	__u32 last_stream;
	/* Messages by their frames: streams of HTTP/2, or messages that begin with their length. */
	__u32 messages;
	__u32 messages_settled;
	/* Opened since what is under way began, up to two. */
	__u32 streams_of_exchange;
	/* Opened and not answered to the end. */
	__u32 streams_open;
};

/* Whether it is known where each message of the side that asks begins. */
static __always_inline bool is_framed(struct connection *c)
{
	return c->asked.sure;
}

/* Whether the side that asks sends frames of HTTP/2, for sure. */
static __always_inline bool is_http2(struct connection *c)
{
	return c->asked.sure == HTTP2 + 1;
}

/* Whether both sides do, so that each stream has a row of its own: then there are none of the connection as a whole. */
static __always_inline bool is_followed(struct connection *c)
{
	return is_http2(c) && c->answered.sure;
}

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

struct exchange {
	__u64 began_ns;
	__u64 end_ns;
	__u64 read_ns;
	__u64 answered_ns;
	__u32 reader_tid;
	__u32 sender_tid;
	__u32 bytes_in;
	__u32 bytes_out;
	__u32 endpoint;
	__u32 flags;
	__u64 stands_for;
	/* For how long the end of what the target sent (the answer to a request, the question of a call) stood in the kernel. */
	__u64 unsent_ns;
	/* For how long the peer had no room for more. */
	__u64 window_full_ns;
	__u64 returned_ns;
	__u32 worker_tid;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} exchanges SEC(".maps");

#endif
