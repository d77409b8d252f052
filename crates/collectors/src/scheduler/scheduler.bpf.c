/*
 * When the target's threads are off the CPU: what they wait for, and how long they are runnable but
 * wait for a CPU. All waits are added up per thread and kind; long ones are sent, with the kernel
 * stack of the wait, which is taken when the thread comes back (its stack has not moved), so that
 * short waits cost no stack.
 */
#include "../bpf/slot_table.bpf.h"

#define FRAMES 32

#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80

/* Kinds of waits; user space knows them by these numbers. */
#define IN_PAGE_FAULT 0
#define UNINTERRUPTIBLE 1
#define KINDS 7
#define RUN_QUEUE 7

const volatile struct {
	__u32 tgid;
	__u32 reserved;
	/* The kind of wait that each system call makes. */
	__u8 kinds[CALLS];
} config SEC(".rodata.config") = {};

struct {
	__u64 ring_full;
	__u64 threads_full;
	__u64 below_limit;
} losses SEC(".data.losses") = {};

/*
 * Waits of each kind that take at least this long are sent. User space raises a limit while more waits
 * pass it than it wants, so that the longest ones are kept.
 */
struct {
	__u64 threshold_ns[KINDS + 1];
	/* What was ordered: waits between the two are counted. */
	__u64 ordered_ns[KINDS + 1];
} limits SEC(".data.limits") = {};

struct sum {
	__u64 count;
	__u64 time_ns;
};

struct thread {
	/* 0 while it runs. */
	__u64 left_ns;
	/* When it became runnable; 0 while it is not. */
	__u64 runnable_ns;
	__u32 state;
	__s32 system_call;
	__u32 kind;
	/* Lost the CPU without wanting to. */
	__u32 preempted;
	/* Who woke it. */
	__u32 waker_tid;
	/* User space has still to read the sums, and takes the entry away then. */
	__u32 ended;
	struct sum sums[KINDS + 1];
};

PLACED_TABLE(threads, struct thread, 1024)

struct long_wait {
	__u64 began_ns;
	__u64 duration_ns;
	__u32 tid;
	__u32 kind;
	__u32 state;
	__s32 system_call;
	/* Who woke it; of a wait for a CPU, who ran longest on it, with name. */
	__u32 other_tid;
	__u32 other_tgid;
	char other[16];
	__u32 cpu;
	__u32 preempted;
	__u32 frame_count;
	__u32 reserved;
	__u64 frames[FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} long_waits SEC(".maps");

/* Who had a CPU, and from when on. */
struct stint {
	__u64 since_ns;
	__u32 tid;
	__u32 tgid;
	char name[16];
};

/* The last stints of each CPU: for a thread that waits for it, they show who ran longest meanwhile. */
#define STINTS 16
struct history {
	__u64 next;
	struct stint stints[STINTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct history);
} histories SEC(".maps");

static __always_inline struct thread *thread_of(__u32 tid)
{
	struct thread *thread = threads_make(tid, tid);

	if (!thread)
		COUNT(losses.threads_full);
	return thread;
}

static __always_inline __u32 kind_of(__u32 state, __s32 system_call)
{
	if (system_call < 0)
		return IN_PAGE_FAULT;
	if (state & TASK_UNINTERRUPTIBLE)
		return UNINTERRUPTIBLE;
	return config.kinds[below(system_call, CALLS)];
}

static __always_inline void leaves(struct task_struct *leaving, bool preempted, __u64 now)
{
	__u32 tid = leaving->pid, state = leaving->__state;
	struct thread *thread;

	thread = thread_of(tid);
	if (!thread)
		return;
	if (state & TASK_DEAD) {
		thread->left_ns = 0;
		thread->ended = 1;
		return;
	}
	/* A thread that gives up the CPU without a reason to wait stays runnable. */
	preempted = preempted || state == 0;
	thread->left_ns = now;
	thread->preempted = preempted;
	thread->runnable_ns = preempted ? now : 0;
	thread->waker_tid = 0;
	if (preempted)
		return;
	thread->state = state;
	thread->system_call = system_call((struct pt_regs *)bpf_task_pt_regs(leaving));
	thread->kind = kind_of(state, thread->system_call);
}

/* Whether a wait is to be sent. */
static __always_inline bool is_long(__u32 kind, __u64 duration_ns)
{
	if (duration_ns >= limits.threshold_ns[below(kind, KINDS + 1)])
		return true;
	if (duration_ns >= limits.ordered_ns[below(kind, KINDS + 1)])
		COUNT(losses.below_limit);
	return false;
}

static __always_inline void fill(struct long_wait *wait, struct thread *thread, __u32 tid, __u32 kind, __u64 from,
				 __u64 to)
{
	wait->began_ns = from;
	wait->duration_ns = to - from;
	wait->tid = tid;
	wait->kind = kind;
	wait->state = thread->state;
	wait->system_call = thread->system_call;
	wait->other_tid = thread->waker_tid;
	wait->other_tgid = 0;
	wait->other[0] = 0;
	wait->cpu = bpf_get_smp_processor_id();
	wait->preempted = thread->preempted;
	wait->frame_count = 0;
}

static __always_inline void add_kernel_stack(struct long_wait *wait, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, wait->frames, sizeof(wait->frames), 0);

	wait->frame_count = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

static __always_inline struct long_wait *reserve(struct thread *thread, __u32 tid, __u32 kind, __u64 from, __u64 to)
{
	struct long_wait *wait = bpf_ringbuf_reserve(&long_waits, sizeof(*wait), 0);

	if (!wait) {
		COUNT(losses.ring_full);
		return 0;
	}
	fill(wait, thread, tid, kind, from, to);
	return wait;
}

static __always_inline void add(struct sum *sum, __u64 time_ns)
{
	sum->count++;
	sum->time_ns += time_ns;
}

static __always_inline void was_blocked(struct thread *thread, struct task_struct *coming, __u64 until)
{
	__u64 from = thread->left_ns;
	__u32 kind = thread->kind;
	struct long_wait *wait;

	if (kind >= KINDS)
		return;
	add(&thread->sums[kind], until - from);
	if (!is_long(kind, until - from))
		return;
	wait = reserve(thread, coming->pid, kind, from, until);
	if (!wait)
		return;
	add_kernel_stack(wait, coming);
	bpf_ringbuf_submit(wait, 0);
}

/* A search, from the newest stint back, for who ran longest on a CPU between two instants. */
struct search {
	struct history *history;
	struct stint *who;
	__u64 from, end, longest;
};

/* One stint further back; 1 when no other one is asked for. A function of its own is verified once and not for each stint. */
static long look_back(__u32 index, struct search *search)
{
	struct stint *stint = &search->history->stints[(search->history->next - 1 - index) & (STINTS - 1)];
	__u64 begin = stint->since_ns > search->from ? stint->since_ns : search->from;

	if (!stint->since_ns)
		return 1;
	if (search->end > begin && search->end - begin > search->longest) {
		search->longest = search->end - begin;
		search->who = stint;
	}
	search->end = stint->since_ns;
	return stint->since_ns <= search->from;
}

/* Who ran longest on this CPU between two instants, as far back as is known. */
static __always_inline void tell_who_ran(struct long_wait *wait, struct history *history, __u64 from, __u64 to)
{
	struct search search = { .history = history, .from = from, .end = to };

	bpf_loop(STINTS, look_back, &search, 0);
	wait->other_tid = 0;
	if (!search.who)
		return;
	wait->other_tid = search.who->tid;
	wait->other_tgid = search.who->tgid;
	__builtin_memcpy(wait->other, search.who->name, sizeof(wait->other));
}

static __always_inline void was_runnable(struct thread *thread, struct task_struct *coming, struct history *history,
					 __u64 from, __u64 now)
{
	struct long_wait *wait;

	add(&thread->sums[RUN_QUEUE], now - from);
	if (!is_long(RUN_QUEUE, now - from))
		return;
	wait = reserve(thread, coming->pid, RUN_QUEUE, from, now);
	if (!wait)
		return;
	tell_who_ran(wait, history, from, now);
	bpf_ringbuf_submit(wait, 0);
}

static __always_inline void comes_back(struct task_struct *coming, struct history *history, __u64 now)
{
	__u32 tid = coming->pid;
	struct thread *thread = threads_find(tid, tid);
	__u64 runnable;

	if (!thread || !thread->left_ns)
		return;
	runnable = thread->runnable_ns ? thread->runnable_ns : now;
	if (!thread->preempted)
		was_blocked(thread, coming, runnable);
	was_runnable(thread, coming, history, runnable, now);
	thread->left_ns = 0;
}

static __always_inline void note_stint(struct history *history, struct task_struct *coming, __u64 now)
{
	struct stint *stint = &history->stints[history->next & (STINTS - 1)];

	stint->since_ns = now;
	stint->tid = coming->pid;
	stint->tgid = coming->tgid;
	bpf_probe_read_kernel(stint->name, sizeof(stint->name), coming->comm);
	history->next++;
}

SEC("tp_btf/sched_switch")
int cpu_switches(arguments args)
{
	struct task_struct *leaving = (void *)args[1], *coming = (void *)args[2];
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct history *history = bpf_map_lookup_elem(&histories, &zero);

	if (!history)
		return 0;
	if (leaving->tgid == config.tgid)
		leaves(leaving, args[0], now);
	if (coming->tgid == config.tgid)
		comes_back(coming, history, now);
	note_stint(history, coming, now);
	return 0;
}

/* Runs in the thread that wakes, or in an interrupt that came upon some thread. */
SEC("tp_btf/sched_waking")
int thread_wakes(arguments args)
{
	struct task_struct *woken = (void *)args[0];
	struct thread *thread;
	__u32 tid;

	if (woken->tgid != config.tgid)
		return 0;
	tid = woken->pid;
	thread = threads_find(tid, tid);
	if (!thread || !thread->left_ns || thread->runnable_ns)
		return 0;
	thread->waker_tid = bpf_get_current_pid_tgid();
	thread->runnable_ns = bpf_ktime_get_ns();
	return 0;
}

/* A new thread waits for its first CPU. */
SEC("tp_btf/sched_wakeup_new")
int thread_begins(arguments args)
{
	struct task_struct *woken = (void *)args[0];
	struct thread *thread;

	if (woken->tgid != config.tgid)
		return 0;
	thread = thread_of(woken->pid);
	if (!thread)
		return 0;
	thread->left_ns = bpf_ktime_get_ns();
	thread->runnable_ns = thread->left_ns;
	thread->preempted = 1;
	thread->waker_tid = 0;
	return 0;
}

struct unfinished_wait {
	struct long_wait wait;
	/* Of the thread in user mode. */
	__u64 registers[34];
};

struct bpf_iter__task {
	struct task_struct *task;
} KERNEL_TYPE;

/*
 * Run by user space for each task: a thread that waits and was not woken yet never reports its wait by itself. If a thread has not run
 * since the recording began, the start of its wait is not known: 0. If some threads had no place, it is not known which have run.
 */
SEC("iter/task")
int waits_still(struct bpf_iter__task *at)
{
	struct task_struct *task = at->task;
	struct thread unseen = {}, *thread;
	struct unfinished_wait *unfinished;
	struct pt_regs *registers;
	__u64 from, now;
	__u32 tid, kind;

	if (!task || task->tgid != config.tgid || !task->__state || task->__state & TASK_DEAD)
		return 0;
	tid = task->pid;
	now = bpf_ktime_get_ns();
	registers = (struct pt_regs *)bpf_task_pt_regs(task);
	thread = threads_find(tid, tid);
	if (thread ? !thread->left_ns || thread->runnable_ns : losses.threads_full)
		return 0;
	from = thread ? thread->left_ns : 0;
	unseen.state = task->__state;
	unseen.system_call = system_call(registers);
	kind = kind_of(unseen.state, unseen.system_call);
	if (kind >= KINDS || now - from < limits.ordered_ns[below(kind, KINDS + 1)])
		return 0;
	unfinished = bpf_ringbuf_reserve(&long_waits, sizeof(*unfinished), 0);
	if (!unfinished) {
		COUNT(losses.ring_full);
		return 0;
	}
	fill(&unfinished->wait, &unseen, tid, kind, from, now);
	add_kernel_stack(&unfinished->wait, task);
	bpf_probe_read_kernel(unfinished->registers, REGISTERS * sizeof(__u64), registers);
	bpf_ringbuf_submit(unfinished, 0);
	return 0;
}
