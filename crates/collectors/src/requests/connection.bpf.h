/*
 * Whose a connection is, and whether it was accepted or made.
 */
#ifndef FATHOM_REQUESTS_CONNECTION_H
#define FATHOM_REQUESTS_CONNECTION_H

#include "state.bpf.h"
#include "unpaired.bpf.h"

static __always_inline bool is_listened(struct target *target, __u16 port)
{
	struct port_of at = { .target = target->id, .port = port };

	return bpf_map_lookup_elem(&listened, &at);
}

static __always_inline struct listener listener_at(struct sock *sk)
{
	struct listener at = {
		.network_namespace = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum),
		.port = sk->__sk_common.skc_num,
	};

	return at;
}

/* The sums of an endpoint are its target's from now on. */
static __always_inline __u32 owned_by(__u32 number, __u32 target)
{
	struct sums *sums = sums_at(number);

	if (sums)
		sums->target = target;
	return number;
}

/* The number of an endpoint, which gets one when it is new. */
static __always_inline __u32 number_of(struct target *target, struct endpoint *at)
{
	__u32 *known = bpf_map_lookup_elem(&endpoints, at), number = 0;

	if (known)
		return *known;
	if (target->endpoints < ENDPOINTS_OF_TARGET && !bpf_map_pop_elem(&unused, &number)) {
		if (!bpf_map_update_elem(&endpoints, at, &number, BPF_NOEXIST)) {
			COUNT(target->endpoints);
			bpf_map_update_elem(&named, &number, at, BPF_ANY);
			return owned_by(number, at->target);
		}
		/* Another CPU was faster. */
		bpf_map_push_elem(&unused, &number, BPF_ANY);
		known = bpf_map_lookup_elem(&endpoints, at);
		if (known)
			return *known;
	}
	COUNT(target->losses.endpoints_full);
	return owned_by((at->target & (TARGETS - 1)) * 2 + (at->direction != INBOUND), at->target);
}

static __always_inline void set_peer(struct endpoint *at, struct sock *sk)
{
	at->port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (sk->__sk_common.skc_family == AF_INET6)
		bpf_probe_read_kernel(at->name, 16, &sk->__sk_common.skc_v6_daddr);
	else
		bpf_probe_read_kernel(at->name, 4, &sk->__sk_common.skc_daddr);
}

/* A connection of the target is known from now on. Another one may have known it before. */
static __always_inline struct connection *know(struct sock *sk, struct target *target, __u32 direction,
					       struct endpoint *at, __u32 flags)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!c) {
		COUNT(target->losses.without_storage);
		return 0;
	}
	__builtin_memset(c, 0, sizeof(*c));
	at->direction = direction;
	at->target = target->id;
	c->endpoint = direction == IGNORED ? 0 : number_of(target, at);
	c->target = target->id;
	c->number = bpf_get_prandom_u32();
	c->flags = direction | flags;
	return c;
}

/* TCP waits for room in the peer's window. */
#define WAITS_FOR_WINDOW 2

/* For how long the peer's window has been full since the connection was made, in jiffies. */
static __always_inline __u32 window_ticks(struct tcp_sock *tcp)
{
	__u32 ticks = tcp->chrono_stat[1];

	if (BPF_CORE_READ_BITFIELD(tcp, chrono_type) == WAITS_FOR_WINDOW)
		ticks += (__u32)bpf_jiffies64() - tcp->chrono_start;
	return ticks;
}

static __always_inline struct connection *know_tcp(struct sock *sk, struct target *target, __u32 direction, __u32 flags)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct endpoint at = { .port = sk->__sk_common.skc_num };
	struct connection *c;

	if (direction == OUTBOUND) {
		at.family = sk->__sk_common.skc_family;
		set_peer(&at, sk);
	}
	c = know(sk, target, direction, &at, flags | TCP);
	if (c && tcp) {
		c->seen_seq = tcp->write_seq;
		/* One that is older than the recording has been through something. */
		c->window_ticks = window_ticks(tcp);
		settle_from(c, tcp);
	}
	return c;
}

/* Without a branch for each byte: the verifier follows every way out of a loop, and all that comes after it. */
static __always_inline bool is_of_attach(const __u8 *path)
{
	static const char begins[] = "/tmp/.java_pid";
	__u8 differs = 0;

	for (__u32 i = 0; i < sizeof(begins) - 1; i++)
		differs |= path[i] ^ begins[i];
	return !differs;
}

/* Unix sockets: the side that was accepted has the name that it was listened at, the other side has none. */
static __always_inline struct connection *know_unix(struct sock *sk, struct target *target)
{
	struct unix_sock *own = bpf_skc_to_unix_sock(sk);
	struct endpoint at = { .family = AF_UNIX };
	__u32 direction = INBOUND;
	struct unix_address *address;

	if (!own)
		return 0;
	address = own->addr;
	if (!address) {
		direction = OUTBOUND;
		address = BPF_CORE_READ((struct unix_sock *)own->peer, addr);
	}
	if (!address)
		return know(sk, target, IGNORED, &at, 0);
	bpf_probe_read_kernel(at.name, sizeof(at.name), &address->name[0].sun_path);
	/* Commands of programs that attach to the JVM, such as Fathom. */
	if (is_of_attach(at.name))
		direction = IGNORED;
	return know(sk, target, direction, &at, 0);
}

/* Streams of QUIC share a socket, and its acknowledgements are datagrams without an answer. */
#define QUIC_PORT 443

/*
 * Datagrams of a socket that was connected to a peer, such as the resolver's. For other sockets the peer is unknown. What has
 * never been answered needs no answer.
 */
static __always_inline struct connection *know_udp(struct sock *sk, struct target *target)
{
	struct endpoint at = { .family = sk->__sk_common.skc_family };

	set_peer(&at, sk);
	if (!at.port || at.port == QUIC_PORT)
		return know(sk, target, IGNORED, &at, 0);
	return know(sk, target, OUTBOUND, &at, UDP | ONE_WAY);
}

/* A connection that a thread of the target uses and that is not known yet: it is older than the recording, or not TCP. */
static __always_inline struct connection *know_any(struct sock *sk, struct target *target)
{
	if (sk->__sk_common.skc_family == AF_UNIX)
		return sk->sk_type == SOCK_STREAM ? know_unix(sk, target) : 0;
	if (sk->sk_protocol == IPPROTO_UDP)
		return know_udp(sk, target);
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	return know_tcp(sk, target, is_listened(target, sk->__sk_common.skc_num) ? INBOUND : OUTBOUND, 0);
}

/* The state of a connection of a process that is observed. */
static __always_inline struct connection *known(struct sock *sk)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);

	return c && !(c->flags & IGNORED) && target_of(c->target) ? c : 0;
}

/* The connection that the current thread uses, if it is of interest. */
static __always_inline struct connection *used(struct sock *sk, bool *is_new)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	__u32 id = current_target();
	struct target *target = id ? target_of(id) : 0;

	*is_new = false;
	if (!target) {
		/* Another process listens on the same port. */
		if (c && !(c->flags & OWNED))
			c->flags = IGNORED;
		return 0;
	}
	/* Nobody's, or of a target that is observed no more or has only been guessed by the port. */
	if (!c || (c->target != id && !(c->flags & OWNED && target_of(c->target)))) {
		c = know_any(sk, target);
		*is_new = true;
	}
	if (!c || c->flags & IGNORED)
		return 0;
	c->flags |= OWNED;
	return c;
}

#endif
