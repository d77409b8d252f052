/*
 * Page faults with their latency. The kernel raises the software event "page faults" when a fault
 * begins and "major faults" or "minor faults" when it has been served, both in the thread that faults,
 * so the two are paired by thread. What the thread waited for meanwhile is its kernel stack when it
 * gets the CPU again.
 *
 * A fault that waited is not served when a signal came meanwhile (a profiler sends them all the time). The thread first
 * handles the signal and then touches the page again, which by then is there. The wait belongs to that second fault,
 * which would look short. Faults of the handler come in between, and the handler's own time does not count.
 *
 * Other faults are never served: the signal is their purpose. JDK 8 makes a page read-only that each thread writes at a
 * place of its own, so that those threads wait for it in the handler. Later the page is writable again, and a thread
 * that writes it takes a fault there or none. So a thread that returns to a fault is at the same instruction, and if it
 * was interrupted again, it has waited again.
 */
#include "../bpf/slot_table.bpf.h"
#include "../bpf/user_state.bpf.h"

#define KERNEL_FRAMES 48
#define BUCKETS 40
/* The smallest page; where pages are larger, a repeated fault repeats the address. */
#define PAGE_BYTES 4096

/* A signal's handler is done within this time, as the thread goes on with what it did. */
#define HANDLED_NS 100000000
/* A thread that reads a page and then writes it does so within this time; later the page's rights have changed. */
#define REPEATED_NS 10000000

const volatile struct {
	__u64 threshold_ns;
	__u32 tgid;
	__u32 reserved;
} config SEC(".rodata.config") = {};

/* What could not be told; read by user space in this order. */
struct {
	__u64 ring_full;
	__u64 threads_full;
	__u64 without_beginning;
} losses SEC(".data.losses") = {};

struct thread {
	/* 0 when no fault is being served. */
	__u64 began_ns;
	__u64 address;
	__u64 minor;
	__u64 major;
	/* Began, but no page came: the thread got a signal, as for the JVM's null checks. */
	__u64 unserved;
	__u64 time_ns;
	/* Served at the page of the fault before: that one had mapped it for reading, and now it was written. */
	__u64 repeated;
	/* Time of the faults that had to be repeated. */
	__u64 in_vain_ns;
	/* Of the last fault that was served. */
	__u64 last_page;
	__u64 last_ns;
	__u64 last_end_ns;
	/* Whether the current fault lost the CPU, so that `waits` has an entry. */
	__u32 slept;
	/* Whether `waits` has the entry of a fault that waited and that a signal interrupted. */
	__u8 interrupted;
	/* Whether the current fault was taken by the kernel, in a system call. */
	__u8 in_kernel;
	__u16 reserved;
	__u64 instruction;
	__u64 interrupted_began_ns;
	__u64 interrupted_address;
	__u64 interrupted_instruction;
	__u64 interrupted_handled_ns;
	/* What handlers took of the current fault's time. */
	__u64 handled_ns;
};

PLACED_TABLE(threads, struct thread, 1024)

/* Faults by log2 of their ns. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} histogram SEC(".maps");

/* A fault that waits off the CPU. */
struct wait {
	__u64 left_ns;
	/* 0 when the thread has not waited since it came back to the fault. */
	__u64 back_ns;
	__u64 total_ns;
	__u64 longest_ns;
	/* The stack of the longest one. */
	__u32 frame_count;
	__u32 reserved;
	__u64 frames[KERNEL_FRAMES];
};

/* Least recently used ones make room: a thread killed while it waits never takes its entry away. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct wait);
} waits SEC(".maps");

struct slow_fault {
	__u64 began_ns;
	__u64 duration_ns;
	__u64 address;
	__u64 off_cpu_ns;
	__u32 tid;
	__u32 major;
	__u32 in_kernel;
	__u32 kernel_frames;
	__u64 kernel[KERNEL_FRAMES];
	struct user_state user;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} slow SEC(".maps");

static const struct wait no_wait = {};

/* What a program attached to a perf event gets. */
struct bpf_perf_event_data {
	__u64 registers[REGISTERS];
	__u64 sample_period;
	__u64 address;
};

static __always_inline bool is_in_kernel(struct bpf_perf_event_data *event)
{
#if defined(__TARGET_ARCH_x86)
	return (event->registers[17] & 3) == 0;
#else
	return (event->registers[33] & 0xf) != 0;
#endif
}

static __always_inline __u64 instruction_of(struct bpf_perf_event_data *event)
{
#if defined(__TARGET_ARCH_x86)
	return event->registers[16];
#else
	return event->registers[32];
#endif
}

static __always_inline void forget_wait(struct thread *thread, __u32 tid)
{
	bpf_map_delete_elem(&waits, &tid);
	thread->slept = 0;
	thread->interrupted = 0;
}

/* The fault before was not served. If it waited, the thread may come back to it. */
static __always_inline void interrupt(struct thread *thread)
{
	thread->unserved++;
	if (!thread->slept || thread->interrupted)
		return;
	thread->interrupted = 1;
	thread->interrupted_began_ns = thread->began_ns;
	thread->interrupted_address = thread->address;
	thread->interrupted_instruction = thread->instruction;
	thread->interrupted_handled_ns = thread->handled_ns;
}

/* Whether the thread comes back to a page that it has waited for. */
static __always_inline bool resumes(struct thread *thread, __u64 now_ns, __u32 tid)
{
	struct wait *wait;

	if (!thread->interrupted)
		return false;
	wait = bpf_map_lookup_elem(&waits, &tid);
	if (!wait || !wait->back_ns || now_ns - wait->back_ns >= HANDLED_NS) {
		forget_wait(thread, tid);
		return false;
	}
	if (thread->interrupted_address != thread->address || thread->interrupted_instruction != thread->instruction)
		return false;
	thread->handled_ns = thread->interrupted_handled_ns + (now_ns - wait->back_ns);
	wait->back_ns = 0;
	return true;
}

SEC("perf_event")
int fault_begins(struct bpf_perf_event_data *event)
{
	__u64 id = bpf_get_current_pid_tgid(), now_ns;
	__u32 tid = id;
	struct thread *thread;

	if (id >> 32 != config.tgid)
		return 0;
	thread = threads_make(tid, tid);
	if (!thread) {
		COUNT(losses.threads_full);
		return 0;
	}
	if (thread->began_ns)
		interrupt(thread);
	now_ns = bpf_ktime_get_ns();
	thread->address = event->address;
	thread->instruction = instruction_of(event);
	thread->began_ns = now_ns;
	thread->handled_ns = 0;
	thread->in_kernel = is_in_kernel(event);
	if (resumes(thread, now_ns, tid)) {
		thread->began_ns = thread->interrupted_began_ns;
		thread->interrupted = 0;
		thread->unserved--;
	} else if (thread->slept && !thread->interrupted) {
		forget_wait(thread, tid);
	}
	return 0;
}

static __always_inline void describe_wait(struct slow_fault *fault, __u32 tid)
{
	struct wait *wait = bpf_map_lookup_elem(&waits, &tid);

	fault->off_cpu_ns = 0;
	fault->kernel_frames = 0;
	if (!wait)
		return;
	fault->off_cpu_ns = wait->total_ns;
	fault->kernel_frames = wait->frame_count;
	__builtin_memcpy(fault->kernel, wait->frames, sizeof(fault->kernel));
}

static __always_inline void send(struct bpf_perf_event_data *event, struct thread *thread, __u64 began_ns,
				 __u64 duration_ns, bool major, __u32 tid)
{
	struct slow_fault *fault = bpf_ringbuf_reserve(&slow, sizeof(*fault), 0);

	if (!fault) {
		COUNT(losses.ring_full);
		return;
	}
	fault->began_ns = began_ns;
	fault->duration_ns = duration_ns;
	fault->address = thread->address;
	fault->tid = tid;
	fault->major = major;
	fault->in_kernel = is_in_kernel(event);
	describe_wait(fault, tid);
	take_user_state(event, &fault->user);
	bpf_ringbuf_submit(fault, 0);
}

static __always_inline void count_repeated(struct thread *thread, __u64 began_ns, __u64 now_ns, __u64 duration_ns)
{
	__u64 page = thread->address / PAGE_BYTES;

	if (page == thread->last_page && began_ns < thread->last_end_ns + REPEATED_NS) {
		thread->repeated++;
		thread->in_vain_ns += thread->last_ns;
	}
	thread->last_page = page;
	thread->last_ns = duration_ns;
	thread->last_end_ns = now_ns;
}

static __always_inline int served(struct bpf_perf_event_data *event, bool major)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 began_ns, now_ns, duration_ns, *bucket;
	__u32 tid = id, log;
	struct thread *thread;

	if (id >> 32 != config.tgid)
		return 0;
	thread = threads_find(tid, tid);
	if (!thread || !thread->began_ns) {
		COUNT(losses.without_beginning);
		return 0;
	}
	began_ns = thread->began_ns;
	now_ns = bpf_ktime_get_ns();
	duration_ns = now_ns - began_ns - thread->handled_ns;
	thread->began_ns = 0;
	thread->time_ns += duration_ns;
	if (major)
		thread->major++;
	else
		thread->minor++;
	count_repeated(thread, began_ns, now_ns, duration_ns);
	log = log2_of(duration_ns);
	bucket = bpf_map_lookup_elem(&histogram, &log);
	if (bucket)
		++*bucket;
	if (duration_ns >= config.threshold_ns)
		send(event, thread, began_ns, duration_ns, major, tid);
	if (thread->slept && !thread->interrupted)
		forget_wait(thread, tid);
	return 0;
}

SEC("perf_event")
int fault_served_major(struct bpf_perf_event_data *event)
{
	return served(event, true);
}

SEC("perf_event")
int fault_served_minor(struct bpf_perf_event_data *event)
{
	return served(event, false);
}

/* Not in a system call of a signal's handler, nor in its code, nor in what the thread did after it. */
static __always_inline bool is_at_the_fault(struct thread *thread, struct task_struct *leaving)
{
	struct pt_regs *registers;

	if (thread->in_kernel)
		return true;
	registers = (struct pt_regs *)bpf_task_pt_regs(leaving);
	return system_call(registers) < 0 && instruction_pointer(registers) == thread->instruction;
}

static __always_inline void leaves(struct task_struct *leaving)
{
	__u32 tid = leaving->pid;
	struct thread *thread = threads_find(tid, tid);
	struct wait *wait;

	/* There is room for one wait: that of a fault that was interrupted is kept from those that come in between. */
	if (!thread || !thread->began_ns || thread->interrupted || !is_at_the_fault(thread, leaving))
		return;
	if (!thread->slept)
		bpf_map_update_elem(&waits, &tid, &no_wait, BPF_ANY);
	thread->slept = 1;
	wait = bpf_map_lookup_elem(&waits, &tid);
	if (wait)
		wait->left_ns = bpf_ktime_get_ns();
}

/* The stack has not moved since the thread left, so only the longest wait's has to be taken. */
static __always_inline void comes_back(struct task_struct *coming)
{
	__u32 tid = coming->pid;
	struct thread *thread = threads_find(tid, tid);
	struct wait *wait;
	__u64 gone_ns;
	long bytes;

	if (!thread || !thread->slept)
		return;
	wait = bpf_map_lookup_elem(&waits, &tid);
	if (!wait || !wait->left_ns)
		return;
	wait->back_ns = bpf_ktime_get_ns();
	gone_ns = wait->back_ns - wait->left_ns;
	wait->left_ns = 0;
	wait->total_ns += gone_ns;
	if (gone_ns <= wait->longest_ns)
		return;
	wait->longest_ns = gone_ns;
	bytes = bpf_get_task_stack(coming, wait->frames, sizeof(wait->frames), 0);
	wait->frame_count = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

SEC("tp_btf/sched_switch")
int cpu_switches(arguments args)
{
	struct task_struct *leaving = (void *)args[1], *coming = (void *)args[2];

	if (leaving->tgid == config.tgid)
		leaves(leaving);
	if (coming->tgid == config.tgid)
		comes_back(coming);
	return 0;
}
