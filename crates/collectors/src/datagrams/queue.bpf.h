/*
 * Kernel socket types that the programs use, and the state that they keep: sums of each socket, what each thread has
 * read, the state of each queue.
 */
#ifndef FATHOM_DATAGRAMS_QUEUE_H
#define FATHOM_DATAGRAMS_QUEUE_H

#include "../bpf/budget.bpf.h"

#define BPF_MAP_TYPE_STACK 23
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define IPPROTO_UDP 17
#define SOCK_DGRAM 2
#define MSG_PEEK 2
/* In `sk_userlocks`. */
#define SOCK_BINDPORT_LOCK 8

/* Most sockets that are counted separately, and most threads that read from them. */
#define SOCKETS 256
#define READERS 4096
/* Rows of a second at most. */
#define ROWS_PER_SECOND 200
#define ANSWERS_PER_SECOND 800
/* Most peers of a socket that are counted separately while they wait for answers. */
#define ASKED 256
/* Powers of two by which times are counted, the first from 0 to 2 us. */
#define BUCKETS 24
#define FIRST_POWER 10
/*
 * When the last datagrams came: of the last RECENT each one, of four times as many each fourth, and so on. So the time of one that
 * stands in a queue of any length is known to a sixteenth, and never said to be longer than it was.
 */
#define RECENT 64
#define LEVELS 6

const volatile struct {
	__u32 process;
	/* Numbers of the system calls. */
	__u32 sendto;
	/* What was not read for so long is a row. */
	__u64 late_ns;
	__u32 sendmsg;
	__u32 reserved;
} config SEC(".rodata.config") = {};

struct {
	__u64 ring_full;
	__u64 over_budget;
	__u64 sockets_full;
	__u64 readers_full;
	__u64 without_storage;
	__u64 answers_lost;
	__u64 answers_over_budget;
	__u64 peers_full;
	__u64 peers_unseen;
} losses SEC(".data.losses") = {};

/* Number of the last walk over the files of the process, from 1. */
__u64 walks SEC(".data.walks") = 0;
/* Whether the recording ends: then what is still unread is sent, too. */
__u64 ending SEC(".data.ending") = 0;
__u64 ids = 0;
struct budget rows = {};
struct budget answers = {};

struct sk_buff {
	struct sk_buff *prev;
	unsigned char *head;
	__u16 transport_header;
	__u16 network_header;
} KERNEL_TYPE;
struct sk_buff_head {
	struct sk_buff *prev;
	__u32 qlen;
} KERNEL_TYPE;
struct inode {
	unsigned long i_ino;
} KERNEL_TYPE;
struct file {
	struct inode *f_inode;
} KERNEL_TYPE;
struct sock;
struct socket {
	struct file *file;
	struct sock *sk;
} KERNEL_TYPE;
struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
} KERNEL_TYPE;
struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	struct socket *sk_socket;
	__u8 sk_userlocks : 4;
	__u16 sk_type;
	__u16 sk_protocol;
} KERNEL_TYPE;
/* A reader takes all that came to a queue of its own, and reads from that. */
struct udp_sock {
	struct sk_buff_head reader_queue;
} KERNEL_TYPE;

/* Sums of a socket, which user space has mapped. */
struct place {
	/* No other socket ever had it; 0: the place is free. */
	__u64 id;
	__u64 inode;
	__u64 port;
	/* The walk that met it last. */
	__u64 walk;
	__u64 queued;
	__u64 dropped;
	/* Largest of what was seen between two looks of user space, which sets them to 0. */
	__u64 queue_most;
	__u64 gap_most_ns;
	/* Datagrams with an answer to the peer that sent them, and how long these took, from arrival to answer. */
	__u64 answered;
	__u64 answer_ns;
	/* Set by user space: what takes so long is a row, and one in so many of the others. */
	__u64 slow_ns;
	__u64 one_in;
	__u64 by_unread[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOCKETS);
	__type(key, __u32);
	__type(value, struct place);
} places SEC(".maps");

/* Numbers of free places. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, SOCKETS);
	__uint(value_size, 4);
} unused SEC(".maps");

struct reader {
	__u32 id;
	__u32 tid;
};

struct read {
	__u64 count;
	/* Of those whose arrival is known. */
	__u64 timed;
	__u64 unread_ns;
	/* After which it sent one from the same socket before it read the next; from the arrival until then. */
	__u64 answered;
	__u64 answer_ns;
	/* When that came which it has read and not answered. */
	__u64 asked_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, READERS);
	__type(key, struct reader);
	__type(value, struct read);
} readers SEC(".maps");

static const struct read no_read = {};

/* Datagrams that were read late, one after the other. */
struct late {
	__u64 from_ns;
	__u64 to_ns;
	__u64 longest_ns;
	/* The longest time without a read while there was something to read. */
	__u64 pause_ns;
	__u64 count;
	__u64 queue_most;
	__u64 dropped;
	__u64 inode;
	__u32 port;
	__u32 tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} told SEC(".maps");

/* A datagram with its answer, or several from one peer with theirs. */
struct answered {
	__u64 came_ns;
	__u64 answered_ns;
	__u64 stands_for;
	__u32 port;
	__u32 tid;
	__u64 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} exchanges SEC(".maps");

/* A peer that waits for an answer. */
struct asked {
	__u64 peer;
	__u64 came_ns;
	__u64 answered_ns;
	/* When the process has asked it. */
	__u64 called_ns;
	/* When the last of its datagrams came. */
	__u64 last_came_ns;
	/* How many of these are not answered. */
	__u32 open;
	/* Whether there was more than one of them at once. */
	__u16 several;
	/* Whether the process may have answered it when it seemed to ask: what came before was not seen. */
	__u16 unsure;
};

/* What a socket's queue is at. */
struct queue {
	__u32 place;
	/* Whether the owner has chosen the port, as servers do; those of who asks are the kernel's choice. */
	__u16 serves;
	/* Whether something was sent to a peer. */
	__u16 has_sent;
	__u64 id;
	/* Datagrams until now: the next has this number. */
	__u64 came;
	/* The first whose arrival was seen. */
	__u64 first_seen;
	/* Number of the next to be read. */
	__u64 next;
	__u64 came_ns;
	__u64 read_ns;
	/* When that which was read last had come. */
	__u64 read_came_ns;
	/* What was dropped since a datagram was read in time. */
	__u64 dropped;
	struct late late;
	/* Since when it is looked at. */
	__u64 known_ns;
	/* The last in it when a datagram came. */
	__u64 last;
	/* How often something was sent that its receiver had not asked for, and to a peer that had not asked at all. */
	__u64 unasked;
	__u64 calls;
	__u64 unanswered;
	/* When that came whose peer was not seen, until it is answered. */
	__u64 unseen_ns;
	__u64 times[LEVELS][RECENT];
	struct asked asked[ASKED];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

#endif
