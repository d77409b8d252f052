/*
 * Packets that were dropped at the sockets of the target's network namespace because the receiver did not read fast
 * enough. UDP has a tracepoint of its own; elsewhere the reason shows which drops are meant. They happen in interrupts,
 * not in the reader, so they are counted per local port.
 */
#include "../bpf/network.bpf.h"

#define REASONS 256
#define UDP 17
/* Drops that are further apart than this are another burst. */
#define GAP_NS 100000000ULL

const volatile struct {
	__u32 network_namespace;
	__u32 reserved;
	/* Which drop reasons of this kernel mean that a queue on the way to a reader was full. */
	__u8 is_meant[REASONS];
} config SEC(".rodata.config") = {};

struct {
	__u64 ports_full;
	__u64 nowhere;
} losses SEC(".data.losses") = {};

struct sock_common {
	possible_net_t skc_net;
	unsigned short skc_num;
} KERNEL_TYPE;
struct sock {
	struct sock_common __sk_common;
} KERNEL_TYPE;
struct net_device {
	possible_net_t nd_net;
} KERNEL_TYPE;
struct sk_buff {
	struct net_device *dev;
	unsigned char *head;
	__u16 transport_header;
	__u16 network_header;
} KERNEL_TYPE;

/* What the tracepoint has in perf's format; `rx_sk` came with its fourth argument, in Linux 6.11. */
struct trace_event_raw_kfree_skb {
	void *rx_sk;
} KERNEL_TYPE;

struct dropped_at {
	__u32 port;
	__u16 protocol;
	/* The kernel's number of the reason; for UDP the error of its own tracepoint, negative. */
	__s16 reason;
};

struct burst {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct dropped_at);
	__type(value, struct burst);
} bursts SEC(".maps");

static const struct burst no_burst = {};

static __always_inline void count(struct dropped_at *at)
{
	struct burst *burst = bpf_map_lookup_elem(&bursts, at);
	__u64 now = bpf_ktime_get_ns();

	if (!burst) {
		bpf_map_update_elem(&bursts, at, &no_burst, BPF_NOEXIST);
		burst = bpf_map_lookup_elem(&bursts, at);
		if (!burst) {
			COUNT(losses.ports_full);
			return;
		}
	}
	if (now - burst->last_ns > GAP_NS)
		burst->first_ns = now;
	burst->last_ns = now;
	COUNT(burst->count);
}

SEC("tp_btf/udp_fail_queue_rcv_skb")
int udp_drops(arguments args)
{
	struct sock *socket = (struct sock *)args[1];
	struct dropped_at at = { .port = socket->__sk_common.skc_num, .protocol = UDP, .reason = (__s32)args[0] };

	if (socket->__sk_common.skc_net.net->ns.inum == config.network_namespace)
		count(&at);
	return 0;
}

static __always_inline bool is_meant(__u32 reason)
{
	return reason < REASONS && config.is_meant[below(reason, REASONS)];
}

/* Protocol and port that a packet is for, from its headers. */
static __always_inline bool destination(struct sk_buff *packet, struct dropped_at *at)
{
	__u8 *network = packet->head + packet->network_header, version = 0, protocol = 0;
	__u16 port = 0;

	bpf_probe_read_kernel(&version, 1, network);
	version >>= 4;
	if (version != 4 && version != 6)
		return false;
	bpf_probe_read_kernel(&protocol, 1, network + (version == 4 ? 9 : 6));
	bpf_probe_read_kernel(&port, 2, packet->head + packet->transport_header + 2);
	at->protocol = protocol;
	at->port = __builtin_bswap16(port);
	return true;
}

/*
 * The number of the network namespace that a packet was dropped in, 0 if the kernel does not tell. TCP takes
 * the device off a packet, and the socket that it is for is an argument of newer kernels only.
 */
static __always_inline __u32 namespace_of(struct sk_buff *packet, arguments args)
{
	struct net_device *device = packet->dev;
	struct sock *receiver = 0;

	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb, rx_sk))
		receiver = (struct sock *)args[3];
	if (receiver)
		return BPF_CORE_READ(receiver, __sk_common.skc_net.net, ns.inum);
	return device ? BPF_CORE_READ(device, nd_net.net, ns.inum) : 0;
}

SEC("tp_btf/kfree_skb")
int packet_drops(arguments args)
{
	struct sk_buff *packet = (struct sk_buff *)args[0];
	struct dropped_at at = { .reason = args[2] };
	__u32 space;

	/* UDP has its own tracepoint, and something else where the device was. */
	if (!is_meant(args[2]) || !destination(packet, &at) || at.protocol == UDP)
		return 0;
	space = namespace_of(packet, args);
	if (!space)
		COUNT(losses.nowhere);
	else if (space == config.network_namespace)
		count(&at);
	return 0;
}
