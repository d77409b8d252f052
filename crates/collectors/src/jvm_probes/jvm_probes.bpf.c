/*
 * What the JVM reports at the probes that are built into libjvm. Each hit costs the thread a trap of 1-2 us, so every
 * probe is counted, and what it sends each second is bounded; user space removes a probe that is hit too often.
 *
 * One program serves all probes: its cookie identifies the place, and the place says what to read there.
 */
#include "../bpf/budget.bpf.h"

/* Places of probes that are attached to at most; user space knows these sizes. */
#define PLACES 32
#define PROBES 16
#define TEXTS 2
#define TEXT_BYTES 128
#define NUMBERS 9
/* Of a place's arguments the first are the texts, then their lengths, then the numbers. */
#define LENGTHS_AT TEXTS
#define NUMBERS_AT (2 * TEXTS)
#define ARGUMENTS 16

/* Where a value is. Registers are words of the registers. */
#define NOWHERE 0
#define CONSTANT 1
#define REGISTER 2
#define MEMORY 3
/* The first eight bytes of what a register points to, or of what is at an address. */
#define BEGINNING 4
#define NO_REGISTER 255
#define REGISTERS_MAX 34

struct argument {
	__u8 kind;
	__u8 size_bytes;
	__u8 is_signed;
	__u8 base;
	__u8 index;
	__u8 shift;
	__u16 reserved;
	__s64 offset;
};

struct place {
	__u32 probe;
	/* How many texts it tells; one that tells none and is silent is only counted. */
	__u16 texts;
	__u16 is_silent;
	struct argument arguments[ARGUMENTS];
};

const volatile struct {
	__u32 tgid;
	__u32 reserved;
	__u64 per_second[PROBES];
	struct place places[PLACES];
} config SEC(".rodata.config") = {};

struct {
	__u64 ring_full;
	__u64 over_budget;
	__u64 unreadable;
} losses SEC(".data.losses") = {};

/* How often each probe was met. */
struct {
	__u64 hits[PROBES];
} counts SEC(".data.counts") = {};

struct budget budgets[PROBES];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct event {
	__u64 time_ns;
	__u32 tid;
	__u16 probe;
	__u8 lengths[TEXTS];
	__s64 numbers[NUMBERS];
};

struct event_with_texts {
	struct event event;
	char texts[TEXTS][TEXT_BYTES];
};

static __always_inline __u64 word_of(void *registers, __u32 word)
{
	__u64 value = 0;

	if (word < REGISTERS_MAX)
		bpf_probe_read_kernel(&value, sizeof(value), registers + 8 * word);
	return value;
}

static __always_inline __s64 narrowed(__u64 value, __u32 size_bytes, bool is_signed)
{
	__u32 shift = (64 - 8 * size_bytes) & 63;

	value <<= shift;
	return is_signed ? (__s64)value >> shift : (__s64)(value >> shift);
}

static __noinline __s64 value_of(void *registers, __u32 at, __u32 which)
{
	const volatile struct argument *argument = &config.places[below(at, PLACES)].arguments[below(which, ARGUMENTS)];
	__u64 address, value = 0;
	__u32 kind = argument->kind;

	if (kind == NOWHERE)
		return 0;
	if (kind == CONSTANT)
		return argument->offset;
	address = word_of(registers, argument->base);
	if (kind == REGISTER)
		return narrowed(address, argument->size_bytes, argument->is_signed);
	address += argument->offset;
	if (kind == MEMORY && argument->index != NO_REGISTER)
		address += word_of(registers, argument->index) << (argument->shift & 63);
	if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
		COUNT(losses.unreadable);
	return kind == MEMORY ? narrowed(value, argument->size_bytes, argument->is_signed) : (__s64)value;
}

static __always_inline void fill(void *registers, __u32 at, __u32 probe, __u64 now, struct event *event)
{
	event->time_ns = now;
	event->tid = bpf_get_current_pid_tgid();
	event->probe = probe;
	event->lengths[0] = event->lengths[1] = 0;
	for (__u32 number = 0; number < NUMBERS; number++)
		event->numbers[number] = value_of(registers, at, NUMBERS_AT + number);
}

static __always_inline void read_text(void *registers, __u32 at, __u32 which, struct event_with_texts *event)
{
	__u64 length = value_of(registers, at, LENGTHS_AT + which);
	void *text = (void *)value_of(registers, at, which);

	if (length > TEXT_BYTES - 1)
		length = TEXT_BYTES - 1;
	length = below(length, TEXT_BYTES);
	if (bpf_probe_read_user(event->texts[which], length, text))
		COUNT(losses.unreadable);
	else
		event->event.lengths[which] = length;
}

static __always_inline void send_with_texts(void *registers, __u32 at, __u32 probe, __u64 now)
{
	struct event_with_texts *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		COUNT(losses.ring_full);
		return;
	}
	fill(registers, at, probe, now, &event->event);
	read_text(registers, at, 0, event);
	read_text(registers, at, 1, event);
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void send(void *registers, __u32 at, __u32 probe, __u64 now)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		COUNT(losses.ring_full);
		return;
	}
	fill(registers, at, probe, now, event);
	bpf_ringbuf_submit(event, 0);
}

static __always_inline int met(void *registers)
{
	__u32 at = below(bpf_get_attach_cookie(registers), PLACES);
	const volatile struct place *place = &config.places[at];
	__u32 probe = below(place->probe, PROBES);
	__u64 now = bpf_ktime_get_ns();

	/* A process that this one starts has its code, too. */
	if (current_tgid() != config.tgid)
		return 0;
	COUNT(counts.hits[probe]);
	if (place->is_silent ||
	    !is_affordable(&budgets[probe], now, config.per_second[probe], &losses.over_budget))
		return 0;
	if (place->texts)
		send_with_texts(registers, at, probe, now);
	else
		send(registers, at, probe, now);
	return 0;
}

/* Where the kernel attaches one program to many places at once (Linux 6.6). */
SEC("uprobe.multi")
int probe_of_many(void *registers)
{
	return met(registers);
}

SEC("uprobe")
int probe(void *registers)
{
	return met(registers);
}
