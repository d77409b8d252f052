/*
 * The kernel's sockets, as far as the programs read them: fields by name only, whose places the loader takes from the kernel's BTF.
 */
#ifndef FATHOM_REQUESTS_KERNEL_H
#define FATHOM_REQUESTS_KERNEL_H

#include "../bpf/network.bpf.h"

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be32 u6_addr32[4];
	} in6_u;
} KERNEL_TYPE;
struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
} KERNEL_TYPE;
struct sock {
	struct sock_common __sk_common;
	__u8 sk_shutdown;
	__u16 sk_type;
	__u16 sk_protocol;
	int sk_err;
} KERNEL_TYPE;
struct socket {
	struct sock *sk;
} KERNEL_TYPE;
struct request_sock {
	struct request_sock *dl_next;
	struct sock *sk;
} KERNEL_TYPE;
struct request_sock_queue {
	struct request_sock *rskq_accept_head;
} KERNEL_TYPE;
struct inet_connection_sock {
	struct request_sock_queue icsk_accept_queue;
} KERNEL_TYPE;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 data_segs_in;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 write_seq;
	__u32 mss_cache;
	/* Time in which it had nothing to do but wait: for the peer's window is the second; in jiffies. */
	__u32 chrono_stat[3];
	__u32 chrono_start;
	__u8 chrono_type : 2;
	__u8 nonagle : 4;
	/* When the last data was sent, in jiffies. */
	__u32 lsndtime;
	/* When what was acknowledged last had been sent, in us of the monotonic clock. */
	__u64 first_tx_mstamp;
} KERNEL_TYPE;
struct sockaddr_un {
	char sun_path[108];
} KERNEL_TYPE;
struct unix_address {
	int len;
	struct sockaddr_un name[0];
} KERNEL_TYPE;
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
} KERNEL_TYPE;

#endif
