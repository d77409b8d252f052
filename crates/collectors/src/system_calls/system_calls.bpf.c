/*
 * System calls of the target, added up per thread and call; single slow ones are sent.
 *
 * Which calls transfer bytes and which only wait depends on the architecture's numbers, so user space hands over a
 * table.
 */
#include "../bpf/budget.bpf.h"
#include "../bpf/slot_table.bpf.h"
#include "../bpf/user_state.bpf.h"

#define TRANSFERS 1
#define WAITS 2
#define WAITS_FOR_PEER 4
#define ON_ANYTHING 8
#define NEVER_RETURNS 16

/* Added to the number of a call that may be on anything when it was on a socket, and when on a pipe. */
#define ON_SOCKET (1 << 16)
#define ON_PIPE (1 << 17)

/* Slow calls sent in a second at most: of those with and those without a stack, and of those that do nothing but wait. */
#define WITH_STACK_PER_SECOND 100
#define WITHOUT_STACK_PER_SECOND 400
#define WAITS_WITH_STACK_PER_SECOND 50
#define WAITS_PER_SECOND 400

/* The shortest waits that are sent, unless there are too many of them. */
#define SHORTEST_WAIT_NS 1000000

/* For so long a stack is not taken again of waits in the same place: less than user space believes it. */
#define BELIEVED_NS 8000000000ULL
/* Places of which that is remembered; a power of two. */
#define PLACES 4096

const volatile struct {
	__u64 threshold_ns;
	__u32 tgid;
	__u32 reserved;
	__u8 kinds[CALLS];
} config SEC(".rodata.config") = {};

struct {
	__u64 ring_full;
	__u64 threads_full;
	__u64 over_budget;
	__u64 waits_over_budget;
} losses SEC(".data.losses") = {};

/* Set by user space once another collector looks at waiting threads. */
__u64 waits_unwanted SEC(".data.waits_unwanted") = 0;

/* From which length on waits are sent: they fit into the budget, so that all or none of a length are sent. */
__u64 waits_from_ns SEC(".data.waits_from_ns") = SHORTEST_WAIT_NS;

/* The call that a thread is in. */
struct inside {
	/* 0 while it is in none. */
	__u64 began_ns;
};

PLACED_TABLE(entered, struct inside, 4096)

struct sum {
	__u64 count;
	__u64 time_ns;
	__u64 bytes;
	__u64 errors;
};

/* By thread and call. */
PLACED_TABLE(sums, struct sum, 2048)

struct slow_call {
	__u64 began_ns;
	__u64 duration_ns;
	__s64 result;
	__u64 arguments[6];
	__u64 stack_pointer;
	__u32 tid;
	__u32 number;
};

/* Where a stack is worth its bytes: the call did not wait for a message of a peer. */
struct slow_call_with_stack {
	struct slow_call call;
	struct user_state user;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} slow SEC(".maps");

/* A place that threads waited in, and when its stack was taken. */
struct taken {
	__u64 place;
	__u64 at_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, struct taken);
} stacks_taken SEC(".maps");

struct budget with_stack SEC(".data.budget") = {}, without_stack SEC(".data.budget") = {};
struct budget waits_with_stack SEC(".data.budget") = {}, waits SEC(".data.budget") = {};
/* Waits in the current second that are long enough, and those that would be if half the length were. */
struct budget long_enough SEC(".data.budget") = {}, half_as_long SEC(".data.budget") = {};

struct inode {
	unsigned short i_mode;
} KERNEL_TYPE;
struct file {
	struct inode *f_inode;
} KERNEL_TYPE;
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;
struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;
struct task_struct___files {
	struct files_struct *files;
} KERNEL_TYPE;

/* The thread ends: its place is for another one. */
static __always_inline void leaves_for_good(__u32 tid)
{
	struct entered_place *place = entered_place_at(tid);

	if (place && place->key == tid)
		place->key = 0;
}

SEC("tp_btf/sys_enter")
int call_begins(arguments args)
{
	__u64 id = bpf_get_current_pid_tgid();
	__s64 number = args[1];
	__u32 tid = id;
	struct inside *inside;

	if (id >> 32 != config.tgid)
		return 0;
	if (number >= 0 && number < CALLS && config.kinds[below(number, CALLS)] & NEVER_RETURNS) {
		leaves_for_good(tid);
		return 0;
	}
	inside = entered_make(tid, tid);
	if (inside)
		inside->began_ns = bpf_ktime_get_ns();
	else
		COUNT(losses.threads_full);
	return 0;
}

/* When the call began that ends now; 0 when that was not seen. */
static __always_inline __u64 leave(__u32 tid)
{
	struct inside *inside = entered_find(tid, tid);
	__u64 began_ns;

	if (!inside)
		return 0;
	began_ns = inside->began_ns;
	inside->began_ns = 0;
	return began_ns;
}

static __always_inline void take_arguments(__u64 *into, struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	into[0] = registers->di;
	into[1] = registers->si;
	into[2] = registers->dx;
	into[3] = registers->r10;
	into[4] = registers->r8;
	into[5] = registers->r9;
#else
	into[0] = registers->orig_x0;
	into[1] = registers->regs[1];
	into[2] = registers->regs[2];
	into[3] = registers->regs[3];
	into[4] = registers->regs[4];
	into[5] = registers->regs[5];
#endif
}

#define TYPE_SOCKET 0140000
#define TYPE_PIPE 0010000

/* The type of file that a descriptor of the current process stands for; 0 when it is closed. */
static __always_inline unsigned int type_of(__u64 descriptor)
{
	struct task_struct___files *task = (void *)bpf_get_current_task_btf();
	struct files_struct *files = task->files;
	struct fdtable *table;
	struct file *file = 0;

	if (!files)
		return 0;
	table = files->fdt;
	if (!table || descriptor >= table->max_fds)
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
	return BPF_CORE_READ(file, f_inode, i_mode) & 0170000;
}

static __always_inline __u64 first_argument(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return registers->di;
#else
	return registers->orig_x0;
#endif
}

static __always_inline void fill(struct slow_call *call, __u64 began_ns, __u64 duration_ns, __u32 tid, __u32 number,
				 unsigned long long *args)
{
	call->began_ns = began_ns;
	call->duration_ns = duration_ns;
	call->result = args[1];
	call->stack_pointer = stack_pointer((struct pt_regs *)args[0]);
	call->tid = tid;
	call->number = number;
	take_arguments(call->arguments, (struct pt_regs *)args[0]);
}

static __always_inline void send_with_stack(arguments args, __u64 began_ns, __u64 duration_ns, __u32 tid, __u32 number)
{
	struct slow_call_with_stack *event = bpf_ringbuf_reserve(&slow, sizeof(*event), 0);

	if (!event) {
		COUNT(losses.ring_full);
		return;
	}
	fill(&event->call, began_ns, duration_ns, tid, number, args);
	take_user_state(args, &event->user);
	bpf_ringbuf_submit(event, 0);
}

/* A thread that waits for the same at the same depth does so in the same place: one stack describes all such waits. */
static __always_inline __u64 place_of(struct pt_regs *registers, __u32 tid)
{
	__u64 place = stack_pointer(registers) ^ (__u64)tid << 40;

	/* Multiplied by odd numbers, so that neighbours differ in all bits. */
	return (place * 0x9E3779B97F4A7C15ULL) ^ (first_argument(registers) * 0xC2B2AE3D27D4EB4FULL);
}

/* Whether the stack of a wait in this place is wanted, which is then taken for taken. */
static __always_inline bool takes_stack(__u64 place, __u64 now_ns)
{
	__u32 index = (place >> 40) & (PLACES - 1);
	struct taken *taken = bpf_map_lookup_elem(&stacks_taken, &index);
	__u64 no_loss = 0;

	if (!taken || (taken->place == place && now_ns - taken->at_ns < BELIEVED_NS))
		return false;
	if (!is_affordable(&waits_with_stack, now_ns, WAITS_WITH_STACK_PER_SECOND, &no_loss))
		return false;
	taken->place = place;
	taken->at_ns = now_ns;
	return true;
}

static __always_inline void send(arguments args, __u64 began_ns, __u64 duration_ns, __u32 tid, __u32 number,
				 struct budget *budget, __u64 per_second, __u64 *over_budget)
{
	struct slow_call *event;

	if (!is_affordable(budget, began_ns + duration_ns, per_second, over_budget))
		return;
	event = bpf_ringbuf_reserve(&slow, sizeof(*event), 0);
	if (!event) {
		COUNT(losses.ring_full);
		return;
	}
	fill(event, began_ns, duration_ns, tid, number, args);
	bpf_ringbuf_submit(event, 0);
}

/* The length follows how many waits there were in the second that ended: it falls only where it need not rise again at once. */
static __always_inline void follow(__u64 waits_count, __u64 half_as_long_count)
{
	if (waits_count > WAITS_PER_SECOND)
		waits_from_ns = waits_from_ns * 2 < config.threshold_ns ? waits_from_ns * 2 : config.threshold_ns;
	else if (half_as_long_count < WAITS_PER_SECOND / 2 && waits_from_ns > SHORTEST_WAIT_NS)
		waits_from_ns = waits_from_ns / 2 > SHORTEST_WAIT_NS ? waits_from_ns / 2 : SHORTEST_WAIT_NS;
}

static __always_inline bool is_long_enough(__u64 duration_ns, __u64 now_ns)
{
	__u64 second = now_ns >> 30;

	if (long_enough.second != second) {
		follow(long_enough.sent, half_as_long.sent);
		long_enough.second = second;
		long_enough.sent = 0;
		half_as_long.sent = 0;
	}
	if (duration_ns >= waits_from_ns / 2)
		__sync_fetch_and_add(&half_as_long.sent, 1);
	if (duration_ns < waits_from_ns)
		return false;
	__sync_fetch_and_add(&long_enough.sent, 1);
	return true;
}

static __always_inline void send_wait(arguments args, __u64 began_ns, __u64 duration_ns, __u32 tid, __u32 number)
{
	if (waits_unwanted || !is_long_enough(duration_ns, began_ns + duration_ns))
		return;
	if (takes_stack(place_of((struct pt_regs *)args[0], tid), began_ns + duration_ns))
		send_with_stack(args, began_ns, duration_ns, tid, number);
	else
		send(args, began_ns, duration_ns, tid, number, &waits, WAITS_PER_SECOND, &losses.waits_over_budget);
}

static __always_inline struct sum *sum_of(__u32 tid, __u32 number)
{
	/* Neighbouring threads and calls go to different places. */
	return sums_make((__u64)number << 32 | tid, tid * 97 + number * 13 + (number >> 16));
}

SEC("tp_btf/sys_exit")
int call_ends(arguments args)
{
	__u64 id = bpf_get_current_pid_tgid(), began_ns, duration_ns;
	__s64 result = args[1];
	__u32 tid = id, number, on = 0, type = 0;
	struct sum *sum;
	__u8 kind;

	if (id >> 32 != config.tgid)
		return 0;
	began_ns = leave(tid);
	if (!began_ns)
		return 0;
	duration_ns = bpf_ktime_get_ns() - began_ns;
	number = system_call((struct pt_regs *)args[0]);
	kind = number < CALLS ? config.kinds[below(number, CALLS)] : 0;
	if (kind & ON_ANYTHING || (kind & WAITS_FOR_PEER && duration_ns >= config.threshold_ns))
		type = type_of(first_argument((struct pt_regs *)args[0]));
	if (kind & ON_ANYTHING)
		on = type == TYPE_SOCKET ? ON_SOCKET : type == TYPE_PIPE ? ON_PIPE : 0;
	sum = sum_of(tid, number | on);
	if (!sum) {
		COUNT(losses.threads_full);
		return 0;
	}
	sum->count++;
	sum->time_ns += duration_ns;
	if (result < 0)
		sum->errors++;
	else if (kind & TRANSFERS)
		sum->bytes += result;
	if (kind & WAITS)
		send_wait(args, began_ns, duration_ns, tid, number);
	else if (duration_ns < config.threshold_ns)
		return 0;
	/* What is read from a socket comes when the peer sends it. */
	else if (kind & WAITS_FOR_PEER && type == TYPE_SOCKET)
		send(args, began_ns, duration_ns, tid, number, &without_stack, WITHOUT_STACK_PER_SECOND, &losses.over_budget);
	else if (is_affordable(&with_stack, began_ns + duration_ns, WITH_STACK_PER_SECOND, &losses.over_budget))
		send_with_stack(args, began_ns, duration_ns, tid, number);
	return 0;
}
